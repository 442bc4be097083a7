//! Which ids were used, as far as it takes to know that one is new.
//!
//! Ids sort by the time at which they were made. So one that is above all that were used is
//! new, and among the last few thousand, which come a little out of order, a list tells.

use std::collections::HashSet;

/// How many ids a list has before the older one is let go.
const MANY: usize = 4_096;

#[derive(Debug)]
pub(super) struct Recent {
    /// What is not above this may have been used.
    floor: u128,
    old: Used,
    young: Used,
}

#[derive(Debug, Default)]
struct Used {
    ids: HashSet<u128>,
    highest: u128,
}

impl Recent {
    /// Where that was the highest so far. If it cannot be read, nothing is certainly new.
    pub(super) fn after(newest: Option<&str>) -> Self {
        Self {
            floor: newest.map_or(0, |id| number_of(id).unwrap_or(u128::MAX)),
            old: Used::default(),
            young: Used::default(),
        }
    }

    /// Notes that it is used; `true` if it is certain that it was not before.
    pub(super) fn claim(&mut self, id: u128) -> bool {
        if id <= self.floor || self.old.ids.contains(&id) || !self.young.ids.insert(id) {
            return false;
        }
        self.young.highest = self.young.highest.max(id);
        if self.young.ids.len() >= MANY {
            self.floor = self.floor.max(self.old.highest);
            self.old = std::mem::take(&mut self.young);
        }
        true
    }
}

/// The digits of a run's id.
pub(super) fn number_of(id: &str) -> Option<u128> {
    u128::from_str_radix(id.strip_prefix("run_")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_new_once() {
        let mut recent = Recent::after(Some("run_00000000000000000000000000000010"));
        for (id, new) in [(0x10, false), (0x0f, false), (0x12, true), (0x11, true)] {
            assert_eq!(recent.claim(id), new, "{id:x}");
            assert!(!recent.claim(id), "{id:x}");
        }
        let many = 3 * MANY as u128;
        for id in 0..many {
            // In pairs, the higher first, as calls do that overtake each other.
            assert!(recent.claim(0x100 + (id ^ 1)), "{id}");
        }
        for id in 0..0x100 + many {
            assert!(!recent.claim(id), "{id}");
        }
        assert!(recent.claim(0x100 + many));
    }

    #[test]
    fn where_the_newest_cannot_be_read_nothing_is_new() {
        assert!(!Recent::after(Some("run_x")).claim(u128::MAX));
        assert!(Recent::after(None).claim(1));
    }
}
