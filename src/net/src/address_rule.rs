//! One entry of the list of addresses that are allowed.

use std::net::{IpAddr, SocketAddr};

use reqwest::Url;

use crate::address::AddressKind;

/// What an entry of an allow list lets through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AddressRule {
    scope: RuleScope,
    /// Any port if `None`.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RuleScope {
    Kind(AddressKind),
    Network { address: IpAddr, bits: u8 },
    Host(String),
    Subdomains(String),
}

impl AddressRule {
    /// Reads an entry; `None` if it is none. See [`crate::AddressPolicy::allow`] for the forms.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let any_port = |scope| Some(Self { scope, port: None });
        if let Some((address, bits)) = text.split_once('/') {
            return any_port(network(address, bits)?);
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            let scope = single(address.ip());
            return Some(Self { scope, port: Some(real_port(address.port())?) });
        }
        if let Ok(address) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
            return any_port(single(address));
        }
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => (name, Some(real_port(port.parse().ok()?)?)),
            None => (text, None),
        };
        Some(Self { scope: named(name)?, port })
    }

    /// Whether it lets a connection to this address through, which `host` has resolved to.
    pub(crate) fn matches(&self, host: &str, address: IpAddr, port: u16) -> bool {
        if self.port.is_some_and(|only| only != port) {
            return false;
        }
        let by_name = || AddressKind::of(address).is_ordinary();
        match &self.scope {
            RuleScope::Kind(kind) => AddressKind::of(address) == *kind,
            RuleScope::Network { address: network, bits } => contains(*network, *bits, address),
            RuleScope::Host(name) => plain(host) == name && by_name(),
            RuleScope::Subdomains(parent) => is_below(plain(host), parent) && by_name(),
        }
    }
}

fn real_port(port: u16) -> Option<u16> {
    (port != 0).then_some(port)
}

fn single(address: IpAddr) -> RuleScope {
    let bits = if address.is_ipv4() { 32 } else { 128 };
    RuleScope::Network { address, bits }
}

fn network(address: &str, bits: &str) -> Option<RuleScope> {
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits: u8 = bits.parse().ok().filter(|bits| *bits <= most)?;
    Some(RuleScope::Network { address, bits })
}

fn named(name: &str) -> Option<RuleScope> {
    match name {
        "loopback" => return Some(RuleScope::Kind(AddressKind::Loopback)),
        "private" => return Some(RuleScope::Kind(AddressKind::Private)),
        _ => {}
    }
    match name.strip_prefix("*.") {
        Some(parent) => Some(RuleScope::Subdomains(canonical(parent)?)),
        None => Some(RuleScope::Host(canonical(name)?)),
    }
}

/// The name as URLs spell it: lower case, in Punycode. Other spellings of an address are no names.
fn canonical(name: &str) -> Option<String> {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_');
    if name.is_empty() || !name.chars().all(allowed) {
        return None;
    }
    let url = Url::parse(&format!("http://{name}/")).ok()?;
    Some(plain(url.domain()?).to_owned()).filter(|name| !name.is_empty())
}

/// `host` without the dot that marks a name as complete.
fn plain(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

fn is_below(host: &str, parent: &str) -> bool {
    host.strip_suffix(parent).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

fn contains(network: IpAddr, bits: u8, address: IpAddr) -> bool {
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            let differing = network.to_bits() ^ address.to_bits();
            differing.leading_zeros() >= u32::from(bits)
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => {
            let differing = network.to_bits() ^ address.to_bits();
            differing.leading_zeros() >= u32::from(bits)
        }
        _ => false,
    }
}
