//! Which terms stand together: a row for each window of messages.
//!
//! A message alone is too short to show it. In a small corpus the windows overlap; in a large
//! one they do not, and past a number of rows some are left out.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::terms::Cutter;

/// Up to how many messages the windows overlap.
const SMALL: u64 = 50_000;
/// The most rows.
const MOST_ROWS: u64 = 200_000;
/// Messages of a window.
const OVERLAPPING: usize = 3;
const APART: usize = 4;

pub(super) struct Rows {
    /// Where each row begins in the two lists; one more than there are rows.
    starts: Vec<u32>,
    terms: Vec<u16>,
    counts: Vec<u8>,
    overlap: bool,
    /// Each how manieth window is kept.
    stride: u64,
    windows: u64,
    session: Option<u64>,
    recent: VecDeque<Vec<u16>>,
}

impl Rows {
    pub(super) fn new(messages: u64) -> Self {
        let overlap = messages <= SMALL;
        let windows = if overlap {
            messages
        } else {
            messages / APART as u64
        };
        Self {
            starts: vec![0],
            terms: Vec::new(),
            counts: Vec::new(),
            overlap,
            stride: windows.div_ceil(MOST_ROWS).max(1),
            windows: 0,
            session: None,
            recent: VecDeque::new(),
        }
    }

    pub(super) fn take(
        &mut self,
        cutter: &Cutter,
        terms: &FxHashMap<u64, u16>,
        session: u64,
        message: &str,
    ) {
        if self.session != Some(session) {
            self.finish();
            self.session = Some(session);
        }
        let mut found = Vec::new();
        cutter.each(message, |key| found.extend(terms.get(&key)));
        self.recent.push_back(found);
        if self.overlap {
            self.write();
            if self.recent.len() == OVERLAPPING {
                self.recent.pop_front();
            }
        } else if self.recent.len() == APART {
            self.write();
            self.recent.clear();
        }
    }

    /// Ends the session.
    pub(super) fn finish(&mut self) {
        if !self.overlap && !self.recent.is_empty() {
            self.write();
        }
        self.recent.clear();
    }

    fn write(&mut self) {
        self.windows += 1;
        if !self.windows.is_multiple_of(self.stride) {
            return;
        }
        let mut all: Vec<u16> = self.recent.iter().flatten().copied().collect();
        all.sort_unstable();
        for same in all.chunk_by(|a, b| a == b) {
            self.terms.push(same[0]);
            self.counts
                .push(u8::try_from(same.len()).unwrap_or(u8::MAX));
        }
        if !all.is_empty() {
            self.starts
                .push(u32::try_from(self.terms.len()).unwrap_or(u32::MAX));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// A row's terms, each with how often it stands there.
    pub(super) fn row(&self, n: usize) -> impl Iterator<Item = (usize, u8)> + Clone + '_ {
        let range = self.starts[n] as usize..self.starts[n + 1] as usize;
        self.terms[range.clone()]
            .iter()
            .zip(&self.counts[range])
            .map(|(term, count)| (usize::from(*term), *count))
    }
}
