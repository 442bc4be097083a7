//! Which addresses may be reached.
//!
//! A tool or a page can name any host, and a host can stand for any address: the
//! machine itself, its neighbours, the service of a cloud that hands out keys. So:
//!
//! - *Only `http` and `https`*, without a user or a password in the address.
//! - *Every address of a name is looked at.* One that is not public refuses the name.
//! - *What was looked at is what is connected to*: the resolver of the connection is
//!   the guard's own ([`Guard::pinned`]), so that asking again cannot slip past it.
//! - *Redirects begin from the start* ([`crate::Web`]).
//!
//! What is refused can be granted, by address or by name, and exactly for a port where
//! one is given ([`Grant`]).

mod address;
mod grant;
mod hosts;
mod pinned;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::Url;
use url::Host;

pub use address::{Range, range};
pub use grant::{Grant, GrantError};
pub use hosts::{Hosts, HostsError};
pub use pinned::Pinned;

/// Decides which addresses may be reached.
#[derive(Clone)]
pub struct Guard {
    grants: Arc<[Grant]>,
    lookup: Arc<dyn Lookup>,
    /// The only hosts that are reached, where there is such a list.
    only: Option<Arc<Hosts>>,
}

/// Finds the addresses of a name.
#[async_trait]
pub trait Lookup: Send + Sync {
    /// All addresses of that name.
    async fn lookup(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// Asks the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

#[async_trait]
impl Lookup for SystemLookup {
    async fn lookup(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((host, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// Where a request may go: a host that was looked at, and its port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// The name or address, in its one spelling.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The address, where it is written as one.
    pub literal: Option<IpAddr>,
}

/// Why an address may not be reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is no address of the web.
    #[error("`{0}` is not an address that can be read")]
    Unreadable(String),
    /// Another protocol.
    #[error("`{0}:` addresses are not reached, only http and https")]
    Scheme(String),
    /// A user or a password stands in it.
    #[error("the address has a user or a password in it")]
    Credentials,
    /// A host that is not on the list of those that are reached.
    #[error("`{0}` is not among the hosts that may be reached")]
    Unlisted(String),
    /// Port 0, or none.
    #[error("the address has no usable port")]
    Port,
    /// An address that is not public, without a grant.
    #[error("`{host}` is not reached: {}", told(*.address, .host, *.range))]
    Range {
        /// The host that was asked for.
        host: String,
        /// The address that it stands for.
        address: IpAddr,
        /// The port.
        port: u16,
        /// What the address is.
        range: Range,
    },
    /// The name stands for nothing.
    #[error("the name `{0}` has no address")]
    NoAddress(String),
    /// The name cannot be looked up.
    #[error("the name `{host}` cannot be looked up: {problem}")]
    Lookup {
        /// The name.
        host: String,
        /// What the system says.
        problem: String,
    },
}

fn told(address: IpAddr, host: &str, range: Range) -> String {
    let says = range.says();
    match host.trim_matches(['[', ']']) == address.to_string() {
        true => format!("it is {says}"),
        false => format!("it stands for {address}, {says}"),
    }
}

impl Refused {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Refused::Range { address, port, .. } => {
                let address = SocketAddr::new(*address, *port);
                Some(format!(
                    "an operator can grant it in `helve.toml`: `[network]` `allow = [\"{address}\"]`"
                ))
            }
            Refused::Unlisted(host) => Some(format!(
                "an operator can grant it in `helve.toml`: `[toolsets]` `hosts = [\"{host}\"]`"
            )),
            Refused::Credentials => {
                Some("name a secret in `auth` of the executor instead".to_owned())
            }
            Refused::Scheme(_) | Refused::Unreadable(_) | Refused::Port => {
                Some("write it like `https://api.example.com/v1`".to_owned())
            }
            Refused::NoAddress(_) | Refused::Lookup { .. } => {
                Some("is the name right, and is there a network?".to_owned())
            }
        }
    }

    /// Whether the same request may succeed later.
    pub fn is_passing(&self) -> bool {
        matches!(self, Refused::Lookup { .. })
    }
}

impl Guard {
    /// A guard with these grants, which asks the system for addresses.
    pub fn new(grants: impl IntoIterator<Item = Grant>) -> Self {
        Self {
            grants: grants.into_iter().collect(),
            lookup: Arc::new(SystemLookup),
            only: None,
        }
    }

    /// The same, with grants as they are written in a configuration.
    pub fn parse<T: AsRef<str>>(grants: &[T]) -> Result<Self, GrantError> {
        let grants = grants.iter().map(|text| text.as_ref().parse());
        Ok(Self::new(grants.collect::<Result<Vec<Grant>, _>>()?))
    }

    /// The same, asking somebody else for addresses.
    #[must_use]
    pub fn with_lookup(mut self, lookup: Arc<dyn Lookup>) -> Self {
        self.lookup = lookup;
        self
    }

    /// The same, for these hosts and no other.
    #[must_use]
    pub fn only(mut self, hosts: Hosts) -> Self {
        self.only = Some(Arc::new(hosts));
        self
    }

    /// Looks at an address as it is written. A name still has to be looked up: that is
    /// done by [`Guard::addresses`], and again by whatever connects.
    pub fn place(&self, url: &Url) -> Result<Place, Refused> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refused::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::Credentials);
        }
        let port = url.port_or_known_default().filter(|port| *port != 0);
        let port = port.ok_or(Refused::Port)?;
        // Decimal, octal, hexadecimal and short spellings are addresses by now.
        let (host, literal) = match url.host() {
            Some(Host::Ipv4(ip)) => (ip.to_string(), Some(IpAddr::V4(ip))),
            Some(Host::Ipv6(ip)) => (format!("[{ip}]"), Some(IpAddr::V6(ip))),
            Some(Host::Domain(name)) => (grant::plain(name), None),
            None => return Err(Refused::Unreadable(url.to_string())),
        };
        if host.is_empty() {
            return Err(Refused::Unreadable(url.to_string()));
        }
        let place = Place {
            host,
            port,
            literal,
        };
        if self.only.as_ref().is_some_and(|hosts| !hosts.hold(&place)) {
            return Err(Refused::Unlisted(place.host));
        }
        if let Some(ip) = literal {
            self.check(&place, ip)?;
        }
        Ok(place)
    }

    /// The addresses of a place, each of them looked at. One that may not be reached
    /// refuses them all: who can answer with one, can answer with it alone next time.
    pub async fn addresses(&self, place: &Place) -> Result<Vec<SocketAddr>, Refused> {
        let found = match place.literal {
            Some(ip) => vec![ip],
            None => {
                let found = self.lookup.lookup(&place.host).await;
                found.map_err(|e| Refused::Lookup {
                    host: place.host.clone(),
                    problem: e.to_string(),
                })?
            }
        };
        if found.is_empty() {
            return Err(Refused::NoAddress(place.host.clone()));
        }
        for ip in &found {
            self.check(place, *ip)?;
        }
        let port = place.port;
        Ok(found
            .into_iter()
            .map(|ip| SocketAddr::new(ip, port))
            .collect())
    }

    /// Whether that address may be reached for that place.
    pub fn check(&self, place: &Place, ip: IpAddr) -> Result<(), Refused> {
        let Some(range) = range(ip) else {
            return Ok(());
        };
        let refused = || Refused::Range {
            host: place.host.clone(),
            address: ip,
            port: place.port,
            range,
        };
        if self.grants.iter().any(|g| g.is_for(ip, place.port)) {
            // An address inside an address is reached in the end.
            return match address::inner(ip) {
                Some(inner) if !self.names(ip, place.port) => self.check(place, inner),
                _ => Ok(()),
            };
        }
        let named = place.literal.is_none() && range.opens_by_name();
        match named
            && self
                .grants
                .iter()
                .any(|g| g.is_host(&place.host, place.port))
        {
            true => Ok(()),
            false => Err(refused()),
        }
    }

    /// Whether a place was granted by whoever runs this, by name or by address.
    pub fn is_granted(&self, place: &Place) -> bool {
        let by_address = |g: &Grant| place.literal.is_some_and(|ip| g.is_for(ip, place.port));
        let mut grants = self.grants.iter();
        grants.any(|g| by_address(g) || g.is_host(&place.host, place.port))
    }

    /// A resolver for connections to one place, which looks at each address again.
    pub fn pinned(&self, place: Place) -> Pinned {
        Pinned::new(self.clone(), place)
    }

    fn names(&self, ip: IpAddr, port: u16) -> bool {
        self.grants.iter().any(|g| g.is_exactly(ip, port))
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard")
            .field("grants", &self.grants)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
