//! The first step of a run, in the task of its caller.
//!
//! A run is a task of the kernel, so that it comes to its end whether or not its caller waits.
//! But most runs wait for nothing, and to hand one to a task only to wait for it costs more
//! than many a tool does. So a run begins where it is asked for, and becomes a task of its own
//! when it has to wait for the first time: until then nobody can hang up.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::Poll;

use futures_util::FutureExt as _;

use super::Kernel;

thread_local! {
    /// A run takes its first step on this thread. One that it calls does not: steps within
    /// steps would fill the stack.
    static STEPPING: Cell<bool> = const { Cell::new(false) };
}

struct Step;

impl Step {
    fn begin() -> Option<Self> {
        (!STEPPING.replace(true)).then(|| Self)
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        STEPPING.set(false);
    }
}

impl Kernel {
    /// Does it, to its end, even if nobody waits for it; `None` where it crashed. In a box
    /// from the start: it is large, and is moved more than once on its way into a task.
    pub(super) async fn to_the_end<T: Send + 'static>(
        &self,
        work: Pin<Box<impl Future<Output = T> + Send + 'static>>,
    ) -> Option<T> {
        let mut work = AssertUnwindSafe(work).catch_unwind();
        if let Some(step) = Step::begin() {
            // The kernel does not close in the middle of it.
            let open = self.inner.tasks.token();
            let stepped = poll_fn(|cx| Poll::Ready(work.poll_unpin(cx))).await;
            drop(step);
            if let Poll::Ready(done) = stepped {
                return done.ok();
            }
            let rest = self.inner.tasks.spawn(work);
            drop(open);
            return rest.await.ok()?.ok();
        }
        self.inner.tasks.spawn(work).await.ok()?.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_step_at_a_time() {
        let outer = Step::begin();
        assert!(outer.is_some());
        for _ in 0..2 {
            assert!(Step::begin().is_none());
        }
        drop(outer);
        assert!(Step::begin().is_some());
    }
}
