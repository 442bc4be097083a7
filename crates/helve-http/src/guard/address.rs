//! What an address is. Whatever is not known to be public is not.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is not public.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Range {
    /// 0.0.0.0/8 and `::`: this machine, for most systems.
    Unspecified,
    /// This machine.
    Loopback,
    /// A private network.
    Private,
    /// Shared by a provider, 100.64.0.0/10.
    Shared,
    /// What is on the same wire.
    LinkLocal,
    /// A service of a cloud that hands out keys.
    Metadata,
    /// Many at once.
    Multicast,
    /// For examples in documents.
    Documentation,
    /// For measuring.
    Benchmark,
    /// An IPv4 address written as an IPv6 one.
    Mapped,
    /// An IPv4 address behind a translator or a tunnel: NAT64, 6to4, Teredo.
    Translated,
    /// Set aside, or for nobody.
    Reserved,
}

impl Range {
    /// What it is, in words.
    pub fn says(self) -> &'static str {
        match self {
            Range::Unspecified => "an unspecified address",
            Range::Loopback => "an address of this machine",
            Range::Private => "a private address",
            Range::Shared => "an address that a provider shares out",
            Range::LinkLocal => "a link-local address",
            Range::Metadata => "the address of a cloud's metadata service",
            Range::Multicast => "a multicast address",
            Range::Documentation => "an address for documents",
            Range::Benchmark => "an address for measurements",
            Range::Mapped => "an IPv4 address written as IPv6",
            Range::Translated => "an IPv4 address behind a translator",
            Range::Reserved => "an address that is set aside",
        }
    }

    /// Whether the grant of a name opens it. Whoever answers for the name must not be
    /// able to point it at a service that hands out keys.
    pub(super) fn opens_by_name(self) -> bool {
        matches!(self, Range::Loopback | Range::Private | Range::Shared)
    }
}

/// Why an address is not public; `None` if it is.
pub fn range(ip: IpAddr) -> Option<Range> {
    match ip {
        IpAddr::V4(ip) => range_v4(ip),
        IpAddr::V6(ip) => range_v6(ip),
    }
}

fn range_v4(ip: Ipv4Addr) -> Option<Range> {
    Some(match ip.octets() {
        [0, ..] => Range::Unspecified,
        [127, ..] => Range::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Range::Private,
        // Alibaba, Oracle and Azure have theirs outside the link-local range.
        [169, 254, 169, 254] | [100, 100, 100, 200] | [192, 0, 0, 192] | [168, 63, 129, 16] => {
            Range::Metadata
        }
        [169, 254, ..] => Range::LinkLocal,
        [100, 64..=127, ..] => Range::Shared,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Range::Documentation,
        [198, 18..=19, ..] => Range::Benchmark,
        [192, 0, 0, _] => Range::Reserved,
        [192, 88, 99, _] => Range::Translated,
        [224..=239, ..] => Range::Multicast,
        [240..=255, ..] => Range::Reserved,
        _ => return None,
    })
}

fn range_v6(ip: Ipv6Addr) -> Option<Range> {
    Some(match ip.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Range::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => Range::Loopback,
        // Mapped, compatible, and translated by SIIT.
        [0, 0, 0, 0, 0 | 0xffff, 0 | 0xffff, ..] => Range::Mapped,
        [0x64, 0xff9b, ..] => Range::Translated,
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254] => {
            Range::Metadata
        }
        [0xfc00..=0xfdff, ..] => Range::Private,
        [0xfe80..=0xfebf, ..] => Range::LinkLocal,
        [0xfec0..=0xfeff, ..] => Range::Private,
        [0xff00..=0xffff, ..] => Range::Multicast,
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Range::Documentation,
        [0x2001, 2, 0, ..] => Range::Benchmark,
        // Teredo and 6to4.
        [0x2001, 0, ..] | [0x2002, ..] => Range::Translated,
        [0x2001, 0..=0x1ff, ..] => Range::Reserved,
        // All that is given out today.
        [0x2000..=0x3fff, ..] => return None,
        _ => Range::Reserved,
    })
}

/// The IPv4 address that an IPv6 one leads to.
pub(super) fn inner(ip: IpAddr) -> Option<IpAddr> {
    let IpAddr::V6(ip) = ip else { return None };
    let from = |a: u16, b: u16| {
        let ([a, b], [c, d]) = (a.to_be_bytes(), b.to_be_bytes());
        Some(IpAddr::V4(Ipv4Addr::new(a, b, c, d)))
    };
    match ip.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0 | 0xffff, 0 | 0xffff, a, b] => from(a, b),
        [0x64, 0xff9b, .., a, b] => from(a, b),
        [0x2002, a, b, ..] => from(a, b),
        // Teredo writes the client's address with every bit turned.
        [0x2001, 0, .., a, b] => from(!a, !b),
        _ => None,
    }
}
