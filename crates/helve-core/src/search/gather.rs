//! The documents that have what is looked up, with their scores.
//!
//! Documents are taken in blocks, so that the scores of a block stay in the nearest
//! cache whatever the size of the index. Words are taken by what they can add, most
//! first. Once the best so far are so good that the words at the end together could
//! not bring a document among them, those words, which are the common ones with the
//! long lists, are only asked about documents that the words before them have
//! brought near. What is left out is what could not have been kept: the answer is,
//! to the bit, that of reading everything.

mod best;

use super::plan::MAX_CLAUSES;
use super::rank::{CLAUSE_CANDIDATES, Look, Looks};
use super::store::{Posting, Store};
use best::Best;

/// How many documents a block has.
const BLOCK: usize = if cfg!(test) { 512 } else { 4096 };
/// How many scores are looked at together.
const LANE: usize = 16;
/// And how many when it is guessed what a score must have.
const EIGHT: usize = 8;
/// A list of a block that is longer than this, for each document that is asked
/// about, is searched and not read.
const SEARCHED: usize = 16;
/// How far the words at the end must be from mattering. At 1 they are left out as
/// soon as they may be, which tests want; but then nearly all documents are asked about.
const WORTH_IT: f32 = if cfg!(test) { 1.0 } else { 3.0 };
/// Sums of bounds are held this much too high, because numbers are rounded.
const ROUNDING: f32 = 1.0001;

/// How soon more of a word is no better, in eighths as strengths are.
const SATURATION: f32 = 8.0 * 1.2;
/// How much longer documents are held against.
const LENGTH: f32 = 0.8;

/// Room for the scores of a block, kept between queries.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// For each aim, which is the whole query or a clause of it.
    scores: Vec<f32>,
    /// Strengths of the word that is being looked up, its relatives' included.
    word: Vec<f32>,
    /// The documents that have it, and then what each gains.
    hits: Vec<(u16, f32)>,
    /// How far each list was read.
    read: Vec<usize>,
    /// The documents of the block that may be among the best.
    near: Vec<u16>,
}

/// A document with its scores.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Candidate {
    pub(super) slot: u32,
    pub(super) full: f32,
    pub(super) clauses: [f32; MAX_CLAUSES],
}

/// How a document's length counts.
#[derive(Clone, Copy)]
struct Norm<'s> {
    lengths: &'s [f32],
    base: f32,
    slope: f32,
}

impl<'s> Norm<'s> {
    fn of(store: &'s Store) -> Self {
        let (lengths, mean) = store.lengths();
        Self {
            lengths,
            base: SATURATION * (1.0 - LENGTH),
            slope: SATURATION * LENGTH / mean,
        }
    }

    /// What a document gains by having a word so strongly.
    fn points(&self, gain: f32, strength: f32, length: f32) -> f32 {
        gain * strength / (strength + self.base + self.slope * length)
    }
}

/// The best documents, `closely` many for the whole and some for each clause, by slot;
/// and the highest scores that any of them has.
pub(super) fn gather(
    looks: &Looks<'_>,
    clauses: usize,
    closely: usize,
    store: &Store,
    scratch: &mut Scratch,
    allowed: Option<&dyn Fn(u32) -> bool>,
) -> (Vec<Candidate>, Candidate) {
    // One clause is the whole.
    let clauses = if clauses > 1 { clauses } else { 0 };
    scratch.begin(1 + clauses, looks.lists.len());
    let norm = Norm::of(store);
    let mut best = vec![Best::new(closely)];
    best.resize_with(1 + clauses, || Best::new(CLAUSE_CANDIDATES));
    let rests = rests(looks, 1 + clauses);
    // How many words are read in whole.
    let mut whole = looks.looks.len();
    let mut candidates: Vec<Candidate> = Vec::new();
    for start in (0..store.extent()).step_by(BLOCK) {
        while whole > 0 {
            let mut aims = best.iter().zip(&rests[whole - 1]);
            if !aims.all(|(best, rest)| best.beats(WORTH_IT * rest)) {
                break;
            }
            whole -= 1;
        }
        let mut found = false;
        for look in &looks.looks[..whole] {
            found |= scratch.add(look, looks, start, &norm);
        }
        if !found {
            continue;
        }
        if allowed.is_none() {
            scratch.raise(&mut best);
        }
        scratch.look_for_near(&best, &rests[whole]);
        for (i, look) in looks.looks.iter().enumerate().skip(whole) {
            if scratch.near.is_empty() {
                break;
            }
            scratch.complete(look, looks, start, &norm);
            scratch.keep_near(&best, &rests[i + 1]);
        }
        for at in &scratch.near {
            let slot = (start + usize::from(*at)) as u32;
            let scores = scratch.scores_at(*at);
            let wanted = best.iter().zip(scores).any(|(b, s)| b.wants(s));
            if wanted && allowed.is_none_or(|allowed| allowed(slot)) {
                let scores = scratch.scores_at(*at);
                let wants = best.iter_mut().zip(scores).filter(|(b, s)| b.wants(*s));
                wants.for_each(|(b, s)| b.put(slot, s, store));
                candidates.push(scratch.candidate(*at, slot));
            }
        }
        best.iter_mut().for_each(|b| b.tighten(store));
        scratch.scores.fill(0.0);
    }
    let kept: Vec<Vec<(u32, f32)>> = best.into_iter().map(|b| b.end(store)).collect();
    let mut slots: Vec<u32> = kept.iter().flatten().map(|k| k.0).collect();
    slots.sort_unstable();
    candidates.retain(|c| slots.binary_search(&c.slot).is_ok());
    let mut first = kept.iter().map(|k| k.first().map_or(0.0, |k| k.1));
    let mut most = Candidate {
        full: first.next().unwrap_or(0.0),
        ..Candidate::default()
    };
    most.clauses.iter_mut().zip(first).for_each(|(m, f)| *m = f);
    (candidates, most)
}

