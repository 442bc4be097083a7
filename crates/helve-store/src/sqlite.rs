//! A store in one SQLite file: the default of a hub.
//!
//! - *One writer.* A thread owns the only connection that writes. Whoever waits
//!   while it syncs is written with the next sync (`writer`), and nobody is answered
//!   before the sync that covers them.
//! - *Calls are written beside it first*, to a journal (`calls`), and get into the tables
//!   many at a time.
//! - *Readers hold nobody up.* They have connections of their own, which see what is
//!   committed (`readers`).
//! - *One process.* A lock beside the file keeps a second hub from forking the chain.
//! - *Nothing is trusted that is read*: what cannot be understood is
//!   [`StoreError::Damaged`], and the end of the chain is verified at every start.

mod approvals;
mod calls;
mod chain;
mod changes;
mod failure;
mod file;
mod journal;
mod op;
mod queue;
mod readers;
mod replay;
mod row;
mod runs;
mod schema;
#[cfg(test)]
mod tests;
mod tokens;
mod tools;
mod verbs;
mod writer;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use helve_kernel::StoreError;
use rusqlite::Connection;

use self::failure::Failure;
use self::readers::Readers;
use self::writer::{Sync, Tx, Writer};

/// A store in a file. Clones of an `Arc` share it; it is closed when the last one
/// goes, or by [`SqliteStore::close`].
#[derive(Debug)]
pub struct SqliteStore {
    // Dropped in this order: the lock goes with the writer, when all is written.
    readers: Arc<Readers>,
    writer: Writer,
    path: PathBuf,
    /// One who empties the journal at a time.
    emptying: Arc<tokio::sync::Mutex<()>>,
}

impl SqliteStore {
    /// Opens the store in that file, or makes one; the folder must be there. It
    /// blocks for some milliseconds, in which the schema is brought up to date and
    /// the last entries of the chain are verified.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let lock = file::lock(path)?;
        let opened = move || -> Result<_, Failure> {
            let mut conn = file::open_writer(path)?;
            schema::migrate(&mut conn)?;
            let head = chain::verified_head(&conn)?;
            file::grow_wal(path, &conn)?;
            let (journal, head) = replay::take_up(path, &conn, head)?;
            let newest = runs::newest(&conn)?;
            let readers = Readers::open(path)?;
            let writer = Writer::start(conn, head, journal, newest.as_deref(), lock)?;
            Ok((readers, writer))
        };
        let (readers, writer) = opened()?;
        Ok(Self {
            readers: Arc::new(readers),
            writer,
            path: path.to_owned(),
            emptying: Arc::default(),
        })
    }

    /// Whether a process has the store in that file open.
    pub fn is_open(path: &Path) -> bool {
        file::is_locked(path)
    }

    /// Writes what waits, closes the file and lets go of its lock. Whoever comes
    /// later is told that the store is closed.
    pub async fn close(&self) {
        self.readers.close();
        if let Some(thread) = self.writer.stop() {
            let joined = tokio::task::spawn_blocking(move || thread.join());
            // A writer that panicked has closed the file as well.
            let _ = joined.await;
        }
    }

    /// Does something that changes what is kept, and waits until it is durable.
    async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&mut Tx<'_>) -> Result<T, Failure> + Send + 'static,
    {
        self.writer.requests().submit(Sync::Full, work).await
    }

    /// Brings home what is in the log, and empties that: what was there before is in it.
    async fn empty_log(&self) -> Result<(), StoreError> {
        let path = self.path.clone();
        let emptied = tokio::task::spawn_blocking(move || file::empty_log(&path)).await;
        let crashed = |e| StoreError::Unwritable(format!("the log could not be emptied: {e}"));
        emptied.map_err(crashed)?.map_err(|e| e.to_error())
    }

    /// Looks up something that calls leave: all of them are there that came before.
    async fn read_calls<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    {
        if self.writer.calls().any() {
            self.writer.requests().settle(Sync::Later).await?;
        }
        self.read(work).await
    }

    /// Waits until a call that is written is on the disk.
    fn durable(
        &self,
        number: u64,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        let calls = Arc::clone(self.writer.calls());
        let requests = self.writer.requests().clone();
        async move {
            match calls.durable(number).await {
                true => Ok(()),
                // By the other way, then.
                false => requests.settle(Sync::Full).await,
            }
        }
    }

    /// Leaves nothing in the journal.
    async fn empty_journal(&self) -> Result<(), StoreError> {
        fn failed(e: &dyn std::fmt::Display) -> StoreError {
            StoreError::Unwritable(format!("the journal could not be emptied: {e}"))
        }
        let calls = Arc::clone(self.writer.calls());
        let (requests, emptying) = (self.writer.requests().clone(), self.emptying.clone());
        // By itself: a caller who goes away in the middle must not leave it half done.
        let emptied = tokio::spawn(async move {
            let _alone = emptying.lock().await;
            calls.pause();
            // All that is in it is in the tables then.
            if let Err(e) = requests.settle(Sync::Full).await {
                calls.resume();
                return Err(e);
            }
            let wiped = tokio::task::spawn_blocking(move || calls.wipe()).await;
            wiped.map_err(|e| failed(&e))?.map_err(|e| failed(&e))
        });
        emptied.await.map_err(|e| failed(&e))?
    }

    /// Looks something up.
    async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    {
        self.readers.read(work).await
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.readers.close();
        if let Some(thread) = self.writer.stop() {
            // As long as one batch takes: requests that came in time are written.
            let _ = thread.join();
        }
    }
}
