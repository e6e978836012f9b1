//! TLS to a database.

use std::path::Path;
use std::sync::Arc;

use antiphon_core::Fault;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::sql::fault;

/// What is checked of a server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CertificateCheck {
    /// Nothing: the connection is encrypted, to whoever answers. As `sslmode=require` of libpq.
    Nothing,
    /// Its issuer and its name.
    IssuerAndName,
}

/// Makes TLS connections. `root` is a PEM file of issuers; without it the operating system's are
/// trusted.
pub(super) fn client(
    check: CertificateCheck,
    root: Option<&Path>,
) -> Result<MakeRustlsConnect, Fault> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?;
    let mut config = match (check, root) {
        (CertificateCheck::Nothing, _) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth(),
        (CertificateCheck::IssuerAndName, Some(root)) => {
            builder.with_root_certificates(roots(root)?).with_no_client_auth()
        }
        (CertificateCheck::IssuerAndName, None) => {
            builder.with_platform_verifier().map_err(|error| failed(&error))?.with_no_client_auth()
        }
    };
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(MakeRustlsConnect::new(config))
}

fn roots(path: &Path) -> Result<RootCertStore, Fault> {
    let mut store = RootCertStore::empty();
    let unread = |error: &dyn std::fmt::Display| {
        let problem = format!("`sslrootcert` cannot be read ({error}): {}", path.display());
        fault::setting(problem, "name a PEM file with the certificates of the issuers")
    };
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unread(&error))? {
        let certificate = certificate.map_err(|error| unread(&error))?;
        store.add(certificate).map_err(|error| unread(&error))?;
    }
    if store.is_empty() { Err(unread(&"no certificate")) } else { Ok(store) }
}

fn failed(error: &dyn std::fmt::Display) -> Fault {
    let hint = "install the operating system's root certificates, or set `sslrootcert`";
    fault::setting(format!("TLS cannot be set up: {error}"), hint)
}

/// Accepts the certificate of any server, if the server proves that it is its own.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
