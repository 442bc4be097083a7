//! `/tokens` and `/me`: who shows what.

use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse as _;
use helve_core::def::Risk;
use helve_kernel::{NewToken, Permission, PrincipalKind, TokenId};
use serde_json::{Value, json};

use super::{Given, ok};
use crate::guard::Caller;
use crate::input::{Body, Id};
use crate::problem::{Problem, crashed, json_response, shown};
use crate::{Hub, view};

pub(crate) async fn list(State(hub): State<Hub>, Caller(who): Caller) -> Given {
    let tokens = hub.kernel().tokens(&who).await?;
    ok(&view::page(tokens.iter().map(view::token).collect(), None))
}

pub(crate) async fn me(Caller(who): Caller) -> Given {
    ok(&view::principal(&who))
}

/// Signs nobody in by itself: whoever follows the link is who shows the token now.
pub(crate) async fn sign_in_link(
    State(hub): State<Hub>,
    Caller(who): Caller,
    headers: HeaderMap,
) -> Given {
    if who.kind != PrincipalKind::Person {
        let detail = "the console is for people; this token is an agent's";
        return Err(Problem::new(StatusCode::FORBIDDEN, "permission", detail));
    }
    let secret = crate::guard::bearer(&headers).ok_or_else(crashed)?;
    let path = hub.sign_in_link(secret).ok_or_else(crashed)?;
    let host = headers.get(header::HOST).and_then(|h| h.to_str().ok());
    let url = format!("http://{}{path}", host.unwrap_or_default());
    Ok(json_response(
        StatusCode::CREATED,
        &json!({"path": path, "url": url}),
    ))
}

pub(crate) async fn create(State(hub): State<Hub>, Caller(who): Caller, body: Body) -> Given {
    let new = new_token(&body)?;
    let (token, secret) = hub.kernel().create_token(&who, new).await?;
    let mut value = view::token(&token);
    value["secret"] = secret.reveal().into();
    Ok(json_response(StatusCode::CREATED, &value))
}

/// The most characters of a name: with `agent:` before it, it is still an owner.
pub(crate) const NAME: usize = 120;

fn new_token(body: &Body) -> Result<NewToken, Problem> {
    body.only(&[
        "name",
        "kind",
        "owner",
        "permissions",
        "scopes",
        "max_risk",
        "expires_in",
    ])?;
    let name = body
        .line("name", NAME)?
        .ok_or_else(|| Problem::invalid("`name` is missing"))?;
    let kind = match body.text("kind")?.as_deref() {
        None => PrincipalKind::Agent,
        Some(word) => PrincipalKind::parse(word)
            .ok_or_else(|| Problem::invalid("`kind` is `person` or `agent`"))?,
    };
    let mut new = NewToken::agent(name);
    new.kind = kind;
    match (body.text("owner")?, kind) {
        (Some(owner), _) => new.owner = owner,
        (None, PrincipalKind::Agent) => {}
        (None, PrincipalKind::Person) => {
            return Err(Problem::invalid("a person's token needs its `owner`"));
        }
    }
    if let Some(words) = body.texts("permissions")? {
        new.permissions = words
            .iter()
            .map(|w| permission(w))
            .collect::<Result<_, _>>()?;
        new.permissions.sort_unstable();
        new.permissions.dedup();
    }
    if let Some(scopes) = body.texts("scopes")? {
        new.scopes = scopes;
    }
    if let Some(word) = body.text("max_risk")? {
        let wrong = || Problem::invalid("`max_risk` is read, exec_low, exec_high or write");
        new.max_risk = Risk::parse(&word).ok_or_else(wrong)?;
    }
    new.lasts = match body.0.get("expires_in") {
        None | Some(Value::Null) => None,
        Some(seconds) => {
            let year = 10 * 366 * 24 * 3600;
            // JSON Schema counts 60.0 among the integers.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let whole = |n: f64| (n.fract() == 0.0 && n >= 0.0).then_some(n as u64);
            let seconds = seconds
                .as_u64()
                .or_else(|| seconds.as_f64().and_then(whole));
            let seconds = seconds.filter(|s| (1..=year).contains(s));
            let wrong =
                || Problem::invalid("`expires_in` is a number of seconds, at most ten years");
            Some(Duration::from_secs(seconds.ok_or_else(wrong)?))
        }
    };
    Ok(new)
}

fn permission(word: &str) -> Result<Permission, Problem> {
    Permission::parse(word).ok_or_else(|| {
        let all: Vec<&str> = Permission::ALL.iter().map(|p| p.as_str()).collect();
        let shown = shown(word);
        Problem::invalid(format!(
            "there is no permission `{shown}`; there are {}",
            all.join(", ")
        ))
    })
}

pub(crate) async fn revoke(State(hub): State<Hub>, Caller(who): Caller, Id(id): Id) -> Given {
    let parsed = TokenId::parse(&id).ok_or_else(|| Problem::not_found(&id))?;
    let mine = hub.kernel().tokens(&who).await?;
    if !mine.iter().any(|t| t.id == parsed) {
        return Err(Problem::not_found(&id));
    }
    hub.kernel().revoke_token(&who, &parsed).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
