//! How far a long call has come, for whoever waits for it.
//!
//! A tool says so now and then. Whoever called hears of it where they can be told
//! (`notifications/progress`), and whoever looks at the run sees it there. It is not kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::Ctx;

/// How often whoever called is told at most.
const PAUSE: Duration = Duration::from_millis(500);

/// How far something has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// How much is done.
    pub done: u64,
    /// Of how much, where that is known.
    pub total: Option<u64>,
    /// What is being done.
    pub message: String,
}

impl Report {
    /// The same as JSON.
    pub fn to_value(&self) -> Value {
        json!({"done": self.done, "total": self.total, "message": self.message})
    }
}

/// What runs have reported and are not done with.
#[derive(Debug, Default)]
pub(crate) struct Reports(Mutex<HashMap<String, watch::Receiver<Report>>>);

impl Reports {
    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<String, watch::Receiver<Report>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn of(&self, run: &str) -> Option<Report> {
        self.all().get(run).map(|last| last.borrow().clone())
    }
}

/// Reports of one run. When it goes, so does the last of them.
#[derive(Debug)]
pub struct Reporting {
    reports: Option<(Arc<Reports>, String)>,
    last: watch::Sender<Report>,
}

impl Reporting {
    pub(crate) fn new(ctx: &Ctx) -> Self {
        let (last, seen) = watch::channel(Report::default());
        let reports = ctx.service::<Reports>().ok();
        let reports = reports.zip(ctx.run_id().map(str::to_owned));
        if let Some((reports, run)) = &reports {
            reports.all().insert(run.clone(), seen);
        }
        Self { reports, last }
    }

    /// Says how far it has come. From any thread.
    pub fn say(&self, report: Report) {
        self.last.send_replace(report);
    }

    /// Does the work, and passes on to whoever called what is said meanwhile.
    pub async fn during<T>(&self, ctx: &Ctx, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        let Some(caller) = ctx.caller() else {
            return work.await;
        };
        let mut seen = self.last.subscribe();
        let mut pause = interval_at(Instant::now() + PAUSE, PAUSE);
        pause.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                done = &mut work => return done,
                _ = pause.tick() => {}
            }
            if seen.has_changed().unwrap_or(false) {
                let report = seen.borrow_and_update().clone();
                let mut params = json!({"progress": report.done, "message": report.message});
                if let Some(total) = report.total {
                    params["total"] = total.into();
                }
                caller.tell("notifications/progress", params).await;
            }
        }
    }
}

impl Drop for Reporting {
    fn drop(&mut self) {
        if let Some((reports, run)) = &self.reports {
            reports.all().remove(run);
        }
    }
}
