//! What a run writes, on its way into the store.
//!
//! Chunks are numbered here, over both streams, and kept by one task per run, many
//! at a time: a chatty program waits for the store, never the other way round.

use std::sync::Arc;

use helve_core::secret::redact;
use tokio::sync::{broadcast, mpsc};

use crate::clock::Steady;
use crate::run::{Chunk, Stream};
use crate::{Change, RunId, Store};

/// The end that an executor writes to.
#[derive(Debug, Clone)]
pub(crate) struct Logs {
    sender: mpsc::Sender<(Stream, Vec<u8>)>,
}

/// How many chunks may wait.
const WAITING: usize = 64;

impl Logs {
    /// Begins to keep what `run` writes, until every clone is dropped. The future
    /// ends when all of it is kept.
    pub(crate) fn open(
        run: RunId,
        store: Arc<dyn Store>,
        clock: Arc<Steady>,
        changes: broadcast::Sender<Change>,
        hide: Vec<String>,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let (sender, mut receiver) = mpsc::channel(WAITING);
        let keep = async move {
            let mut seq = 0;
            let mut waiting: Vec<(Stream, Vec<u8>)> = Vec::new();
            while receiver.recv_many(&mut waiting, WAITING).await > 0 {
                let mut chunks = Vec::with_capacity(waiting.len());
                for (stream, bytes) in waiting.drain(..) {
                    seq += 1;
                    chunks.push(Chunk {
                        seq,
                        stream,
                        at: clock.now(),
                        bytes: without(bytes, &hide),
                    });
                }
                // What cannot be kept is lost to the watcher, not to the caller;
                // the outcome that follows fails as well and says so.
                if store.append_chunks(&run, chunks).await.is_ok() {
                    let _ = changes.send(Change::Log(run.clone()));
                }
            }
        };
        (Self { sender }, keep)
    }

    pub(crate) async fn push(&self, stream: Stream, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            // The keeper ends only when all senders are gone.
            let _ = self.sender.send((stream, bytes)).await;
        }
    }
}

/// The bytes without the secrets that the call was given.
fn without(bytes: Vec<u8>, hide: &[String]) -> Vec<u8> {
    if hide.is_empty() {
        return bytes;
    }
    match String::from_utf8(bytes) {
        Ok(text) => redact(&text, hide).into_owned().into_bytes(),
        Err(raw) => {
            let text = String::from_utf8_lossy(raw.as_bytes()).into_owned();
            redact(&text, hide).into_owned().into_bytes()
        }
    }
}
