//! A list of hosts: `api.example.com`, `*.example.com` for all beneath it, with a port where
//! it is not the usual one.

use super::Place;
use super::grant::plain;

/// The hosts that may be reached. An empty list is none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hosts(Vec<Host>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Host {
    name: String,
    /// All beneath the name, and not the name itself.
    beneath: bool,
    port: Option<u16>,
}

/// Why a text is no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no host; write it like `api.example.com`, `*.example.com` or `127.0.0.1:8080`")]
pub struct HostsError(String);

impl Hosts {
    /// Reads them as they are written in a configuration.
    pub fn parse<T: AsRef<str>>(hosts: &[T]) -> Result<Self, HostsError> {
        let read = hosts.iter().map(|text| {
            let text = text.as_ref().trim();
            host(text).ok_or_else(|| HostsError(text.to_owned()))
        });
        read.collect::<Result<_, _>>().map(Self)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a place is one of them. Without a port, only the usual ones are meant.
    pub fn hold(&self, place: &Place) -> bool {
        self.0.iter().any(|host| {
            let named = match host.beneath {
                true => place
                    .host
                    .strip_suffix(&host.name)
                    .is_some_and(|rest| rest.ends_with('.')),
                false => place.host == host.name,
            };
            let port = match host.port {
                Some(port) => place.port == port,
                None => matches!(place.port, 80 | 443),
            };
            named && port
        })
    }
}

fn host(text: &str) -> Option<Host> {
    let (beneath, rest) = match text.strip_prefix("*.") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    // An IPv6 address stands in brackets, as it does in an address of the web.
    let end = rest.rfind(']').map_or(0, |at| at + 1);
    let (name, port) = match rest[end..].split_once(':') {
        Some((before, port)) => {
            let port = port.parse().ok().filter(|port| *port != 0)?;
            (&rest[..end + before.len()], Some(port))
        }
        None => (rest, None),
    };
    let bad = |c: char| c.is_whitespace() || "/*@?#".contains(c);
    if name.is_empty() || name.contains(bad) || (beneath && !name.contains('.')) {
        return None;
    }
    Some(Host {
        name: plain(name),
        beneath,
        port,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_holds_what_it_names_and_nothing_beside() {
        let hosts = [
            "api.example.com",
            "*.Example.org",
            "127.0.0.1:8080",
            "[::1]:9",
            "x.test:1",
        ];
        let hosts = Hosts::parse(&hosts).unwrap();
        for (host, port, held) in [
            ("api.example.com", 443, true),
            ("api.example.com", 80, true),
            ("api.example.com", 8443, false),
            ("evil.api.example.com", 443, false),
            ("example.com", 443, false),
            ("a.example.org", 443, true),
            ("a.b.example.org", 443, true),
            ("example.org", 443, false),
            ("evilexample.org", 443, false),
            ("127.0.0.1", 8080, true),
            ("127.0.0.1", 80, false),
            ("[::1]", 9, true),
            ("x.test", 1, true),
            ("x.test", 443, false),
        ] {
            let place = Place {
                host: host.to_owned(),
                port,
                literal: None,
            };
            assert_eq!(hosts.hold(&place), held, "{host}:{port}");
        }
        assert!(!Hosts::default().hold(&Place {
            host: "a.example".to_owned(),
            port: 443,
            literal: None
        }));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in [
            "",
            "*",
            "*.com",
            "https://a.example",
            "a b",
            "a:0",
            "a:x",
            "user@a",
            "a/*",
        ] {
            assert!(Hosts::parse(&[text]).is_err(), "{text}");
        }
    }
}
