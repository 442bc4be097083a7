//! Requests, read strictly: a name that nobody knows is an error, not silence.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use helve_core::name::nearest;
use helve_core::read::{self, Syntax};
use serde_json::{Map, Value};

use crate::Hub;
use crate::problem::Problem;
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
            if ["token", "access_token", "api_key", "authorization"].contains(&name.as_str()) {
                let detail = "a token does not belong into an address, where it ends up in logs";
                return Err(Problem::bad_request(detail)
                    .hint("send `Authorization: Bearer <token>`, and revoke this one"));
            }
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
            let shown: String = text.chars().take(64).collect();
            let shown = shown.escape_debug();
            Problem::bad_request(format!("`{name}` cannot be `{shown}`; it is {wanted}"))
        };
        read(text).map(Some).ok_or_else(wrong)
    }

    /// How many items a page has.
    pub(crate) fn limit(&self) -> Result<usize, Problem> {
        let wanted = format!("a number from 1 to {MOST}");
        let limit = self.read("limit", &wanted, |t| {
            t.parse().ok().filter(|n| (1..=MOST).contains(n))
        })?;
        Ok(limit.unwrap_or(PAGE))
    }

    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Problem> {
        self.read(name, "true or false", |t| t.parse().ok())
    }
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
    let shown: String = name.chars().take(64).collect();
    let problem = Problem::bad_request(format!("unknown {what} `{}`", shown.escape_debug()));
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
        let bytes = axum::body::to_bytes(body, limit).await.map_err(|_| {
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
