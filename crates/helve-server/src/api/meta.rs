//! What the hub says about itself.

use std::sync::LazyLock;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse as _};
use helve_kernel::ApprovalState;
use serde_json::json;

use super::{Given, kept};
use crate::problem::json_response;
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
