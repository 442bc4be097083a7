//! Sending requests, and following where they are sent on to.
//!
//! - *One client for one place.* Its resolver is the guard's, so that each connection,
//!   also a later one, goes to addresses that were looked at.
//! - *Redirects are followed by hand*: each begins at the guard, to at most five
//!   places, never from https to http, and on another origin nothing of the request is
//!   left but what it accepts. What changes something is not sent on to another origin.
//! - No cookies are kept, no proxy of the environment is used, no referer is sent.
//! - An answer is taken in up to a limit, and not a byte more.

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::Mutex;
use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
use reqwest::{Client, Method, StatusCode, Url};

use crate::guard::{Guard, Place, Refused};

/// To how many places a request is sent on.
pub(crate) const HOPS: usize = 5;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);

/// How many clients are kept.
const CLIENTS: usize = 64;

/// Sends requests to places that may be reached.
pub struct Web {
    guard: Guard,
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
            clients: Mutex::default(),
        }
    }

    /// Who decides where requests may go.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Sends a request, follows where it is sent on to, takes in the answer.
    pub async fn fetch(&self, mut outgoing: Outgoing) -> Result<Fetched, WebError> {
        for _ in 0..=HOPS {
            let answer = self.send(&outgoing).await?;
            let Some(next) = next(&outgoing, answer.status(), answer.headers())? else {
                return take_in(answer, outgoing.url, outgoing.max_bytes).await;
            };
            outgoing = next;
        }
        Err(WebError::TooManyRedirects)
    }

    async fn send(&self, outgoing: &Outgoing) -> Result<reqwest::Response, WebError> {
        let place = self.guard.place(&outgoing.url)?;
        // Refused here, a name says why; the connection looks once more.
        self.guard.addresses(&place).await?;
        let client = self.client(outgoing.url.scheme(), &place)?;
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
        if let Some(address) = answer.remote_addr() {
            self.guard.check(&place, address.ip())?;
        }
        Ok(answer)
    }

    fn client(&self, scheme: &str, place: &Place) -> Result<Client, WebError> {
        let key = (scheme.to_owned(), place.clone());
        let mut clients = self
            .clients
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let client = Client::builder()
            .dns_resolver(self.guard.pinned(place.clone()))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .referer(false)
            .connect_timeout(CONNECT)
            .user_agent(concat!("helve/", env!("CARGO_PKG_VERSION")))
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

async fn take_in(answer: reqwest::Response, url: Url, most: u64) -> Result<Fetched, WebError> {
    let (status, headers) = (answer.status(), answer.headers().clone());
    let host = url.host_str().unwrap_or_default().to_owned();
    // What it says of itself is a reason to stop, never one to trust.
    if answer.content_length().is_some_and(|length| length > most) {
        return Err(WebError::TooLong(most));
    }
    let mut body = Vec::new();
    let mut pieces = answer.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|e| WebError::Broken {
            host: host.clone(),
            problem: cause(&e),
        })?;
        if (body.len() + piece.len()) as u64 > most {
            return Err(WebError::TooLong(most));
        }
        body.extend_from_slice(&piece);
    }
    Ok(Fetched {
        status,
        headers,
        body,
        url,
    })
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
