//! Time, as far as the kernel looks at it.
//!
//! A [`Clock`] that goes backwards must not bring an expired approval back to
//! life, so the kernel reads time through [`Steady`], which never does.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// A moment: milliseconds since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At(pub i64);

impl At {
    /// That much later.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        let wait = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(wait))
    }

    /// How long from `earlier` until here; nothing if it is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Reads RFC 3339.
    pub fn parse(text: &str) -> Option<Self> {
        let moment: jiff::Timestamp = text.parse().ok()?;
        Some(Self(moment.as_millisecond()))
    }
}

/// RFC 3339 with milliseconds, always of one length, so that text sorts like time.
impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(moment) => write!(f, "{moment:.3}"),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

/// Something that knows what time it is.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> At;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> At {
        At(jiff::Timestamp::now().as_millisecond())
    }
}

/// A clock that stands still where the one below it goes back.
pub(crate) struct Steady {
    clock: Arc<dyn Clock>,
    latest: AtomicI64,
}

impl Steady {
    /// No earlier than `floor`, the last moment on record.
    pub(crate) fn new(clock: Arc<dyn Clock>, floor: At) -> Self {
        let latest = AtomicI64::new(floor.0);
        Self { clock, latest }
    }

    pub(crate) fn now(&self) -> At {
        let now = self.clock.now().0;
        At(self.latest.fetch_max(now, Ordering::SeqCst).max(now))
    }
}
