//! Those who read: a few connections that never write, used on blocking threads.
//!
//! A reader sees what was committed when it began, so that a long walk over the
//! record neither waits for the writer nor lets it wait.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use helve_kernel::StoreError;
use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::failure::Failure;
use super::file;

/// How many read at once.
const READERS: usize = 2;

#[derive(Debug)]
pub(super) struct Readers {
    idle: Mutex<Vec<Connection>>,
    /// As many permits as connections; none once the store is closed.
    gate: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let idle: Result<Vec<_>, _> = (0..READERS).map(|_| file::open_reader(path)).collect();
        Ok(Self {
            idle: Mutex::new(idle?),
            gate: Arc::new(Semaphore::new(READERS)),
        })
    }

    pub(super) async fn read<T, F>(self: &Arc<Self>, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    {
        let gate = Arc::clone(&self.gate);
        let permit = gate.acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let home = Arc::clone(self);
        let task = tokio::task::spawn_blocking(move || {
            let lent = Lent::take(home)?;
            let found = lent.conn().map(work);
            // The connection goes home before the next one may look for it.
            drop(lent);
            drop(permit);
            Ok(found.ok_or(StoreError::Closed)??)
        });
        // It is not cancelled, and a panic in it is a mistake in this crate.
        task.await.map_err(|_| StoreError::Closed)?
    }

    /// Lets nobody in any more, and closes what is idle.
    pub(super) fn close(&self) {
        self.gate.close();
        self.idle().clear();
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that finds its way home, even through a panic.
struct Lent {
    conn: Option<Connection>,
    home: Arc<Readers>,
}

impl Lent {
    fn take(home: Arc<Readers>) -> Result<Self, StoreError> {
        let conn = home.idle().pop().ok_or(StoreError::Closed)?;
        let conn = Some(conn);
        Ok(Self { conn, home })
    }

    fn conn(&self) -> Option<&Connection> {
        self.conn.as_ref()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut idle = self.home.idle();
        if !self.home.gate.is_closed() {
            idle.extend(self.conn.take());
        }
    }
}
