//! What a run writes, as server-sent events, for as long as the token counts.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use helve_kernel::{At, Change, Chunk, Principal, RunId, Stream};
use serde_json::json;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::{Hub, view};

/// How many chunks are read at once.
const BATCH: usize = 100;

/// A run's output until it is over, or until the token no longer counts.
pub(crate) fn logs(
    hub: Hub,
    who: Arc<Principal>,
    run: RunId,
    after: u64,
    follow: bool,
) -> Response {
    let keep_alive = hub.settings().keep_alive;
    let watch = Watch {
        changes: hub.kernel().changes(),
        hub,
        who,
        run,
        after,
        follow,
        waiting: VecDeque::new(),
        cut: [Vec::new(), Vec::new()],
        done: false,
    };
    let events = stream::unfold(watch, |mut watch| async move {
        let event = watch.next().await?;
        Some((Ok::<_, Infallible>(event), watch))
    });
    Sse::new(events)
        .keep_alive(KeepAlive::new().interval(keep_alive))
        .into_response()
}

struct Watch {
    hub: Hub,
    who: Arc<Principal>,
    run: RunId,
    after: u64,
    follow: bool,
    changes: broadcast::Receiver<Change>,
    waiting: VecDeque<Event>,
    /// The beginning of a character whose rest comes with the next chunk, by stream.
    cut: [Vec<u8>; 2],
    done: bool,
}

impl Watch {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.done {
                return None;
            }
            let Some(end) = self.token_end() else {
                return self.last("revoked", &json!({"detail": "the token no longer counts"}));
            };
            // The state first: what was written before the end is then there to be read.
            let Ok(run) = self.hub.kernel().run(&self.run).await else {
                return self.last("error", &json!({"detail": "the run cannot be read"}));
            };
            let chunks = self
                .hub
                .kernel()
                .store()
                .chunks(&self.run, self.after, BATCH)
                .await;
            let Ok(chunks) = chunks else {
                return self.last("error", &json!({"detail": "the output cannot be read"}));
            };
            let many = chunks.len() == BATCH;
            for chunk in &chunks {
                self.after = chunk.seq;
                if let Some(event) = self.event(chunk) {
                    self.waiting.push_back(event);
                }
            }
            if many {
                continue;
            }
            if run.state.is_over() || !self.follow {
                self.done = true;
                let end = json!({"state": run.state.as_str(), "exit_code": run.exit_code});
                let name = if run.state.is_over() { "end" } else { "so_far" };
                self.waiting.push_back(event(name, &end));
            } else if chunks.is_empty() {
                self.wait(end).await;
            }
        }
    }

    fn event(&mut self, chunk: &Chunk) -> Option<Event> {
        let cut = &mut self.cut[usize::from(chunk.stream == Stream::Stderr)];
        let mut bytes = std::mem::take(cut);
        bytes.extend_from_slice(&chunk.bytes);
        *cut = bytes.split_off(whole(&bytes));
        if bytes.is_empty() {
            return None;
        }
        let value = view::chunk(chunk, &String::from_utf8_lossy(&bytes));
        Some(event(chunk.stream.as_str(), &value).id(chunk.seq.to_string()))
    }

    fn last(&mut self, name: &str, value: &serde_json::Value) -> Option<Event> {
        self.done = true;
        Some(event(name, value))
    }

    /// Until when the caller may look; `None` if no longer.
    fn token_end(&self) -> Option<Option<At>> {
        match &self.who.token {
            Some(token) => self.hub.kernel().token_end(token),
            None => Some(None),
        }
    }

    /// Until something happens that concerns this stream.
    async fn wait(&mut self, end: Option<At>) {
        let now = self.hub.kernel().now();
        let left = end.map_or(Duration::from_secs(3600), |end| end.since(now));
        let closing = self.hub.closing().clone();
        let ours = async {
            loop {
                match self.changes.recv().await {
                    Ok(Change::Log(run) | Change::Run(run)) if run == self.run => return,
                    Ok(Change::Token(_)) | Err(RecvError::Lagged(_) | RecvError::Closed) => return,
                    Ok(_) => {}
                }
            }
        };
        let stopped = tokio::select! {
            () = ours => false,
            () = tokio::time::sleep(left) => false,
            () = closing.cancelled() => true,
        };
        if stopped {
            self.done = true;
        }
    }
}

fn event(name: &str, value: &serde_json::Value) -> Event {
    Event::default().event(name).data(value.to_string())
}

/// How many of the bytes are whole characters; a cut one at the end waits for its rest.
fn whole(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(e) if e.error_len().is_none() => e.valid_up_to(),
        _ => bytes.len(),
    }
}
