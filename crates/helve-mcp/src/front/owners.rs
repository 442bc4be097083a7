//! Who began which session over HTTP, and how it is called without the protocol library.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::direct::Line;
use super::lock;

/// Who began which session.
pub(super) struct Owners {
    begun: Mutex<Begun>,
    /// How long the protocol library keeps a session of which it hears nothing.
    idle: Duration,
}

#[derive(Default)]
struct Begun {
    by: HashMap<String, Owned>,
    /// How many were left when those of sessions that are gone were last dropped.
    left: usize,
}

struct Owned {
    owner: String,
    line: Option<Line>,
    /// When the protocol library last heard of it.
    heard: Instant,
}

/// A session that is not there, or somebody else's.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotTheirs;

/// After which part of its time to live the protocol library hears of a session again.
const PART: u32 = 8;

/// Beyond how many more it is looked for sessions that are gone.
const MORE: usize = 1000;

impl Owners {
    pub(super) fn new(idle: Duration) -> Self {
        Self {
            begun: Mutex::default(),
            idle,
        }
    }

    /// Whether there are so many that some sessions may be gone.
    pub(super) fn are_many(&self) -> bool {
        let begun = lock(&self.begun);
        begun.by.len() >= 2 * begun.left + MORE
    }

    /// Forgets those of sessions that are gone, and of no other: a session whose owner is
    /// forgotten is nobody's.
    pub(super) fn keep(&self, live: impl Fn(&str) -> bool) {
        let mut begun = lock(&self.begun);
        begun.by.retain(|session, _| live(session));
        begun.left = begun.by.len();
    }

    /// The line to a session of theirs; `None` where the protocol library must hear of it,
    /// because it knows no other or would end the session for its silence.
    pub(super) fn line(&self, session: &str, owner: &str) -> Result<Option<Line>, NotTheirs> {
        let mut begun = lock(&self.begun);
        let owned = begun.by.get_mut(session);
        let owned = owned.filter(|o| o.owner == owner).ok_or(NotTheirs)?;
        let now = Instant::now();
        if let Some(line) = &owned.line
            && now.duration_since(owned.heard) < self.idle / PART
        {
            return Ok(Some(line.clone()));
        }
        owned.heard = now;
        Ok(None)
    }

    pub(super) fn set(&self, session: String, owner: &str) {
        let owned = Owned {
            owner: owner.to_owned(),
            line: None,
            heard: Instant::now(),
        };
        lock(&self.begun).by.insert(session, owned);
    }

    /// From now on a session can be called on that line.
    pub(super) fn open(&self, session: &str, line: Line) {
        if let Some(owned) = lock(&self.begun).by.get_mut(session) {
            owned.line = Some(line);
        }
    }

    pub(super) fn forget(&self, session: &str) {
        lock(&self.begun).by.remove(session);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{MORE, NotTheirs, Owners};

    #[test]
    fn what_is_gone_is_forgotten_and_nothing_else() {
        let owners = Owners::new(Duration::from_secs(60));
        let is = |session, owner| owners.line(session, owner).map(drop);
        for n in 0..MORE {
            assert!(!owners.are_many(), "{n}");
            owners.set(format!("s{n}"), "ann");
        }
        assert!(owners.are_many());
        owners.keep(|session| session.ends_with('7'));
        assert_eq!((is("s7", "ann"), is("s7", "bob")), (Ok(()), Err(NotTheirs)));
        assert_eq!(is("s8", "ann"), Err(NotTheirs));
        assert!(!owners.are_many());
    }
}
