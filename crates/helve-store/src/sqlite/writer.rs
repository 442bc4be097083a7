//! The one who writes.
//!
//! Requests wait in a queue. The thread takes all that wait, does them one after
//! the other in one transaction, syncs once, and only then answers them all. So
//! many callers share the price of one sync, and one caller alone waits for nobody.
//! What has gathered in the journal (`calls`) goes into the tables first, in each of its
//! transactions, and some milliseconds after the first of it where nothing else comes.
//!
//! - *All or nothing, for each.* A request that fails by its own fault takes the
//!   transaction back; the others are done again without it. That costs the rare
//!   case twice and the usual one nothing, where savepoints would cost every one.
//! - *A disk that fails fails all who wait*, and the chain stands where it stood.
//!   The next request tries again: there may be space by then.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use helve_core::audit::Head;
use helve_kernel::StoreError;
use rusqlite::{Connection, params};
use tokio::sync::oneshot;

use super::calls::{Batch, Calls};
use super::failure::Failure;
use super::journal::Journal;
use super::op;
use super::queue::Queue;
use super::row::{change, number};

/// How many requests go into one transaction at most.
const BATCH: usize = 512;

/// How long a call is in the journal alone before it is brought into the tables.
const SOON: Duration = Duration::from_millis(50);

/// How long to wait before that is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// What must have happened before a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sync {
    /// It is on the disk.
    Full,
    /// It is in the log, which goes to the disk with the next that must.
    Later,
}

/// What a request works with.
pub(super) struct Tx<'c> {
    pub(super) conn: &'c Connection,
    /// Where the chain stands, with what this transaction has added.
    pub(super) head: Head,
    /// The minute of the last entry.
    pub(super) minute: Option<i64>,
}

pub(super) struct Writer {
    queue: Requests,
    calls: Arc<Calls>,
    thread: Mutex<Option<JoinHandle<()>>>,
    #[cfg_attr(not(test), expect(dead_code, reason = "what tests count"))]
    commits: Arc<AtomicU64>,
}

/// Those who ask. Clones share it.
#[derive(Clone)]
pub(super) struct Requests(Arc<Queue<Box<dyn Request>>>);

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl Writer {
    /// Starts the thread, which keeps the lock until all is written.
    pub(super) fn start(
        conn: Connection,
        head: Head,
        journal: Journal,
        newest: Option<&str>,
        lock: File,
    ) -> Result<Self, Failure> {
        let queue = Arc::new(Queue::new());
        let due = Arc::clone(&queue);
        let calls = Calls::start(journal, newest, move || due.due_in(SOON))?;
        let closing = Closing(Arc::clone(&calls));
        let commits = Arc::new(AtomicU64::new(0));
        let mut desk = Desk {
            conn,
            head,
            minute: None,
            sync: Sync::Full,
            calls: Arc::clone(&calls),
            unsynced: false,
            _closing: closing,
            commits: Arc::clone(&commits),
            _lock: lock,
        };
        desk.set_sync(Sync::Full)?;
        let waiting = Arc::clone(&queue);
        let thread = std::thread::Builder::new()
            .name("helve-store".to_owned())
            .spawn(move || desk.serve(&waiting))?;
        Ok(Self {
            queue: Requests(queue),
            calls,
            thread: Mutex::new(Some(thread)),
            commits,
        })
    }

    pub(super) fn calls(&self) -> &Arc<Calls> {
        &self.calls
    }

    /// Those who ask, for whoever outlives a borrow of this.
    pub(super) fn requests(&self) -> &Requests {
        &self.queue
    }

    /// Lets the thread end after what waits now; whoever asks first may join it.
    pub(super) fn stop(&self) -> Option<JoinHandle<()>> {
        self.calls.close();
        self.queue.0.close();
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        thread.take()
    }

    /// How many transactions were committed so far.
    #[cfg(test)]
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }
}

