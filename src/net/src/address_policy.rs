//! Which addresses a tool may connect to.

use std::net::IpAddr;

use reqwest::Url;

use crate::address::AddressKind;
use crate::address_rule::AddressRule;
use crate::client::without_secrets;

/// Ports at which public addresses may be reached: those of the web.
const WEB_PORTS: [u16; 4] = [80, 443, 8080, 8443];

/// Decides which addresses may be reached: by default those of the public internet at the ports
/// 80, 443, 8080 and 8443, over HTTP and HTTPS.
///
/// It judges the address that is connected to, not the name: see [`crate::GuardedClient`].
///
/// ```
/// use antiphon_net::AddressPolicy;
/// let policy = AddressPolicy::default().allow("10.1.0.0/16").unwrap();
/// let address = "10.1.2.3".parse().unwrap();
/// assert!(policy.check_address("build.example", address, 8000).is_ok());
/// let metadata = "169.254.169.254".parse().unwrap();
/// assert!(policy.check_address("build.example", metadata, 80).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressPolicy {
    rules: Vec<AddressRule>,
    ports: Vec<u16>,
}

impl Default for AddressPolicy {
    fn default() -> Self {
        Self { rules: Vec::new(), ports: WEB_PORTS.to_vec() }
    }
}

impl AddressPolicy {
    /// Allows more. `rule` is one of
    ///
    /// * `loopback`: this machine;
    /// * `private`: the private networks 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 and `fc00::/7`;
    /// * an address or a network, such as `192.168.1.7` or `fd00::/8`;
    /// * a host or all subdomains of one, such as `wiki.example` or `*.example`, whether its
    ///   addresses are public, private or loopback.
    ///
    /// All but a network may end in a port, such as `loopback:8080`; without one, each port is
    /// allowed. Metadata services, link-local and other special addresses are reached only through
    /// a rule that contains them by number.
    ///
    /// # Errors
    /// `rule` itself, if it has none of these forms.
    pub fn allow(mut self, rule: &str) -> Result<Self, String> {
        let parsed = AddressRule::parse(rule).ok_or_else(|| rule.to_owned())?;
        self.rules.push(parsed);
        Ok(self)
    }

    /// Replaces the ports at which public addresses may be reached.
    #[must_use]
    pub fn ports(mut self, ports: impl IntoIterator<Item = u16>) -> Self {
        self.ports = ports.into_iter().collect();
        self
    }

    /// Whether a connection to `address`, which `host` has resolved to, may be made.
    ///
    /// # Errors
    /// The refusal, with its reason.
    pub fn check_address(
        &self,
        host: &str,
        address: IpAddr,
        port: u16,
    ) -> Result<(), AddressRefusal> {
        if self.rules.iter().any(|rule| rule.matches(host, address, port)) {
            return Ok(());
        }
        let host = host.to_owned();
        match AddressKind::of(address) {
            AddressKind::Public if self.ports.contains(&port) => Ok(()),
            AddressKind::Public => Err(AddressRefusal::Port { host, port }),
            kind => Err(AddressRefusal::Address { host, kind, address }),
        }
    }

    /// The permitted ones of the addresses that `host` has resolved to.
    ///
    /// # Errors
    /// The refusal of the first address, if none is permitted.
    pub fn permitted(
        &self,
        host: &str,
        addresses: Vec<IpAddr>,
        port: u16,
    ) -> Result<Vec<IpAddr>, AddressRefusal> {
        let mut first = None;
        let mut permitted = Vec::new();
        for address in addresses {
            match self.check_address(host, address, port) {
                Ok(()) => permitted.push(address),
                Err(refusal) => first = first.or(Some(refusal)),
            }
        }
        match first {
            Some(refusal) if permitted.is_empty() => Err(refusal),
            _ => Ok(permitted),
        }
    }

    /// Whether `url` may be requested, as far as its text shows: scheme, user, and an address in
    /// place of a name. The addresses of a name are checked when it is resolved.
    ///
    /// # Errors
    /// The refusal, with its reason.
    pub fn check_url(&self, url: &Url) -> Result<(), AddressRefusal> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(AddressRefusal::Scheme { scheme: url.scheme().to_owned() });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressRefusal::User { url: without_secrets(url) });
        }
        match literal(url) {
            Some(address) => {
                let port = url.port_or_known_default().unwrap_or_default();
                self.check_address(url.host_str().unwrap_or_default(), address, port)
            }
            None => Ok(()),
        }
    }
}

/// The address in place of a host name. URLs are parsed so that `0x7f.1` is one already; a name
/// that others would take for an address is taken for one here too.
fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_end_matches('.').trim_matches(['[', ']']).parse().ok()
}

/// Why an address may not be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressRefusal {
    /// Neither HTTP nor HTTPS.
    #[error("only http and https are opened, not the scheme `{scheme}`")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// A user name or password in the URL: it would be sent, and it disguises the host.
    #[error("a URL with a user name or password is not opened: {url}")]
    User {
        /// The URL without them.
        url: String,
    },
    /// A port that is not one of the web's.
    #[error("the address policy does not allow this port of `{host}`: {port}")]
    Port {
        /// The host as the URL spells it.
        host: String,
        /// The port.
        port: u16,
    },
    /// An address that is not public.
    #[error("the address policy does not allow `{host}`, {kind}: {address}")]
    Address {
        /// The host as the URL spells it.
        host: String,
        /// What the address stands for.
        kind: AddressKind,
        /// The address that it resolved to.
        address: IpAddr,
    },
}
