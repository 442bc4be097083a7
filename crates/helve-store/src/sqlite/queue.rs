//! What waits for the writer, in order.
//!
//! The thread that takes from it sleeps until somebody waits for something, or until
//! something is due that nobody waits for.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use helve_kernel::StoreError;

pub(super) struct Queue<T> {
    waiting: Mutex<Waiting<T>>,
    came: Condvar,
}

struct Waiting<T> {
    requests: VecDeque<T>,
    /// When there is something to do even if nobody asks.
    due: Option<Instant>,
    closed: bool,
}

/// What there is to do.
pub(super) struct Taken<T> {
    pub(super) requests: Vec<T>,
    /// What nobody waits for is due.
    pub(super) due: bool,
}

impl<T> Queue<T> {
    pub(super) fn new() -> Self {
        let waiting = Waiting {
            requests: VecDeque::new(),
            due: None,
            closed: false,
        };
        Self {
            waiting: Mutex::new(waiting),
            came: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        // Each change is one step, so a panic leaves it whole.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, request: T) -> Result<(), StoreError> {
        let mut waiting = self.lock();
        if waiting.closed {
            return Err(StoreError::Closed);
        }
        waiting.requests.push_back(request);
        let first = waiting.requests.len() == 1;
        drop(waiting);
        if first {
            self.came.notify_one();
        }
        Ok(())
    }

    /// There is something to do by then, unless something was due before.
    pub(super) fn due_in(&self, time: Duration) {
        let mut waiting = self.lock();
        if waiting.due.is_none() {
            waiting.due = Some(Instant::now() + time);
            drop(waiting);
            self.came.notify_one();
        }
    }

    /// Takes nothing more.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.came.notify_one();
    }

    /// All that waits, as many as that at most, once there is something or something is
    /// due; `None` after the last.
    pub(super) fn take(&self, most: usize) -> Option<Taken<T>> {
        let mut waiting = self.lock();
        while waiting.requests.is_empty() && !waiting.closed {
            let left = waiting.due.map(|due| due.duration_since(Instant::now()));
            waiting = match left {
                Some(Duration::ZERO) => break,
                Some(left) => {
                    let woken = self.came.wait_timeout(waiting, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                None => {
                    let woken = self.came.wait(waiting);
                    woken.unwrap_or_else(PoisonError::into_inner)
                }
            };
        }
        if waiting.requests.is_empty() && waiting.closed {
            return None;
        }
        let due = waiting.due.is_some_and(|due| due <= Instant::now());
        if due {
            waiting.due = None;
        }
        let count = waiting.requests.len().min(most);
        let requests = waiting.requests.drain(..count).collect();
        Some(Taken { requests, due })
    }

    /// What the thread that takes holds on to: with it goes all that waits, so that nobody
    /// waits for a thread that is gone.
    pub(super) fn closing(&self) -> Closing<'_, T> {
        Closing(self)
    }
}

pub(super) struct Closing<'q, T>(&'q Queue<T>);

impl<T> Drop for Closing<'_, T> {
    fn drop(&mut self) {
        let mut waiting = self.0.lock();
        waiting.closed = true;
        waiting.requests.clear();
    }
}
