//! The other side of a connection: what is asked of it, and what comes back to whom.
//!
//! Every request has an [`Exchange`], through which all that belongs to it comes in the
//! order in which it came: progress, log messages, questions, the answer. Which request a
//! message belongs to is never guessed. Mostly HTTP says it; on pipes, and on HTTP's stream
//! beside, a question belongs to a caller only if nobody else has a call under way.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Poll;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::handshake::Face;
use super::link::tail::Tail;
use super::link::{Broken, Carrying, Ear, Link, Message, Origin, Reached};

/// How much may wait to be told to one caller. More than that of progress is dropped.
const HEARD: usize = 1024;

/// For whom a request is made.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Whose {
    /// A client, by its session.
    Session(String),
    /// Somebody who cannot be asked anything: each is somebody else.
    Nobody,
    /// The hub itself: nothing that comes meanwhile belongs to it.
    Hub,
}

/// What comes back.
#[derive(Debug)]
pub(crate) enum Heard {
    Told {
        method: String,
        params: Value,
    },
    Asked {
        id: Value,
        method: String,
        params: Value,
    },
    /// A question was taken back.
    Withdrawn {
        id: Value,
    },
    Answer(Result<Message, Message>),
    Broken(Broken),
}

struct Open {
    // In a box: there is room for many from the start, and mostly one comes.
    heard: mpsc::Sender<Box<Heard>>,
    whose: Whose,
}

/// A server that is spoken with.
pub(crate) struct Peer {
    link: OnceLock<Arc<dyn Link>>,
    face: OnceLock<Face>,
    next: AtomicU64,
    open: Mutex<HashMap<u64, Open>>,
    broken: OnceLock<Broken>,
    gone: CancellationToken,
    /// What belongs to no request.
    apart: mpsc::Sender<(String, Value)>,
    tail: Tail,
}

impl Peer {
    pub(crate) fn new(apart: mpsc::Sender<(String, Value)>, tail: Tail) -> Arc<Self> {
        Arc::new(Self {
            link: OnceLock::new(),
            face: OnceLock::new(),
            next: AtomicU64::new(1),
            open: Mutex::default(),
            broken: OnceLock::new(),
            gone: CancellationToken::new(),
            apart,
            tail,
        })
    }

    pub(crate) fn link_to(&self, link: Arc<dyn Link>) {
        let _ = self.link.set(link);
    }

    /// Who it said that it is.
    pub(crate) fn set_face(&self, face: Face) {
        if let Some(link) = self.link.get() {
            link.agreed(&face.protocol, face.era);
        }
        let _ = self.face.set(face);
    }

    pub(crate) fn face(&self) -> Option<&Face> {
        self.face.get()
    }

    pub(crate) fn link(&self) -> Option<&Arc<dyn Link>> {
        self.link.get()
    }

    /// Why nothing comes from it any more.
    pub(crate) fn broken(&self) -> Option<&Broken> {
        self.broken.get()
    }

    /// Cancelled when nothing comes from it any more.
    pub(crate) fn gone(&self) -> &CancellationToken {
        &self.gone
    }

