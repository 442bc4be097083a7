//! The protocol over streamable HTTP.
//!
//! Who sends a request is decided before it comes here: whoever serves puts the principal
//! into its extensions. A session belongs to whoever began it, and nobody else finds it.

use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use helve_kernel::Principal;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body::{Body, Frame};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Collected, Full, StreamBody};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::client::party;
use super::handler::Handler;
use super::owners::{NotTheirs, Owners};
use super::verbatim::{Verbatim, unwrap_bytes, unwrap_events};
use super::{Front, Session, direct};

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
    body_limit: usize,
    silent: CancellationToken,
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
        let silent = front.silent().clone();
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
            owners: Arc::new(Owners::new(options.idle)),
            sessions,
            body_limit: options.body_limit,
            silent,
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
        let Some(session) = session else {
            return Box::pin(self.pass(request, None, &who)).await;
        };
        match self.owners.line(&session, &party(&who)) {
            // What belongs to somebody else is not there.
            Err(NotTheirs) => refuse(StatusCode::NOT_FOUND, "there is no such session"),
            Ok(Some(line)) if direct::may_be(&request, self.body_limit) => {
                let (parts, body) = request.into_parts();
                let Ok(body) = body.collect().await.map(Collected::to_bytes) else {
                    return refuse(StatusCode::BAD_REQUEST, "the request ends too early");
                };
                match direct::answer(&line, parts, &body, &who).await {
                    Ok(answer) => answer,
                    Err(parts) => {
                        let request = Request::from_parts(*parts, Full::new(body));
                        Box::pin(self.pass(request, Some(session), &who)).await
                    }
                }
            }
            Ok(_) => Box::pin(self.pass(request, Some(session), &who)).await,
        }
    }

    /// Lets the protocol library answer. Apart, because its future is large, and that of
    /// every request would be.
    async fn pass<B>(
        &self,
        mut request: Request<B>,
        session: Option<String>,
        who: &Principal,
    ) -> Answer
    where
        B: Body + Send + 'static,
        B::Error: Display,
        B::Data: Send + 'static,
    {
        let closes = request.method() == http::Method::DELETE;
        let listens = request.method() == http::Method::GET;
        request.extensions_mut().insert(self.owners.clone());
        let response = self.inner.handle(request).await;
        if let Some(session) = session.filter(|_| closes) {
            self.owners.forget(&session);
        } else if let Some(new) = session_of(response.headers()) {
            if self.owners.are_many() {
                let live = self.sessions.0.sessions.read().await;
                self.owners.keep(|session| live.contains_key(session));
            }
            self.owners.set(new, &party(who));
        }
        match listens {
            true => until(self.silent.clone(), verbatim(response)),
            false => verbatim(response),
        }
    }
}

pub(super) fn session_of(headers: &http::HeaderMap) -> Option<String> {
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

/// The same, which ends when nothing more will come.
fn until(silent: CancellationToken, response: Answer) -> Answer {
    response.map(|body| {
        let frames = body.into_data_stream().take_until(silent.cancelled_owned());
        BodyExt::boxed(StreamBody::new(frames.map_ok(Frame::data)))
    })
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
