use std::net::{IpAddr, Ipv4Addr};

use antiphon_net::{AddressKind, AddressPolicy, AddressRefusal, Url};
use proptest::prelude::*;

fn allowing(rules: &[&str]) -> AddressPolicy {
    rules.iter().fold(AddressPolicy::default(), |policy, rule| policy.allow(rule).unwrap())
}

fn permits(policy: &AddressPolicy, host: &str, address: &str, port: u16) -> bool {
    policy.check_address(host, address.parse().unwrap(), port).is_ok()
}

#[test]
fn only_web_ports_of_public_addresses_are_permitted_by_default() {
    let policy = AddressPolicy::default();
    for port in [80, 443, 8080, 8443] {
        assert!(permits(&policy, "a.example", "8.8.8.8", port));
    }
    assert!(!permits(&policy, "a.example", "8.8.8.8", 22));
    assert!(!permits(&policy, "a.example", "127.0.0.1", 80));
    assert!(permits(&policy.clone().ports([22]), "a.example", "8.8.8.8", 22));
    assert!(!permits(&policy.ports([22]), "a.example", "8.8.8.8", 80));
}

#[test]
fn a_rule_permits_what_it_names_and_nothing_else() {
    for (rule, host, address, port, expected) in [
        ("loopback", "localhost", "127.0.0.1", 5000, true),
        ("loopback", "localhost", "::1", 5000, true),
        ("loopback", "localhost", "10.0.0.1", 5000, false),
        ("loopback", "localhost", "::ffff:127.0.0.1", 80, false),
        ("loopback:8080", "localhost", "127.0.0.1", 8080, true),
        ("loopback:8080", "localhost", "127.0.0.1", 80, false),
        ("private", "x", "192.168.1.1", 9, true),
        ("private", "x", "fd12::1", 9, true),
        ("private", "x", "127.0.0.1", 80, false),
        ("private", "x", "100.64.0.1", 80, false),
        ("private", "x", "169.254.169.254", 80, false),
        ("private", "x", "fd00:ec2::254", 80, false),
        ("10.0.0.0/8", "x", "10.255.0.1", 80, true),
        ("10.0.0.0/8", "x", "11.0.0.1", 22, false),
        ("10.0.0.0/8", "x", "::ffff:10.0.0.1", 80, false),
        ("10.1.2.3", "x", "10.1.2.3", 80, true),
        ("10.1.2.3", "x", "10.1.2.4", 80, false),
        ("10.1.2.3:81", "x", "10.1.2.3", 81, true),
        ("10.1.2.3:81", "x", "10.1.2.3", 80, false),
        ("0.0.0.0/0", "x", "169.254.169.254", 80, true),
        ("169.254.169.254", "x", "169.254.169.254", 80, true),
        ("fd00::/8", "x", "fd77::1", 80, true),
        ("::1", "x", "::1", 80, true),
        ("[::1]:99", "x", "::1", 99, true),
        ("[::1]:99", "x", "::1", 80, false),
        ("wiki.example", "wiki.example", "10.0.0.1", 80, true),
        ("wiki.example", "wiki.example.", "10.0.0.1", 80, true),
        ("WIKI.example", "wiki.example", "127.0.0.1", 80, true),
        ("wiki.example", "other.example", "10.0.0.1", 80, false),
        ("wiki.example", "x.wiki.example", "10.0.0.1", 80, false),
        ("wiki.example", "wiki.example", "169.254.169.254", 80, false),
        ("wiki.example", "wiki.example", "0.0.0.0", 80, false),
        ("wiki.example", "wiki.example", "::ffff:10.0.0.1", 80, false),
        ("wiki.example:81", "wiki.example", "10.0.0.1", 81, true),
        ("wiki.example:81", "wiki.example", "10.0.0.1", 80, false),
        ("*.example", "a.b.example", "10.0.0.1", 80, true),
        ("*.example", "example", "10.0.0.1", 80, false),
        ("*.example", "badexample", "10.0.0.1", 80, false),
        ("*.example", ".example", "10.0.0.1", 80, false),
        ("bücher.example", "xn--bcher-kva.example", "10.0.0.1", 80, true),
    ] {
        let permitted = permits(&allowing(&[rule]), host, address, port);
        assert_eq!(permitted, expected, "{rule}: {host} {address} {port}");
    }
}

#[test]
fn what_is_no_rule_is_refused_and_returned() {
    for rule in [
        "",
        "*",
        "*.",
        "a b",
        "http://a.example",
        "a.example/x",
        "10.0.0.0/33",
        "::/129",
        "10.0/8",
        "a.example:0",
        "a.example:99999",
        "a.example:",
        ":80",
        "127.1",
        "0x7f.0.0.1",
        "*.10",
        "a@b",
    ] {
        assert_eq!(AddressPolicy::default().allow(rule).unwrap_err(), rule);
    }
}

