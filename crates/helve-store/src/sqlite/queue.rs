//! What waits for the writer, in order.
//!
//! The thread that takes from it sleeps until somebody waits for something: what is only
//! handed over keeps its place, and wakes nobody.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use helve_kernel::StoreError;

pub(super) struct Queue<T> {
    waiting: Mutex<Waiting<T>>,
    came: Condvar,
}

struct Waiting<T> {
    requests: VecDeque<T>,
    /// Somebody waits for one of them.
    hurry: bool,
    closed: bool,
}

/// Whether somebody waits for a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hurry {
    Yes,
    No,
}

impl<T> Queue<T> {
    pub(super) fn new() -> Self {
        let waiting = Waiting {
            requests: VecDeque::new(),
            hurry: false,
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

    pub(super) fn put(&self, request: T, hurry: Hurry) -> Result<(), StoreError> {
        let mut waiting = self.lock();
        if waiting.closed {
            return Err(StoreError::Closed);
        }
        waiting.requests.push_back(request);
        if hurry == Hurry::Yes {
            self.wake(waiting);
        }
        Ok(())
    }

    /// Somebody waits now for what was put without hurry.
    pub(super) fn hurry(&self) {
        self.wake(self.lock());
    }

    fn wake(&self, mut waiting: MutexGuard<'_, Waiting<T>>) {
        let already = std::mem::replace(&mut waiting.hurry, true);
        drop(waiting);
        if !already {
            self.came.notify_one();
        }
    }

    /// Takes nothing more.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.came.notify_one();
    }

    /// All that waits, as many as that at most, once somebody waits for one of them; `None`
    /// after the last.
    pub(super) fn take(&self, most: usize) -> Option<Vec<T>> {
        let idle = |waiting: &mut Waiting<T>| !waiting.closed && !waiting.hurry;
        let waiting = self.came.wait_while(self.lock(), idle);
        let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        if waiting.requests.is_empty() && waiting.closed {
            return None;
        }
        let count = waiting.requests.len().min(most);
        let taken = waiting.requests.drain(..count).collect();
        waiting.hurry = !waiting.requests.is_empty();
        Some(taken)
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
