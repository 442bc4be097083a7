//! The frame of every page.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use helve_kernel::Permission;
use maud::{DOCTYPE, Markup, html};

use super::text::line;
use super::words::{Lang, Word};
use super::{Visit, text};
use crate::problem::Problem;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("console.js");
const ICON: &str = include_str!("icon.svg");

/// What a page is made of.
pub(super) struct Page<'p> {
    pub(super) title: String,
    /// What it must be drawn anew for: words of [`super::live`].
    pub(super) live: &'p str,
    pub(super) body: Markup,
}

impl Page<'_> {
    /// The whole page.
    pub(super) fn shown(self, visit: &Visit) -> Response {
        whole(Some(visit), visit.lang, &self).into_response()
    }
}

/// A page without a frame, for those who are not signed in; with where to go on by itself.
pub(super) fn bare(lang: Lang, title: &str, next: Option<&str>, body: &Markup) -> Response {
    document(lang, title, next, "", body).into_response()
}

fn whole(visit: Option<&Visit>, lang: Lang, page: &Page<'_>) -> Markup {
    let t = |word: Word| word.in_lang(lang);
    let body = html! {
        a.skip href="#main" { (t(Word::Skip)) }
        @if let Some(visit) = visit { (header(visit)) }
        main id="main" tabindex="-1" { (page.body) }
    };
    document(lang, &page.title, None, page.live, &body)
}

fn document(lang: Lang, title: &str, next: Option<&str>, live: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang=(lang.tag()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                @if let Some(next) = next { meta http-equiv="refresh" content={ "0;url=" (next) }; }
                title { (text::plain(title)) " · Helve" }
                link rel="stylesheet" href="/console/style.css";
                link rel="icon" href="/console/icon.svg" type="image/svg+xml";
                script src="/console/console.js" defer {}
            }
            body data-live=(live) { (body) }
        }
    }
}

fn header(visit: &Visit) -> Markup {
    let pages = [
        ("/console", Word::Overview, Permission::RunRead),
        ("/console/inbox", Word::Inbox, Permission::RunRead),
        ("/console/runs", Word::Runs, Permission::RunRead),
        ("/console/tools", Word::Tools, Permission::ToolRead),
        ("/console/servers", Word::Servers, Permission::ToolRead),
        ("/console/audit", Word::Audit, Permission::AuditRead),
    ];
    html! {
        header {
            nav aria-label="Helve" {
                a.logo href="/console" { "helve" }
                ul {
                    @for (path, word, needs) in pages {
                        @if visit.may(needs) {
                            li {
                                a href=(path) aria-current=[current(visit, path).then_some("page")] {
                                    (visit.t(word))
                                    @if path == "/console/inbox" {
                                        " " span.badge data-badge="inbox" data-part="badge"
                                            hidden[visit.waiting == 0] { (visit.waiting) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            form.who method="post" action="/console/sign-out" {
                (visit.csrf())
                span { (line(&visit.who.owner)) }
                button.plain data-act="sign-out" { (visit.t(Word::SignOut)) }
            }
        }
    }
}

fn current(visit: &Visit, path: &str) -> bool {
    match path {
        "/console" => &*visit.path == path,
        _ => visit.path.starts_with(path),
    }
}

/// A refusal, as a page.
pub(super) fn refusal(visit: Option<&Visit>, lang: Lang, problem: &Problem) -> Response {
    let title = Word::Refused.in_lang(lang).to_owned();
    let body = html! {
        h1 { (title) }
        (alert(problem))
    };
    let page = Page {
        title,
        live: "",
        body,
    };
    let mut response = (problem.status, whole(visit, lang, &page)).into_response();
    if let Some(seconds) = problem.retry_after {
        let value = HeaderValue::from(seconds);
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
    response
}

/// What was refused, and why.
pub(super) fn alert(problem: &Problem) -> Markup {
    html! {
        div.alert role="alert" {
            p { (text::visible(&problem.detail)) }
            @for error in &problem.errors { p { (text::visible(&error.to_string())) } }
            @if let Some(hint) = &problem.hint { p.hint { (text::visible(hint)) } }
        }
    }
}

/// That something was done.
pub(super) fn said(text: &str, run: Option<&str>) -> Markup {
    html! {
        div.said role="status" data-said="" {
            (text)
            @if let Some(run) = run {
                " " a href={ "/console/runs/" (run) } { (run) }
            }
        }
    }
}

/// A state, as a small label.
pub(super) fn state(word: &str) -> Markup {
    html! { span.state.(word) { (word) } }
}

pub(super) async fn style() -> Response {
    file("text/css; charset=utf-8", STYLE)
}

pub(super) async fn script() -> Response {
    file("text/javascript; charset=utf-8", SCRIPT)
}

pub(super) async fn icon() -> Response {
    file("image/svg+xml", ICON)
}

fn file(kind: &'static str, text: &'static str) -> Response {
    // Always asked for again: a new binary has new files at the same place.
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (StatusCode::OK, headers, text).into_response()
}
