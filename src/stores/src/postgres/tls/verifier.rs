//! How much of a server's certificate is checked, as libpq does it.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::certificate::Certificate;

/// What of a server's certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::postgres) enum Check {
    /// Nothing: what is sent is hidden from those who only listen.
    Nothing,
    /// Who has issued it.
    Issuer,
    /// That, and that it is the host's.
    IssuerAndName,
}

/// Checks as much as it was told to.
#[derive(Debug)]
pub(super) struct Verifier {
    issued: Option<Arc<dyn ServerCertVerifier>>,
    /// The certificates of the file of issuers.
    roots: Vec<CertificateDer<'static>>,
    check: Check,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    /// `root` is a file of issuers in PEM; without it the system's are trusted.
    pub(super) fn new(
        check: Check,
        root: Option<&str>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let mut roots = Vec::new();
        let issued: Option<Arc<dyn ServerCertVerifier>> = match (check, root) {
            (Check::Nothing, _) => None,
            (_, Some(path)) => {
                let mut issuers = RootCertStore::empty();
                for issuer in CertificateDer::pem_file_iter(path)? {
                    let issuer = issuer?;
                    issuers.add(issuer.clone())?;
                    roots.push(issuer);
                }
                let (issuers, provider) = (Arc::new(issuers), Arc::clone(&provider));
                Some(WebPkiServerVerifier::builder_with_provider(issuers, provider).build()?)
            }
            (_, None) => {
                Some(Arc::new(rustls_platform_verifier::Verifier::new(Arc::clone(&provider))?))
            }
        };
        Ok(Self { issued, roots, check, provider })
    }

    /// What rustls refuses and libpq accepts: a certificate that is trusted itself,
    /// as that which `openssl req -x509` makes, and one of the first version which
    /// somebody who is trusted has issued.
    fn is_trusted(&self, certificate: &Certificate<'_>, der: &CertificateDer<'_>) -> bool {
        self.roots.iter().any(|root| root.as_ref() == der.as_ref())
            || certificate.is_of_version_1()
                && self.roots.iter().any(|root| {
                    Certificate::read(root).is_ok_and(|root| certificate.is_issued_by(&root))
                })
    }

    /// What libpq accepts although rustls does not; else the refusal stands.
    fn verify_as_libpq(
        &self,
        der: &CertificateDer<'_>,
        host: &ServerName<'_>,
        now: UnixTime,
        refusal: CertificateError,
    ) -> Result<ServerCertVerified, Error> {
        let certificate = Certificate::read(der)?;
        // The name is what rustls looks at last.
        let is_misnamed = matches!(
            refusal,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
        );
        if !is_misnamed {
            if !self.is_trusted(&certificate, der) || !certificate.is_for_servers() {
                return Err(refusal.into());
            }
            certificate.check_time(now)?;
        }
        if self.check == Check::IssuerAndName {
            let named = certificate.check_name(host);
            named.map_err(|other| if is_misnamed { refusal.into() } else { other })?;
        }
        Ok(ServerCertVerified::assertion())
    }

    /// That a server has the key of a certificate which rustls does not read.
    fn verify_old(
        &self,
        message: &[u8],
        certificate: &Certificate<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let all = self.provider.signature_verification_algorithms.mapping;
        let known = all.iter().find(|(scheme, _)| *scheme == dss.scheme);
        let (key, signature) = (certificate.key_bits(), dss.signature());
        // One that is for keys of another kind refuses this one.
        let is_valid = known.is_some_and(|(_, algorithms)| {
            algorithms.iter().any(|one| one.verify_signature(key, message, signature).is_ok())
        });
        if is_valid {
            return Ok(HandshakeSignatureValid::assertion());
        }
        Err(CertificateError::BadSignature.into())
    }
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
            Err(Error::InvalidCertificate(refusal)) => {
                self.verify_as_libpq(end_entity, server_name, now, refusal)
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let certificate = Certificate::read(cert)?;
        if certificate.is_of_version_1() {
            return self.verify_old(message, &certificate, dss);
        }
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
        let certificate = Certificate::read(cert)?;
        if certificate.is_of_version_1() {
            let key = certificate.key();
            return verify_tls13_signature_with_raw_key(message, &key, dss, algorithms);
        }
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
