//! The protocol over streamable HTTP.
//!
//! Who sends a request is decided before it comes here: whoever serves puts the principal
//! into its extensions. A session belongs to whoever began it, and nobody else finds it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Display;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use helve_kernel::Principal;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body::{Body, Frame};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::handler::Handler;
use super::session::party;
use super::verbatim::{Verbatim, unwrap_bytes, unwrap_events};
use super::{Front, Session, lock};

/// How the door is served over HTTP.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// The most bytes of a request.
    pub body_limit: usize,
    /// How long a session of the older revisions is kept without a word.
    pub idle: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            body_limit: 4 * 1024 * 1024,
            idle: Duration::from_secs(30 * 60),
        }
    }
}

/// What is sent back.
pub type Answer = Response<BoxBody<Bytes, Infallible>>;

/// The door of one view, over HTTP. A clone is the same door.
#[derive(Clone)]
pub struct Service {
    inner: StreamableHttpService<Handler, Sessions>,
    owners: Arc<Owners>,
    sessions: Arc<Sessions>,
}

impl Service {
    /// Serves a view; `None` if there is no view of that name.
    pub fn new(
        front: &Front,
        view: Option<&str>,
        options: &HttpOptions,
        closing: CancellationToken,
    ) -> Option<Self> {
        front.view(view)?;
        let (front, view) = (front.clone(), view.map(str::to_owned));
        let handler = move || {
            let session = Session::new(front.clone(), view.as_deref(), None);
            let session = session.ok_or_else(|| std::io::Error::other("there is no such view"))?;
            Ok(Handler(Arc::new(session)))
        };
        let mut local = LocalSessionManager::default();
        local.session_config.keep_alive = Some(options.idle);
        // Host and Origin are checked by whoever serves, for every route alike.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_json_response(true)
            .with_max_request_body_bytes(options.body_limit)
            .with_cancellation_token(closing);
        let sessions = Arc::new(Sessions(local));
        Some(Self {
            inner: StreamableHttpService::new(handler, sessions.clone(), config),
            owners: Arc::default(),
            sessions,
        })
    }

    /// Answers a request of the principal in its extensions.
    pub async fn handle<B>(&self, request: Request<B>) -> Answer
    where
        B: Body + Send + 'static,
        B::Error: Display,
        B::Data: Send + 'static,
    {
        let Some(who) = request.extensions().get::<Arc<Principal>>().cloned() else {
            return refuse(
                StatusCode::UNAUTHORIZED,
                "nobody is known to have sent this",
            );
        };
        let session = session_of(request.headers());
        if let Some(session) = &session
            && !self.owners.is(session, &party(&who))
        {
            // What belongs to somebody else is not there.
            return refuse(StatusCode::NOT_FOUND, "there is no such session");
        }
        let closes = request.method() == http::Method::DELETE;
        let response = self.inner.handle(request).await;
        if let Some(session) = session.filter(|_| closes) {
            self.owners.forget(&session);
        } else if let Some(new) = session_of(response.headers()) {
            if self.owners.are_many() {
                let live = self.sessions.0.sessions.read().await;
                self.owners.keep(|session| live.contains_key(session));
            }
            self.owners.set(new, &party(&who));
        }
        verbatim(response)
    }
}

fn session_of(headers: &http::HeaderMap) -> Option<String> {
    let value = headers.get("mcp-session-id")?.to_str().ok()?;
    Some(value.to_owned())
}

fn refuse(status: StatusCode, why: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(why.as_bytes())).boxed());
    *answer.status_mut() = status;
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(header::CONTENT_TYPE, text);
    answer
}

/// Takes out of a body what was wrapped on the way.
fn verbatim(response: Answer) -> Answer {
    let kind = response.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|v| v.to_str().ok()).unwrap_or_default();
    let unwrap = match kind {
        kind if kind.starts_with("application/json") => unwrap_bytes,
        kind if kind.starts_with("text/event-stream") => unwrap_events,
        _ => return response,
    };
    let (mut parts, body) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    let body = body.map_frame(move |frame| match frame.into_data() {
        Ok(data) => Frame::data(unwrap(&data).map_or(data, Bytes::from)),
        Err(other) => other,
    });
    Response::from_parts(parts, body.boxed())
}

/// Who began which session.
#[derive(Default)]
struct Owners(Mutex<Begun>);

#[derive(Default)]
struct Begun {
    by: HashMap<String, String>,
    /// How many were left when those of sessions that are gone were last dropped.
    left: usize,
}

/// Beyond how many more it is looked for sessions that are gone.
const MORE: usize = 1000;

impl Owners {
    /// Whether there are so many that some sessions may be gone.
    fn are_many(&self) -> bool {
        let begun = lock(&self.0);
        begun.by.len() >= 2 * begun.left + MORE
    }

    /// Forgets those of sessions that are gone, and of no other: a session whose owner is
    /// forgotten is nobody's.
    fn keep(&self, live: impl Fn(&str) -> bool) {
        let mut begun = lock(&self.0);
        begun.by.retain(|session, _| live(session));
        begun.left = begun.by.len();
    }

    fn is(&self, session: &str, owner: &str) -> bool {
        let begun = lock(&self.0);
        let known = begun.by.get(session);
        known.is_some_and(|known| known == owner)
    }

    fn set(&self, session: String, owner: &str) {
        lock(&self.0).by.insert(session, owner.to_owned());
    }

    fn forget(&self, session: &str) {
        lock(&self.0).by.remove(session);
    }
}

/// Sessions whose messages leave word for word.
struct Sessions(LocalSessionManager);

impl SessionManager for Sessions {
    type Error = <LocalSessionManager as SessionManager>::Error;
    type Transport = Verbatim<<LocalSessionManager as SessionManager>::Transport>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let (id, transport) = self.0.create_session().await?;
        Ok((id, Verbatim(transport)))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.0.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.0.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.0.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.0.create_stream(id, message).await
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.0.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.0.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.0.resume(id, last_event_id).await
    }
}

#[cfg(test)]
mod tests {
    use super::{MORE, Owners};

    #[test]
    fn what_is_gone_is_forgotten_and_nothing_else() {
        let owners = Owners::default();
        for n in 0..MORE {
            assert!(!owners.are_many(), "{n}");
            owners.set(format!("s{n}"), "ann");
        }
        assert!(owners.are_many());
        owners.keep(|session| session.ends_with('7'));
        assert!(owners.is("s7", "ann") && !owners.is("s7", "bob"));
        assert!(!owners.is("s8", "ann"));
        assert!(!owners.are_many());
    }
}
