//! A store in one SQLite file: the default of a hub.
//!
//! - *One writer.* A thread owns the only connection that writes. Whoever waits
//!   while it syncs is written with the next sync (`writer`), and nobody is answered
//!   before the sync that covers them.
//! - *Readers hold nobody up.* They have connections of their own, which see what is
//!   committed (`readers`).
//! - *One process.* A lock beside the file keeps a second hub from forking the chain.
//! - *Nothing is trusted that is read*: what cannot be understood is
//!   [`StoreError::Damaged`], and the end of the chain is verified at every start.

mod approvals;
mod chain;
mod changes;
mod failure;
mod file;
mod queue;
mod readers;
mod row;
mod runs;
mod schema;
#[cfg(test)]
mod tests;
mod tokens;
mod tools;
mod verbs;
mod writer;

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
}

impl SqliteStore {
    /// Opens the store in that file, or makes one; the folder must be there. It
    /// blocks for some milliseconds, in which the schema is brought up to date and
    /// the last entries of the chain are verified.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let lock = file::lock(path)?;
        let opened = || -> Result<_, Failure> {
            let mut conn = file::open_writer(path)?;
            schema::migrate(&mut conn)?;
            let head = chain::verified_head(&conn)?;
            file::grow_wal(path, &conn)?;
            let readers = Readers::open(path)?;
            Ok((conn, head, readers))
        };
        let (conn, head, readers) = opened()?;
        Ok(Self {
            readers: Arc::new(readers),
            writer: Writer::start(conn, head, lock)?,
            path: path.to_owned(),
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
        self.writer.submit(Sync::Full, work).await
    }

    /// Brings home what is in the log, and empties that: what was there before is in it.
    async fn empty_log(&self) -> Result<(), StoreError> {
        let path = self.path.clone();
        let emptied = tokio::task::spawn_blocking(move || file::empty_log(&path)).await;
        let crashed = |e| StoreError::Unwritable(format!("the log could not be emptied: {e}"));
        emptied.map_err(crashed)?.map_err(|e| e.to_error())
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