impl Requests {
    /// Asks for something and waits for what comes of it. A caller who stops
    /// waiting takes nothing back.
    pub(super) async fn submit<T, F>(&self, sync: Sync, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&mut Tx<'_>) -> Result<T, Failure> + Send + 'static,
    {
        let (to, answer) = oneshot::channel();
        let request = Asked {
            work,
            sync,
            answer: None,
            to,
        };
        self.0.put(Box::new(request))?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Waits until all that was written to the journal before is in the tables.
    pub(super) async fn settle(&self, sync: Sync) -> Result<(), StoreError> {
        self.submit(sync, |_| Ok(())).await
    }
}

/// A request, whatever its answer is.
trait Request: Send {
    fn sync(&self) -> Sync;
    /// Does it, as often as it takes, and keeps the answer.
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), Failure>;
    /// Tells the answer, or why there is none.
    fn tell(self: Box<Self>, failure: Option<&Failure>);
}

struct Asked<T, F> {
    work: F,
    sync: Sync,
    answer: Option<T>,
    to: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Request for Asked<T, F>
where
    T: Send,
    F: Fn(&mut Tx<'_>) -> Result<T, Failure> + Send,
{
    fn sync(&self) -> Sync {
        self.sync
    }

    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), Failure> {
        self.answer = Some((self.work)(tx)?);
        Ok(())
    }

    fn tell(self: Box<Self>, failure: Option<&Failure>) {
        let answer = match failure {
            Some(failure) => Err(failure.to_error()),
            None => self.answer.ok_or(StoreError::Closed),
        };
        // Nobody may be waiting any more.
        let _ = self.to.send(answer);
    }
}

/// What the thread owns.
struct Desk {
    conn: Connection,
    head: Head,
    minute: Option<i64>,
    sync: Sync,
    calls: Arc<Calls>,
    /// Something was committed that may not be on the disk.
    unsynced: bool,
    _closing: Closing,
    commits: Arc<AtomicU64>,
    // After the connection: the file is closed before another may open it.
    _lock: File,
}

/// Whatever becomes of the thread: nothing is taken that it would have to write, and nobody
/// waits for it.
struct Closing(Arc<Calls>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
        self.0.let_go();
    }
}

/// Why a batch was taken back.
enum Undone {
    /// That request cannot be done.
    By(usize, Failure),
    /// Nothing can.
    ByDisk(Failure),
}

impl Desk {
    fn serve(mut self, queue: &Queue<Box<dyn Request>>) {
        let _closing = queue.closing();
        while let Some(taken) = queue.take(BATCH) {
            let done = match taken.requests.is_empty() {
                true => self.tidy(),
                false => self.settle(taken.requests, taken.due),
            };
            if !done {
                queue.due_in(RETRY);
            } else if self.is_untidy() {
                // What came meanwhile has woken nobody.
                queue.due_in(SOON);
            }
        }
        if self.tidy() {
            self.calls.clear();
        }
        // So that the file alone holds all of it; the log is kept for the next time.
        let _ = self.conn.execute_batch("PRAGMA wal_checkpoint(PASSIVE)");
    }

    /// Whether something is not on the disk, or not in the tables.
    fn is_untidy(&self) -> bool {
        self.unsynced || self.calls.any()
    }

    /// Brings what is in the journal into the tables, and all of it to the disk; `false`
    /// where that cannot be done now.
    fn tidy(&mut self) -> bool {
        !self.is_untidy() || self.commit(&mut [], true).is_ok()
    }

    /// Does a batch and tells everyone what came of it; `false` where something waits that
    /// could not be written.
    fn settle(&mut self, mut batch: Vec<Box<dyn Request>>, due: bool) -> bool {
        while !batch.is_empty() {
            match self.commit(&mut batch, due) {
                Ok(()) => batch.drain(..).for_each(|r| r.tell(None)),
                Err(Undone::By(i, failure)) => batch.remove(i).tell(Some(&failure)),
                Err(Undone::ByDisk(failure)) => {
                    batch.drain(..).for_each(|r| r.tell(Some(&failure)));
                    return !self.is_untidy();
                }
            }
        }
        true
    }

    /// One transaction; where it fails, everything is as it was.
    fn commit(&mut self, requests: &mut [Box<dyn Request>], due: bool) -> Result<(), Undone> {
        let full = due || requests.iter().any(|r| r.sync() == Sync::Full);
        let calls = self.calls.batch();
        let done = self.attempt(full, &calls, requests);
        let (head, minute) = done.inspect_err(|undone| {
            // SQLite has often done so itself. Where this fails, the next
            // transaction cannot begin, and tells.
            if !self.conn.is_autocommit() {
                let _ = self.conn.execute_batch("ROLLBACK");
            }
            if matches!(undone, Undone::ByDisk(_)) {
                self.calls.not_folded();
            }
        })?;
        (self.head, self.minute) = (head, minute);
        self.unsynced = !full;
        self.calls.folded(calls.last, full);
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn attempt(
        &mut self,
        full: bool,
        calls: &Batch,
        requests: &mut [Box<dyn Request>],
    ) -> Result<(Head, Option<i64>), Undone> {
        let sync = if full { Sync::Full } else { Sync::Later };
        if sync != self.sync {
            self.set_sync(sync).map_err(Undone::ByDisk)?;
        }
        self.execute("BEGIN IMMEDIATE")?;
        let mut tx = Tx {
            conn: &self.conn,
            head: self.head,
            minute: self.minute,
        };
        if !calls.ops.is_empty() {
            op::fold(&mut tx, calls.ops.iter().map(|op| &**op)).map_err(Undone::ByDisk)?;
        }
        if !calls.ops.is_empty() || full && self.unsynced {
            // A commit that changes nothing syncs nothing.
            let sql = "UPDATE journal SET done = max(done, ?1), commits = commits + 1";
            change(tx.conn, sql, params![number(calls.last)]).map_err(Undone::ByDisk)?;
        }
        for (i, request) in requests.iter_mut().enumerate() {
            request
                .run(&mut tx)
                .map_err(|failure| match failure.is_own() {
                    true => Undone::By(i, failure),
                    false => Undone::ByDisk(failure),
                })?;
        }
        let stands = (tx.head, tx.minute);
        self.execute("COMMIT")?;
        Ok(stands)
    }

    fn execute(&self, sql: &str) -> Result<(), Undone> {
        let done = self
            .conn
            .prepare_cached(sql)
            .and_then(|mut s| s.execute([]));
        done.map(drop).map_err(|e| Undone::ByDisk(e.into()))
    }

    fn set_sync(&mut self, sync: Sync) -> Result<(), Failure> {
        let word = match sync {
            Sync::Full => "FULL",
            Sync::Later => "NORMAL",
        };
        self.conn.pragma_update(None, "synchronous", word)?;
        self.sync = sync;
        Ok(())
    }
}
