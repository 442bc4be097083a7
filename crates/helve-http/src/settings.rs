//! What a definition says about a request.
//!
//! ```toml
//! [executor]
//! type = "http"
//! url = "https://api.example.com/v1"
//! method = "GET"
//! path = "/pets/{id}"
//! auth = { scheme = "bearer", secret = "petstore" }
//!
//! [executor.arguments]
//! id = "path"
//! tags = { in = "query", style = "form", explode = false }
//! ```
//!
//! All that can be known to be wrong without sending anything is found here.

use std::collections::BTreeMap;

use helve_core::ToolDef;
use helve_core::def::ExecutorKind;
use helve_kernel::ToolError;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::auth::{Auth, Scheme};

/// The most bytes of an answer; a definition may only lower it.
pub(crate) const MOST: u64 = 16 * 1024 * 1024;

/// The settings of a tool that is a request.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) url: Url,
    pub(crate) method: Method,
    pub(crate) path: Vec<Piece>,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) arguments: BTreeMap<String, Argument>,
    /// The argument that is the whole body.
    pub(crate) body: Option<String>,
    pub(crate) content: Content,
    /// As it goes out, where it is not the usual one.
    pub(crate) content_type: Option<HeaderValue>,
    pub(crate) auth: Vec<Auth>,
    pub(crate) max_bytes: u64,
}

/// A piece of a path: as it is, or an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Argument(String),
}

/// Where an argument goes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Argument {
    #[serde(rename = "in")]
    pub(crate) place: Location,
    /// How it is called there; by its own name if not said.
    pub(crate) name: Option<String>,
    pub(crate) style: Option<Style>,
    pub(crate) explode: Option<bool>,
    /// Whether it is written as JSON, whatever it is.
    #[serde(default)]
    pub(crate) json: bool,
}

/// A part of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Location {
    Path,
    Query,
    Header,
    Cookie,
    Body,
}

/// How lists and objects are written: the styles of OpenAPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Style {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Json,
    Form,
    Text,
}

impl Settings {
    /// Reads and checks the settings of a definition.
    pub(crate) fn of(def: &ToolDef) -> Result<Self, ToolError> {
        let executor = def
            .executor
            .as_ref()
            .filter(|e| e.kind == ExecutorKind::Http);
        let Some(executor) = executor else {
            return Err(ToolError::validation(
                "the definition has no `http` executor",
            ));
        };
        let raw: Raw = serde_json::from_value(Value::Object(executor.settings.clone()))
            .map_err(|e| wrong(format!("the executor's settings cannot be read: {e}")))?;
        // Without a `path`, the address may hold it.
        let (url, path) = match raw.path.as_deref() {
            Some(path) => (raw.url.as_str(), path),
            None => split(&raw.url),
        };
        let url = base(url)?;
        let method = match raw.method.as_deref() {
            None => Method::GET,
            Some(word) => method(word)?,
        };
        let path = pieces(path)?;
        let mut headers = Vec::new();
        for (name, value) in &raw.headers {
            headers.push((header_name(name)?, header_value(name, value)?));
        }
        let mut arguments = BTreeMap::new();
        for (name, given) in raw.arguments {
            arguments.insert(name.clone(), argument(&name, given)?);
        }
        let content_type = raw.content_type.as_deref();
        let content = content(content_type)?;
        let settings = Self {
            url,
            method,
            path,
            headers,
            arguments,
            body: raw.body,
            content,
            content_type: content_type
                .map(|text| header_value("content_type", text))
                .transpose()?,
            auth: match raw.auth {
                None => Vec::new(),
                Some(Several::One(auth)) => vec![auth],
                Some(Several::Many(list)) => list,
            },
            max_bytes: raw.max_bytes.unwrap_or(MOST),
        };
        settings.check(def)?;
        Ok(settings)
    }

