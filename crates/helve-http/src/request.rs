//! From a definition and arguments to a request. Arguments are data: whatever they
//! hold, they fill the one place that the definition gives them.
//!
//! - In the path and the query every character but letters, digits and `-._~` is
//!   encoded. A `/` in an argument is part of a name, never another folder.
//! - An argument in the path is not empty and not `.` or `..`, and the address that
//!   comes of it has as many folders as the definition says, on the host that it says.
//! - A header holds no line end: what does is refused.

mod style;

use std::fmt::Write as _;

use helve_kernel::ToolError;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::{Map, Value};

use crate::settings::{Argument, Content, Location, Piece, Settings, is_dots};
use style::{delimited, pairs};

/// A request without its secrets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) cookies: Vec<String>,
    pub(crate) body: Option<Vec<u8>>,
}

/// Makes the request.
pub(crate) fn build(settings: &Settings, args: &Map<String, Value>) -> Result<Request, ToolError> {
    let mut parts = Parts::default();
    for (name, value) in args {
        if value.is_null() && settings.body.as_ref() != Some(name) {
            // Optional, and not given.
            continue;
        }
        if settings.body.as_ref() == Some(name) {
            parts.whole = Some(value);
            continue;
        }
        let argument = settings.argument(name);
        parts.take(name, &argument, value)?;
    }
    let url = address(settings, args, &parts.query)?;
    let mut headers = settings.headers.clone();
    headers.append(&mut parts.headers);
    if !headers.iter().any(|(name, _)| name == ACCEPT) {
        headers.push((
            ACCEPT,
            HeaderValue::from_static("application/json, */*;q=0.5"),
        ));
    }
    let body = parts.body(settings)?;
    if body.is_some() {
        let usual = match settings.content {
            Content::Json => "application/json",
            Content::Form => "application/x-www-form-urlencoded",
            Content::Text => "text/plain; charset=utf-8",
        };
        let usual = HeaderValue::from_static(usual);
        headers.retain(|(name, _)| name != CONTENT_TYPE);
        headers.push((CONTENT_TYPE, settings.content_type.clone().unwrap_or(usual)));
    }
    Ok(Request {
        method: settings.method.clone(),
        url,
        headers,
        cookies: parts.cookies,
        body,
    })
}

/// What goes where.
#[derive(Default)]
struct Parts<'a> {
    query: Vec<(String, String)>,
    headers: Vec<(HeaderName, HeaderValue)>,
    cookies: Vec<String>,
    fields: Vec<(String, Argument, &'a Value)>,
    whole: Option<&'a Value>,
}

impl<'a> Parts<'a> {
    fn take(&mut self, own: &str, argument: &Argument, value: &'a Value) -> Result<(), ToolError> {
        let name = argument.name.as_deref().unwrap_or(own);
        match argument.place {
            // Filled in by `address`.
            Location::Path => {}
            Location::Query => self.query.extend(pairs(name, argument, value)),
            Location::Header => {
                let text = delimited(name, argument, value, str::to_owned);
                let value = HeaderValue::from_str(&text).map_err(|_| misfit(own, "header"))?;
                self.headers
                    .push((crate::settings::header_name(name)?, value));
            }
            Location::Cookie => {
                let text = delimited(name, argument, value, encode);
                self.cookies.push(format!("{}={text}", encode(name)));
            }
            Location::Body => {
                self.fields.push((name.to_owned(), argument.clone(), value));
            }
        }
        Ok(())
    }

