//! A server over streamable HTTP, in both eras.
//!
//! Every request is a POST whose answer is either the message or a stream of events that
//! ends with it; a stream that breaks is taken up again where it ended. In the old era there
//! is a session, and a stream beside for what belongs to no request. Redirects are not
//! followed: they could lead a token elsewhere.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use hyper_util::client::legacy::Error;
use serde_json::Value;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;

use super::events::Events;
use super::headers::{self, Marked};
use super::wire::{Response, Target, Wire};
use super::{Broken, Carrying, Ear, Link, Message, Origin, Reached, messages, size, too_large};
use crate::upstream::Era;
use crate::upstream::oauth::Login;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How often a stream that broke is taken up again, and how long to wait before.
const AGAIN: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);

/// How long farewells and notifications may take.
const SHORT: Duration = Duration::from_secs(5);

/// A server over streamable HTTP.
pub(crate) struct HttpLink(Arc<Inner>);

struct Inner {
    wire: Wire,
    target: Target,
    headers: HeaderMap,
    login: Option<Arc<Login>>,
    limit: usize,
    /// The ear has the link; so the link has no hold on the ear.
    ear: Weak<dyn Ear>,
    agreed: RwLock<Agreed>,
    tools: RwLock<HashMap<String, Marked>>,
    closing: CancellationToken,
    tasks: TaskTracker,
}

#[derive(Clone, Default)]
struct Agreed {
    session: Option<HeaderValue>,
    protocol: Option<HeaderValue>,
    era: Option<Era>,
}

impl HttpLink {
    pub(crate) fn new(
        url: &str,
        given: &[(String, String)],
        login: Option<Arc<Login>>,
        limit: usize,
        ear: &Arc<dyn Ear>,
    ) -> Result<Arc<Self>, Broken> {
        let never = |why: String| Broken::new(why, Reached::No);
        let url = parsed(url).map_err(never)?;
        Ok(Arc::new(Self(Arc::new(Inner {
            wire: Wire::new(&url).map_err(never)?,
            target: Target::new(&url).map_err(never)?,
            headers: header_map(given).map_err(never)?,
            login,
            limit,
            ear: Arc::downgrade(ear),
            agreed: RwLock::default(),
            tools: RwLock::default(),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }))))
    }
}

/// An address that may be a server.
pub(crate) fn parsed(url: &str) -> Result<Url, String> {
    Url::parse(url).map_err(|e| format!("its address cannot be read: {e}"))
}

/// Headers that were configured.
pub(crate) fn header_map(given: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in given {
        let wrong = || format!("the header `{name}` cannot be sent as it is configured");
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        map.insert(key, value);
    }
    Ok(map)
}

#[async_trait]
impl Link for HttpLink {
    async fn send(&self, message: Message) -> Result<(), Broken> {
        let inner = &self.0;
        // In the modern era a request is called off by hanging up.
        let calls_off = message.get("method").and_then(Value::as_str);
        if calls_off == Some("notifications/cancelled") && inner.agreed().era == Some(Era::Modern) {
            return Ok(());
        }
        let sent = timeout(SHORT, inner.post(&message)).await;
        let late = |_| Broken::new("it took no notice of a message", Reached::Maybe);
        let response = sent.map_err(late)??;
        match response.status().is_success() {
            true => Ok(()),
            false => Err(inner.refusal(response).await),
        }
    }

    async fn request(&self, id: u64, message: Message) -> Result<Option<Carrying>, Broken> {
        let inner = self.0.clone();
        Ok(Some(Box::pin(async move {
            let asked = tokio::select! {
                biased;
                asked = inner.request(id, &message) => asked,
                () = inner.closing.cancelled() => Err(Broken::new("the connection was closed", Reached::Maybe)),
            };
            if let Err(broken) = asked {
                inner.hears(|ear| ear.failed(id, broken));
            }
        })))
    }

    fn agreed(&self, protocol: &str, era: Era) {
        {
            let mut agreed = self
                .0
                .agreed
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            agreed.protocol = HeaderValue::from_str(protocol).ok();
            agreed.era = Some(era);
        }
        if era == Era::Legacy {
            let inner = self.0.clone();
            self.0.tasks.spawn(async move {
                let closing = inner.closing.clone();
                tokio::select! {
                    () = closing.cancelled() => {}
                    () = inner.listen() => {}
                }
            });
        }
    }

