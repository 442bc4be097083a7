//! Sending requests, and following where they are sent on to.
//!
//! - *One client for one place.* Its resolver is the guard's, so that each connection,
//!   also a later one, goes to addresses that were looked at.
//! - *Redirects are followed by hand*: each begins at the guard, to at most five
//!   places, never from https to http, and on another origin nothing of the request is
//!   left but what it accepts. What changes something is not sent on to another origin.
//! - No cookies are kept, no proxy of the environment is used, no referer is sent.
//! - A proxy is for what is public. What was granted lies near, and is reached directly.
//! - An answer is taken in up to a limit, and not a byte more: whole ([`Web::fetch`]), or
//!   as far as it goes ([`Answer::part`]).

mod part;

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::Mutex;
use std::time::Duration;

use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
use reqwest::{Client, Method, StatusCode, Url};

use crate::guard::{Guard, Place, Refused};
pub use part::{Answer, End, Part, Step};

/// To how many places a request is sent on.
pub const HOPS: usize = 5;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);

/// How many clients are kept.
const CLIENTS: usize = 64;

/// Sends requests to places that may be reached.
pub struct Web {
    guard: Guard,
    agent: String,
    proxy: Option<Url>,
    clients: Mutex<HashMap<(String, Place), Client>>,
}

/// A request.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// GET, POST.
    pub method: Method,
    /// Where.
    pub url: Url,
    /// What is said beside the body.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// The most bytes of an answer that are taken.
    pub max_bytes: u64,
}

impl Outgoing {
    /// A plain question.
    pub fn get(url: Url, max_bytes: u64) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: Vec::new(),
            body: None,
            max_bytes,
        }
    }
}

/// An answer, whole.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Vec<u8>,
    /// Where it came from in the end.
    pub url: Url,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// The guard said no.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// Sent on too often.
    #[error("it is sent on more than {HOPS} times")]
    TooManyRedirects,
    /// Sent on to where it must not go.
    #[error("it is sent on to `{to}`, {why}")]
    Redirect {
        /// Where to.
        to: String,
        /// Why not.
        why: &'static str,
    },
    /// Longer than it may be.
    #[error("the answer has more than {0} bytes")]
    TooLong(u64),
    /// No connection; nothing was sent.
    #[error("`{host}` cannot be reached: {problem}")]
    Unreachable {
        /// The host.
        host: String,
        /// What went wrong.
        problem: String,
    },
    /// It broke while it was sent or answered.
    #[error("the connection to `{host}` broke: {problem}")]
    Broken {
        /// The host.
        host: String,
        /// What went wrong.
        problem: String,
    },
}

impl Web {
    /// Sends requests to where that guard lets them.
    pub fn new(guard: Guard) -> Self {
        Self {
            guard,
            agent: concat!("helve/", env!("CARGO_PKG_VERSION")).to_owned(),
            proxy: None,
            clients: Mutex::default(),
        }
    }

    /// The same, under another name.
    #[must_use]
    pub fn with_agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = agent.into();
        self
    }

    /// The same, through a proxy, for what was not granted.
    ///
    /// Addresses and names are looked at here as without one. Only a name that this machine
    /// cannot look up is left to the proxy, if it can be a public one at all.
    #[must_use]
    pub fn with_proxy(mut self, proxy: Url) -> Self {
        self.proxy = Some(proxy);
        self
    }

    /// Who decides where requests may go.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Sends a request, follows where it is sent on to, takes in the answer.
    pub async fn fetch(&self, mut outgoing: Outgoing) -> Result<Fetched, WebError> {
        for _ in 0..=HOPS {
            match self.step(&outgoing).await? {
                Step::Answer(answer) => return answer.whole(outgoing.max_bytes).await,
                Step::SentOn(next) => outgoing = next,
            }
        }
        Err(WebError::TooManyRedirects)
    }

    /// Sends a request once. Whoever follows by hand stops after [`HOPS`].
    pub async fn step(&self, outgoing: &Outgoing) -> Result<Step, WebError> {
        let answer = self.send(outgoing).await?;
        Ok(match next(outgoing, answer.status(), answer.headers())? {
            Some(next) => Step::SentOn(next),
            None => Step::Answer(Answer::new(answer, outgoing.url.clone())),
        })
    }

    async fn send(&self, outgoing: &Outgoing) -> Result<reqwest::Response, WebError> {
        let place = self.guard.place(&outgoing.url)?;
        let proxy = self
            .proxy
            .as_ref()
            .filter(|_| !self.guard.is_granted(&place));
        // Refused here, a name says why; the connection looks once more.
        match self.guard.addresses(&place).await {
            Err(Refused::Lookup { .. } | Refused::NoAddress(_))
                if proxy.is_some() && may_be_public(&place.host) => {}
            found => drop(found?),
        }
        let client = self.client(outgoing.url.scheme(), &place, proxy)?;
        let mut request = client.request(outgoing.method.clone(), outgoing.url.clone());
        for (name, value) in &outgoing.headers {
            request = request.header(name, value);
        }
        // What is packed can unpack to any length.
        request = request.header(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(body) = &outgoing.body {
            request = request.body(body.clone());
        }
        let answer = request.send().await.map_err(|e| failed(&place, &e))?;
        if let Some(address) = answer.remote_addr().filter(|_| proxy.is_none()) {
            self.guard.check(&place, address.ip())?;
        }
        Ok(answer)
    }

    fn client(&self, scheme: &str, place: &Place, proxy: Option<&Url>) -> Result<Client, WebError> {
        let key = (scheme.to_owned(), place.clone());
        let mut clients = self
            .clients
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let builder = match proxy {
            // The only name that is looked up for it is the proxy's own.
            Some(proxy) => {
                let proxy = reqwest::Proxy::all(proxy.clone());
                Client::builder().proxy(proxy.map_err(|e| failed(place, &e))?)
            }
            None => Client::builder()
                .no_proxy()
                .dns_resolver(self.guard.pinned(place.clone())),
        };
        let client = builder
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(CONNECT)
            .user_agent(&self.agent)
            .build()
            .map_err(|e| failed(place, &e))?;
        if clients.len() >= CLIENTS {
            clients.clear();
        }
        clients.insert(key, client.clone());
        Ok(client)
    }
}

