//! Calls that were put aside: a question is out, or the client comes back for the answer.
//!
//! A handle is chance, and counts only for whoever was given it. What nobody comes back for
//! is let go: its run is called off.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::lock;
use super::talk::Talk;

/// How long a call waits for its client to come back.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// How many calls may be put aside at a time.
const MOST: usize = 4096;

/// Calls that were put aside, by handle.
#[derive(Default)]
pub(crate) struct Suspended {
    talks: Mutex<HashMap<String, Aside>>,
    tasks: Mutex<HashMap<String, Arc<super::tasks::Job>>>,
}

struct Aside {
    talk: Talk,
    owner: String,
    until: Instant,
}

impl Suspended {
    /// Puts a talk aside, and gives its handle; `None` if there are too many.
    pub(crate) fn put(&self, mut talk: Talk, owner: &str) -> Option<String> {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes).ok()?;
        let handle: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        talk.put_aside();
        let now = Instant::now();
        let mut talks = lock(&self.talks);
        talks.retain(|_, aside| aside.until > now);
        if talks.len() >= MOST {
            return None;
        }
        talks.insert(
            handle.clone(),
            Aside {
                talk,
                owner: owner.to_owned(),
                until: now + PATIENCE,
            },
        );
        Some(handle)
    }

    /// Takes a talk up again, for whoever began it and asks for the same once more; why
    /// not, otherwise. What is refused stays where it is.
    pub(crate) fn take(
        &self,
        handle: &str,
        owner: &str,
        asked: &Value,
    ) -> Result<Talk, &'static str> {
        let mut talks = lock(&self.talks);
        let theirs = talks.get(handle).filter(|aside| aside.owner == owner);
        let same = theirs.map(|aside| aside.talk.asked == *asked);
        match same.map(|same| same.then(|| talks.remove(handle)).flatten()) {
            Some(Some(mut aside)) => {
                aside.talk.take_up();
                Ok(aside.talk)
            }
            Some(None) => Err("the requestState belongs to another request"),
            None => Err("the requestState is not known here, or too old; begin again without it"),
        }
    }

    pub(crate) fn put_job(&self, id: &str, job: Arc<super::tasks::Job>) -> bool {
        let mut tasks = lock(&self.tasks);
        tasks.retain(|_, job| !job.is_old());
        if tasks.len() >= MOST {
            return false;
        }
        tasks.insert(id.to_owned(), job);
        true
    }

    pub(crate) fn job(&self, id: &str, owner: &str) -> Option<Arc<super::tasks::Job>> {
        let tasks = lock(&self.tasks);
        tasks.get(id).filter(|job| job.owner == owner).cloned()
    }

    /// Lets go of what nobody came back for.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        lock(&self.talks).retain(|_, aside| aside.until > now);
        lock(&self.tasks).retain(|_, job| !job.is_old());
    }
}
