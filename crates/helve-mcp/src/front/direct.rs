//! Calls of tools that are answered past the protocol library.
//!
//! A session of the older revisions is two tasks of the library, and a request of it goes
//! through both, and back as a stream of one event. Most calls need none of that: they are
//! over soon, and nothing is said about them in between. Such a call runs here, in the task
//! of its connection, and its answer is plain JSON, which every client must accept. (Over
//! standard input and output there is one stream for everything: see [`super::stdio`].)
//!
//! - *As soon as anything is said, or when it takes long*, the call goes on where all others
//!   are: the library gets the request with the call that has begun in it, and the handler
//!   carries on with that one ([`taken_over`]). Nothing runs twice.
//! - *What is not plain is not answered here.* Other methods, other revisions, headers or
//!   fields that are not known: the library says what is right about them.
//! - *A client that hangs up calls nothing off*, and one that cancels does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use bytes::Bytes;
use helve_kernel::Principal;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, header};
use http_body::Body;
use http_body_util::{BodyExt as _, Empty, Full};
use rmcp::model::{MetaObject, ProtocolVersion, RequestId, RequestMetaObject};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, Peer, RoleServer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::answer::MODERN;
use super::http::{Answer, session_of};
use super::owners::Owners;
use super::session::Begun;
use super::{Session, lock};

/// How long a client waits without any sign before the call is handed on: a stream of
/// events is kept open by pings, and can be taken up again.
const SOON: Duration = Duration::from_secs(1);

/// What is needed to call a session. It keeps none alive.
#[derive(Clone)]
pub(super) struct Line {
    session: Weak<Session>,
    peer: Peer<RoleServer>,
}

/// The calls of a session that are under way here.
#[derive(Default)]
pub(crate) struct Calls {
    under_way: Mutex<HashMap<RequestId, CancellationToken>>,
    /// The client of a connection of its own, since it said that it is ready.
    peer: OnceLock<Peer<RoleServer>>,
}

impl Calls {
    /// The client wants it no more.
    pub(super) fn cancel(&self, id: &RequestId) {
        if let Some(call) = lock(&self.under_way).get(id) {
            call.cancel();
        }
    }
}

/// Opens the line to a session that has said that it is ready.
pub(super) fn open(session: &Arc<Session>, context: &NotificationContext<RoleServer>) {
    let Some(parts) = context.extensions.get::<Parts>() else {
        // Said twice, it is the same client.
        let _ = session.direct.peer.set(context.peer.clone());
        return;
    };
    let owners = parts.extensions.get::<Arc<Owners>>();
    if let (Some(owners), Some(id)) = (owners, session_of(&parts.headers)) {
        let line = Line {
            session: Arc::downgrade(session),
            peer: context.peer.clone(),
        };
        owners.open(&id, line);
    }
}

/// A call on its way to the handler.
#[derive(Clone)]
struct HandedOn(Arc<Mutex<Option<(Begun, Here)>>>);

/// The call that a request brings with it.
pub(super) fn taken_over(context: &RequestContext<RoleServer>) -> Option<Begun> {
    let parts = context.extensions.get::<Parts>()?;
    let handed = parts.extensions.get::<HandedOn>()?;
    let (begun, here) = lock(&handed.0).take()?;
    if here.wanted.is_cancelled() {
        // On its way, when the library did not know of it yet.
        context.ct.cancel();
    }
    Some(begun)
}

/// Whether a request looks like one that can be answered here, from outside.
pub(super) fn may_be<B: Body>(request: &Request<B>, most: usize) -> bool {
    let headers = request.headers();
    let size = request.body().size_hint().exact();
    let version = headers.get("mcp-protocol-version");
    request.method() == Method::POST
        && size.is_some_and(|size| size <= most as u64)
        && says(headers, &header::ACCEPT, "application/json")
        && says(headers, &header::ACCEPT, "text/event-stream")
        && says(headers, &header::CONTENT_TYPE, "application/json")
        && version.is_none_or(|version| {
            let known = ProtocolVersion::KNOWN_VERSIONS;
            let mut older = known.iter().filter(|v| v.as_str() < MODERN);
            older.any(|v| version == v.as_str())
        })
}

fn says(headers: &HeaderMap, name: &header::HeaderName, word: &str) -> bool {
    let value = headers.get(name).and_then(|v| v.to_str().ok());
    value.is_some_and(|value| value.contains(word))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked<'a> {
    jsonrpc: &'a str,
    id: RequestId,
    method: &'a str,
    params: Params,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    name: String,
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
    #[serde(default, rename = "_meta")]
    meta: Map<String, Value>,
}