    fn tools(&self, tools: &[Value]) {
        *self.0.tools.write().unwrap_or_else(PoisonError::into_inner) = headers::of_tools(tools);
    }

    async fn close(&self) {
        let inner = &self.0;
        inner.closing.cancel();
        let agreed = inner.agreed();
        if agreed.session.is_some() {
            let farewell = inner.send(Method::DELETE, inner.common(&agreed), Bytes::new());
            let _ = timeout(SHORT, farewell).await;
        }
        inner.tasks.close();
        let _ = timeout(SHORT, inner.tasks.wait()).await;
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        self.0.closing.cancel();
    }
}

impl Inner {
    fn hears(&self, tell: impl FnOnce(&dyn Ear)) {
        if let Some(ear) = self.ear.upgrade() {
            tell(&*ear);
        }
    }

    fn agreed(&self) -> Agreed {
        self.agreed
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn common(&self, agreed: &Agreed) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.extend(agreed.session.clone().map(|s| (SESSION, s)));
        headers.extend(agreed.protocol.clone().map(|p| (PROTOCOL, p)));
        headers
    }

    /// Sends it, with what there is to show: a login that counts, or else what is configured.
    async fn send(
        &self,
        method: Method,
        mut headers: HeaderMap,
        body: impl Into<Bytes>,
    ) -> Result<Response, Error> {
        let token = match &self.login {
            Some(login) => login.token().await,
            None => None,
        };
        let shown = token.and_then(|token| HeaderValue::try_from(format!("Bearer {token}")).ok());
        if let Some(mut shown) = shown {
            shown.set_sensitive(true);
            headers.insert(AUTHORIZATION, shown);
        }
        self.wire.send(method, &self.target, headers, body).await
    }

    async fn post(&self, message: &Message) -> Result<Response, Broken> {
        let agreed = self.agreed();
        let mut all = self.common(&agreed);
        all.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // A request that says its revision says it here too.
        let said = message.get("params").and_then(|p| p.get("_meta"));
        let said = said.and_then(|m| m.get("io.modelcontextprotocol/protocolVersion"));
        if let Some(said) = said
            .and_then(Value::as_str)
            .and_then(|p| HeaderValue::from_str(p).ok())
        {
            all.insert(PROTOCOL, said);
            let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
            for (name, value) in headers::of_request(message, &tools) {
                if let (Ok(name), Ok(value)) = (
                    HeaderName::from_bytes(name.as_bytes()),
                    HeaderValue::from_str(&value),
                ) {
                    all.insert(name, value);
                }
            }
        }
        let body = serde_json::to_vec(message)
            .map_err(|e| Broken::new(format!("the message cannot be written: {e}"), Reached::No))?;
        let sent = self.send(Method::POST, all, body).await;
        let response = sent.map_err(|e| unsent(&e))?;
        if let Some(session) = response.headers().get(SESSION)
            && agreed.session.is_none()
        {
            let mut agreed = self.agreed.write().unwrap_or_else(PoisonError::into_inner);
            agreed.session = Some(session.clone());
        }
        Ok(response)
    }

    /// Sends a request, and hears all that comes back with it.
    async fn request(&self, id: u64, message: &Message) -> Result<(), Broken> {
        let mut response = self.post(message).await?;
        let wants_login = matches!(
            response.status(),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
        );
        if wants_login
            && let Some(login) = &self.login
            && login.again(challenge(&response).as_deref()).await
        {
            response = self.post(message).await?;
        }
        let status = response.status();
        let kind = content_type(&response);
        if status.is_success() && kind == "text/event-stream" {
            return self.stream(id, response).await;
        }
        if !status.is_success() && kind != "application/json" {
            return Err(self.refusal(response).await);
        }
        if status == StatusCode::ACCEPTED {
            return Err(Broken::new(
                "it took the request and gave no answer",
                Reached::Maybe,
            ));
        }
        let (challenge, lost) = (challenge(&response), self.session_lost(&response));
        let body = self.body(response).await?;
        let found = messages(&body);
        // An error in the words of the protocol is an answer, whatever its status; a lost
        // session and a missing login are for us.
        let is_answer = |m: &Message| m.contains_key("error") || m.contains_key("result");
        match found {
            Ok(found)
                if status.is_success()
                    || (found.iter().any(is_answer) && challenge.is_none() && !lost) =>
            {
                let last = found.iter().any(|m| !m.contains_key("method"));
                for message in found {
                    self.hears(|ear| ear.heard(message, Origin::Request(id)));
                }
                match last {
                    true => Ok(()),
                    false => Err(Broken::new("its answer holds no answer", Reached::Maybe)),
                }
            }
            Err(problem) if status.is_success() => Err(Broken::new(
                format!("its answer cannot be read: {problem}"),
                Reached::Maybe,
            )),
            _ => Err(refused(status, &body, challenge, lost)),
        }
    }

