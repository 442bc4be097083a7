//! In and out.

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use helve_kernel::store::Record;
use maud::html;

use super::session::COOKIE;
use super::words::{Lang, Word};
use super::{Given, Sent, Visit, fields, layout};
use crate::Hub;
use crate::problem::Problem;

/// The page with the form.
pub(super) async fn show(State(hub): State<Hub>, headers: HeaderMap) -> Response {
    if hub.sessions().of(&hub, &headers).is_some() {
        return Redirect::to("/console").into_response();
    }
    page(Lang::of(&headers), StatusCode::OK, None)
}

fn page(lang: Lang, status: StatusCode, refused: Option<&Problem>) -> Response {
    let t = |word: Word| word.in_lang(lang);
    let body = html! {
        main.narrow id="main" {
            h1 { (t(Word::SignIn)) }
            @if let Some(problem) = refused {
                div.alert role="alert" {
                    p { (problem.detail) }
                    @if let Some(hint) = &problem.hint { p.hint { (hint) } }
                }
            }
            form method="post" action="/console/sign-in" {
                label for="token" { (t(Word::Token)) }
                input #token name="token" type="password" autocomplete="current-password"
                    required autofocus aria-describedby="how";
                p #how .hint { (t(Word::SignInHow)) " " code { "helve console" } }
                button.main data-act="sign-in" { (t(Word::SignIn)) }
            }
        }
    };
    let page = layout::bare(lang, t(Word::SignIn), None, &body);
    (status, page).into_response()
}

/// Signs in with a token.
pub(super) async fn enter(State(hub): State<Hub>, request: Request) -> Response {
    let headers = request.headers().clone();
    let lang = Lang::of(&headers);
    let entered = async {
        let fields = fields(request, &hub).await?;
        let token = fields.iter().find(|(name, _)| name == "token");
        let token = token.map(|(_, token)| token.trim()).unwrap_or_default();
        begin(&hub, token, "token").await
    };
    match entered.await {
        Ok(cookie) => {
            let mut response = Redirect::to("/console").into_response();
            response.headers_mut().insert(header::SET_COOKIE, cookie);
            response
        }
        Err(problem) => {
            let problem = hub.sessions().failed(problem);
            let mut response = page(lang, problem.status, Some(&problem));
            if let Some(seconds) = problem.retry_after {
                let value = HeaderValue::from(seconds);
                response.headers_mut().insert(header::RETRY_AFTER, value);
            }
            response
        }
    }
}

/// Signs in by a link, which works once. The page that follows is asked for by our own
/// page: a cookie that is strict would not be sent along with a link from elsewhere.
pub(super) async fn follow(
    State(hub): State<Hub>,
    headers: HeaderMap,
    Path(code): Path<String>,
) -> Response {
    let lang = Lang::of(&headers);
    let t = |word: Word| word.in_lang(lang);
    let entered = async {
        let secret = hub.sessions().follow(&code);
        let secret = secret.ok_or_else(|| {
            Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", t(Word::LinkUsed))
                .hint("`helve console` prints a new one")
        })?;
        begin(&hub, &secret, "link").await
    };
    let cookie = match entered.await {
        Ok(cookie) => cookie,
        Err(problem) => {
            let problem = hub.sessions().failed(problem);
            return page(lang, problem.status, Some(&problem));
        }
    };
    let body = html! {
        main.narrow id="main" {
            h1 { (t(Word::SignedIn)) }
            p { a.button data-act="continue" href="/console" autofocus { (t(Word::Continue)) } }
        }
    };
    let page = layout::bare(lang, t(Word::SignedIn), Some("/console"), &body);
    let mut response = page.into_response();
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    response
}

/// A session, on the record before it begins; its cookie.
async fn begin(hub: &Hub, secret: &str, by: &str) -> Result<HeaderValue, Problem> {
    let (id, who) = hub.sessions().begin(hub, secret)?;
    record(hub, &who.owner, "console.signed_in", by).await?;
    let cookie = format!("{COOKIE}={id}; Path=/console; HttpOnly; SameSite=Strict");
    HeaderValue::try_from(cookie).map_err(|_| crate::problem::crashed())
}

async fn record(hub: &Hub, owner: &str, event: &'static str, by: &str) -> Result<(), Problem> {
    let record = Record::new(hub.kernel().now(), event, owner, "console").with("by", by);
    let recorded = hub.kernel().store().record(record).await;
    recorded.map_err(|e| crate::api::kept(&e))
}

/// Signs out.
pub(super) async fn out(
    State(hub): State<Hub>,
    visit: Visit,
    headers: HeaderMap,
    _: Sent,
) -> Given {
    hub.sessions().end(&headers);
    record(&hub, &visit.who.owner, "console.signed_out", "button").await?;
    let gone = format!("{COOKIE}=; Path=/console; HttpOnly; SameSite=Strict; Max-Age=0");
    let mut response = Redirect::to("/console/sign-in").into_response();
    if let Ok(gone) = HeaderValue::try_from(gone) {
        response.headers_mut().insert(header::SET_COOKIE, gone);
    }
    Ok(response)
}
