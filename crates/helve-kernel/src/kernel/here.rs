//! Runs in the task of their caller.
//!
//! A run comes to its end whether or not its caller waits. But most callers do, and to hand a
//! run to a task of its own only to wait for that costs more than many a tool does. So a run
//! is done where it is asked for; when whoever waits for it goes away in the middle, what is
//! left becomes a task of its own.

use std::cell::Cell;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use futures_util::future::CatchUnwind;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::Kernel;

thread_local! {
    /// A run is worked on by this thread.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// In a box: it is large, and may be moved into a task.
type Work<F> = Pin<Box<CatchUnwind<AssertUnwindSafe<F>>>>;

/// Work that is done by whoever waits for it, or else by itself.
struct ToTheEnd<F: Future<Output: Send> + Send + 'static> {
    work: Option<Work<F>>,
    tasks: TaskTracker,
    runtime: Handle,
    /// The kernel does not close before it is over.
    _open: TaskTrackerToken,
}

impl<F: Future<Output: Send> + Send + 'static> Future for ToTheEnd<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(work) = &mut self.work else {
            return Poll::Pending;
        };
        let before = BUSY.replace(true);
        let done = work.as_mut().poll(cx);
        BUSY.set(before);
        done.map(|done| {
            self.work = None;
            done.ok()
        })
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for ToTheEnd<F> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.tasks.spawn_on(work, &self.runtime);
        }
    }
}

impl Kernel {
    /// Does it, to its end, even if nobody waits for it any more; `None` where it crashed.
    pub(super) async fn to_the_end<F>(&self, work: F) -> Option<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let tasks = &self.inner.tasks;
        let work = Box::pin(AssertUnwindSafe(work).catch_unwind());
        if BUSY.get() {
            // A run that a run asks for: one within the other would fill the stack.
            return tasks.spawn(work).await.ok()?.ok();
        }
        let work = ToTheEnd {
            work: Some(work),
            tasks: tasks.clone(),
            runtime: Handle::current(),
            _open: tasks.token(),
        };
        work.await
    }
}