    /// How many requests wait for an answer.
    pub(crate) fn busy(&self) -> usize {
        let open = self.open();
        open.values().filter(|o| o.whose != Whose::Hub).count()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request. `params` is given the number that it will have.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        method: &str,
        whose: Whose,
        params: impl FnOnce(u64) -> Map<String, Value>,
    ) -> Result<Exchange, Broken> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (heard, queue) = mpsc::channel(HEARD);
        self.open().insert(id, Open { heard, whose });
        let mut exchange = Exchange {
            peer: self.clone(),
            id,
            queue,
            carrying: None,
            sent: false,
            over: false,
        };
        // After it is known, so that no end falls in between.
        if let Some(broken) = self.broken.get() {
            return Err(Broken {
                reached: Reached::No,
                ..broken.clone()
            });
        }
        let mut message = Map::new();
        message.insert("jsonrpc".to_owned(), "2.0".into());
        message.insert("id".to_owned(), id.into());
        message.insert("method".to_owned(), method.into());
        message.insert("params".to_owned(), Value::Object(params(id)));
        exchange.carrying = match self.link.get() {
            Some(link) => link.request(id, message).await?,
            None => return Err(unconnected()),
        };
        exchange.sent = exchange.carrying.is_none();
        Ok(exchange)
    }

    async fn send(&self, message: Message) -> Result<(), Broken> {
        match self.link.get() {
            Some(link) => link.send(message).await,
            None => Err(unconnected()),
        }
    }

    /// Tells the server something.
    pub(crate) async fn notify(&self, method: &str, params: Option<Value>) -> Result<(), Broken> {
        let mut message = Map::new();
        message.insert("jsonrpc".to_owned(), "2.0".into());
        message.insert("method".to_owned(), method.into());
        if let Some(params) = params {
            message.insert("params".to_owned(), params);
        }
        self.send(message).await
    }

    /// Answers a question of the server.
    pub(crate) async fn answer(
        &self,
        id: Value,
        answer: Result<Value, Value>,
    ) -> Result<(), Broken> {
        let mut message = Map::new();
        message.insert("jsonrpc".to_owned(), "2.0".into());
        message.insert("id".to_owned(), id);
        match answer {
            Ok(result) => message.insert("result".to_owned(), result),
            Err(error) => message.insert("error".to_owned(), error),
        };
        self.send(message).await
    }

    /// A request of the hub's own, within a time.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        method: &str,
        params: Map<String, Value>,
        limit: Duration,
    ) -> Result<Result<Message, Message>, Broken> {
        let mut exchange = self.begin(method, Whose::Hub, |_| params).await?;
        let answered = tokio::time::timeout(limit, async {
            loop {
                match exchange.next().await {
                    Heard::Answer(answer) => return Ok(answer),
                    Heard::Broken(broken) => return Err(broken),
                    Heard::Asked { id, .. } => {
                        let _ = self.answer(id, Err(nobody())).await;
                    }
                    Heard::Told { .. } | Heard::Withdrawn { .. } => {}
                }
            }
        })
        .await;
        match answered {
            Ok(answer) => answer,
            Err(_) => {
                exchange.cancel("it took too long").await;
                let why = format!("it did not answer `{method}` within {limit:?}");
                Err(Broken::new(why, Reached::Maybe))
            }
        }
    }

    pub(crate) async fn close(&self) {
        if let Some(link) = self.link.get() {
            link.close().await;
        }
        self.closed(Broken::new("the connection was closed", Reached::Maybe));
    }

    /// The request that a message without one belongs to: the last of the one caller who
    /// has any under way.
    fn only(&self) -> Only {
        let open = self.open();
        let calls = || open.iter().filter(|(_, o)| o.whose != Whose::Hub);
        let Some((_, first)) = calls().next() else {
            return Only::None;
        };
        let many = calls().nth(1).is_some();
        let same = calls().all(|(_, o)| o.whose == first.whose);
        match same && !(many && first.whose == Whose::Nobody) {
            true => calls()
                .map(|(id, _)| *id)
                .max()
                .map_or(Only::None, Only::One),
            false => Only::Several,
        }
    }

    /// Whether there was somebody to give it to.
    fn give(&self, id: u64, heard: Heard) -> bool {
        let open = self.open();
        open.get(&id)
            .is_some_and(|call| call.heard.try_send(Box::new(heard)).is_ok())
    }

    fn told(&self, method: String, params: Value, origin: Origin) {
        if is_common(&method) {
            let _ = self.apart.try_send((method, params));
            return;
        }
        // That a stream of notices is open: we asked for it.
        if method.starts_with("notifications/subscriptions/") {
            return;
        }
        let to = match (method.as_str(), origin) {
            ("notifications/progress", _) => match params["progressToken"].as_u64() {
                Some(id) => Only::One(id),
                None => return,
            },
            (_, Origin::Request(id)) => Only::One(id),
            (_, Origin::Apart) => Only::None,
            (_, Origin::Shared) => self.only(),
        };
        match to {
            Only::One(id) => {
                // Too much of it, or too late: there is nobody to tell.
                self.give(id, Heard::Told { method, params });
            }
            Only::None => {
                let _ = self.apart.try_send((method, params));
            }
            // Telling either would tell one of the other.
            Only::Several => self
                .tail
                .note(&format!("`{method}` belongs to no one call: {params}")),
        }
    }

    fn asked(&self, id: Value, method: String, params: Value, origin: Origin) {
        let to = match (method.as_str(), origin) {
            ("ping", _) => return self.reply(id, Ok(json!({}))),
            (_, Origin::Request(call)) => Only::One(call),
            // Many servers ask on the stream beside what belongs to the call they work on.
            (_, Origin::Apart | Origin::Shared) => self.only(),
        };
        let refusal = match to {
            Only::One(call) => match self.give(
                call,
                Heard::Asked {
                    id: id.clone(),
                    method,
                    params,
                },
            ) {
                true => return,
                false => nobody(),
            },
            Only::None => nobody(),
            Only::Several => error(
                -32600,
                "several clients have calls under way on this connection, and whom the question is for cannot be told; `isolate = true` gives each its own",
            ),
        };
        self.reply(id, Err(refusal));
    }

    /// Answers without waiting.
    fn reply(&self, id: Value, answer: Result<Value, Value>) {
        let Some(link) = self.link.get().cloned() else {
            return;
        };
        let mut message = Map::new();
        message.insert("jsonrpc".to_owned(), "2.0".into());
        message.insert("id".to_owned(), id);
        match answer {
            Ok(result) => message.insert("result".to_owned(), result),
            Err(error) => message.insert("error".to_owned(), error),
        };
        let gone = self.gone.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = gone.cancelled() => {}
                _ = link.send(message) => {}
            }
        });
    }
}

enum Only {
    None,
    One(u64),
    Several,
}

/// What is told to all, whatever it came with.
fn is_common(method: &str) -> bool {
    method.ends_with("/list_changed") || method == "notifications/resources/updated"
}

