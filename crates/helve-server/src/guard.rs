//! What every request must pass before a handler sees it.
//!
//! The host it was sent to (a page elsewhere can make a browser call a loopback
//! address under another name), the page it came from, the token, its rate, its
//! right, and the names of its parameters. A handler gets the caller from here and
//! from nowhere else.

use std::sync::Arc;
use std::time::Instant;

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

fn admit(hub: &Hub, route: &Route, request: &mut Request) -> Result<(), Problem> {
    if let Access::Needs(permission) = route.access {
        let principal = authenticate(hub, request.headers())?;
        let caller = principal
            .token
            .as_ref()
            .map_or(principal.owner.as_str(), |t| t.as_str());
        if let Err(wait) = hub.rates().take(caller, Instant::now()) {
            let seconds = wait.as_secs() + 1;
            return Err(Problem {
                retry_after: Some(seconds),
                ..Problem::new(
                    StatusCode::TOO_MANY_REQUESTS,
                    "rate_limited",
                    format!("too many requests with this token; wait {seconds} s"),
                )
            });
        }
        principal.require(permission)?;
        request.extensions_mut().insert(Caller(Arc::new(principal)));
    }
    let query = Query::parse(request.uri().query().unwrap_or_default(), route.query)?;
    request.extensions_mut().insert(query);
    Ok(())
}

fn authenticate(hub: &Hub, headers: &HeaderMap) -> Result<Principal, Problem> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Err(unauthorized(
            "a token is needed: send `Authorization: Bearer <token>`",
        ));
    };
    let secret = value.to_str().ok().and_then(|v| {
        let (scheme, secret) = v.split_once(' ')?;
        scheme
            .eq_ignore_ascii_case("bearer")
            .then_some(secret.trim())
    });
    let secret = secret.ok_or_else(|| unauthorized("the header must say `Bearer <token>`"))?;
    // One answer for all: unknown, expired and revoked look alike.
    let known = hub.kernel().authenticate(secret);
    known.ok_or_else(|| unauthorized("the token is unknown, expired or revoked"))
}

fn unauthorized(detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
        .hint("`helve token create` makes one")
}

/// The check of all requests: where it was sent, and from which page.
pub(crate) async fn origin(State(hub): State<Hub>, request: Request, next: Next) -> Response {
    let hosts = &hub.settings().hosts;
    let headers = request.headers();
    let host = headers.get(header::HOST).and_then(|h| h.to_str().ok());
    let host = host.or_else(|| request.uri().authority().map(|a| a.as_str()));
    let known = |name: &str| hosts.iter().any(|h| h.eq_ignore_ascii_case(name));
    if !host.is_some_and(known) {
        let detail = "this hub does not answer to that `Host`";
        let hint =
            "call it by the address that `helve up` printed, or add the name to `server.hosts`";
        return Problem::new(StatusCode::MISDIRECTED_REQUEST, "misdirected", detail)
            .hint(hint)
            .into_response();
    }
    let page = headers
        .get(header::ORIGIN)
        .map(|o| o.to_str().unwrap_or("?"));
    let own = |page: &str| {
        let name = page
            .strip_prefix("http://")
            .or_else(|| page.strip_prefix("https://"));
        name.is_some_and(known)
    };
    if page.is_some_and(|page| !own(page)) {
        let detail = "a page of another origin may not call this hub";
        return Problem::new(StatusCode::FORBIDDEN, "origin", detail).into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    response
}