/// What the words from each one on can add together, for each aim.
fn rests(looks: &Looks<'_>, aims: usize) -> Vec<[f32; 1 + MAX_CLAUSES]> {
    let mut rests = vec![[0.0; 1 + MAX_CLAUSES]; looks.looks.len() + 1];
    for (i, look) in looks.looks.iter().enumerate().rev() {
        rests[i] = rests[i + 1];
        for (aim, rest) in rests[i].iter_mut().enumerate().take(aims) {
            if look.serves(aim) {
                *rest += look.gain * ROUNDING;
            }
        }
    }
    rests
}

impl Look {
    /// Whether it counts for the whole (0) or for a clause (from 1).
    fn serves(&self, aim: usize) -> bool {
        aim == 0 || self.clauses >> (aim - 1) & 1 == 1
    }
}

impl Scratch {
    fn begin(&mut self, aims: usize, lists: usize) {
        self.read.clear();
        self.read.resize(lists, 0);
        self.hits.resize(BLOCK, (0, 0.0));
        // A query that ended in a panic may have left something.
        for (room, size) in [(&mut self.scores, aims * BLOCK), (&mut self.word, BLOCK)] {
            room.clear();
            room.resize(size, 0.0);
        }
    }

    fn scores_at(&self, at: u16) -> impl Iterator<Item = f32> {
        let blocks = self.scores.chunks_exact(BLOCK);
        blocks.map(move |scores| scores[usize::from(at)])
    }

    fn candidate(&self, at: u16, slot: u32) -> Candidate {
        let mut scores = self.scores_at(at);
        let mut candidate = Candidate {
            slot,
            full: scores.next().unwrap_or(0.0),
            ..Candidate::default()
        };
        let clauses = candidate.clauses.iter_mut();
        clauses.zip(scores).for_each(|(c, s)| *c = s);
        candidate
    }

