//! Verification of server certificates with libpq's semantics.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::certificate::Certificate;

/// How much of a server's certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::postgres) enum Check {
    /// Nothing: protects only against eavesdropping.
    Nothing,
    /// The issuer.
    Issuer,
    /// The issuer and the host name.
    IssuerAndName,
}

/// Verifies as much as `check` says.
#[derive(Debug)]
pub(super) struct Verifier {
    issued: Option<Arc<dyn ServerCertVerifier>>,
    /// The certificates of the file of root certificates.
    roots: Vec<CertificateDer<'static>>,
    check: Check,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    /// `root` is a PEM file of root certificates; without it the operating system's are trusted.
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

    /// What rustls refuses and libpq accepts: a certificate that is itself listed as a root, as
    /// `openssl req -x509` makes it, and one of X.509 version 1 that a root has issued.
    fn is_trusted(&self, certificate: &Certificate<'_>, der: &CertificateDer<'_>) -> bool {
        self.roots.iter().any(|root| root.as_ref() == der.as_ref())
            || certificate.is_of_version_1()
                && self.roots.iter().any(|root| {
                    Certificate::read(root).is_ok_and(|root| certificate.is_issued_by(&root))
                })
    }

    /// Accepts what libpq accepts although rustls does not; returns the refusal otherwise.
    fn verify_as_libpq(
        &self,
        der: &CertificateDer<'_>,
        host: &ServerName<'_>,
        now: UnixTime,
        refusal: CertificateError,
    ) -> Result<ServerCertVerified, Error> {
        let certificate = Certificate::read(der)?;
        // rustls checks the name last, so everything else was accepted.
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

    /// Verifies that the server has the private key of a certificate that rustls cannot parse.
    fn verify_old(
        &self,
        message: &[u8],
        certificate: &Certificate<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let all = self.provider.signature_verification_algorithms.mapping;
        let known = all.iter().find(|(scheme, _)| *scheme == dss.scheme);
        let (key, signature) = (certificate.key_bits(), dss.signature());
        // Algorithms for other kinds of keys refuse this one.
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