#[test]
fn other_spellings_of_an_address_are_read_as_the_address() {
    for url in [
        "http://127.0.0.1/",
        "http://127.0.0.1./",
        "http://127.1/",
        "http://127.0.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7F.0.0.1/",
        "http://0177.0.0.1/",
        "http://017700000001/",
        "http://127.0.0.0x1/",
        "http:127.0.0.1",
        "http:\\\\127.0.0.1\\",
        "http://①②⑦.⓪.⓪.①/",
        "http://127。0。0。1/",
        "http://%31%32%37.0.0.1/",
        "http://1\t27.0.0.1/",
        "http://[::1]/",
        "http://[0:0:0:0:0:0:0:1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "https://127.0.0.1:443/",
        "http://0/",
        "http://0.0.0.0/",
        "http://[::]/",
        "http://127.0.0.1:80\\@a.example/",
        "http://169.254.169.254/latest/meta-data/",
        "http://0xa9fea9fe/",
    ] {
        let parsed = Url::parse(url).unwrap();
        let refusal = AddressPolicy::default().check_url(&parsed).unwrap_err();
        assert!(matches!(refusal, AddressRefusal::Address { .. }), "{url}: {refusal}");
    }
}

#[test]
fn what_is_no_plain_http_url_is_refused() {
    for url in ["http://[fe80::1%25eth0]/", "http://[::1", "http://256.1.1.1/", "http://1.2.3.4.5/"]
    {
        assert!(Url::parse(url).is_err(), "{url}");
    }
    let refused = |url: &str| AddressPolicy::default().check_url(&Url::parse(url).unwrap());
    for url in ["file:///etc/passwd", "ftp://a.example/", "gopher://a.example:70/", "data:,x"] {
        assert!(matches!(refused(url), Err(AddressRefusal::Scheme { .. })), "{url}");
    }
    for url in ["http://me@a.example/", "http://a.example:80@127.0.0.1/", "http://:pw@a.example/"] {
        let refusal = refused(url).unwrap_err();
        assert!(matches!(refusal, AddressRefusal::User { .. }), "{url}");
        assert!(!refusal.to_string().contains("pw"));
    }
    assert_eq!(refused("http://localhost/"), Ok(()), "a name is checked when it is resolved");
}

#[test]
fn one_refused_address_of_a_name_does_not_open_it_and_is_not_connected_to() {
    let policy = AddressPolicy::default();
    let both: Vec<IpAddr> = vec!["10.0.0.1".parse().unwrap(), "8.8.8.8".parse().unwrap()];
    assert_eq!(policy.permitted("a.example", both.clone(), 80).unwrap(), both[1..]);
    let refusal = policy.permitted("a.example", both[..1].to_vec(), 80).unwrap_err();
    let kind = AddressKind::Private;
    assert_eq!(
        refusal,
        AddressRefusal::Address { host: "a.example".into(), kind, address: both[0] }
    );
    assert_eq!(
        refusal.to_string(),
        "the address policy does not allow `a.example`, an address of a private network: 10.0.0.1"
    );
}

/// A part of an address in one of the notations that parsers accept.
fn part(value: u32, notation: u8) -> String {
    match notation {
        0 => value.to_string(),
        1 => format!("0x{value:x}"),
        2 => format!("0X{value:X}"),
        _ => format!("0{value:o}"),
    }
}

proptest! {
    #[test]
    fn no_spelling_of_an_address_that_is_not_public_passes(
        bits: u32,
        notations: [u8; 4],
        parts in 1_usize..=4,
        dot: bool,
    ) {
        let address = Ipv4Addr::from_bits(bits);
        let octets = address.octets();
        let mut spelled: Vec<String> =
            (0..parts - 1).map(|at| part(octets[at].into(), notations[at] % 4)).collect();
        let rest = bits & u32::MAX.checked_shr(8 * (u32::try_from(parts).unwrap() - 1)).unwrap_or(0);
        spelled.push(part(rest, notations[3] % 4));
        let dot = if dot { "." } else { "" };
        let url = Url::parse(&format!("http://{}{dot}/", spelled.join("."))).unwrap();
        let public = AddressKind::of(address.into()) == AddressKind::Public;
        prop_assert_eq!(AddressPolicy::default().check_url(&url).is_ok(), public, "{}", url);
    }

    #[test]
    fn no_text_makes_a_rule_that_permits_what_it_does_not_name(rule in "[a-z0-9:./*\\[\\]]{0,12}") {
        prop_assume!(!rule.contains("169.254") && !rule.contains('/'));
        if let Ok(policy) = AddressPolicy::default().allow(&rule) {
            prop_assert!(!permits(&policy, "a.example", "169.254.169.254", 80));
        }
    }
}
