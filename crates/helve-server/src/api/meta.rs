//! What the hub says about itself.

use std::sync::LazyLock;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse as _};
use helve_kernel::ApprovalState;
use serde_json::json;

use super::{Given, RESOURCE_METADATA, kept};
use crate::problem::{Problem, json_response};
use crate::{Hub, metrics, openapi, page};

pub(crate) async fn healthz(State(hub): State<Hub>) -> Given {
    // The last thing that every call needs: the record.
    // What is wrong with it is not for everybody.
    let (status, word) = match hub.kernel().store().audit_head().await {
        Ok(_) => (StatusCode::OK, "ok"),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "failing"),
    };
    let version = env!("CARGO_PKG_VERSION");
    let value = json!({"status": word, "store": word, "version": version});
    Ok(json_response(status, &value))
}

/// What RFC 9728 says of a resource: for whom tokens are, and who makes them.
pub(crate) async fn protected_resource(State(hub): State<Hub>, headers: HeaderMap) -> Given {
    let Some(identity) = &hub.settings().identity else {
        return Err(Problem::not_found(RESOURCE_METADATA)
            .hint("no identity provider is configured; use a token of this hub"));
    };
    let host = headers.get(header::HOST).and_then(|h| h.to_str().ok());
    let settings = identity.settings();
    let words: Vec<&str> = settings.permissions.iter().map(|p| p.as_str()).collect();
    let value = json!({
        "resource": format!("http://{}/mcp", host.unwrap_or_default()),
        "authorization_servers": [settings.issuer],
        "bearer_methods_supported": ["header"],
        "scopes_supported": words,
    });
    Ok(json_response(StatusCode::OK, &value))
}

pub(crate) async fn metrics(State(hub): State<Hub>) -> Given {
    let kernel = hub.kernel();
    let pending = kernel
        .store()
        .approvals(Some(ApprovalState::Pending), None, 1000)
        .await;
    let head = kernel.store().audit_head().await.map_err(|e| kept(&e))?;
    let gauges = metrics::Gauges {
        tools: kernel.tools().len() as u64,
        approvals_pending: pending.map_err(|e| kept(&e))?.len() as u64,
        audit_entries: head.seq,
    };
    let text = hub.metrics().text(&gauges);
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

pub(crate) async fn openapi() -> Given {
    static TEXT: LazyLock<String> = LazyLock::new(|| openapi::document().to_string());
    let kind = "application/json";
    Ok(([(header::CONTENT_TYPE, kind)], TEXT.as_str()).into_response())
}

pub(crate) async fn docs() -> Given {
    static PAGE: LazyLock<String> = LazyLock::new(|| page::docs(&openapi::document()));
    Ok(Html(PAGE.as_str()).into_response())
}
