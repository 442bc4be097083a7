//! An answer whose body has not come yet: taken in whole, or as far as it goes.

use futures_util::StreamExt as _;
use reqwest::header::HeaderMap;
use reqwest::{StatusCode, Url};
use tokio::time::{Instant, timeout_at};

use super::{Fetched, Outgoing, WebError, cause};

/// What came of sending a request once.
#[derive(Debug)]
pub enum Step {
    /// An answer, whose body is still to come.
    Answer(Answer),
    /// The request that is asked for instead.
    SentOn(Outgoing),
}

/// The head of an answer.
#[derive(Debug)]
pub struct Answer {
    response: reqwest::Response,
    url: Url,
}

/// As much of an answer as was taken.
#[derive(Debug, Clone)]
pub struct Part {
    /// The answer, with what came of its body.
    pub fetched: Fetched,
    /// Why nothing more was taken.
    pub end: End,
}

/// Why a body ended where it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// That was all.
    Whole,
    /// There is more of it.
    Bytes,
    /// It took too long.
    Time,
    /// The connection broke.
    Broken,
}

impl Answer {
    pub(super) fn new(response: reqwest::Response, url: Url) -> Self {
        Self { response, url }
    }

    /// Its status.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// Its headers.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The whole of it, or an error if it is longer than that.
    pub(super) async fn whole(self, most: u64) -> Result<Fetched, WebError> {
        // What it says of itself is a reason to stop, never one to trust.
        let length = self.response.content_length();
        if length.is_some_and(|length| length > most) {
            return Err(WebError::TooLong(most));
        }
        let (mut fetched, response, host) = self.apart();
        let mut pieces = response.bytes_stream();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|e| WebError::Broken {
                host: host.clone(),
                problem: cause(&e),
            })?;
            if (fetched.body.len() + piece.len()) as u64 > most {
                return Err(WebError::TooLong(most));
            }
            fetched.body.extend_from_slice(&piece);
        }
        Ok(fetched)
    }

    /// Its first bytes, up to so many and until then; the connection is closed where it ends.
    pub async fn part(self, most: u64, until: Instant) -> Part {
        let (mut fetched, response, _) = self.apart();
        let mut pieces = response.bytes_stream();
        let end = loop {
            let room = most.saturating_sub(fetched.body.len() as u64);
            let piece = match timeout_at(until, pieces.next()).await {
                Err(_) => break End::Time,
                Ok(None) => break End::Whole,
                Ok(Some(Err(_))) => break End::Broken,
                Ok(Some(Ok(piece))) => piece,
            };
            if piece.len() as u64 > room {
                let room = usize::try_from(room).unwrap_or(piece.len());
                fetched.body.extend_from_slice(&piece[..room]);
                break End::Bytes;
            }
            fetched.body.extend_from_slice(&piece);
        };
        Part { fetched, end }
    }

    fn apart(self) -> (Fetched, reqwest::Response, String) {
        let fetched = Fetched {
            status: self.response.status(),
            headers: self.response.headers().clone(),
            body: Vec::new(),
            url: self.url.clone(),
        };
        let host = self.url.host_str().unwrap_or_default().to_owned();
        (fetched, self.response, host)
    }
}
