//! The console: pages for the people who answer for what agents do.
//!
//! Rendered here, without a build step; a little script makes them live, and they work
//! without it. Nothing is decided here: every button ends in the same calls of the
//! kernel as any other door, as the person who is signed in.
//!
//! - *Foreign text is never markup.* It goes through [`text`], which shows what hides.
//! - *No inline script or style*: what a page may load is its own two files.
//! - *A form without the session's word does nothing.*

mod audit;
mod charts;
mod diff;
mod form;
mod inbox;
mod layout;
mod live;
mod overview;
mod runs;
mod servers;
mod session;
mod sign_in;
mod text;
mod tools;
mod undo;
mod words;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodRouter, get, post};
use helve_kernel::{Permission, Principal};
use maud::Markup;

use crate::Hub;
use crate::problem::Problem;

pub(crate) use audit::Followed;
pub(crate) use overview::Saved;
pub(crate) use session::Sessions;
pub use text::{Colour, Painter};
use words::{Lang, Word};

/// What a page may load: its own files and nothing else.
const CONTENT: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                       connect-src 'self'; form-action 'self'; base-uri 'none'; \
                       frame-ancestors 'none'";

/// What a handler of a page gives.
type Given = Result<Response, Problem>;

/// The pages: where each is, the right that it needs if any, and what it shows or does.
pub(crate) fn pages() -> [(&'static str, Option<Permission>, MethodRouter<Hub>); 26] {
    use Permission::{
        ApprovalDecide, AuditRead, RunRead, RunUndo, ToolExecute, ToolRead, ToolRegister,
    };
    let file = get(crate::api::runs::artifact);
    [
        ("/console", Some(RunRead), get(overview::show)),
        ("/console/live", None, get(live::events)),
        ("/console/inbox", Some(RunRead), get(inbox::list)),
        ("/console/inbox/{id}", Some(RunRead), get(inbox::show)),
        (
            "/console/inbox/{id}/approve",
            Some(ApprovalDecide),
            post(inbox::approve),
        ),
        (
            "/console/inbox/{id}/deny",
            Some(ApprovalDecide),
            post(inbox::deny),
        ),
        // To decide as well, which the kernel asks for: a yes whose rule cannot be kept is
        // not given.
        (
            "/console/inbox/{id}/remember",
            Some(ToolRegister),
            get(inbox::rule).post(inbox::remember),
        ),
        (
            "/console/questions/{id}",
            Some(RunRead),
            post(inbox::answer),
        ),
        ("/console/runs", Some(RunRead), get(runs::list)),
        ("/console/runs/{id}", Some(RunRead), get(runs::show)),
        ("/console/runs/{id}/diff", Some(RunRead), get(runs::diff)),
        ("/console/runs/{id}/logs", Some(RunRead), get(runs::logs)),
        ("/console/runs/{id}/artifacts/{name}", Some(RunRead), file),
        (
            "/console/runs/{id}/cancel",
            Some(ToolExecute),
            post(runs::cancel),
        ),
        (
            "/console/runs/{id}/undo",
            Some(RunUndo),
            get(undo::ask).post(undo::now),
        ),
        ("/console/tools", Some(ToolRead), get(tools::list)),
        ("/console/tools/{name}", Some(ToolRead), get(tools::show)),
        (
            "/console/tools/{name}/call",
            Some(ToolExecute),
            post(tools::call),
        ),
        (
            "/console/tools/{name}/{act}",
            Some(ToolRegister),
            post(tools::act),
        ),
        ("/console/servers", Some(ToolRead), get(servers::list)),
        (
            "/console/servers/accept",
            Some(ToolRegister),
            post(servers::accept),
        ),
        (
            "/console/servers/{name}/test",
            Some(ToolRegister),
            post(servers::test),
        ),
        ("/console/audit", Some(AuditRead), get(audit::list)),
        (
            "/console/audit/export",
            Some(AuditRead),
            get(crate::api::audit::export),
        ),
        ("/console/audit/{seq}", Some(AuditRead), get(audit::show)),
        ("/console/sign-out", None, post(sign_in::out)),
    ]
}

/// All routes of the console.
pub(crate) fn router(hub: &Hub) -> Router<Hub> {
    let mut inside = Router::new();
    for (path, needs, page) in pages() {
        inside = inside.route(path, page.layer(from_fn_with_state(needs, allowed)));
    }
    let inside = inside.route_layer(from_fn_with_state(hub.clone(), door));
    Router::new()
        .route("/", get(|| async { Redirect::to("/console") }))
        .route("/console/sign-in", get(sign_in::show).post(sign_in::enter))
        .route("/console/enter/{code}", get(sign_in::follow))
        .route("/console/style.css", get(layout::style))
        .route("/console/console.js", get(layout::script))
        .route("/console/icon.svg", get(layout::icon))
        .merge(inside)
        .layer(from_fn(dressed))
}

/// Whether whoever is signed in may use this page.
async fn allowed(
    State(needs): State<Option<Permission>>,
    visit: Visit,
    request: Request,
    next: Next,
) -> Response {
    match needs.map_or(Ok(()), |needs| visit.who.require(needs)) {
        Ok(()) => next.run(request).await,
        Err(error) => Problem::from(error).into_response(),
    }
}

/// Who looks at a page, and how they want to read it. Only a request with a session has one.
#[derive(Clone)]
pub(crate) struct Visit {
    pub(crate) who: Arc<Principal>,
    lang: Lang,
    /// What every form of the session must say.
    csrf: Arc<str>,
    /// The address of the page, without its parameters.
    path: Arc<str>,
    /// How many wait for a decision or an answer.
    waiting: usize,
}

impl Visit {
    fn t(&self, word: Word) -> &'static str {
        word.in_lang(self.lang)
    }

    fn may(&self, permission: Permission) -> bool {
        self.who.may(permission)
    }

    /// The hidden field of a form.
    fn csrf(&self) -> Markup {
        maud::html! { input type="hidden" name="csrf" value=(self.csrf); }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Visit {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let found = parts.extensions.get::<Visit>().cloned();
        found.ok_or_else(|| crate::guard::unauthorized("nobody is signed in"))
    }
}

/// A form that was sent by a page of this session.
pub(crate) struct Sent {
    fields: Vec<(String, String)>,
}

impl Sent {
    fn get(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    /// What somebody wrote, if it is more than blanks.
    fn text(&self, name: &str) -> Option<String> {
        let text = self.get(name)?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

impl FromRequest<Hub> for Sent {
    type Rejection = Problem;

    async fn from_request(request: Request, hub: &Hub) -> Result<Self, Problem> {
        let visit = request.extensions().get::<Visit>().cloned();
        let visit = visit.ok_or_else(|| crate::guard::unauthorized("nobody is signed in"))?;
        let sent = Self {
            fields: fields(request, hub).await?,
        };
        match sent.get("csrf") {
            Some(word) if word == &*visit.csrf => Ok(sent),
            _ => Err(Problem::new(
                StatusCode::FORBIDDEN,
                "csrf",
                "the form is not of this session; nothing was done",
            )
            .hint("go back, load the page again and send it once more")),
        }
    }
}

/// The fields of a form, within the limit of a request.
async fn fields(request: Request, hub: &Hub) -> Result<Vec<(String, String)>, Problem> {
    let kind = request.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|k| k.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("application/x-www-form-urlencoded") {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Problem::new(status, "media_type", "this takes a form"));
    }
    let body = http_body_util::Limited::new(request.into_body(), hub.settings().body_limit);
    let read = http_body_util::BodyExt::collect(body).await;
    let bytes: Bytes = match read {
        Ok(read) => read.to_bytes(),
        Err(_) => {
            let limit = hub.settings().body_limit;
            let detail = format!("the form is larger than {limit} bytes, or was cut off");
            return Err(Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too_large",
                detail,
            ));
        }
    };
    Ok(form_urlencoded::parse(&bytes).into_owned().collect())
}

/// Lets only those in who are signed in.
async fn door(State(hub): State<Hub>, mut request: Request, next: Next) -> Response {
    let session = hub.sessions().of(&hub, request.headers());
    let Some((who, csrf)) = session else {
        return Redirect::to("/console/sign-in").into_response();
    };
    let caller = who
        .token
        .as_ref()
        .map_or(who.owner.as_str(), |t| t.as_str());
    if let Err(wait) = hub.rates().take(caller, Instant::now()) {
        return crate::guard::too_many("too many requests", wait).into_response();
    }
    let visit = Visit {
        lang: Lang::of(request.headers()),
        waiting: inbox::waiting(&hub, &who).await,
        csrf,
        path: request.uri().path().into(),
        who: who.clone(),
    };
    request.extensions_mut().insert(crate::guard::Caller(who));
    // What the shared handlers read from it; pages read their own.
    request
        .extensions_mut()
        .insert(crate::input::Query::default());
    request.extensions_mut().insert(visit.clone());
    let mut response = next.run(request).await;
    response.extensions_mut().insert(visit);
    response
}

/// A refusal as a page, and what pages may load.
async fn dressed(request: Request, next: Next) -> Response {
    let lang = Lang::of(request.headers());
    let mut response = next.run(request).await;
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        let visit = response.extensions_mut().remove::<Visit>();
        response = layout::refusal(visit.as_ref(), lang, &problem);
    }
    let policy = HeaderValue::from_static(CONTENT);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    // Without it, browsers do not say from where a form was sent, and it is refused.
    let ours = HeaderValue::from_static("same-origin");
    headers.insert(header::REFERRER_POLICY, ours);
    response
}

/// The parameters of a page's address.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(n, v)| n == name && !v.is_empty());
        found.map(|(_, value)| value.as_str())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or_default().as_bytes();
        Ok(Self(form_urlencoded::parse(query).into_owned().collect()))
    }
}

/// The value of a cookie.
fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let all = headers.get_all(header::COOKIE).iter();
    let mut pairs = all
        .filter_map(|v| v.to_str().ok())
        .flat_map(|v| v.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(n, _)| *n == name).map(|(_, value)| value)
}
