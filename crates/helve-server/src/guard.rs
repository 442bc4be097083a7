//! What every request must pass before a handler sees it.
//!
//! The host it was sent to (a page elsewhere can make a browser call a loopback
//! address under another name), the page it came from, the token, its rate, its
//! right, and the names of its parameters. A handler gets the caller from here and
//! from nowhere else.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use helve_kernel::Principal;

use crate::Hub;
use crate::input::Query;
use crate::problem::Problem;
use crate::routes::{Access, Route};

/// Who calls. Only a request that passed the guard has one.
#[derive(Debug, Clone)]
pub(crate) struct Caller(pub(crate) Arc<Principal>);

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let found = parts.extensions.get::<Caller>().cloned();
        found.ok_or_else(|| unauthorized("the route is open to everybody and knows no caller"))
    }
}

/// The check of one route.
pub(crate) async fn route(
    State((hub, route)): State<(Hub, &'static Route)>,
    mut request: Request,
    next: Next,
) -> Response {
    match admit(&hub, route, &mut request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// The check of a door of another protocol: who is it, and not too often.
pub(crate) async fn door(State(hub): State<Hub>, mut request: Request, next: Next) -> Response {
    match passes(&hub, &request) {
        Ok(principal) => {
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
        Err(problem) => challenge(&hub, &request, problem),
    }
}

/// A refusal, with where a client finds out how to get a token.
fn challenge(hub: &Hub, request: &Request, problem: Problem) -> Response {
    let host = request.headers().get(header::HOST);
    let place = host.and_then(|h| h.to_str().ok()).map(|host| {
        format!(
            "Bearer resource_metadata=\"http://{host}{}\"",
            crate::api::RESOURCE_METADATA
        )
    });
    let known = hub.settings().identity.is_some() && problem.status == StatusCode::UNAUTHORIZED;
    let mut response = problem.into_response();
    let value = place.and_then(|place| HeaderValue::try_from(place).ok());
    if let Some(value) = value.filter(|_| known) {
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, value);
    }
    response
}

/// Who calls, as long as that is not too often.
fn passes(hub: &Hub, request: &Request) -> Result<Arc<Principal>, Problem> {
    // Whoever sends a token in the address sends no other, so this comes first.
    Query::without_token(request.uri().query().unwrap_or_default())?;
    let principal = authenticate(hub, request.headers())?;
    let caller = principal
        .token
        .as_ref()
        .map_or(principal.owner.as_str(), |t| t.as_str());
    match hub.rates().take(caller, Instant::now()) {
        Ok(()) => Ok(principal),
        Err(wait) => Err(too_many("too many requests with this token", wait)),
    }
}

fn admit(hub: &Hub, route: &Route, request: &mut Request) -> Result<(), Problem> {
    if let Access::Needs(permission) = route.access {
        let principal = passes(hub, request)?;
        principal.require(permission)?;
        request.extensions_mut().insert(Caller(principal));
    } else {
        Query::without_token(request.uri().query().unwrap_or_default())?;
    }
    let query = Query::parse(request.uri().query().unwrap_or_default(), route.query)?;
    request.extensions_mut().insert(query);
    Ok(())
}

pub(crate) fn too_many(detail: &str, wait: Duration) -> Problem {
    let seconds = wait.as_secs() + 1;
    let detail = format!("{detail}; wait {seconds} s");
    Problem {
        retry_after: Some(seconds),
        ..Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail)
    }
}

/// Who calls. All who show nothing that counts share one bucket: guessing is slow,
/// and whoever has a token does not notice.
fn authenticate(hub: &Hub, headers: &HeaderMap) -> Result<Arc<Principal>, Problem> {
    known(hub, headers).map_err(|refused| match hub.strangers().take("", Instant::now()) {
        Ok(()) => refused,
        Err(wait) => too_many("too many requests without a token that counts", wait),
    })
}

fn known(hub: &Hub, headers: &HeaderMap) -> Result<Arc<Principal>, Problem> {
    let mut shown = headers.get_all(header::AUTHORIZATION).iter();
    if shown.next().is_none() {
        return Err(unauthorized(
            "a token is needed: send `Authorization: Bearer <token>`",
        ));
    }
    if shown.next().is_some() {
        return Err(unauthorized("one `Authorization` is enough"));
    }
    let secret = bearer(headers);
    let secret = secret.ok_or_else(|| unauthorized("the header must say `Bearer <token>`"))?;
    // One answer for all: unknown, expired and revoked look alike.
    shows(hub, secret).ok_or_else(|| unauthorized("the token is unknown, expired or revoked"))
}

/// Who shows this secret: one of the hub's own, or of an identity provider that it knows.
pub(crate) fn shows(hub: &Hub, secret: &str) -> Option<Arc<Principal>> {
    hub.kernel().authenticate(secret).or_else(|| {
        let identity = hub.settings().identity.as_ref()?;
        identity.principal(secret).map(Arc::new)
    })
}

/// The token that a request shows.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?;
    let (scheme, secret) = value.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(secret.trim())
}

pub(crate) fn unauthorized(detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
        .hint("`helve token create` makes one")
}

/// The check of all requests: where it was sent, and from which page.
pub(crate) async fn origin(State(hub): State<Hub>, request: Request, next: Next) -> Response {
    let mut response = match expected(&hub, &request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CONTENT_SECURITY_POLICY, CONTENT),
    ] {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

/// What a page of the hub may load: its own style, and nothing else.
const CONTENT: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
                       form-action 'none'; frame-ancestors 'none'";

fn expected(hub: &Hub, request: &Request) -> Result<(), Problem> {
    let hosts = &hub.settings().hosts;
    let known = |name: &str| hosts.iter().any(|h| h.eq_ignore_ascii_case(name));
    let headers = request.headers();
    // Wherever a request says where it goes, it must say the same.
    let mut named = headers
        .get_all(header::HOST)
        .iter()
        .map(|h| h.to_str().unwrap_or("?"))
        .chain(
            request
                .uri()
                .authority()
                .map(axum::http::uri::Authority::as_str),
        )
        .peekable();
    if named.peek().is_none() || !named.all(known) {
        let detail = "this hub does not answer to that `Host`";
        let hint =
            "call it by the address that `helve up` printed, or add the name to `server.hosts`";
        let status = StatusCode::MISDIRECTED_REQUEST;
        return Err(Problem::new(status, "misdirected", detail).hint(hint));
    }
    let own = |page: &HeaderValue| {
        let page = page.to_str().unwrap_or("?");
        let name = page
            .strip_prefix("http://")
            .or_else(|| page.strip_prefix("https://"));
        name.is_some_and(known)
    };
    match headers.get_all(header::ORIGIN).iter().all(own) {
        true => Ok(()),
        false => {
            let detail = "a page of another origin may not call this hub";
            Err(Problem::new(StatusCode::FORBIDDEN, "origin", detail))
        }
    }
}
