//! The lines that are shown, by the length of their texts.
//!
//! What ranks hits is what words they have, and how short they are. So of many hits the best are
//! among the shortest, and the others need not be looked at.

use roaring::RoaringBitmap;

use super::view::View;

pub(super) struct Lengths {
    /// The shortest first.
    by_length: Vec<(usize, RoaringBitmap)>,
}

impl Lengths {
    pub(super) fn of(view: &View) -> Self {
        let lines = view.visible.iter();
        let mut all: Vec<(usize, u32)> = lines.map(|line| (view.length(line), line)).collect();
        all.sort_unstable();
        let same = all.chunk_by(|a, b| a.0 == b.0);
        let by_length = same.map(|same| {
            let lines = RoaringBitmap::from_sorted_iter(same.iter().map(|(_, line)| *line));
            (same[0].0, lines.unwrap_or_default())
        });
        Self {
            by_length: by_length.collect(),
        }
    }

    /// Each length with its lines, the shortest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &RoaringBitmap)> {
        self.by_length
            .iter()
            .map(|(length, lines)| (*length, lines))
    }
}
