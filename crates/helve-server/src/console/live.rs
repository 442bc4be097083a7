//! Tells open pages that something they show has changed. Not what: they ask again, and
//! see what their reader may see.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use helve_kernel::Change;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::Visit;
use crate::Hub;

/// For how long changes are gathered before a page hears of them.
const GATHER: Duration = Duration::from_millis(150);

pub(super) async fn events(State(hub): State<Hub>, visit: Visit) -> Response {
    let keep_alive = hub.settings().keep_alive;
    let watch = (hub.kernel().changes(), hub, visit);
    let events = stream::unfold(watch, |(mut changes, hub, visit)| async move {
        let closing = hub.closing().clone();
        let told = tokio::select! {
            told = gather(&mut changes) => told?,
            () = closing.cancelled() => return None,
        };
        // Whoever may no longer look hears nothing more.
        if !hub.admits(&visit.who) {
            return None;
        }
        let words: Vec<&str> = told.into_iter().collect();
        let event = Event::default().event("change").data(words.join(" "));
        Some((Ok::<_, Infallible>(event), (changes, hub, visit)))
    });
    Sse::new(events)
        .keep_alive(KeepAlive::new().interval(keep_alive))
        .into_response()
}

/// The next changes, and those that follow at once; `None` when there will be none.
async fn gather(changes: &mut Receiver<Change>) -> Option<BTreeSet<&'static str>> {
    let mut told = BTreeSet::new();
    loop {
        match changes.recv().await {
            Ok(change) => told.extend(word(&change)),
            Err(RecvError::Lagged(_)) => told.extend(["inbox", "runs", "tools"]),
            Err(RecvError::Closed) => return None,
        }
        if !told.is_empty() {
            break;
        }
    }
    let more = async {
        while let Ok(change) = changes.recv().await {
            told.extend(word(&change));
        }
    };
    let _ = tokio::time::timeout(GATHER, more).await;
    Some(told)
}

/// Which pages a change concerns.
fn word(change: &Change) -> Option<&'static str> {
    match change {
        Change::Run(_) => Some("runs"),
        Change::Approval(_) | Change::Question(_) => Some("inbox"),
        Change::Tool(_) => Some("tools"),
        Change::Log(_) | Change::Token(_) => None,
    }
}
