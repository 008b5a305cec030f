//! Which addresses are on the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of IPv4 addresses: its first address and the length of its prefix.
type Block4 = (Ipv4Addr, u32);

/// A block of IPv6 addresses.
type Block6 = (Ipv6Addr, u32);

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u32) -> Block4 {
    (Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(a: u16, b: u16, c: u16, prefix: u32) -> Block6 {
    (Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), prefix)
}

/// What is not globally reachable, from IANA's registry
/// (<https://www.iana.org/assignments/iana-ipv4-special-registry/iana-ipv4-special-registry.xhtml>), and multicast
/// (<https://www.iana.org/assignments/multicast-addresses/multicast-addresses.xhtml>). The two anycast addresses inside `192.0.0.0/24` that the
/// registry lets through serve no web site.
const NOT_PUBLIC_V4: [Block4; 16] = [
    v4(0, 0, 0, 0, 8),       // this network
    v4(10, 0, 0, 0, 8),      // private
    v4(100, 64, 0, 0, 10),   // shared by carriers
    v4(127, 0, 0, 0, 8),     // loopback
    v4(169, 254, 0, 0, 16),  // link-local, among them 169.254.169.254, where clouds hand out credentials
    v4(172, 16, 0, 0, 12),   // private
    v4(192, 0, 0, 0, 24),    // protocol assignments
    v4(192, 0, 2, 0, 24),    // documentation
    v4(192, 31, 196, 0, 24), // AS112
    v4(192, 52, 193, 0, 24), // AMT
    v4(192, 88, 99, 0, 24),  // 6to4 relays, withdrawn
    v4(192, 168, 0, 0, 16),  // private
    v4(198, 18, 0, 0, 15),   // benchmarks
    v4(198, 51, 100, 0, 24), // documentation
    v4(203, 0, 113, 0, 24),  // documentation
    v4(224, 0, 0, 0, 3),     // multicast, reserved, broadcast
];

/// The unicast space that is handed out (<https://www.iana.org/assignments/ipv6-unicast-address-assignments/>). Everything outside of it is
/// loopback, link-local, site-local, unique-local, multicast, or not in use; the translated addresses are looked at by what they contain.
const HANDED_OUT_V6: Block6 = v6(0x2000, 0, 0, 3);

/// What is not globally reachable inside of that
/// (<https://www.iana.org/assignments/iana-ipv6-special-registry/iana-ipv6-special-registry.xhtml>).
const NOT_PUBLIC_V6: [Block6; 4] = [
    v6(0x2001, 0, 0, 23), // protocol assignments: benchmarks, ORCHID; Teredo, which leads through relays of strangers
    v6(0x2001, 0xdb8, 0, 32), // documentation
    v6(0x2620, 0x4f, 0x8000, 48), // AS112
    v6(0x3fff, 0, 0, 20), // documentation
];

/// Whether `address` is one that anybody on the internet can be reached at. Fails closed: what is not known to be public is not.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = u32::from(address);
    !NOT_PUBLIC_V4.iter().any(|&(first, prefix)| (bits ^ u32::from(first)) >> (32 - prefix) == 0)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    // An address that stands for one of IPv4 is as public as that one: a translator in between would go there.
    if let Some(embedded) = embedded_v4(address) {
        return is_public_v4(embedded);
    }
    is_in(address, HANDED_OUT_V6) && !NOT_PUBLIC_V6.iter().any(|&block| is_in(address, block))
}

fn is_in(address: Ipv6Addr, (first, prefix): Block6) -> bool {
    (u128::from(address) ^ u128::from(first)) >> (128 - prefix) == 0
}

/// The IPv4 address inside an IPv4-mapped (`::ffff:0:0/96`, RFC 4291), NAT64 (`64:ff9b::/96`, RFC 6052) or 6to4 (`2002::/16`, RFC 3056) address.
/// IPv4-compatible ones (`::/96`) are deprecated and never public.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let from = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0xffff) | (0x64, 0xff9b, 0, 0, 0, 0) => Some(from(g, h)),
        (0x2002, ..) => Some(from(b, c)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PUBLIC: [&str; 18] = [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "172.15.255.255",
        "172.32.0.0",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2606:4700:4700::1111",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
    ];

    const NOT_PUBLIC: [&str; 57] = [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.0.1",
        "169.254.169.254",
        "169.254.170.2",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.0.170",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "192.168.255.255",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::2",
        "::127.0.0.1",
        "::10.0.0.1",
        "::8.8.8.8",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:0:127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::8.8.8.8",
        "100::1",
        "2001::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "2002:c0a8:1::1",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ];

    #[test]
    fn public_addresses_are_public() {
        for text in PUBLIC {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn private_local_reserved_and_disguised_addresses_are_not() {
        for text in NOT_PUBLIC {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }

    proptest! {
        /// The standard library knows some of the ranges by its own means.
        #[test]
        fn what_the_standard_library_calls_special_is_not_public(bits in any::<u32>()) {
            let address = Ipv4Addr::from(bits);
            let special = address.is_private() || address.is_loopback() || address.is_link_local() || address.is_broadcast()
                || address.is_documentation() || address.is_unspecified() || address.is_multicast();
            prop_assert!(!(special && is_public(address.into())), "{address}");
        }

        #[test]
        fn a_disguise_changes_nothing(bits in any::<u32>()) {
            let address = Ipv4Addr::from(bits);
            let (high, low) = ((bits >> 16) as u16, bits as u16);
            let disguised = [
                address.to_ipv6_mapped(),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            ];
            for disguise in disguised {
                prop_assert_eq!(is_public(disguise.into()), is_public(address.into()), "{}", disguise);
            }
        }

        #[test]
        fn no_local_address_of_ipv6_is_public(rest in any::<u128>(), block in 0usize..4) {
            let (first, prefix) = [v6(0xfc00, 0, 0, 7), v6(0xfe80, 0, 0, 10), v6(0xfec0, 0, 0, 10), v6(0xff00, 0, 0, 8)][block];
            let address = Ipv6Addr::from(u128::from(first) | (rest >> prefix));
            prop_assert!(!is_public(address.into()), "{address}");
        }
    }
}
