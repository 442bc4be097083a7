//! Who makes the journal durable: a thread that syncs once for all who wait.

use std::fs::File;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::Calls;

#[derive(Default)]
pub(super) struct Syncer {
    asked: Mutex<Asked>,
    came: Condvar,
}

#[derive(Default)]
struct Asked {
    waiting: Vec<oneshot::Sender<bool>>,
    /// Up to which number all is on the disk.
    durable: u64,
    closed: bool,
}

impl Syncer {
    fn lock(&self) -> MutexGuard<'_, Asked> {
        // Each change is one step, so a panic leaves it whole.
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until that number, which is written, is on the disk.
    pub(super) async fn wait(&self, number: u64) -> bool {
        let (to, told) = oneshot::channel();
        {
            let mut asked = self.lock();
            if asked.durable >= number {
                return true;
            }
            if asked.closed {
                return false;
            }
            asked.waiting.push(to);
            if asked.waiting.len() == 1 {
                self.came.notify_one();
            }
        }
        told.await.unwrap_or(false)
    }

    /// All up to that number is on the disk by another way.
    pub(super) fn is_durable(&self, number: u64) {
        let mut asked = self.lock();
        asked.durable = asked.durable.max(number);
    }

    #[cfg(test)]
    pub(super) fn durable(&self) -> u64 {
        self.lock().durable
    }

    /// Ends the thread, after those who wait.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.came.notify_one();
    }

    /// Those who wait, once there are some; `None` after the last.
    fn take(&self) -> Option<Vec<oneshot::Sender<bool>>> {
        let idle = |asked: &mut Asked| asked.waiting.is_empty() && !asked.closed;
        let asked = self.came.wait_while(self.lock(), idle);
        let mut asked = asked.unwrap_or_else(PoisonError::into_inner);
        let waiting = std::mem::take(&mut asked.waiting);
        (!waiting.is_empty()).then_some(waiting)
    }
}

/// Starts the thread; it ends when the calls are closed.
pub(super) fn start(calls: &Arc<Calls>, file: Arc<File>) -> std::io::Result<()> {
    let calls = Arc::clone(calls);
    let serve = move || {
        while let Some(waiting) = calls.syncer.take() {
            // Whoever waits has written before.
            let upto = calls.written();
            let synced = file.sync_data().is_ok();
            match synced {
                true => calls.syncer.is_durable(upto),
                false => calls.unsound(),
            }
            for who in waiting {
                // They may have gone.
                let _ = who.send(synced);
            }
        }
    };
    let thread = std::thread::Builder::new().name("helve-journal".to_owned());
    thread.spawn(serve).map(drop)
}