    /// Hears a stream until the answer has come; takes it up again where it broke.
    async fn stream(&self, id: u64, response: Response) -> Result<(), Broken> {
        let mut from = Place::default();
        let mut response = Some(response);
        let mut tries = 0;
        loop {
            let before = from.last.clone();
            if let Some(response) = response.take()
                && self.hear(response, Some(id), &mut from).await? == Ended::Answered
            {
                return Ok(());
            }
            // It goes on for as long as it gets on.
            tries = if from.last == before { tries + 1 } else { 1 };
            let cut = || Broken::new("the stream ended before the answer came", Reached::Maybe);
            if from.last.is_none() || tries > AGAIN {
                return Err(cut());
            }
            sleep(from.pause.unwrap_or(PAUSE)).await;
            match self.get(from.last.as_deref()).await {
                Ok(again) if again.status().is_success() => response = Some(again),
                Ok(again) if again.status().is_client_error() => return Err(cut()),
                _ => {}
            }
        }
    }

    /// Hears the stream beside, for as long as there is one.
    async fn listen(&self) {
        let mut from = Place::default();
        let mut tries = 0;
        loop {
            match self.get(from.last.as_deref()).await {
                Ok(response)
                    if response.status().is_success()
                        && content_type(&response) == "text/event-stream" =>
                {
                    tries = 0;
                    if let Err(broken) = self.hear(response, None, &mut from).await {
                        return self.hears(|ear| ear.closed(broken));
                    }
                }
                // Most have none.
                Ok(response) if !response.status().is_server_error() => return,
                _ => tries += 1,
            }
            if tries > AGAIN {
                return;
            }
            sleep(from.pause.unwrap_or(PAUSE) * (1 << tries)).await;
        }
    }

    async fn get(&self, last: Option<&str>) -> Result<Response, Error> {
        let mut headers = self.common(&self.agreed());
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.extend(
            last.and_then(|l| HeaderValue::from_str(l).ok())
                .map(|l| (LAST_EVENT, l)),
        );
        self.send(Method::GET, headers, Bytes::new()).await
    }

    async fn hear(
        &self,
        response: Response,
        id: Option<u64>,
        from: &mut Place,
    ) -> Result<Ended, Broken> {
        let origin = id.map_or(Origin::Apart, Origin::Request);
        let mut events = Events::new(self.limit);
        let mut body = response.into_body();
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(part) = frame.into_data() else {
                continue;
            };
            let found = events.feed(&part).map_err(|_| too_large(self.limit))?;
            for event in found {
                if event.id.is_some() {
                    from.last = event.id;
                }
                if let Some(retry) = event.retry {
                    from.pause = Some(Duration::from_millis(retry.min(60_000)));
                }
                let Some(data) = event.data.filter(|d| !d.trim().is_empty()) else {
                    continue;
                };
                let found = messages(data.as_bytes()).map_err(|e| {
                    Broken::new(format!("an event cannot be read: {e}"), Reached::Maybe)
                });
                let found = match (found, id) {
                    (Ok(found), _) => found,
                    (Err(broken), Some(_)) => return Err(broken),
                    (Err(_), None) => continue,
                };
                for message in found {
                    let answer = !message.contains_key("method");
                    self.hears(|ear| ear.heard(message, origin));
                    if answer && id.is_some() {
                        return Ok(Ended::Answered);
                    }
                }
            }
        }
        Ok(Ended::Early)
    }

    async fn body(&self, response: Response) -> Result<Vec<u8>, Broken> {
        let mut body = Vec::new();
        let mut incoming = response.into_body();
        while let Some(frame) = incoming.frame().await {
            let frame = frame.map_err(|e| {
                Broken::new(
                    format!("its answer was cut off: {}", told(&e)),
                    Reached::Maybe,
                )
            })?;
            let Ok(part) = frame.into_data() else {
                continue;
            };
            if body.len() + part.len() > self.limit {
                return Err(too_large(self.limit));
            }
            body.extend_from_slice(&part);
        }
        Ok(body)
    }

    fn session_lost(&self, response: &Response) -> bool {
        response.status() == StatusCode::NOT_FOUND && self.agreed().session.is_some()
    }

    async fn refusal(&self, response: Response) -> Broken {
        let (status, challenge) = (response.status(), challenge(&response));
        let lost = self.session_lost(&response);
        if status.is_redirection() {
            let to = response
                .headers()
                .get("location")
                .and_then(|l| l.to_str().ok());
            let to: String = to.unwrap_or("elsewhere").chars().take(200).collect();
            let why = format!(
                "it redirects to `{}`, and redirects are not followed; configure the address itself",
                to.escape_debug()
            );
            return Broken::new(why, Reached::No);
        }
        let later = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|r| r.to_str().ok())
            .map(str::to_owned);
        let body = timeout(SHORT, self.body(response))
            .await
            .ok()
            .and_then(Result::ok)
            .unwrap_or_default();
        let mut broken = refused(status, &body, challenge, lost);
        if let Some(later) = later {
            broken.why.push_str(&format!(
                "; it wants to be asked again after {}",
                later.chars().take(40).collect::<String>()
            ));
        }
        broken
    }
}

