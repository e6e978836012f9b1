//! What rustls does not read of a certificate: version 1, common names, and the hash for channel
//! binding.

use std::net::IpAddr;

use ring::digest::{self, SHA256, SHA384, SHA512};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::{CertificateError, Error};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate, X509Version};
use x509_parser::signature_algorithm::SignatureAlgorithm;

/// A parsed certificate.
pub(super) struct Certificate<'a>(X509Certificate<'a>);

impl<'a> Certificate<'a> {
    pub(super) fn read(der: &'a CertificateDer<'_>) -> Result<Self, Error> {
        match X509Certificate::from_der(der.as_ref()) {
            Ok(([], read)) => Ok(Self(read)),
            _ => Err(CertificateError::BadEncoding.into()),
        }
    }

    /// Whether it is of X.509 version 1, which has no extensions and which rustls refuses;
    /// `openssl x509 -req` made such certificates for decades.
    pub(super) fn is_of_version_1(&self) -> bool {
        self.0.version() == X509Version::V1
    }

    /// Its public key.
    pub(super) fn key(&self) -> SubjectPublicKeyInfoDer<'_> {
        SubjectPublicKeyInfoDer::from(self.0.public_key().raw)
    }

    pub(super) fn key_bits(&self) -> &[u8] {
        &self.0.public_key().subject_public_key.data
    }

    /// Checks its validity period.
    pub(super) fn check_time(&self, now: UnixTime) -> Result<(), Error> {
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let validity = self.0.validity();
        if now < validity.not_before.timestamp() {
            return Err(CertificateError::NotValidYet.into());
        }
        if now > validity.not_after.timestamp() {
            return Err(CertificateError::Expired.into());
        }
        Ok(())
    }

    /// Whether `issuer` has signed it with an algorithm that is still secure.
    pub(super) fn is_issued_by(&self, issuer: &Certificate<'_>) -> bool {
        let is_safe = !matches!(self.signed_with().as_deref(), None | Some(MD5_RSA | SHA1_RSA));
        is_safe
            && self.0.issuer().as_raw() == issuer.0.subject().as_raw()
            && self.0.verify_signature(Some(issuer.0.public_key())).is_ok()
    }

    /// Whether it may be used for servers; it may if it does not list its uses.
    pub(super) fn is_for_servers(&self) -> bool {
        let purposes = self.0.extended_key_usage();
        purposes.is_ok_and(|purposes| {
            purposes.is_none_or(|purposes| purposes.value.server_auth || purposes.value.any)
        })
    }

    /// Checks the host name. As in libpq, the common name counts if no hosts are listed, because
    /// most certificates of databases are like that.
    pub(super) fn check_name(&self, host: &ServerName<'_>) -> Result<(), Error> {
        let listed = self.0.subject_alternative_name().ok().flatten();
        let names = listed.iter().flat_map(|listed| &listed.value.general_names);
        let mut lists_hosts = false;
        for name in names {
            let is_it = match (name, host) {
                (GeneralName::DNSName(name), ServerName::DnsName(host)) => {
                    matches(name, host.as_ref())
                }
                (GeneralName::IPAddress(address), ServerName::IpAddress(host)) => {
                    octets(IpAddr::from(*host)) == *address
                }
                (GeneralName::DNSName(_) | GeneralName::IPAddress(_), _) => false,
                _ => continue,
            };
            if is_it {
                return Ok(());
            }
            lists_hosts = true;
        }
        let common = self.0.subject().iter_common_name().filter_map(|name| name.as_str().ok());
        let common: Vec<_> = common.take_while(|_| !lists_hosts).collect();
        if common.iter().any(|name| matches(name, &host.to_str())) {
            return Ok(());
        }
        Err(CertificateError::NotValidForName.into())
    }

    /// Its hash for `tls-server-end-point` (RFC 5929); `None` for signatures without a hash.
    pub(super) fn end_point(&self, der: &CertificateDer<'_>) -> Option<Vec<u8>> {
        let hash = match self.signed_with()?.as_str() {
            // MD5 and SHA-1 are replaced, because they are broken.
            MD5_RSA
            | SHA1_RSA
            | "1.2.840.10045.4.1"
            | "1.3.14.3.2.26"
            | "1.2.840.113549.1.1.11"
            | "1.2.840.10045.4.3.2"
            | "2.16.840.1.101.3.4.2.1" => &SHA256,
            "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" | "2.16.840.1.101.3.4.2.2" => &SHA384,
            "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" | "2.16.840.1.101.3.4.2.3" => &SHA512,
            _ => return None,
        };
        Some(digest::digest(hash, der).as_ref().to_vec())
    }

    /// The algorithm of its signature; for RSASSA-PSS the hash, which is a parameter of it.
    fn signed_with(&self) -> Option<String> {
        let algorithm = &self.0.signature_algorithm;
        match SignatureAlgorithm::try_from(algorithm) {
            Ok(SignatureAlgorithm::RSASSA_PSS(with)) => {
                Some(with.hash_algorithm_oid().to_id_string())
            }
            Ok(_) => Some(algorithm.algorithm.to_id_string()),
            Err(_) => None,
        }
    }
}

const MD5_RSA: &str = "1.2.840.113549.1.1.4";
const SHA1_RSA: &str = "1.2.840.113549.1.1.5";

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// A star matches exactly the first label of a host name.
fn matches(name: &str, host: &str) -> bool {
    match name.strip_prefix("*.") {
        Some(rest) => host.split_once('.').is_some_and(|(_, of)| of.eq_ignore_ascii_case(rest)),
        None => name.eq_ignore_ascii_case(host),
    }
}
