//! Counting more kinds of things than fit in memory.

use rustc_hash::FxHashMap;

/// Counts by key. Past a limit of kinds, the rarest are forgotten: what is frequent keeps its
/// count, or a little less than that.
pub(crate) struct Counter {
    counts: FxHashMap<u64, u32>,
    limit: usize,
    floor: u32,
}

impl Counter {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            counts: FxHashMap::default(),
            limit,
            floor: 0,
        }
    }

    pub(crate) fn add(&mut self, key: u64) {
        *self.counts.entry(key).or_insert(0) += 1;
        while self.counts.len() > self.limit {
            self.floor += 1;
            let floor = self.floor;
            self.counts.retain(|_, count| *count > floor);
            // Else the next few keys would start this again.
            if self.counts.len() <= self.limit / 4 * 3 {
                break;
            }
        }
    }

    /// Forgets what is rarer than this, and gives the memory back.
    pub(crate) fn drop_below(mut self, least: u32) -> FxHashMap<u64, u32> {
        self.counts.retain(|_, count| *count >= least);
        self.counts.shrink_to_fit();
        self.counts
    }
}
