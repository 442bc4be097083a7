//! A connection to a server, below the meaning of what is said on it.
//!
//! Messages are JSON objects and stay as they came: every key, in its order. A link knows
//! how they travel, how large they may be, and which request a message came back with;
//! what they mean is [`super::peer`]'s business.

pub(crate) mod address;
pub(crate) mod events;
pub(crate) mod headers;
pub(crate) mod http;
pub(crate) mod sse;
pub(crate) mod stdio;
pub(crate) mod tail;
pub(crate) mod wire;

use std::pin::Pin;

use async_trait::async_trait;
use serde_json::{Map, Value};

/// A JSON-RPC message.
pub(crate) type Message = Map<String, Value>;

/// Whether what was sent has reached the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    /// Surely not.
    No,
    /// Perhaps.
    Maybe,
}

/// Why there will be no answer.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{why}")]
pub(crate) struct Broken {
    pub(crate) why: String,
    pub(crate) reached: Reached,
    /// What the server said when it wanted a login.
    pub(crate) challenge: Option<String>,
    /// The server has forgotten the connection: only a new one helps.
    pub(crate) lost: bool,
}

impl Broken {
    pub(crate) fn new(why: impl Into<String>, reached: Reached) -> Self {
        Self {
            why: why.into(),
            reached,
            challenge: None,
            lost: false,
        }
    }
}

/// With what a message came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// On the one stream that there is: with anything.
    Shared,
    /// On the answer to this request.
    Request(u64),
    /// On a stream that belongs to no request.
    Apart,
}

/// Whoever hears what comes.
pub(crate) trait Ear: Send + Sync {
    /// A message came.
    fn heard(&self, message: Message, origin: Origin);
    /// This request will not be answered.
    fn failed(&self, id: u64, broken: Broken);
    /// Nothing comes any more.
    fn closed(&self, broken: Broken);
}

/// What is left to do for a request. Whoever waits for its answer does it, in the same task;
/// to drop it is to hang up.
pub(crate) type Carrying = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The way to a server.
#[async_trait]
pub(crate) trait Link: Send + Sync {
    /// Sends a message. That it is `Ok` says that it is on its way.
    async fn send(&self, message: Message) -> Result<(), Broken>;

    /// Sends a request, as far as that needs nobody to wait for it.
    async fn request(&self, id: u64, message: Message) -> Result<Option<Carrying>, Broken> {
        let _ = id;
        self.send(message).await.map(|()| None)
    }

    /// Both sides know now how to speak with each other.
    fn agreed(&self, protocol: &str, era: super::Era) {
        let _ = (protocol, era);
    }

    /// The tools of the server: some have arguments that travel as headers.
    fn tools(&self, tools: &[Value]) {
        let _ = tools;
    }

    /// Ends it, and whatever was started for it, in a bounded time.
    async fn close(&self);
}

/// Reads what came as one message, or several of them.
pub(crate) fn messages(bytes: &[u8]) -> Result<Vec<Message>, String> {
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(message)) => Ok(vec![message]),
        // Batches were in one revision of the protocol.
        Ok(Value::Array(list)) => list
            .into_iter()
            .map(|item| match item {
                Value::Object(message) => Ok(message),
                _ => Err("a message that is no object".to_owned()),
            })
            .collect(),
        Ok(_) => Err("a message that is no object".to_owned()),
        Err(e) => Err(format!("it is not JSON: {e}")),
    }
}

/// `32 MiB`, for people.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{} MiB", bytes / 1_048_576),
    }
}

pub(crate) fn too_large(limit: usize) -> Broken {
    let why = format!(
        "it answered with more than the {} that a message may have; the connection was closed",
        size(limit)
    );
    Broken::new(why, Reached::Maybe)
}
