//! Where a server may be: anywhere but where only machines talk to themselves.
//!
//! An address that the operator wrote is theirs to choose, private networks and this
//! machine included. Link-local addresses (where clouds hand out credentials) are never a
//! server, whichever way a name came to point there; every connection looks again.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use tower::{BoxError, Service};
use url::Url;

/// Whether nothing there can be a server.
pub(crate) fn is_forbidden(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => forbidden_v4(ip),
        IpAddr::V6(ip) => match embedded(ip) {
            Some(ip) => forbidden_v4(ip),
            None => {
                ip.is_unspecified() || ip.is_multicast() || (ip.segments()[0] & 0xffc0) == 0xfe80
                    // Where a cloud has its metadata in IPv6.
                    || ip == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)
            }
        },
    }
}

fn forbidden_v4(ip: Ipv4Addr) -> bool {
    ip.is_link_local() || ip.is_unspecified() || ip.is_multicast() || ip.is_broadcast()
}

/// The IPv4 address inside an IPv6 one: mapped, compatible, NAT64, 6to4.
fn embedded(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = ip.segments();
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match s {
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(v4(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(v4(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(v4(high, low)),
        [0x2002, high, low, ..] => Some(v4(high, low)),
        _ => None,
    }
}

/// Refuses an address that is written as a number.
pub(crate) fn check(url: &Url) -> Result<(), String> {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(ip) if is_forbidden(ip) => Err(format!("`{host}` is no address of a server")),
        _ => Ok(()),
    }
}

/// Looks up names, and gives only addresses that may be.
#[derive(Debug, Clone, Default)]
pub(crate) struct Careful;

impl Service<Name> for Careful {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(async move {
            let host = name.as_str();
            let found = tokio::net::lookup_host((host, 0)).await?;
            let (bad, good): (Vec<SocketAddr>, Vec<SocketAddr>) =
                found.partition(|address| is_forbidden(address.ip()));
            if good.is_empty() && !bad.is_empty() {
                return Err(format!(
                    "`{host}` points to {}, which is no address of a server",
                    bad[0].ip()
                )
                .into());
            }
            Ok(good.into_iter())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Url, check, is_forbidden};

    #[test]
    fn link_local_in_every_dress() {
        for (ip, bad) in [
            ("169.254.169.254", true),
            ("::ffff:169.254.169.254", true),
            ("::169.254.169.254", true),
            ("64:ff9b::a9fe:a9fe", true),
            ("2002:a9fe:a9fe::1", true),
            ("fe80::1", true),
            ("febf::1", true),
            ("fd00:ec2::254", true),
            ("0.0.0.0", true),
            ("::", true),
            ("224.0.0.1", true),
            ("127.0.0.1", false),
            ("::1", false),
            ("10.0.0.1", false),
            ("fd12::1", false),
            ("93.184.216.34", false),
        ] {
            assert_eq!(is_forbidden(ip.parse().unwrap()), bad, "{ip}");
        }
    }

    #[test]
    fn however_it_is_written() {
        for (url, bad) in [
            ("http://169.254.169.254/x", true),
            ("http://2852039166/", true),
            ("http://0xa9fea9fe/", true),
            ("http://[::ffff:a9fe:a9fe]/", true),
            ("http://localhost/", false),
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!(check(&url).is_err(), bad, "{url}");
        }
    }
}
