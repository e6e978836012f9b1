//! What an IP address stands for, as far as it matters who may be reached through it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The sort of an IP address, by the special-purpose registries of IANA and by what clouds use to
/// hand out credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressKind {
    /// A unicast address of the public internet.
    Public,
    /// This machine.
    Loopback,
    /// A private network (RFC 1918, unique local IPv6).
    Private,
    /// A network behind the address translation of a carrier, 100.64.0.0/10.
    Shared,
    /// A network segment: 169.254.0.0/16, `fe80::/10`.
    LinkLocal,
    /// A service of a cloud that hands out the credentials of the machine.
    Metadata,
    /// No address, or "this network", which systems take for this machine.
    Unspecified,
    /// Many receivers, broadcast included.
    Multicast,
    /// For examples in documentation.
    Documentation,
    /// For benchmarks of networks.
    Benchmark,
    /// IPv6 with an IPv4 address inside: mapped, compatible, NAT64, 6to4, Teredo, ISATAP. Where it
    /// leads is decided by a translator.
    Embedded,
    /// Anything else that is not globally reachable unicast.
    Reserved,
}

impl AddressKind {
    /// The kind of `address`.
    ///
    /// ```
    /// use antiphon_net::AddressKind;
    /// assert_eq!(AddressKind::of("127.8.8.8".parse().unwrap()), AddressKind::Loopback);
    /// assert_eq!(AddressKind::of("::ffff:8.8.8.8".parse().unwrap()), AddressKind::Embedded);
    /// ```
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }

    /// Whether naming a host is enough to reach it at such an address. The others are reached only
    /// if their address or network is allowed by number.
    pub(crate) const fn is_ordinary(self) -> bool {
        matches!(self, Self::Public | Self::Loopback | Self::Private | Self::Shared)
    }
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "a public address",
            Self::Loopback => "a loopback address",
            Self::Private => "an address of a private network",
            Self::Shared => "an address behind a carrier's address translation",
            Self::LinkLocal => "a link-local address",
            Self::Metadata => "the metadata service of a cloud",
            Self::Unspecified => "an unspecified address",
            Self::Multicast => "a multicast address",
            Self::Documentation => "an address for documentation",
            Self::Benchmark => "an address for benchmarks",
            Self::Embedded => "an IPv6 address that contains an IPv4 address",
            Self::Reserved => "a reserved address",
        })
    }
}

fn of_v4(address: Ipv4Addr) -> AddressKind {
    match address.octets() {
        // AWS, Azure, GCP and others; ECS; EKS; Alibaba; Azure's wire server; Oracle.
        [169, 254, 169, 254]
        | [169, 254, 170, 2 | 23]
        | [100, 100, 100, 200]
        | [168, 63, 129, 16]
        | [192, 0, 0, 192] => AddressKind::Metadata,
        [0, ..] => AddressKind::Unspecified,
        [127, ..] => AddressKind::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressKind::Private,
        [100, 64..=127, ..] => AddressKind::Shared,
        [169, 254, ..] => AddressKind::LinkLocal,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => AddressKind::Documentation,
        [198, 18 | 19, ..] => AddressKind::Benchmark,
        [224..=239, ..] | [255, 255, 255, 255] => AddressKind::Multicast,
        // Protocol assignments, the withdrawn relays of 6to4, and class E.
        [192, 0, 0, _] | [192, 88, 99, _] | [240..=255, ..] => AddressKind::Reserved,
        _ => AddressKind::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> AddressKind {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressKind::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressKind::Loopback,
        // AWS, Google.
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254] => {
            AddressKind::Metadata
        }
        // Compatible, mapped, translated; NAT64, well-known and local; Teredo; 6to4; ISATAP, in
        // whatever network.
        [0, 0, 0, 0, 0, 0 | 0xffff, _, _]
        | [0, 0, 0, 0, 0xffff, 0, _, _]
        | [0x64, 0xff9b, 0 | 1, ..]
        | [0x2001, 0, ..]
        | [0x2002, ..]
        | [_, _, _, _, 0 | 0x200, 0x5efe, _, _] => AddressKind::Embedded,
        [0xfc00..=0xfdff, ..] => AddressKind::Private,
        [0xfe80..=0xfebf, ..] => AddressKind::LinkLocal,
        [0xff00..=0xffff, ..] => AddressKind::Multicast,
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressKind::Documentation,
        [0x2001, 2, 0, ..] => AddressKind::Benchmark,
        // Protocol assignments lie in a range that is otherwise global unicast.
        [0x2001, 0..=0x1ff, ..] => AddressKind::Reserved,
        [0x2000..=0x3fff, ..] => AddressKind::Public,
        _ => AddressKind::Reserved,
    }
}
