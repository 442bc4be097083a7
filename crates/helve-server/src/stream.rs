//! What a run writes, as server-sent events, for as long as the token counts.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use helve_kernel::{
    ApprovalId, At, Change, Chunk, Principal, RunId, RunState, Store, StoreError, Stream,
};
use serde_json::{Value, json};
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
    most: Option<usize>,
) -> Response {
    let keep_alive = hub.settings().keep_alive;
    let watch = Watch {
        changes: hub.kernel().changes(),
        hub,
        who,
        run,
        after,
        follow,
        most,
        waiting: VecDeque::new(),
        text: None,
        told: false,
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
    /// How many chunks at most.
    most: Option<usize>,
    waiting: VecDeque<Event>,
    text: Option<Text>,
    /// Whether it was told that people decide about what the run would change.
    told: bool,
    done: bool,
}

impl Watch {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if self.done && self.waiting.is_empty() {
                return None;
            }
            // Before every event, not every batch: a reader may be slow.
            let Some(end) = self.token_end() else {
                self.waiting.clear();
                return self.last("revoked", &json!({"detail": "the token no longer counts"}));
            };
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.hub.closing().is_cancelled() {
                return None;
            }
            // The state first: what was written before the end is then there to be read.
            let Ok(run) = self.hub.kernel().run(&self.run).await else {
                return self.last("error", &json!({"detail": "the run cannot be read"}));
            };
            let Ok(many) = self.read().await else {
                return self.last("error", &json!({"detail": "the output cannot be read"}));
            };
            let over = run.state.is_over();
            let enough = self.most == Some(0);
            if enough || (!many && (over || !self.follow)) {
                self.done = true;
                if over && !many {
                    let rest = self.text.as_mut().map(Text::rest).unwrap_or_default();
                    self.waiting.extend(rest.iter().map(chunk_event));
                }
                let name = if over && !many { "end" } else { "so_far" };
                let end = json!({"state": run.state.as_str(), "exit_code": run.exit_code});
                self.waiting.push_back(event(name, &end));
            } else if !many && !self.told && run.state == RunState::Staged {
                // It goes on: whoever waits for people sees the end, others know enough.
                self.told = true;
                let approval = run.approval.as_ref().map(ApprovalId::as_str);
                let held = json!({"state": run.state.as_str(), "approval_id": approval});
                self.waiting.push_back(event("staged", &held));
            } else if !many && self.waiting.is_empty() {
                self.wait(end).await;
            }
        }
    }

    /// Reads the next chunks; whether there may be more of them.
    async fn read(&mut self) -> Result<bool, StoreError> {
        let store = self.hub.kernel().store().clone();
        let text = match &mut self.text {
            Some(text) => text,
            None => self
                .text
                .insert(Text::after(&*store, &self.run, self.after).await?),
        };
        let batch = self.most.map_or(BATCH, |most| most.min(BATCH));
        let chunks = store.chunks(&self.run, self.after, batch + 1).await?;
        let many = chunks.len() > batch;
        for chunk in chunks.iter().take(batch) {
            self.after = chunk.seq;
            self.most = self.most.map(|most| most - 1);
            self.waiting
                .extend(text.of(chunk).as_ref().map(chunk_event));
        }
        Ok(many)
    }

    fn last(&mut self, name: &str, value: &Value) -> Option<Event> {
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
                    // A run that is held back is told of by what it asks.
                    Ok(Change::Approval(_)) => return,
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

fn event(name: &str, value: &Value) -> Event {
    Event::default().event(name).data(value.to_string())
}

fn chunk_event(value: &Value) -> Event {
    let stream = value["stream"].as_str().unwrap_or_default();
    event(stream, value).id(value["seq"].to_string())
}

/// Chunks as text. A character that is cut waits for its rest in the next chunk of
/// its stream.
#[derive(Default)]
pub(crate) struct Text {
    cut: [Option<Chunk>; 2],
}

/// How many chunks back the beginning of a cut character is looked for.
const BACK: u64 = 16;

impl Text {
    /// As it stands after that chunk: whoever goes on there gets the whole character.
    pub(crate) async fn after(
        store: &dyn Store,
        run: &RunId,
        after: u64,
    ) -> Result<Self, StoreError> {
        let mut text = Self::default();
        if after > 0 {
            let from = after.saturating_sub(BACK);
            let back = store.chunks(run, from, BATCH).await?;
            for chunk in back.iter().take_while(|c| c.seq <= after) {
                text.of(chunk);
            }
        }
        Ok(text)
    }

    /// A chunk as it is shown, unless it is a part of a character and nothing else.
    pub(crate) fn of(&mut self, chunk: &Chunk) -> Option<Value> {
        let slot = &mut self.cut[usize::from(chunk.stream == Stream::Stderr)];
        let mut bytes = slot.take().map(|c| c.bytes).unwrap_or_default();
        bytes.extend_from_slice(&chunk.bytes);
        let cut = bytes.split_off(whole(&bytes));
        *slot = (!cut.is_empty()).then(|| Chunk {
            bytes: cut,
            ..chunk.clone()
        });
        let shown = String::from_utf8_lossy(&bytes);
        (!bytes.is_empty()).then(|| view::chunk(chunk, &shown))
    }

    /// What was cut and has no rest.
    pub(crate) fn rest(&mut self) -> Vec<Value> {
        let left = self.cut.iter_mut().filter_map(Option::take);
        left.map(|c| view::chunk(&c, &String::from_utf8_lossy(&c.bytes)))
            .collect()
    }
}

/// How many of the bytes are whole characters, or none at all; the beginning of one
/// at the end waits for its rest.
fn whole(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    let cut = (from..bytes.len()).find(|i| {
        let tail = std::str::from_utf8(&bytes[*i..]);
        tail.is_err_and(|e| e.valid_up_to() == 0 && e.error_len().is_none())
    });
    cut.unwrap_or(bytes.len())
}