/// Answers a call, or gives the request back for the library to answer.
pub(super) async fn answer(
    line: &Line,
    mut parts: Parts,
    body: &[u8],
    who: &Arc<Principal>,
) -> Result<Answer, Box<Parts>> {
    let session = line.session.upgrade();
    let session = session.filter(|_| !line.peer.is_transport_closed());
    let (Some(session), Some(asked)) = (session, plain(body)) else {
        return Err(Box::new(parts));
    };
    let Asked { id, params, .. } = asked;
    let Params {
        name,
        arguments,
        meta,
    } = params;
    let mut ctx = RequestContext::new(id, line.peer.clone());
    ctx.meta = RequestMetaObject(MetaObject(meta));
    let begun = match begin(&session, &name, arguments, who, &ctx) {
        Ok(begun) => begun,
        Err(error) => return Ok(say(&ctx.id, Err(error))),
    };
    let here = Here::enter(&session, &ctx);
    let mut waited = Waited(Some(begun));
    let Some(Begun { talk, server }) = &mut waited.0 else {
        return Err(Box::new(parts));
    };
    let until = async {
        tokio::select! {
            () = tokio::time::sleep(SOON) => {}
            () = ctx.ct.cancelled() => {}
        }
    };
    let done = talk.in_silence(until).await;
    if let Some(done) = done {
        talk.let_go();
        session.called(server.as_deref(), who);
        let outcome = super::session::Outcome::Done(done);
        let result = session.outcome(outcome, who);
        let result = result.map(|result| session.told(&name, result, &ctx));
        return Ok(say(&ctx.id, result));
    }
    let begun = waited.0.take();
    if ctx.ct.is_cancelled() {
        // With the talk goes its run, and nobody waits for an answer.
        return Ok(nothing());
    }
    let handed = begun.map(|begun| (begun, here));
    parts
        .extensions
        .insert(HandedOn(Arc::new(Mutex::new(handed))));
    Err(Box::new(parts))
}

fn begin(
    session: &Session,
    name: &str,
    arguments: Option<Map<String, Value>>,
    who: &Arc<Principal>,
    ctx: &RequestContext<RoleServer>,
) -> Result<Begun, ErrorData> {
    let arguments = arguments.map_or(Value::Null, Value::Object);
    // What was asked is remembered only where a client comes back for it, in the newer era.
    session.begin(name, arguments, Value::Null, who, ctx)
}

/// A call on a connection, on its way.
pub(super) struct OnLine {
    params: Params,
    who: Arc<Principal>,
    ctx: RequestContext<RoleServer>,
    /// That the conversation ends.
    over: CancellationToken,
    here: Here,
}

impl OnLine {
    /// What a line of a connection asks for, if it can be answered here.
    pub(super) fn read(
        session: &Arc<Session>,
        line: &[u8],
        over: &CancellationToken,
    ) -> Option<Self> {
        let peer = session.direct.peer.get()?;
        let who = session.fixed()?.clone();
        let Asked { id, mut params, .. } = plain(line)?;
        let mut ctx = RequestContext::new(id, peer.clone());
        ctx.meta = RequestMetaObject(MetaObject(std::mem::take(&mut params.meta)));
        ctx.ct = over.child_token();
        Some(Self {
            here: Here::enter(session, &ctx),
            over: over.clone(),
            params,
            who,
            ctx,
        })
    }

    /// Goes along with it to the end; the line with the answer, where the client still waits.
    pub(super) async fn answer(self) -> Option<Vec<u8>> {
        let Self {
            params,
            who,
            ctx,
            over,
            here,
        } = self;
        let session = &here.session;
        let begun = begin(session, &params.name, params.arguments, &who, &ctx);
        let result = match begun {
            Ok(begun) => session.carry_on(begun, &who, &ctx).await,
            Err(error) => Err(error),
        };
        // Who called it off waits for nothing; who is left by the hub is told.
        if ctx.ct.is_cancelled() && !over.is_cancelled() {
            return None;
        }
        let result = result.map(|result| session.told(&params.name, result, &ctx));
        let mut line = written(&ctx.id, result);
        line.push(b'\n');
        Some(line)
    }
}

/// What a body asks for, if it is a call of a tool and nothing else.
fn plain(body: &[u8]) -> Option<Asked<'_>> {
    let asked: Asked<'_> = serde_json::from_slice(body).ok()?;
    let own = |key: &String| key.starts_with("io.modelcontextprotocol/");
    let plain = asked.jsonrpc == "2.0"
        && asked.method == "tools/call"
        && !asked.params.meta.keys().any(own);
    plain.then_some(asked)
}

/// A call that the client may cancel while the library does not know of it.
struct Here {
    session: Arc<Session>,
    id: RequestId,
    wanted: CancellationToken,
}

impl Here {
    fn enter(session: &Arc<Session>, ctx: &RequestContext<RoleServer>) -> Self {
        let (id, wanted) = (ctx.id.clone(), ctx.ct.clone());
        lock(&session.direct.under_way).insert(id.clone(), wanted.clone());
        Self {
            session: session.clone(),
            id,
            wanted,
        }
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        lock(&self.session.direct.under_way).remove(&self.id);
    }
}

/// A call whose client waits for it. A connection that breaks says nothing about the call.
struct Waited(Option<Begun>);

impl Drop for Waited {
    fn drop(&mut self) {
        if let Some(begun) = &mut self.0 {
            begun.talk.let_go();
        }
    }
}

#[derive(Serialize)]
struct Said<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorData>,
}

fn written(id: &RequestId, result: Result<Map<String, Value>, ErrorData>) -> Vec<u8> {
    let (result, error) = match result {
        Ok(result) => (Some(result), None),
        Err(error) => (None, Some(error)),
    };
    let said = Said {
        jsonrpc: "2.0",
        id,
        result,
        error,
    };
    // Keys are texts everywhere in it, so it can always be written.
    serde_json::to_vec(&said).unwrap_or_default()
}

fn say(id: &RequestId, result: Result<Map<String, Value>, ErrorData>) -> Answer {
    let body = written(id, result);
    let mut answer = Response::new(Full::new(Bytes::from(body)).boxed());
    let json = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, json);
    answer
}

/// A stream that ends without a word.
fn nothing() -> Answer {
    let mut answer = Response::new(Empty::new().boxed());
    let events = HeaderValue::from_static("text/event-stream");
    answer.headers_mut().insert(header::CONTENT_TYPE, events);
    answer
}
