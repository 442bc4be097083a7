//! `/audit`: the record.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::Response;
use futures_util::stream;
use helve_kernel::store::AuditFilter;
use helve_kernel::{ApprovalId, At, StoreError};

use super::{Given, kept, ok};
use crate::guard::Caller;
use crate::input::Query;
use crate::problem::Problem;
use crate::{Hub, view};

/// How many entries are read at once for an export.
const BATCH: usize = 100;

pub(crate) async fn list(State(hub): State<Hub>, Caller(_): Caller, query: Query) -> Given {
    let limit = query.limit()?;
    let time = |name| query.read(name, "a time like 2026-01-31T12:00:00Z", At::parse);
    let mut resource = query.get("resource_id").map(str::to_owned);
    // What was said about an approval stands with its run.
    if let Some(id) = resource.as_deref().and_then(ApprovalId::parse) {
        let approval = hub
            .kernel()
            .store()
            .approval(&id)
            .await
            .map_err(|e| kept(&e))?;
        resource = approval.map(|a| a.run.to_string()).or(resource);
    }
    let filter = AuditFilter {
        resource,
        actor: query.get("actor").map(str::to_owned),
        event: query.get("event").map(str::to_owned),
        since: time("since")?,
        until: time("until")?,
        after: query.number("after")?.unwrap_or(0),
        ..AuditFilter::default()
    };
    let entries = hub.kernel().store().audit(filter, limit + 1).await;
    let mut entries = entries.map_err(|e| kept(&e))?;
    let more = entries.len() > limit;
    entries.truncate(limit);
    let next = entries.last().filter(|_| more).map(|e| e.seq.to_string());
    ok(&view::page(entries.iter().map(view::entry).collect(), next))
}

/// The record as it is now: what is written meanwhile is for the next export.
pub(crate) async fn export(State(hub): State<Hub>, Caller(who): Caller, query: Query) -> Given {
    let start = query.number("after")?.unwrap_or(0);
    let store = hub.kernel().store();
    let end = store.audit_head().await.map_err(|e| kept(&e))?.seq;
    // The first lines before the status: a store that fails is a problem, not half a file.
    let first = lines(&hub, start, end).await.map_err(|e| kept(&e))?;
    let rest = stream::try_unfold(first, move |part| {
        let (hub, who) = (hub.clone(), who.clone());
        async move {
            let Some((text, last)) = part else {
                return Ok::<_, std::io::Error>(None);
            };
            if !hub.admits(&who) {
                return Err(std::io::Error::other("the token no longer counts"));
            }
            let next = lines(&hub, last, end).await;
            Ok(Some((text, next.map_err(std::io::Error::other)?)))
        }
    });
    Response::builder()
        .header(header::CONTENT_TYPE, "application/x-ndjson")
        .body(Body::from_stream(rest))
        .map_err(|_| Problem::bad_request("the record cannot be sent"))
}

/// The next lines, with the number of the last.
async fn lines(hub: &Hub, after: u64, end: u64) -> Result<Option<(Bytes, u64)>, StoreError> {
    let filter = AuditFilter {
        after,
        ..AuditFilter::default()
    };
    let mut entries = hub.kernel().store().audit(filter, BATCH).await?;
    entries.retain(|e| e.seq <= end);
    let Some(last) = entries.last().map(|e| e.seq) else {
        return Ok(None);
    };
    let text: String = entries.iter().map(|e| e.to_line() + "\n").collect();
    Ok(Some((Bytes::from(text), last)))
}
