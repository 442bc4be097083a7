//! The documents that have what is looked up, with their scores.
//!
//! Documents are taken in blocks, so that the scores of a block stay in the nearest
//! cache whatever the size of the index; every list is read once, from its beginning
//! to its end. Of each block only what may be among the best is kept.

use std::cmp::Ordering;

use super::plan::MAX_CLAUSES;
use super::rank::{CANDIDATES, CLAUSE_CANDIDATES, Look};
use super::store::Store;

/// How many documents a block has.
const BLOCK: usize = 4096;
/// How many scores are looked at together.
const LANE: usize = 32;

/// How soon more of a word is no better, in eighths as strengths are.
const SATURATION: f32 = 8.0 * 1.2;
/// How much longer documents are held against.
const LENGTH: f32 = 0.8;

/// Room for the scores of a block, kept between queries.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    full: Vec<f32>,
    clauses: Vec<f32>,
    /// Strengths of the word that is being looked up, its relatives' included.
    word: Vec<f32>,
    touched: Vec<u16>,
    /// How far each list was read.
    read: Vec<usize>,
}

/// A document with its scores.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Candidate {
    pub(super) slot: u32,
    pub(super) full: f32,
    pub(super) clauses: [f32; MAX_CLAUSES],
}

/// The best documents, for the whole and for each clause, by slot; and the highest
/// scores that any of them has.
pub(super) fn gather(
    looks: &[Look<'_>],
    clauses: usize,
    store: &Store,
    scratch: &mut Scratch,
    allowed: &dyn Fn(u32) -> bool,
) -> (Vec<Candidate>, Candidate) {
    // One clause is the whole.
    let clauses = if clauses > 1 { clauses } else { 0 };
    let lists = looks.iter().map(|l| l.lists.len()).sum();
    scratch.begin(clauses, lists);
    let mut best = Best::new(CANDIDATES);
    let mut best_of_clause: Vec<Best> = vec![Best::new(CLAUSE_CANDIDATES); clauses];
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut admitted: Vec<u32> = Vec::new();
    for start in (0..store.extent()).step_by(BLOCK) {
        if !scratch.fill(looks, start, store) {
            continue;
        }
        best.take(&scratch.full, start, store, allowed, &mut admitted);
        for (best, scores) in best_of_clause.iter_mut().zip(scratch.clauses.chunks(BLOCK)) {
            best.take(scores, start, store, allowed, &mut admitted);
        }
        admitted.sort_unstable();
        admitted.dedup();
        candidates.extend(
            admitted
                .drain(..)
                .map(|slot| scratch.candidate(slot, start)),
        );
        scratch.clear();
    }
    let all = std::iter::once(best).chain(best_of_clause);
    let kept: Vec<Vec<(u32, f32)>> = all.map(|best| best.end(store)).collect();
    let mut slots: Vec<u32> = kept.iter().flatten().map(|k| k.0).collect();
    slots.sort_unstable();
    candidates.retain(|c| slots.binary_search(&c.slot).is_ok());
    let first = |kept: &[(u32, f32)]| kept.first().map_or(0.0, |k| k.1);
    let mut most = Candidate {
        full: kept.first().map_or(0.0, |k| first(k)),
        ..Candidate::default()
    };
    for (most, kept) in most.clauses.iter_mut().zip(kept.iter().skip(1)) {
        *most = first(kept);
    }
    (candidates, most)
}

impl Scratch {
    fn begin(&mut self, clauses: usize, lists: usize) {
        self.full.resize(BLOCK, 0.0);
        self.word.resize(BLOCK, 0.0);
        self.clauses.resize(clauses * BLOCK, 0.0);
        self.read.clear();
        self.read.resize(lists, 0);
        // A query that ended in a panic may have left something.
        self.touched.clear();
        self.word.fill(0.0);
        self.clear();
    }

    fn clear(&mut self) {
        self.full.fill(0.0);
        self.clauses.fill(0.0);
    }

    fn candidate(&self, slot: u32, start: usize) -> Candidate {
        let at = slot as usize - start;
        let mut candidate = Candidate {
            slot,
            full: self.full[at],
            ..Candidate::default()
        };
        let scores = self.clauses.chunks(BLOCK);
        for (score, scores) in candidate.clauses.iter_mut().zip(scores) {
            *score = scores[at];
        }
        candidate
    }

    /// Scores the block that begins at a slot; false if no document has anything.
    fn fill(&mut self, looks: &[Look<'_>], start: usize, store: &Store) -> bool {
        let (lengths, mean) = store.lengths();
        let lengths = &lengths[start..lengths.len().min(start + BLOCK)];
        let end = (start + BLOCK) as u32;
        let (base, slope) = (SATURATION * (1.0 - LENGTH), SATURATION * LENGTH / mean);
        let mut found = false;
        let mut list = 0;
        for look in looks {
            let Self {
                full,
                clauses,
                word,
                touched,
                read,
            } = self;
            // A clause that is the only one of its word is the usual case.
            let (first, rest) = (
                look.clauses.trailing_zeros() as usize,
                look.clauses & (look.clauses - 1),
            );
            let mut score = |at: usize, strength: f32| {
                let points = look.gain * strength / (strength + base + slope * lengths[at]);
                full[at] += points;
                if clauses.is_empty() {
                    return;
                }
                clauses[first * BLOCK + at] += points;
                let mut left = rest;
                while left != 0 {
                    clauses[left.trailing_zeros() as usize * BLOCK + at] += points;
                    left &= left - 1;
                }
            };
            for (postings, weight) in &look.lists {
                let rest = &postings[read[list]..];
                let count = match rest.last() {
                    Some(last) if last.slot < end => rest.len(),
                    _ => rest.iter().take_while(|p| p.slot < end).count(),
                };
                read[list] += count;
                list += 1;
                found |= count > 0;
                if look.lists.len() == 1 {
                    for posting in &rest[..count] {
                        score(
                            posting.slot as usize - start,
                            weight * f32::from(posting.strength),
                        );
                    }
                    continue;
                }
                for posting in &rest[..count] {
                    let at = posting.slot as usize - start;
                    if word[at] == 0.0 {
                        touched.push(at as u16);
                    }
                    word[at] += weight * f32::from(posting.strength);
                }
            }
            for at in touched.drain(..) {
                let at = at as usize;
                score(at, std::mem::take(&mut word[at]));
            }
        }
        found
    }
}

/// The highest of some scores, eight at a time, which a processor does in one step.
fn highest(scores: &[f32]) -> f32 {
    let mut most = [0.0f32; 8];
    for eight in scores.chunks_exact(8) {
        for (most, score) in most.iter_mut().zip(eight) {
            *most = if *score > *most { *score } else { *most };
        }
    }
    most.into_iter().fold(0.0, f32::max)
}

/// The best so far. Ties stand by name, so that it is never the slot that decides.
#[derive(Clone)]
struct Best {
    most: usize,
    kept: Vec<(u32, f32)>,
    /// The last that stays for sure, once there are enough.
    last: Option<(u32, f32)>,
}

fn order(a: &(u32, f32), b: &(u32, f32), store: &Store) -> Ordering {
    let by_score = b.1.total_cmp(&a.1);
    by_score.then_with(|| store.by_name(a.0, b.0))
}

impl Best {
    fn new(most: usize) -> Self {
        Self {
            most,
            kept: Vec::with_capacity(2 * most),
            last: None,
        }
    }

    fn take(
        &mut self,
        scores: &[f32],
        start: usize,
        store: &Store,
        allowed: &dyn Fn(u32) -> bool,
        admitted: &mut Vec<u32>,
    ) {
        for (i, lane) in scores.chunks(LANE).enumerate() {
            let highest = highest(lane);
            if highest <= 0.0 || self.last.is_some_and(|last| highest < last.1) {
                continue;
            }
            for (j, score) in lane.iter().enumerate() {
                if *score <= 0.0 || self.last.is_some_and(|last| *score < last.1) {
                    continue;
                }
                let this = ((start + i * LANE + j) as u32, *score);
                let better = self
                    .last
                    .is_none_or(|last| order(&this, &last, store).is_lt());
                if better && allowed(this.0) {
                    admitted.push(this.0);
                    self.kept.push(this);
                    if self.kept.len() == 2 * self.most {
                        self.shrink(store);
                    }
                }
            }
        }
    }

    fn shrink(&mut self, store: &Store) {
        let at = self.most - 1;
        self.kept
            .select_nth_unstable_by(at, |a, b| order(a, b, store));
        self.kept.truncate(self.most);
        self.last = self.kept.last().copied();
    }

    fn end(mut self, store: &Store) -> Vec<(u32, f32)> {
        self.kept.sort_unstable_by(|a, b| order(a, b, store));
        self.kept.truncate(self.most);
        self.kept
    }
}
