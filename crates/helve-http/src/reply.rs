//! What an answer means: a reply, or why there is none.
//!
//! JSON is the result itself, text is text, and anything else is a file that the run
//! leaves. A status of 400 and above is a failure, told with what the server said.

use std::path::Path;

use helve_core::secret::{redact, redact_value};
use helve_kernel::{Artifact, ErrorKind, Reply, ToolError};
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION, RETRY_AFTER};
use serde_json::{Value, json};
use tokio::fs::{DirBuilder, OpenOptions};
use tokio::io::AsyncWriteExt as _;

use crate::web::Fetched;

/// How much of what a server said an error repeats, in characters.
const SAID: usize = 600;

/// What the answer means; `hidden` are secrets that must not stand in it.
pub(crate) async fn reply(
    fetched: Fetched,
    hidden: &[String],
    artifacts: Option<&Path>,
) -> Result<Reply, ToolError> {
    let status = fetched.status.as_u16();
    if status >= 400 {
        return Err(failure(&fetched, hidden));
    }
    if (300..400).contains(&status) {
        let to = fetched.headers.get(LOCATION).and_then(|l| l.to_str().ok());
        return match to {
            None if fetched.body.is_empty() => Ok(Reply::new(json!({"status": status}))),
            None => found(fetched, hidden, artifacts).await,
            Some(_) => Err(ToolError::dependency(format!(
                "the server answered {status}"
            ))),
        };
    }
    found(fetched, hidden, artifacts).await
}

async fn found(
    fetched: Fetched,
    hidden: &[String],
    artifacts: Option<&Path>,
) -> Result<Reply, ToolError> {
    if fetched.body.is_empty() {
        return Ok(Reply::new(json!({"status": fetched.status.as_u16()})));
    }
    let kind = kind(&fetched.headers);
    let data = match kind {
        Kind::Json => match serde_json::from_slice::<Value>(&fetched.body) {
            Ok(value) => Some(value),
            Err(_) => text(&fetched.body).map(Value::String),
        },
        Kind::Text => text(&fetched.body).map(Value::String),
        Kind::Unsaid => serde_json::from_slice::<Value>(&fetched.body)
            .ok()
            .or_else(|| text(&fetched.body).map(Value::String)),
        Kind::Binary => None,
    };
    if let Some(mut data) = data {
        redact_value(&mut data, hidden);
        return Ok(Reply::new(data));
    }
    file(&fetched, artifacts).await
}

/// What a server says that its answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Json,
    Text,
    Binary,
    Unsaid,
}

fn content_type(headers: &HeaderMap) -> String {
    let text = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
    let text = text
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    text.trim().to_ascii_lowercase()
}

fn kind(headers: &HeaderMap) -> Kind {
    let packed = headers.get(CONTENT_ENCODING);
    if packed.is_some_and(|p| !p.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Kind::Binary;
    }
    match content_type(headers).as_str() {
        "" => Kind::Unsaid,
        "application/json" | "text/json" => Kind::Json,
        kind if kind.ends_with("+json") => Kind::Json,
        "application/xml"
        | "application/javascript"
        | "application/yaml"
        | "application/x-yaml"
        | "application/x-ndjson"
        | "application/jsonl"
        | "application/x-www-form-urlencoded" => Kind::Text,
        kind if kind.starts_with("text/") || kind.ends_with("+xml") => Kind::Text,
        _ => Kind::Binary,
    }
}

fn text(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    (!text.contains('\0')).then(|| text.to_owned())
}

/// Keeps an answer that is no text as a file of the run.
async fn file(fetched: &Fetched, folder: Option<&Path>) -> Result<Reply, ToolError> {
    let bytes = fetched.body.len() as u64;
    let kind = content_type(&fetched.headers);
    let Some(folder) = folder else {
        return Err(ToolError::dependency(format!(
            "the answer is a file of {bytes} bytes, and this hub keeps none"
        )));
    };
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(folder).await?;
    let name = format!("body.{}", ending(&kind));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(folder.join(&name)).await?;
    file.write_all(&fetched.body).await?;
    file.flush().await?;
    let data = json!({
        "status": fetched.status.as_u16(),
        "content_type": kind,
        "bytes": bytes,
        "artifact": name,
    });
    let mut reply = Reply::new(data);
    reply.artifacts.push(Artifact { name, bytes });
    Ok(reply)
}

/// The ending of a file of that type. What the server says is never a path.
fn ending(kind: &str) -> &'static str {
    match kind {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "application/pdf" => "pdf",
        "application/zip" => "zip",
        "application/gzip" => "gz",
        "audio/mpeg" => "mp3",
        "video/mp4" => "mp4",
        _ => "bin",
    }
}

fn failure(fetched: &Fetched, hidden: &[String]) -> ToolError {
    let status = fetched.status.as_u16();
    let reason = fetched.status.canonical_reason().unwrap_or("unknown");
    let kind = match status {
        401 | 403 | 407 | 451 => ErrorKind::Permission,
        404 | 410 => ErrorKind::NotFound,
        408 | 425 | 429 => ErrorKind::Transient,
        409 | 412 | 423 => ErrorKind::Conflict,
        400 | 405 | 406 | 411 | 413..=417 | 422 | 428 | 431 => ErrorKind::Validation,
        500 | 502..=504 | 507 | 520..=530 => ErrorKind::Transient,
        _ => ErrorKind::Dependency,
    };
    let mut message = format!(
        "the server answered {status} ({})",
        reason.to_ascii_lowercase()
    );
    if let Some(said) = said(fetched) {
        message.push_str(": ");
        message.push_str(&said);
    }
    let error = ToolError::new(kind, redact(&message, hidden));
    match hint(status, &fetched.headers) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn hint(status: u16, headers: &HeaderMap) -> Option<String> {
    let after = headers.get(RETRY_AFTER).and_then(|v| v.to_str().ok());
    let after = after.map(str::trim).filter(|t| t.len() <= 40);
    match (after, status) {
        (Some(seconds), _)
            if seconds.bytes().all(|b| b.is_ascii_digit()) && !seconds.is_empty() =>
        {
            Some(format!("the server asks to wait {seconds} seconds"))
        }
        (Some(when), _) if when.is_ascii() && !when.is_empty() => {
            Some(format!("the server asks to wait until {when}"))
        }
        (_, 429) => Some("it was asked too often; wait before the next call".to_owned()),
        (_, 401) => Some("is the tool's secret configured, and still good?".to_owned()),
        (_, 403) => Some("the tool's secret does not allow this".to_owned()),
        _ => None,
    }
}

/// What the server said about it.
fn said(fetched: &Fetched) -> Option<String> {
    let body = text(&fetched.body)?;
    let told = match serde_json::from_str::<Value>(&body) {
        Ok(value) => message_of(&value).unwrap_or_else(|| value.to_string()),
        Err(_) if content_type(&fetched.headers) == "text/html" => return None,
        Err(_) => body,
    };
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = told.chars().take(SAID).collect();
    match told.len() > short.len() {
        true => Some(format!("{short}…")),
        false => Some(short).filter(|s| !s.is_empty()),
    }
}

/// The sentence in an error, wherever servers put it.
fn message_of(value: &Value) -> Option<String> {
    const PLACES: [&str; 9] = [
        "/message",
        "/error/message",
        "/error_description",
        "/detail",
        "/title",
        "/error",
        "/errors/0/message",
        "/errors/0/detail",
        "/errors/0",
    ];
    let mut found = PLACES.iter().filter_map(|at| value.pointer(at)?.as_str());
    found
        .find(|text| !text.trim().is_empty())
        .map(str::to_owned)
}

#[cfg(test)]
mod tests;