    fn body(&self, settings: &Settings) -> Result<Option<Vec<u8>>, ToolError> {
        if let Some(whole) = self.whole {
            return match (settings.content, whole) {
                (Content::Json, value) => Ok(Some(value.to_string().into_bytes())),
                (Content::Form, Value::Object(fields)) => {
                    let mut all = Vec::new();
                    for (name, value) in fields {
                        all.extend(pairs(name, &settings.argument(name), value));
                    }
                    Ok(Some(query_string(&all).into_bytes()))
                }
                (_, Value::String(text)) => Ok(Some(text.clone().into_bytes())),
                (_, value) => Ok(Some(value.to_string().into_bytes())),
            };
        }
        if self.fields.is_empty() {
            let named = settings
                .arguments
                .values()
                .any(|a| a.place == Location::Body);
            // A body all of whose fields are optional is an empty object.
            let empty = named && settings.content == Content::Json;
            return Ok(empty.then(|| b"{}".to_vec()));
        }
        match settings.content {
            Content::Json => {
                let fields = self.fields.iter();
                let object: Map<String, Value> = fields
                    .map(|(name, _, value)| (name.clone(), (*value).clone()))
                    .collect();
                Ok(Some(Value::Object(object).to_string().into_bytes()))
            }
            Content::Form => {
                let mut all = Vec::new();
                for (name, argument, value) in &self.fields {
                    all.extend(pairs(name, argument, value));
                }
                Ok(Some(query_string(&all).into_bytes()))
            }
            Content::Text => Err(ToolError::validation("a text body is one argument")
                .with_hint("name it in `body` of the executor")),
        }
    }
}

fn misfit(argument: &str, place: &str) -> ToolError {
    ToolError::validation(format!(
        "argument `{argument}` has characters that no {place} has"
    ))
    .with_hint("leave out line ends and control characters")
}

/// The address, with the arguments of its path.
fn address(
    settings: &Settings,
    args: &Map<String, Value>,
    query: &[(String, String)],
) -> Result<Url, ToolError> {
    let mut path = String::new();
    for piece in &settings.path {
        match piece {
            Piece::Text(text) => path.push_str(text),
            Piece::Argument(name) => {
                let value = args.get(name).filter(|value| !value.is_null());
                let value = value.ok_or_else(|| empty(name))?;
                let argument = settings.argument(name);
                let wire = argument.name.as_deref().unwrap_or(name);
                let written = delimited(wire, &argument, value, encode);
                if written.is_empty() {
                    return Err(empty(name));
                }
                path.push_str(&written);
            }
        }
    }
    let (path, fixed) = path
        .split_once('?')
        .map_or((path.as_str(), None), |(p, q)| (p, Some(q)));
    if let Some(dots) = path.split('/').find(|segment| is_dots(segment)) {
        return Err(ToolError::validation(format!(
            "an argument makes `{dots}` of a part of the path, which means another place"
        ))
        .with_hint("give the name of the thing itself"));
    }
    let base = settings.url.as_str().trim_end_matches('/');
    let whole = match path.is_empty() {
        true => settings.url.as_str().to_owned(),
        false => format!("{base}{path}"),
    };
    let mut url = Url::parse(&whole)
        .map_err(|_| ToolError::validation("the arguments make no address of the path"))?;
    // Whatever was written, it is the same host and as many folders.
    let same = url.origin() == settings.url.origin()
        && url.as_str().matches('/').count() == whole.matches('/').count().max(3);
    if !same {
        return Err(ToolError::validation(
            "an argument leads to another address",
        ));
    }
    let written = query_string(query);
    let all: Vec<&str> = fixed
        .into_iter()
        .chain([written.as_str()])
        .filter(|q| !q.is_empty())
        .collect();
    if !all.is_empty() {
        url.set_query(Some(&all.join("&")));
    }
    Ok(url)
}

fn empty(name: &str) -> ToolError {
    ToolError::validation(format!(
        "argument `{name}` is a part of the path and cannot be empty"
    ))
    .with_hint("give its value")
}

/// Names and values that are encoded already, as a query.
fn query_string(pairs: &[(String, String)]) -> String {
    let written = pairs.iter().map(|(name, value)| format!("{name}={value}"));
    written.collect::<Vec<_>>().join("&")
}

/// All but letters, digits and `-._~` as `%XX`.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests;
