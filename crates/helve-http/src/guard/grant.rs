//! What may be reached although it is not public, as a configuration writes it.
//!
//! `127.0.0.1:8080`, `[::1]:8080`, `10.0.0.0/8`, `10.0.0.0/8:443`, `[fd00::/8]:443`,
//! `internal.example`, `internal.example:8443`. Without a port it is for every port.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use url::Host;

/// One grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    what: What,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Host(String),
    Net { ip: IpAddr, bits: u8 },
}

/// Why a text is no grant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no grant: {problem}; write a name, an address or a range, with or without a port: \
     `internal.example`, `127.0.0.1:8080`, `10.0.0.0/8`"
)]
pub struct GrantError {
    text: String,
    problem: &'static str,
}

impl FromStr for Grant {
    type Err = GrantError;

    fn from_str(text: &str) -> Result<Self, GrantError> {
        let wrong = |problem| GrantError {
            text: text.to_owned(),
            problem,
        };
        let (what, port) = split(text.trim()).map_err(wrong)?;
        let port = match port {
            None => None,
            Some(digits) => {
                let port = digits.parse().ok().filter(|port| *port != 0);
                Some(port.ok_or_else(|| wrong("the port is none"))?)
            }
        };
        let what = what_of(what).map_err(wrong)?;
        Ok(Self { what, port })
    }
}

/// What is granted, and the port behind it.
fn split(text: &str) -> Result<(&str, Option<&str>), &'static str> {
    if let Some(rest) = text.strip_prefix('[') {
        let (inside, after) = rest.split_once(']').ok_or("a bracket is not closed")?;
        return match after.strip_prefix(':') {
            Some(port) => Ok((inside, Some(port))),
            None if after.is_empty() => Ok((inside, None)),
            None => Err("something stands behind the bracket"),
        };
    }
    match text.matches(':').count() {
        0 => Ok((text, None)),
        1 => Ok(text
            .split_once(':')
            .map_or((text, None), |(w, p)| (w, Some(p)))),
        // An IPv6 address without brackets has no port.
        _ => Ok((text, None)),
    }
}

fn what_of(text: &str) -> Result<What, &'static str> {
    if let Some((ip, bits)) = text.split_once('/') {
        let ip: IpAddr = ip.parse().map_err(|_| "the range has no address")?;
        let bits = bits.parse::<u8>().ok().filter(|bits| *bits <= width(ip));
        let bits = bits.ok_or("the range has no length")?;
        return match masked(ip, bits) == number(ip) {
            true => Ok(What::Net { ip, bits }),
            false => Err("the address has bits outside the range"),
        };
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        let bits = width(ip);
        return Ok(What::Net { ip, bits });
    }
    if text.contains('*') {
        return Err("names are granted one by one, without `*`");
    }
    match Host::parse(text) {
        // `127.1` or `0x7f000001`: whoever grants an address writes it out.
        Ok(Host::Domain(name)) if !name.is_empty() => Ok(What::Host(plain(&name))),
        Ok(_) => Err("the address is not in its usual spelling"),
        Err(_) => Err("it is neither a name nor an address"),
    }
}

/// A name in its one spelling: small letters, no dot at its end.
pub(super) fn plain(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

fn width(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { 32 } else { 128 }
}

fn number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u128::from(u32::from(ip)) << 96,
        IpAddr::V6(ip) => u128::from(ip),
    }
}

fn masked(ip: IpAddr, bits: u8) -> u128 {
    let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
    number(ip) & mask
}

impl Grant {
    /// Whether it is for that address and port.
    pub(super) fn is_for(&self, address: IpAddr, port: u16) -> bool {
        let What::Net { ip, bits } = self.what else {
            return false;
        };
        self.fits(port)
            && ip.is_ipv4() == address.is_ipv4()
            && masked(address, bits) == masked(ip, bits)
    }

    /// Whether it is for that address alone.
    pub(super) fn is_exactly(&self, address: IpAddr, port: u16) -> bool {
        let alone = |bits| bits == width(address);
        matches!(self.what, What::Net { bits, .. } if alone(bits)) && self.is_for(address, port)
    }

    /// Whether it is for that name, in its one spelling, and port.
    pub(super) fn is_host(&self, host: &str, port: u16) -> bool {
        matches!(&self.what, What::Host(name) if name == host) && self.fits(port)
    }

    fn fits(&self, port: u16) -> bool {
        self.port.is_none_or(|only| only == port)
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match &self.what {
            What::Host(name) => name.clone(),
            What::Net { ip, bits } if *bits == width(*ip) => ip.to_string(),
            What::Net { ip, bits } => format!("{ip}/{bits}"),
        };
        match self.port {
            Some(port) if what.contains("::") => write!(f, "[{what}]:{port}"),
            Some(port) => write!(f, "{what}:{port}"),
            None => f.write_str(&what),
        }
    }
}
