//! Workers that wait for the next call, and how many there may be.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::runtime::Runtime;
use super::worker::Worker;

/// How many workers may wait, of all toolsets together.
const WAITING: usize = 32;

/// How long one waits before it is let go.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// What workers have in common that can stand in for each other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) folder: PathBuf,
    pub(crate) runtime: Runtime,
    pub(crate) interpreter: PathBuf,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) network: bool,
    pub(crate) memory: Option<u64>,
    pub(crate) processes: Option<u32>,
    pub(crate) readable: Vec<PathBuf>,
}

/// All workers that wait.
#[derive(Default)]
pub(crate) struct Pools {
    /// The one that waits longest is first.
    waiting: Mutex<VecDeque<(Key, Worker)>>,
    seats: Mutex<HashMap<Key, Arc<Semaphore>>>,
}

impl Pools {
    /// The places of a toolset: as many calls run at once.
    pub(crate) fn seats(&self, key: &Key, size: usize) -> Arc<Semaphore> {
        let mut seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Arc::new(Semaphore::new(size.max(1)));
        seats.entry(key.clone()).or_insert_with(fresh).clone()
    }

    /// One that waits, and has loaded what the files are now.
    pub(crate) fn take(&self, key: &Key, stamp: &[(PathBuf, u64, i64, i64)]) -> Option<Worker> {
        let mut old = Vec::new();
        let mut waiting = self.waiting();
        let mut found = None;
        while let Some(at) = waiting.iter().rposition(|(known, _)| known == key) {
            let (_, worker) = waiting.remove(at)?;
            if worker.stamp == stamp && worker.is_alive() {
                found = Some(worker);
                break;
            }
            old.push(worker);
        }
        drop(waiting);
        drop(old);
        found
    }

    /// Lets one wait.
    pub(crate) fn give(&self, key: Key, mut worker: Worker) {
        worker.idle = Instant::now();
        let mut waiting = self.waiting();
        waiting.push_back((key, worker));
        let mut old = Vec::new();
        while waiting.len() > WAITING
            || waiting
                .front()
                .is_some_and(|(_, w)| w.idle.elapsed() > PATIENCE)
        {
            old.extend(waiting.pop_front());
        }
        drop(waiting);
        // Their ends are waited for; nobody else should wait for that.
        drop(old);
    }

    /// Lets all go.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.waiting());
        drop(all);
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<(Key, Worker)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
