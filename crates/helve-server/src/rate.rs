//! How many requests a token may make.
//!
//! A bucket for each, as one number: the moment when it will be full again. It
//! costs nothing while nobody asks.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The buckets of all callers.
pub(crate) struct Rates {
    /// What one request costs.
    each: Duration,
    /// How far ahead of time a caller may be.
    ahead: Duration,
    full_at: Mutex<HashMap<String, Instant>>,
}

/// Above this many, those that are full again are forgotten.
const MANY: usize = 10_000;

impl Rates {
    pub(crate) fn new(rate: u32, burst: u32) -> Self {
        let each = Duration::from_secs(1) / rate.max(1);
        Self {
            each,
            ahead: each * burst.max(1),
            full_at: Mutex::default(),
        }
    }

    /// Takes a request, or says how long to wait for the next.
    pub(crate) fn take(&self, caller: &str, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() > MANY {
            buckets.retain(|_, full| *full > now);
        }
        let full = buckets.get(caller).copied().unwrap_or(now).max(now) + self.each;
        if full > now + self.ahead {
            return Err(full - self.ahead - now);
        }
        buckets.insert(caller.to_owned(), full);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_a_rate() {
        let rates = Rates::new(10, 3);
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        for _ in 0..3 {
            assert_eq!(rates.take("a", start), Ok(()));
        }
        assert_eq!(rates.take("a", start), Err(Duration::from_millis(100)));
        assert_eq!(rates.take("b", start), Ok(()), "others are not held up");
        assert_eq!(rates.take("a", at(99)), Err(Duration::from_millis(1)));
        assert_eq!(rates.take("a", at(100)), Ok(()));
        assert!(rates.take("a", at(100)).is_err());
        // A long rest fills the bucket, and no more than that.
        let later = start + Duration::from_secs(3600);
        let taken = (0..10).filter(|_| rates.take("a", later).is_ok()).count();
        assert_eq!(taken, 3);
    }
}
