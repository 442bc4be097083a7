//! The best so far. Ties stand by name, so that it is never the slot that decides.

use std::cmp::Ordering;

use crate::search::store::Store;

pub(super) struct Best {
    most: usize,
    kept: Vec<(u32, f32)>,
    /// What a score must have to be kept; zero while there is room.
    least: f32,
}

fn order(a: &(u32, f32), b: &(u32, f32), store: &Store) -> Ordering {
    let by_score = b.1.total_cmp(&a.1);
    by_score.then_with(|| store.by_name(a.0, b.0))
}

impl Best {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            kept: Vec::with_capacity(2 * most),
            least: 0.0,
        }
    }

    /// Whether nobody with this score or less can be kept.
    pub(super) fn beats(&self, score: f32) -> bool {
        score < self.least
    }

    pub(super) fn wants(&self, score: f32) -> bool {
        score > 0.0 && score >= self.least
    }

    /// What a score must have that may still grow by `rest`.
    pub(super) fn least(&self, rest: f32) -> f32 {
        (self.least - rest).max(f32::MIN_POSITIVE)
    }

    /// Whether any score is still kept.
    pub(super) fn has_room(&self) -> bool {
        self.least == 0.0
    }

    /// Wants no less than the best of these scores, which will all be offered.
    pub(super) fn raise(&mut self, scores: &mut [f32]) {
        if scores.len() >= self.most {
            let at = self.most - 1;
            self.least = *scores.select_nth_unstable_by(at, |a, b| b.total_cmp(a)).1;
        }
    }

    pub(super) fn put(&mut self, slot: u32, score: f32, store: &Store) {
        self.kept.push((slot, score));
        if self.kept.len() >= 2 * self.most {
            self.tighten(store);
        }
    }

    /// Lets those go that are not among the best. Names are compared only where so
    /// many are alike that they must be told apart.
    pub(super) fn tighten(&mut self, store: &Store) {
        if self.kept.len() <= self.most {
            return;
        }
        let at = self.most - 1;
        let (_, last, _) = self
            .kept
            .select_nth_unstable_by(at, |a, b| b.1.total_cmp(&a.1));
        let least = last.1;
        self.least = least;
        self.kept.retain(|k| k.1 >= least);
        if self.kept.len() > self.most + self.most / 2 {
            self.kept
                .select_nth_unstable_by(at, |a, b| order(a, b, store));
            self.kept.truncate(self.most);
        }
    }

    pub(super) fn end(mut self, store: &Store) -> Vec<(u32, f32)> {
        self.tighten(store);
        self.kept.sort_unstable_by(|a, b| order(a, b, store));
        self.kept.truncate(self.most);
        self.kept
    }
}
