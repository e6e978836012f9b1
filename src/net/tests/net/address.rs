use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use antiphon_net::AddressKind;
use proptest::prelude::*;

fn kind(address: &str) -> AddressKind {
    AddressKind::of(address.parse().unwrap())
}

#[test]
fn special_ipv4_addresses_have_their_kind_and_their_neighbours_another() {
    use AddressKind::*;
    for (address, expected) in [
        ("0.0.0.0", Unspecified),
        ("0.255.255.255", Unspecified),
        ("1.0.0.0", Public),
        ("9.255.255.255", Public),
        ("10.0.0.0", Private),
        ("10.255.255.255", Private),
        ("11.0.0.0", Public),
        ("100.63.255.255", Public),
        ("100.64.0.0", Shared),
        ("100.100.100.200", Metadata),
        ("100.127.255.255", Shared),
        ("100.128.0.0", Public),
        ("126.255.255.255", Public),
        ("127.0.0.1", Loopback),
        ("127.255.255.255", Loopback),
        ("128.0.0.0", Public),
        ("168.63.129.16", Metadata),
        ("169.253.255.255", Public),
        ("169.254.0.1", LinkLocal),
        ("169.254.169.254", Metadata),
        ("169.254.170.2", Metadata),
        ("169.254.170.23", Metadata),
        ("169.255.0.0", Public),
        ("172.15.255.255", Public),
        ("172.16.0.0", Private),
        ("172.31.255.255", Private),
        ("172.32.0.0", Public),
        ("192.0.0.8", Reserved),
        ("192.0.0.192", Metadata),
        ("192.0.1.0", Public),
        ("192.0.2.1", Documentation),
        ("192.88.99.1", Reserved),
        ("192.167.255.255", Public),
        ("192.168.0.0", Private),
        ("192.169.0.0", Public),
        ("198.17.255.255", Public),
        ("198.18.0.0", Benchmark),
        ("198.19.255.255", Benchmark),
        ("198.51.100.1", Documentation),
        ("203.0.113.255", Documentation),
        ("223.255.255.255", Public),
        ("224.0.0.1", Multicast),
        ("239.255.255.255", Multicast),
        ("240.0.0.1", Reserved),
        ("255.255.255.255", Multicast),
    ] {
        assert_eq!(kind(address), expected, "{address}");
    }
}

#[test]
fn special_ipv6_addresses_have_their_kind_and_their_neighbours_another() {
    use AddressKind::*;
    for (address, expected) in [
        ("::", Unspecified),
        ("::1", Loopback),
        ("::2", Embedded),
        ("::127.0.0.1", Embedded),
        ("::ffff:127.0.0.1", Embedded),
        ("::ffff:8.8.8.8", Embedded),
        ("::ffff:0:8.8.8.8", Embedded),
        ("64:ff9b::a00:1", Embedded),
        ("64:ff9b:1::1", Embedded),
        ("100::1", Reserved),
        ("2001::1", Embedded),
        ("2001:2::1", Benchmark),
        ("2001:20::1", Reserved),
        ("2001:1ff::1", Reserved),
        ("2001:200::1", Public),
        ("2001:db8::1", Documentation),
        ("2002:7f00:1::", Embedded),
        ("2606:4700::1111", Public),
        ("2606:4700::5efe:a00:1", Embedded),
        ("2606:4700::200:5efe:a00:1", Embedded),
        ("3fff::1", Documentation),
        ("4000::1", Reserved),
        ("5f00::1", Reserved),
        ("fc00::1", Private),
        ("fd00:ec2::254", Metadata),
        ("fd00:ec2::255", Private),
        ("fd20:ce::254", Metadata),
        ("fe80::1", LinkLocal),
        ("febf::1", LinkLocal),
        ("fec0::1", Reserved),
        ("ff02::1", Multicast),
    ] {
        assert_eq!(kind(address), expected, "{address}");
    }
}

proptest! {
    #[test]
    fn what_the_standard_library_knows_as_special_is_not_public(bits: u32) {
        let address = Ipv4Addr::from_bits(bits);
        let special = address.is_private()
            || address.is_loopback()
            || address.is_link_local()
            || address.is_broadcast()
            || address.is_documentation()
            || address.is_multicast()
            || address.is_unspecified();
        prop_assert!(!special || AddressKind::of(address.into()) != AddressKind::Public);
    }

    #[test]
    fn no_ipv6_address_with_an_ipv4_address_inside_is_public(bits: u32, prefix in 0_u128..6) {
        let inside = u128::from(bits);
        let outside = match prefix {
            0 => inside,
            1 => 0xffff << 32 | inside,
            2 => 0x64_ff9b << 96 | inside,
            3 => 0x2002 << 112 | inside << 80 | 1,
            4 => 0x2001 << 112 | inside,
            _ => 0x2606_4700 << 96 | 0x5efe << 32 | inside,
        };
        let address = IpAddr::V6(Ipv6Addr::from_bits(outside));
        prop_assert_ne!(AddressKind::of(address), AddressKind::Public);
    }

    #[test]
    fn public_ipv6_is_global_unicast(bits: u128) {
        let public = AddressKind::of(Ipv6Addr::from_bits(bits).into()) == AddressKind::Public;
        prop_assert!(!public || bits >> 125 == 1);
    }
}