impl std::fmt::Debug for Web {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Web")
            .field("guard", &self.guard)
            .finish_non_exhaustive()
    }
}

/// The request that an answer asks for instead, if it does.
fn next(
    sent: &Outgoing,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Option<Outgoing>, WebError> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = headers.get(LOCATION) else {
        return Ok(None);
    };
    let shown = String::from_utf8_lossy(location.as_bytes()).into_owned();
    let refused = |why| WebError::Redirect {
        to: shown.chars().take(200).collect(),
        why,
    };
    let mut url = sent
        .url
        .join(&shown)
        .map_err(|_| refused("which is no address"))?;
    url.set_fragment(None);
    if sent.url.scheme() == "https" && url.scheme() == "http" {
        return Err(refused("from https to http"));
    }
    let same = url.origin() == sent.url.origin();
    let reads = matches!(sent.method, Method::GET | Method::HEAD | Method::OPTIONS);
    let mut next = sent.clone();
    // The answer to a form is a page to be looked at.
    if status == StatusCode::SEE_OTHER && sent.method != Method::HEAD
        || matches!(status.as_u16(), 301 | 302) && sent.method == Method::POST
    {
        next.method = Method::GET;
        next.body = None;
        next.headers.retain(|(name, _)| name != CONTENT_TYPE);
    } else if !reads && !same {
        return Err(refused("another origin, with what it was to change"));
    }
    if !same {
        // Secrets, cookies and arguments are for whom they were given.
        next.headers.retain(|(name, _)| name == ACCEPT);
        next.body = None;
    }
    next.url = url;
    Ok(Some(next))
}

/// Whether a name can stand for a host of the web: it has a dot, and no ending that is kept
/// for what is near.
fn may_be_public(host: &str) -> bool {
    const NEAR: [&str; 7] = [
        "localhost",
        "local",
        "internal",
        "intranet",
        "lan",
        "home",
        "arpa",
    ];
    let last = host.rsplit('.').next().unwrap_or_default();
    host.contains('.') && !NEAR.contains(&last)
}

fn failed(place: &Place, error: &reqwest::Error) -> WebError {
    // The guard's own word, from inside the connection.
    let mut source = error.source();
    while let Some(inner) = source {
        if let Some(refused) = inner.downcast_ref::<Refused>() {
            return WebError::Refused(refused.clone());
        }
        source = inner.source();
    }
    let (host, problem) = (place.host.clone(), cause(error));
    match error.is_connect() || error.is_builder() {
        true => WebError::Unreachable { host, problem },
        false => WebError::Broken { host, problem },
    }
}

/// The innermost reason: the outer ones repeat the address, which may hold a secret.
fn cause(error: &reqwest::Error) -> String {
    let mut source = error.source();
    let mut text = "no reason is given".to_owned();
    while let Some(inner) = source {
        text = inner.to_string();
        source = inner.source();
    }
    text
}

#[cfg(test)]
mod tests;