/// Where a stream stands.
#[derive(Default)]
struct Place {
    last: Option<String>,
    pause: Option<Duration>,
}

#[derive(PartialEq, Eq)]
enum Ended {
    Answered,
    Early,
}

/// What it says in the place of an answer.
fn refused(status: StatusCode, body: &[u8], challenge: Option<String>, lost: bool) -> Broken {
    let text: String = String::from_utf8_lossy(body)
        .chars()
        .filter(|c| !c.is_control())
        .take(200)
        .collect();
    let why = match (status, text.trim()) {
        (StatusCode::UNAUTHORIZED, _) => "it wants a login (401)".to_owned(),
        (StatusCode::NOT_FOUND, _) if lost => "it has forgotten the session".to_owned(),
        (status, "") => format!("it refused with {status}"),
        (status, text) => format!("it refused with {status}: {text} ({})", size(body.len())),
    };
    // What is refused at the door has not been done.
    let reached = match status.is_client_error() {
        true => Reached::No,
        false => Reached::Maybe,
    };
    Broken {
        why,
        reached,
        challenge,
        lost,
    }
}

fn challenge(response: &Response) -> Option<String> {
    let wants = matches!(
        response.status(),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
    );
    let header = response
        .headers()
        .get(WWW_AUTHENTICATE)
        .and_then(|h| h.to_str().ok());
    match (wants, header, response.status()) {
        (true, Some(header), _) => Some(header.to_owned()),
        (true, None, StatusCode::UNAUTHORIZED) => Some("Bearer".to_owned()),
        _ => None,
    }
}

pub(crate) fn content_type(response: &Response) -> String {
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|k| k.to_str().ok())
        .unwrap_or_default();
    kind.split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}

pub(crate) fn unsent(error: &Error) -> Broken {
    match error.is_connect() {
        true => Broken::new(
            format!("it cannot be reached: {}", told(error)),
            Reached::No,
        ),
        false => Broken::new(
            format!("the request failed: {}", told(error)),
            Reached::Maybe,
        ),
    }
}

/// The innermost reason: the outer ones only repeat the address, with what is in it.
fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let mut source = error;
    while let Some(inner) = source.source() {
        source = inner;
    }
    // An error of the system that holds another tells its source, and not it.
    while let Some(inner) = source.downcast_ref().and_then(std::io::Error::get_ref) {
        source = inner;
    }
    let hint = match source.downcast_ref() {
        Some(rustls::Error::InvalidCertificate(_)) => {
            "; whom this machine trusts beside the usual is told by `SSL_CERT_FILE`"
        }
        Some(rustls::Error::InvalidMessage(_)) => "; does it speak `http` there, without TLS?",
        _ => "",
    };
    match std::ptr::addr_eq(source, error) {
        true => "the connection broke".to_owned(),
        false => format!("{source}{hint}"),
    }
}
