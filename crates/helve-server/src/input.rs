//! Requests, read strictly: a name that nobody knows is an error, not silence.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use helve_core::name::nearest;
use helve_core::read::{self, Syntax};
use http_body_util::LengthLimitError;
use serde_json::{Map, Value};

use crate::Hub;
use crate::problem::{Problem, shown};
use crate::routes::Parameter;

/// The parameters after the `?`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads them; only those that the route knows, each at most once.
    pub(crate) fn parse(text: &str, known: &[Parameter]) -> Result<Self, Problem> {
        let mut found: Vec<(String, String)> = Vec::new();
        for part in text.split('&').filter(|p| !p.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            if !known.iter().any(|p| p.name == name) {
                return Err(unknown(
                    "query parameter",
                    &name,
                    known.iter().map(|p| p.name),
                ));
            }
            if found.iter().any(|(n, _)| *n == name) {
                return Err(Problem::bad_request(format!("`{name}` is given twice")));
            }
            found.push((name, value));
        }
        Ok(Self(found))
    }

    /// Refuses a token among them.
    pub(crate) fn without_token(text: &str) -> Result<(), Problem> {
        const NAMES: [&str; 4] = ["token", "access_token", "api_key", "authorization"];
        for part in text.split('&') {
            let name = decoded(part.split('=').next().unwrap_or_default())?;
            if NAMES.iter().any(|n| n.eq_ignore_ascii_case(&name)) {
                let detail = "a token does not belong into an address, where it ends up in logs";
                return Err(Problem::bad_request(detail)
                    .hint("send `Authorization: Bearer <token>`, and revoke this one"));
            }
        }
        Ok(())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A parameter that `read` understands.
    pub(crate) fn read<T>(
        &self,
        name: &str,
        wanted: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let wrong = || {
            let shown = shown(text);
            Problem::bad_request(format!("`{name}` cannot be `{shown}`; it is {wanted}"))
        };
        read(text).map(Some).ok_or_else(wrong)
    }

    /// How many items a page has.
    pub(crate) fn limit(&self) -> Result<usize, Problem> {
        let wanted = format!("a number from 1 to {MOST}");
        let limit = self.read("limit", &wanted, |t| {
            let number = usize::try_from(number(t)?).ok()?;
            (1..=MOST).contains(&number).then_some(number)
        })?;
        Ok(limit.unwrap_or(PAGE))
    }

    /// A number that a database can hold.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        self.read(name, "a number", number)
    }

    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Problem> {
        self.read(name, "true or false", |t| t.parse().ok())
    }
}

/// A number that a database can hold.
pub(crate) fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits)?;
    i64::try_from(number).is_ok().then_some(number)
}

/// The items of a page, where nothing is said, and at most.
pub(crate) const PAGE: usize = 50;
pub(crate) const MOST: usize = 200;

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(parts.extensions.get::<Query>().cloned().unwrap_or_default())
    }
}

/// What the path says where the route leaves it open.
pub(crate) struct Id<T = String>(pub(crate) T);

impl<S: Send + Sync, T> FromRequestParts<S> for Id<T>
where
    Path<T>: FromRequestParts<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let found = Path::<T>::from_request_parts(parts, state).await;
        let Path(found) = found.map_err(|_| Problem::bad_request("the path is not UTF-8"))?;
        Ok(Self(found))
    }
}

fn decoded(text: &str) -> Result<String, Problem> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || (rest.next()? as char).to_digit(16);
                let pair = digit()
                    .zip(digit())
                    .and_then(|(a, b)| u8::try_from(a * 16 + b).ok());
                pair.ok_or_else(|| Problem::bad_request("the query has a broken `%` in it"))?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| Problem::bad_request("the query is not UTF-8"))
}

pub(crate) fn unknown<'k>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'k str> + Clone,
) -> Problem {
    let problem = Problem::bad_request(format!("unknown {what} `{}`", shown(name)));
    match nearest(name, known.clone(), 1).first() {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => {
            let known: Vec<String> = known.map(|k| format!("`{k}`")).collect();
            match known.is_empty() {
                true => problem.hint("there are none here"),
                false => problem.hint(format!("it may be {}", known.join(", "))),
            }
        }
    }
}