    /// Where an argument goes.
    pub(crate) fn argument(&self, name: &str) -> Argument {
        if let Some(argument) = self.arguments.get(name) {
            return argument.clone();
        }
        let in_path = self.path.contains(&Piece::Argument(name.to_owned()));
        let bodiless = matches!(self.method, Method::GET | Method::HEAD | Method::DELETE);
        let place = match () {
            () if in_path => Location::Path,
            () if bodiless => Location::Query,
            () => Location::Body,
        };
        Argument {
            place,
            name: None,
            style: None,
            explode: None,
            json: false,
        }
    }

    fn check(&self, def: &ToolDef) -> Result<(), ToolError> {
        if !(1..=MOST).contains(&self.max_bytes) {
            return Err(wrong(format!("`max_bytes` must be between 1 and {MOST}")));
        }
        let properties = def
            .input_schema
            .get("properties")
            .and_then(Value::as_object);
        let known = |name: &String| properties.is_some_and(|p| p.contains_key(name));
        let mut in_path = Vec::new();
        for piece in &self.path {
            if let Piece::Argument(name) = piece {
                in_path.push(name);
            }
        }
        let spoken_of = in_path
            .iter()
            .copied()
            .chain(self.arguments.keys())
            .chain(&self.body);
        if let Some(name) = spoken_of.into_iter().find(|name| !known(name)) {
            return Err(wrong(format!("`{name}` is no argument of the tool")));
        }
        for (name, argument) in &self.arguments {
            let here = in_path.contains(&name);
            if here != (argument.place == Location::Path) {
                return Err(wrong(match here {
                    true => format!("`{name}` is in `path`, and must go there"),
                    false => format!("`{name}` goes into the path, where `{{{name}}}` is missing"),
                }));
            }
            if argument.place == Location::Header {
                let name = argument.name.as_ref().unwrap_or(name);
                header_name(name)?;
            }
        }
        for auth in &self.auth {
            check_auth(auth)?;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    url: String,
    method: Option<String>,
    path: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    arguments: Map<String, Value>,
    body: Option<String>,
    content_type: Option<String>,
    auth: Option<Several<Auth>>,
    max_bytes: Option<u64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Several<T> {
    One(T),
    Many(Vec<T>),
}

fn wrong(problem: impl Into<String>) -> ToolError {
    ToolError::validation(problem).with_hint("mend `executor` in the definition of the tool")
}

/// An address that holds placeholders or a query: the part before its path, and the rest.
fn split(url: &str) -> (&str, &str) {
    let host = url.find("://").map_or(0, |i| i + 3);
    match url[host..].find('/').map(|i| host + i) {
        Some(at) if url[at..].contains(['{', '?']) => url.split_at(at),
        _ => (url, ""),
    }
}

fn base(text: &str) -> Result<Url, ToolError> {
    if text.contains(['{', '}']) {
        return Err(wrong(
            "`url` has a placeholder; arguments stand in `path` alone",
        ));
    }
    let url = Url::parse(text).map_err(|e| wrong(format!("`url` is no address: {e}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("`url` must begin with https:// or http://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let problem = "`url` has a user or a password in it";
        return Err(ToolError::validation(problem).with_hint("name a secret in `auth` instead"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong(
            "`url` has a query or a fragment; use `arguments` or `path`",
        ));
    }
    Ok(url)
}

fn method(word: &str) -> Result<Method, ToolError> {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];
    let upper = word.to_ascii_uppercase();
    let known = KNOWN.contains(&upper.as_str());
    let method = Method::from_bytes(upper.as_bytes()).ok().filter(|_| known);
    method.ok_or_else(|| {
        wrong(format!(
            "`method` cannot be `{word}`; known are {}",
            KNOWN.join(", ")
        ))
    })
}

/// `/pets/{id}/photos` as pieces. What is not an argument stands there as it is.
fn pieces(path: &str) -> Result<Vec<Piece>, ToolError> {
    if !path.is_empty() && !path.starts_with('/') {
        return Err(wrong("`path` must begin with `/`"));
    }
    if path.contains(['#', '\\']) || path.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(wrong("`path` has characters that no path has"));
    }
    let before_query = path.split('?').next().unwrap_or_default();
    if before_query.split('/').any(is_dots) {
        return Err(wrong("`path` has `.` or `..` in it"));
    }
    let mut pieces = Vec::new();
    let mut rest = path;
    while let Some((text, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            return Err(wrong("`path` has a `{` that is not closed"));
        };
        if name.is_empty() || name.contains('{') || text.contains(['}', '?']) {
            return Err(wrong("`path` has a placeholder that cannot be read"));
        }
        pieces.push(Piece::Text(text.to_owned()));
        pieces.push(Piece::Argument(name.to_owned()));
        rest = after;
    }
    if rest.contains('}') {
        return Err(wrong("`path` has a `}` that nothing opened"));
    }
    pieces.push(Piece::Text(rest.to_owned()));
    Ok(pieces)
}

/// Whether a segment means another folder, also where its dots are encoded.
pub(crate) fn is_dots(segment: &str) -> bool {
    let plain = segment.to_ascii_lowercase().replace("%2e", ".");
    plain == "." || plain == ".."
}

pub(crate) fn header_name(name: &str) -> Result<HeaderName, ToolError> {
    let lower = name.to_ascii_lowercase();
    if helve_core::openapi::is_fixed_header(&lower) {
        let problem = format!("the header `{name}` cannot be set by a definition");
        return Err(ToolError::validation(problem)
            .with_hint("for `Authorization` and cookies, name a secret in `auth`"));
    }
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| wrong(format!("`{}` is no name of a header", name.escape_debug())))
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, ToolError> {
    HeaderValue::from_str(value)
        .map_err(|_| wrong(format!("`{name}` has characters that no header has")))
}

fn argument(name: &str, given: Value) -> Result<Argument, ToolError> {
    let given = match given {
        Value::String(place) => serde_json::json!({"in": place}),
        other => other,
    };
    serde_json::from_value(given)
        .map_err(|e| wrong(format!("`arguments.{name}` cannot be read: {e}")))
}

fn content(text: Option<&str>) -> Result<Content, ToolError> {
    let Some(text) = text else {
        return Ok(Content::Json);
    };
    let kind = text
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match kind.as_str() {
        "application/x-www-form-urlencoded" => Ok(Content::Form),
        kind if kind == "application/json" || kind.ends_with("+json") => Ok(Content::Json),
        kind if kind.starts_with("text/") || kind.ends_with("xml") => Ok(Content::Text),
        _ => Err(wrong(format!(
            "`content_type` cannot be `{kind}`: bodies are JSON, forms or text"
        ))),
    }
}

fn check_auth(auth: &Auth) -> Result<(), ToolError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    if !(1..=64).contains(&auth.secret.len()) || !auth.secret.chars().all(plain) {
        // Not repeated: it may be the secret itself.
        let problem = "`auth.secret` is not the name of a secret";
        return Err(ToolError::validation(problem)
            .with_hint("give it a name here, and its value in `[secrets]` of the configuration"));
    }
    let needed = matches!(auth.scheme, Scheme::Header | Scheme::Query | Scheme::Cookie);
    let name = auth.name.as_deref().unwrap_or_default();
    if needed == name.is_empty() {
        return Err(wrong(match needed {
            true => "`auth` needs the `name` of its header, parameter or cookie",
            false => "`auth.name` is only for headers, parameters and cookies",
        }));
    }
    if needed && auth.scheme != Scheme::Query {
        let lower = name.to_ascii_lowercase();
        // The one header that a secret may set and nothing else.
        if auth.scheme == Scheme::Header && lower != "authorization" {
            header_name(name)?;
        }
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Err(wrong(
                "`auth.name` has characters that no header or cookie has",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