    /// The part of a list that is in a block.
    fn part<'s>(&mut self, list: usize, postings: &'s [Posting], start: usize) -> &'s [Posting] {
        let from = self.read[list] + before(&postings[self.read[list]..], start);
        let to = from + before(&postings[from..], start + BLOCK);
        self.read[list] = to;
        &postings[from..to]
    }

    /// Adds what a word gives to the documents of a block. False if none has it.
    fn add(&mut self, look: &Look, looks: &Looks<'_>, start: usize, norm: &Norm<'_>) -> bool {
        let mut count = 0;
        for list in look.lists.clone() {
            let (postings, weight) = looks.lists[list];
            let part = self.part(list, postings, start);
            if look.lists.len() == 1 {
                count = part.len();
                for (hit, p) in self.hits.iter_mut().zip(part) {
                    *hit = (place(p, start), weight * f32::from(p.strength));
                }
                continue;
            }
            for p in part {
                let at = place(p, start);
                let sum = &mut self.word[usize::from(at)];
                // Written always and counted once, because a branch would be guessed wrong.
                self.hits[count % BLOCK].0 = at;
                count += usize::from(*sum == 0.0);
                *sum += weight * f32::from(p.strength);
            }
        }
        if look.lists.len() > 1 {
            for (at, strength) in &mut self.hits[..count] {
                *strength = std::mem::take(&mut self.word[usize::from(*at)]);
            }
        }
        self.count(count, look, start, norm);
        count > 0
    }

    /// As [`Scratch::add`], for those documents only that are near.
    fn complete(&mut self, look: &Look, looks: &Looks<'_>, start: usize, norm: &Norm<'_>) {
        let mut near = std::mem::take(&mut self.near);
        for list in look.lists.clone() {
            let (postings, weight) = looks.lists[list];
            let part = self.part(list, postings, start);
            let word = &mut self.word;
            if part.len() <= SEARCHED * near.len() {
                for p in part {
                    word[p.slot as usize - start] += weight * f32::from(p.strength);
                }
                continue;
            }
            let mut part = part;
            for at in &near {
                let slot = start + usize::from(*at);
                part = &part[before(part, slot)..];
                if let Some(p) = part.first().filter(|p| p.slot as usize == slot) {
                    word[usize::from(*at)] += weight * f32::from(p.strength);
                }
            }
        }
        for (hit, at) in self.hits.iter_mut().zip(&near) {
            *hit = (*at, self.word[usize::from(*at)]);
        }
        self.count(near.len(), look, start, norm);
        self.word.fill(0.0);
        std::mem::swap(&mut self.near, &mut near);
    }

    /// Turns strengths into points, and adds these to what they count for.
    fn count(&mut self, count: usize, look: &Look, start: usize, norm: &Norm<'_>) {
        let hits = &mut self.hits[..count];
        let lengths = &norm.lengths[start..];
        let mut aims = self.scores.chunks_exact_mut(BLOCK);
        if let Some(full) = aims.next() {
            for (at, hit) in &mut *hits {
                let at = usize::from(*at);
                *hit = norm.points(look.gain, *hit, lengths[at]);
                full[at] += *hit;
            }
        }
        for (clause, scores) in aims.enumerate() {
            if look.serves(clause + 1) {
                for (at, points) in &*hits {
                    scores[usize::from(*at)] += points;
                }
            }
        }
    }

    /// Where nothing is left out, a block says at once what a score must have: so
    /// many of its lanes have one that is no less.
    fn raise(&mut self, best: &mut [Best]) {
        for (scores, best) in self.scores.chunks_exact(BLOCK).zip(best) {
            if best.has_room() {
                let lanes = scores.chunks_exact(EIGHT);
                let highest =
                    lanes.map(|lane| lane.iter().fold(0.0, |a, b| if *b > a { *b } else { a }));
                best.raise(&mut highest.collect::<Vec<f32>>());
            }
        }
    }

    /// Finds those that are among the best for any aim, or could come to be.
    fn look_for_near(&mut self, best: &[Best], rest: &[f32]) {
        self.near.resize(BLOCK * best.len() + 1, 0);
        let mut count = 0;
        let scores = self.scores.chunks_exact(BLOCK);
        for ((scores, best), rest) in scores.zip(best).zip(rest) {
            let least = best.least(*rest);
            for (i, lane) in scores.chunks_exact(LANE).enumerate() {
                // All are compared at once, which a processor does in one step.
                if !lane.iter().fold(false, |any, s| any | (*s >= least)) {
                    continue;
                }
                for (j, score) in lane.iter().enumerate() {
                    self.near[count] = (i * LANE + j) as u16;
                    count += usize::from(*score >= least);
                }
            }
        }
        self.near.truncate(count);
        if best.len() > 1 {
            self.near.sort_unstable();
            self.near.dedup();
        }
    }

    fn keep_near(&mut self, best: &[Best], rest: &[f32]) {
        let scores = &self.scores;
        self.near.retain(|at| {
            let scores = scores.chunks_exact(BLOCK).map(|s| s[usize::from(*at)]);
            let mut aims = best.iter().zip(rest).zip(scores);
            aims.any(|((best, rest), score)| score >= best.least(*rest))
        });
    }
}

/// The place of a document in its block.
fn place(posting: &Posting, start: usize) -> u16 {
    (posting.slot as usize - start) as u16 % BLOCK as u16
}

/// How many of the first postings are of documents before a slot. Looks near the
/// beginning first.
fn before(postings: &[Posting], slot: usize) -> usize {
    let is_before = |p: &Posting| (p.slot as usize) < slot;
    let mut step = 1;
    while postings.get(step - 1).is_some_and(is_before) {
        step *= 2;
    }
    let from = step / 2;
    let to = postings.len().min(step);
    from + postings[from..to].partition_point(is_before)
}

#[cfg(test)]
mod tests;