/// How long a body may take to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// The bytes of a request, at most as many as the hub takes.
pub(crate) struct Raw(pub(crate) Bytes);

impl FromRequest<Hub> for Raw {
    type Rejection = Problem;

    async fn from_request(request: Request, hub: &Hub) -> Result<Self, Problem> {
        let limit = hub.settings().body_limit;
        let (parts, body) = request.into_parts();
        let kind = parts
            .headers
            .get(header::CONTENT_TYPE)
            .map(|k| k.to_str().unwrap_or("?"));
        let is_json = |kind: &str| {
            let kind = kind
                .split(';')
                .next()
                .unwrap_or_default()
                .trim()
                .to_ascii_lowercase();
            kind == "application/json"
                || (kind.starts_with("application/") && kind.ends_with("+json"))
        };
        let whole = tokio::time::timeout(PATIENCE, axum::body::to_bytes(body, limit)).await;
        let whole = whole.map_err(|_| {
            let detail = format!("the body did not come within {PATIENCE:?}");
            Problem::new(StatusCode::REQUEST_TIMEOUT, "slow", detail)
        })?;
        let bytes = whole.map_err(|e| {
            let source = std::error::Error::source(&e);
            let long = source.and_then(|e| e.downcast_ref::<LengthLimitError>());
            if long.is_none() {
                return Problem::bad_request("the body broke off");
            }
            let detail = format!("the request is longer than the {limit} bytes that are taken");
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
        })?;
        if !bytes.is_empty() && !kind.is_some_and(is_json) {
            let detail = "the body must be JSON: send `Content-Type: application/json`";
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "media_type",
                detail,
            ));
        }
        Ok(Self(bytes))
    }
}

/// A JSON object: no key twice, no depth without end, nothing after it.
pub(crate) struct Body(pub(crate) Map<String, Value>);

impl FromRequest<Hub> for Body {
    type Rejection = Problem;

    async fn from_request(request: Request, hub: &Hub) -> Result<Self, Problem> {
        let Raw(bytes) = Raw::from_request(request, hub).await?;
        object(&bytes).map(Self)
    }
}

/// The object in a body; an empty body is an empty one.
pub(crate) fn object(bytes: &[u8]) -> Result<Map<String, Value>, Problem> {
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    let text = read::text(bytes).and_then(|text| read::read(text, Syntax::Json));
    let node =
        text.map_err(|e| Problem::bad_request(format!("the body is not JSON: {}", e.problem)))?;
    match node.to_value() {
        Value::Object(map) => Ok(map),
        _ => Err(Problem::invalid("the body must be a JSON object")),
    }
}

impl Body {
    /// Refuses fields that nobody knows.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Problem> {
        match self.0.keys().find(|k| !known.contains(&k.as_str())) {
            None => Ok(()),
            Some(key) => Err(Problem {
                status: StatusCode::UNPROCESSABLE_ENTITY,
                kind: "validation",
                ..unknown("field", key, known.iter().copied())
            }),
        }
    }

    /// A field that is text; null counts as absent.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, Problem> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Problem::invalid(format!("`{name}` must be text"))),
        }
    }

    /// A field that is true or false; null and absent are false.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(Problem::invalid(format!("`{name}` must be true or false"))),
        }
    }

    /// A text of at most so many characters, none of which controls anything.
    pub(crate) fn line(&self, name: &str, most: usize) -> Result<Option<String>, Problem> {
        let text = self.text(name)?;
        let wrong = |t: &String| t.chars().count() > most || t.contains(char::is_control);
        match text.as_ref().is_some_and(wrong) {
            false => Ok(text),
            true => Err(Problem::invalid(format!(
                "`{name}` is one line of at most {most} characters"
            ))),
        }
    }

    /// A list of texts that `read` understands.
    pub(crate) fn texts(&self, name: &str) -> Result<Option<Vec<String>>, Problem> {
        let wrong = || Problem::invalid(format!("`{name}` must be a list of texts"));
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(items)) => {
                let texts = items.iter().map(|i| i.as_str().map(str::to_owned));
                texts.collect::<Option<_>>().map(Some).ok_or_else(wrong)
            }
            Some(_) => Err(wrong()),
        }
    }
}