impl Ear for Peer {
    fn heard(&self, mut message: Message, origin: Origin) {
        let id = message.get("id").cloned();
        let params =
            |message: &mut Message| message.shift_remove("params").unwrap_or_else(|| json!({}));
        match (
            message
                .get("method")
                .and_then(Value::as_str)
                .map(str::to_owned),
            id,
        ) {
            (Some(method), Some(id)) if !id.is_null() => {
                let params = params(&mut message);
                self.asked(id, method, params, origin);
            }
            (Some(method), _) if method == "notifications/cancelled" => {
                let params = params(&mut message);
                let id = &params["requestId"];
                let senders: Vec<mpsc::Sender<Box<Heard>>> =
                    self.open().values().map(|o| o.heard.clone()).collect();
                for sender in senders {
                    let _ = sender.try_send(Box::new(Heard::Withdrawn { id: id.clone() }));
                }
            }
            (Some(method), _) => {
                let params = params(&mut message);
                self.told(method, params, origin);
            }
            (None, id) => {
                // Some give a number back as text; some cannot tell which it was.
                let number = id.as_ref().and_then(|id| {
                    id.as_u64()
                        .or_else(|| id.as_str().and_then(|text| text.parse().ok()))
                });
                let number = match (number, origin) {
                    (None, Origin::Request(id)) => Some(id),
                    (number, _) => number,
                };
                let Some(call) = number.and_then(|id| self.open().remove(&id)) else {
                    return self.tail.note("an answer to nothing that was asked");
                };
                let object = |value: Option<Value>| match value {
                    Some(Value::Object(map)) => Some(map),
                    _ => None,
                };
                let result = object(message.shift_remove("result"));
                let error = object(message.shift_remove("error"));
                let heard = match (result, error) {
                    (Some(result), None) => Heard::Answer(Ok(result)),
                    (None, Some(error)) => Heard::Answer(Err(error)),
                    _ => Heard::Broken(Broken::new(
                        "it answered with neither a result nor an error",
                        Reached::Maybe,
                    )),
                };
                last(call, heard);
            }
        }
    }

    fn failed(&self, id: u64, broken: Broken) {
        let call = self.open().remove(&id);
        if let Some(call) = call {
            last(call, Heard::Broken(broken));
        }
    }

    fn closed(&self, broken: Broken) {
        let _ = self.broken.set(broken.clone());
        self.gone.cancel();
        let calls: Vec<Open> = self.open().drain().map(|(_, call)| call).collect();
        for call in calls {
            last(call, Heard::Broken(broken.clone()));
        }
    }
}

fn unconnected() -> Broken {
    Broken::new("there is no connection", Reached::No)
}

/// The last that is heard must arrive, however much waits before it.
fn last(call: Open, heard: Heard) {
    if let Err(full) = call.heard.try_send(Box::new(heard)) {
        let heard = full.into_inner();
        let sender = call.heard;
        tokio::spawn(async move {
            let _ = sender.send(heard).await;
        });
    }
}

/// A JSON-RPC error.
pub(crate) fn error(code: i64, message: &str) -> Value {
    json!({"code": code, "message": message})
}

fn nobody() -> Value {
    error(-32600, "no call is under way whose caller could be asked")
}

/// A request that is under way. Dropped, nobody waits for it any more.
pub(crate) struct Exchange {
    peer: Arc<Peer>,
    id: u64,
    queue: mpsc::Receiver<Box<Heard>>,
    /// What is left to do for it, where the link leaves it to whoever waits.
    carrying: Option<Carrying>,
    /// The server may have heard of it.
    sent: bool,
    over: bool,
}

impl Exchange {
    /// What comes next. After the answer there is nothing.
    pub(crate) async fn next(&mut self) -> Heard {
        let heard = poll_fn(|cx| {
            // What has come is heard before more is fetched, so that none of it is dropped.
            let before = self.queue.poll_recv(cx);
            let (Poll::Pending, Some(carrying)) = (&before, &mut self.carrying) else {
                return before;
            };
            self.sent = true;
            if carrying.as_mut().poll(cx).is_ready() {
                self.carrying = None;
            }
            self.queue.poll_recv(cx)
        });
        let heard = match heard.await {
            Some(heard) => *heard,
            None => {
                let broken = self.peer.broken().cloned();
                let silent = || Broken::new("there is no answer", Reached::Maybe);
                Heard::Broken(broken.unwrap_or_else(silent))
            }
        };
        self.over |= matches!(heard, Heard::Answer(_) | Heard::Broken(_));
        heard
    }

    /// Calls it off.
    pub(crate) async fn cancel(&mut self, why: &str) {
        if self.over {
            return;
        }
        self.over = true;
        if self.sent {
            let params = json!({"requestId": self.id, "reason": why});
            // A server that does not read does not get it, and nobody waits for that.
            let told = self.peer.notify("notifications/cancelled", Some(params));
            let _ = tokio::time::timeout(Duration::from_secs(1), told).await;
        }
        self.carrying = None;
        self.forget();
    }

    fn forget(&self) {
        self.peer.open().remove(&self.id);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.forget();
    }
}
