//! TLS to a database, as libpq has it: how much of a certificate is checked is
//! for the URL to say.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use antiphon_core::Fault;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as Encrypted;

use super::fault;

/// What of a server's certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Nothing: what is sent is hidden from those who only listen.
    Nothing,
    /// Who has issued it.
    Issuer,
    /// That, and that it is the host's.
    IssuerAndName,
}

/// Makes connections secret.
#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// `root` is a file of issuers in PEM; without it the system's are trusted.
    pub(super) fn new(check: Check, root: Option<&str>) -> Result<Self, Fault> {
        let provider = Arc::new(ring::default_provider());
        let failed = |error: &dyn std::fmt::Display| {
            fault::setting(&format!("TLS cannot be set up: {error}"))
        };
        let issued: Option<Arc<dyn ServerCertVerifier>> = match (check, root) {
            (Check::Nothing, _) => None,
            (Check::Issuer, None) => {
                // Anybody may have a certificate from one of the system's issuers.
                return Err(fault::setting("`sslmode=verify-ca` needs `sslrootcert`"));
            }
            (_, Some(path)) => {
                let issuers = issuers(path).map_err(|error| failed(&error))?;
                let verifier =
                    WebPkiServerVerifier::builder_with_provider(issuers, Arc::clone(&provider));
                Some(verifier.build().map_err(|error| failed(&error))?)
            }
            (Check::IssuerAndName, None) => Some(Arc::new(
                rustls_platform_verifier::Verifier::new(Arc::clone(&provider))
                    .map_err(|error| failed(&error))?,
            )),
        };
        let verifier = Verifier { issued, check, provider: Arc::clone(&provider) };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Self(Arc::new(config)))
    }
}

fn issuers(path: &str) -> Result<Arc<RootCertStore>, Box<dyn std::error::Error>> {
    let mut roots = RootCertStore::empty();
    for issuer in CertificateDer::pem_file_iter(path)? {
        roots.add(issuer?)?;
    }
    Ok(Arc::new(roots))
}

/// Checks as much as it was told to.
#[derive(Debug)]
struct Verifier {
    issued: Option<Arc<dyn ServerCertVerifier>>,
    check: Check,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(issued) = &self.issued else { return Ok(ServerCertVerified::assertion()) };
        let verified =
            issued.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // The name is looked at last.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.check == Check::Issuer => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Makes one connection secret.
pub(super) struct Handshake {
    connector: TlsConnector,
    host: ServerName<'static>,
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Secret;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Handshake> {
        // A socket file has no name, and no TLS either.
        let host = if domain.is_empty() { "localhost" } else { domain };
        let host = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        Ok(Handshake { connector: TlsConnector::from(Arc::clone(&self.0)), host })
    }
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Secret;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Secret>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move { Ok(Secret(self.connector.connect(self.host, stream).await?)) })
    }
}

/// A connection that is secret.
pub(super) struct Secret(Encrypted<Socket>);

impl TlsStream for Secret {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Secret {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl AsyncWrite for Secret {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
