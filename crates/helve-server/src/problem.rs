//! What goes wrong, as RFC 9457 problem details: the one place where an error
//! becomes a status.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use helve_core::lint::is_hidden;
use helve_kernel::{ErrorKind, ToolError};
use serde_json::{Value, json};

/// A request that was not done.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) kind: &'static str,
    pub(crate) detail: String,
    pub(crate) hint: Option<String>,
    /// What is wrong in particular, where it is more than one thing.
    pub(crate) errors: Vec<Value>,
    pub(crate) retry_after: Option<u64>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            detail: detail.into(),
            hint: None,
            errors: Vec::new(),
            retry_after: None,
        }
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", detail)
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "validation", detail)
    }

    pub(crate) fn not_found(what: &str) -> Self {
        let detail = format!("there is no `{}`", shown(what));
        Self::new(StatusCode::NOT_FOUND, "not_found", detail)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn to_value(&self) -> Value {
        let mut value = json!({
            "type": format!("urn:helve:problem:{}", self.kind),
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "detail": visible(&self.detail),
        });
        if let Some(hint) = &self.hint {
            value["hint"] = visible(hint).into();
        }
        if !self.errors.is_empty() {
            let mut errors = self.errors.clone();
            let members = errors.iter_mut().filter_map(Value::as_object_mut);
            for member in members.flat_map(|m| m.values_mut()) {
                if let Value::String(text) = member {
                    *text = visible(text);
                }
            }
            value["errors"] = Value::Array(errors);
        }
        value
    }
}

impl From<ToolError> for Problem {
    fn from(error: ToolError) -> Self {
        let status = match error.kind {
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Validation => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorKind::Permission | ErrorKind::Denied => StatusCode::FORBIDDEN,
            ErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
            ErrorKind::Transient | ErrorKind::Dependency => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Conflict => StatusCode::CONFLICT,
            ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self {
            hint: error.hint,
            ..Self::new(status, error.kind.as_str(), error.message)
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.to_value().to_string()).into_response();
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, kind);
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"helve\"");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        // For whoever shows it otherwise.
        response.extensions_mut().insert(self);
        response
    }
}

/// A handler that panicked.
pub(crate) fn crashed() -> Problem {
    let detail = "the hub failed at this request; it goes on with others";
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
}

/// Text in which nothing hides: what controls a terminal or turns a line around is
/// written as its number.
fn visible(text: &str) -> String {
    let hides = |c: char| c.is_control() || is_hidden(c);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match hides(c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    out
}

/// Foreign text as it may be told: short, and with all that hides made visible.
pub(crate) fn shown(text: &str) -> String {
    let short: String = text.chars().take(128).collect();
    short.escape_debug().to_string()
}

/// JSON with a status.
pub(crate) fn json_response(status: StatusCode, value: &Value) -> Response {
    let mut response = (status, value.to_string()).into_response();
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
