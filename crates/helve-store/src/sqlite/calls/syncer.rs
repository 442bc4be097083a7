//! Who makes the journal durable: a thread that syncs once for all who wait.
//!
//! A sync that fails is the last: the system tells of what it could not write once, and what
//! it says after that is of no use. Whoever waits then has to go another way.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

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
    failed: bool,
    closed: bool,
}

impl Syncer {
    fn lock(&self) -> MutexGuard<'_, Asked> {
        // Each change is one step, so a panic leaves it whole.
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until that number, which is written, is on the disk; `false` where that cannot
    /// be said.
    pub(super) async fn wait(&self, number: u64) -> bool {
        let (to, told) = oneshot::channel();
        {
            let mut asked = self.lock();
            if asked.durable >= number {
                return true;
            }
            if asked.failed || asked.closed {
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

    /// A sync has failed, of whomever.
    pub(super) fn fail(&self) {
        self.lock().failed = true;
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

    /// What came of a sync of all up to that number.
    fn synced(&self, upto: u64, done: bool) -> bool {
        let mut asked = self.lock();
        asked.failed |= !done;
        if !asked.failed {
            asked.durable = asked.durable.max(upto);
        }
        !asked.failed
    }
}

/// Starts the thread, which ends when the syncer is closed. `written` is the last number that
/// is written, `sync` makes that durable, and `failed` is told if it does not.
pub(super) fn start(
    syncer: &Arc<Syncer>,
    written: impl Fn() -> u64 + Send + 'static,
    sync: impl Fn() -> io::Result<()> + Send + 'static,
    failed: impl Fn() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let syncer = Arc::clone(syncer);
    let serve = move || {
        while let Some(waiting) = syncer.take() {
            // Whoever waits has written before.
            let upto = written();
            let done = syncer.synced(upto, sync().is_ok());
            if !done {
                failed();
            }
            for who in waiting {
                // They may have gone.
                let _ = who.send(done);
            }
        }
    };
    let thread = std::thread::Builder::new().name("helve-journal".to_owned());
    thread.spawn(serve)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[tokio::test]
    async fn after_a_sync_that_failed_none_is_believed() {
        let (syncer, syncs) = (Arc::<Syncer>::default(), Arc::new(AtomicU64::new(0)));
        let counted = syncs.clone();
        let sync = move || match counted.fetch_add(1, Ordering::Relaxed) {
            1 => Err(io::Error::other("no")),
            _ => Ok(()),
        };
        let told = Arc::new(AtomicU64::new(0));
        let telling = told.clone();
        let count = move || {
            telling.fetch_add(1, Ordering::Relaxed);
        };
        let written = Arc::new(AtomicU64::new(1));
        let now = written.clone();
        let thread = start(&syncer, move || now.load(Ordering::Relaxed), sync, count);
        assert!(syncer.wait(1).await);
        written.store(2, Ordering::Relaxed);
        assert!(!syncer.wait(2).await);
        written.store(3, Ordering::Relaxed);
        assert!(!syncer.wait(3).await);
        assert_eq!((syncer.durable(), told.load(Ordering::Relaxed)), (1, 1));
        // What another way has made durable is.
        syncer.is_durable(3);
        assert!(syncer.wait(3).await);
        syncer.close();
        assert!(!syncer.wait(4).await);
        thread.unwrap().join().unwrap();
    }

    #[tokio::test]
    async fn many_who_wait_share_a_sync() {
        let (syncer, syncs) = (Arc::<Syncer>::default(), Arc::new(AtomicU64::new(0)));
        let counted = syncs.clone();
        let (release, held) = std::sync::mpsc::channel::<()>();
        let sync = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            let _ = held.recv();
            Ok(())
        };
        let thread = start(&syncer, || 20, sync, || ()).unwrap();
        let mut waits = futures(&syncer);
        release.send(()).unwrap();
        release.send(()).unwrap();
        while let Some(done) = waits.join_next().await {
            assert!(done.unwrap());
        }
        assert!(syncs.load(Ordering::Relaxed) <= 2);
        drop(release);
        syncer.close();
        thread.join().unwrap();
    }

    fn futures(syncer: &Arc<Syncer>) -> tokio::task::JoinSet<bool> {
        let mut set = tokio::task::JoinSet::new();
        for number in 1..=20 {
            let syncer = syncer.clone();
            set.spawn(async move { syncer.wait(number).await });
        }
        set
    }
}
