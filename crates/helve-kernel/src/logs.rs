//! What a run writes, on its way into the store.
//!
//! Chunks are numbered here, over both streams, and kept by one task per run, many
//! at a time: a chatty program waits for the store, never the other way round.

use std::sync::Arc;

use helve_core::secret::Redactor;
use tokio::sync::{broadcast, mpsc};

use crate::clock::Steady;
use crate::run::{Chunk, Stream};
use crate::{Change, RunId, Store};

/// The end that an executor writes to.
#[derive(Debug, Clone)]
pub(crate) struct Logs {
    sender: mpsc::Sender<(Stream, Vec<u8>)>,
}

/// What of a run's output is kept.
pub(crate) enum Keep {
    /// All of it, without these secrets.
    Without(Vec<String>),
    /// Nothing: the tool is sensitive.
    Nothing,
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
        keep: Keep,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let (sender, mut receiver) = mpsc::channel(WAITING);
        let keep = async move {
            let mut writer = Writer {
                run,
                store,
                clock,
                changes,
                seq: 0,
            };
            let Keep::Without(secrets) = keep else {
                while receiver.recv().await.is_some() {}
                return;
            };
            // Each stream by itself: a secret may come in pieces.
            let mut outputs = [Redactor::new(&secrets), Redactor::new(&secrets)];
            let mut waiting: Vec<(Stream, Vec<u8>)> = Vec::new();
            while receiver.recv_many(&mut waiting, WAITING).await > 0 {
                for (stream, bytes) in &mut waiting {
                    *bytes =
                        outputs[usize::from(*stream == Stream::Stderr)].push(std::mem::take(bytes));
                }
                writer.write(waiting.drain(..)).await;
            }
            let [out, err] = outputs.map(Redactor::finish);
            writer
                .write([(Stream::Stdout, out), (Stream::Stderr, err)])
                .await;
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

/// Numbers chunks and hands them to the store.
struct Writer {
    run: RunId,
    store: Arc<dyn Store>,
    clock: Arc<Steady>,
    changes: broadcast::Sender<Change>,
    seq: u64,
}

impl Writer {
    async fn write(&mut self, pieces: impl IntoIterator<Item = (Stream, Vec<u8>)>) {
        let mut chunks = Vec::new();
        for (stream, bytes) in pieces {
            if bytes.is_empty() {
                continue;
            }
            self.seq += 1;
            chunks.push(Chunk {
                seq: self.seq,
                stream,
                at: self.clock.now(),
                bytes,
            });
        }
        // What cannot be kept is lost to the watcher, not to the caller; the outcome
        // that follows fails as well and says so.
        if !chunks.is_empty() && self.store.append_chunks(&self.run, chunks).await.is_ok() {
            let _ = self.changes.send(Change::Log(self.run.clone()));
        }
    }
}
