//! `/audit`: the record.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::Response;
use futures_util::stream;
use helve_kernel::store::AuditFilter;
use helve_kernel::{ApprovalId, At};

use super::{Given, kept, ok};
use crate::guard::Caller;
use crate::input::Query;
use crate::problem::Problem;
use crate::{Hub, view};

/// How many entries are read at once for an export.
const BATCH: usize = 500;

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
        after: after(&query)?,
    };
    let entries = hub.kernel().store().audit(filter, limit + 1).await;
    let mut entries = entries.map_err(|e| kept(&e))?;
    let more = entries.len() > limit;
    entries.truncate(limit);
    let next = entries.last().filter(|_| more).map(|e| e.seq.to_string());
    ok(&view::page(entries.iter().map(view::entry).collect(), next))
}

fn after(query: &Query) -> Result<u64, Problem> {
    let number = |text: &str| {
        text.parse::<u64>()
            .ok()
            .filter(|n| i64::try_from(*n).is_ok())
    };
    Ok(query.read("after", "a number", number)?.unwrap_or(0))
}

pub(crate) async fn export(State(hub): State<Hub>, Caller(_): Caller, query: Query) -> Given {
    let start = after(&query)?;
    let lines = stream::try_unfold((hub, start), |(hub, after)| async move {
        let filter = AuditFilter {
            after,
            ..AuditFilter::default()
        };
        let entries = hub.kernel().store().audit(filter, BATCH).await;
        let entries = entries.map_err(std::io::Error::other)?;
        let Some(last) = entries.last().map(|e| e.seq) else {
            return Ok::<_, std::io::Error>(None);
        };
        let text: String = entries.iter().map(|e| e.to_line() + "\n").collect();
        Ok(Some((Bytes::from(text), (hub, last))))
    });
    Response::builder()
        .header(header::CONTENT_TYPE, "application/x-ndjson")
        .body(Body::from_stream(lines))
        .map_err(|_| Problem::bad_request("the record cannot be sent"))
}
