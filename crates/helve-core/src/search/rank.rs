//! From a plan to an order.
//!
//! BM25 over weighted fields, where a word and its relatives share one saturation,
//! so that a document with all synonyms of a word is not better than one with the
//! word itself. To the score for the whole query comes one for the clause that
//! fits best, and one for how much of the tool's name was asked for; each is
//! measured against its best.

use super::plan::{Asked, Kind, Plan};
use super::store::Store;

/// How many documents are looked at closely for the whole query.
pub(super) const CANDIDATES: usize = 64;
/// And for each of its clauses.
const CLAUSE_CANDIDATES: usize = 16;

/// How soon more of a word is no better, in eighths as strengths are.
const SATURATION: f32 = 8.0 * 1.2;
/// How much longer documents are held against.
const LENGTH: f32 = 0.8;
/// What the best clause counts beside the whole.
const CLAUSE: f32 = 0.5;
/// What the name counts beside the whole.
const NAMED: f32 = 0.15;

/// What a model counts beside the words.
const MEANING: f32 = 1.0;

/// Room for scores, one a document, kept between queries.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    full: Vec<f32>,
    clause: Vec<f32>,
    best: Vec<f32>,
    /// Strengths of the word that is being looked up, its relatives' included.
    word: Vec<f32>,
    touched: Vec<u32>,
}

/// A document and how well it fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ranked {
    pub(super) slot: u32,
    /// Against the best of this query, which has 1 or a little less.
    pub(super) score: f32,
    /// How much of what was asked for it has, from 0 to 1.
    pub(super) cover: f32,
    /// How sure it is because the query names it; 0 where it does not.
    pub(super) certain: f32,
}

/// How much it says that a document has a word which `count` of `all` have.
fn rarity(count: usize, all: usize) -> f32 {
    let (count, all) = (count as f32, all.max(count) as f32);
    (1.0 + (all - count + 0.5) / (count + 0.5)).ln()
}

/// What a document gains at most by having a word.
pub(super) fn gain(asked: &Asked, store: &Store) -> f32 {
    let all = match asked.kind {
        Kind::Word => store.len(),
        Kind::Gram => store.unspaced(),
    };
    let rare = |number: u32| rarity(store.count(number), all);
    let rarity = match asked.terms.first() {
        None => rarity(0, all),
        Some((number, 1.0)) => rare(*number),
        // No document has the word itself: the commonest relative says how rare it is.
        Some(_) => asked
            .terms
            .iter()
            .map(|t| rare(t.0))
            .fold(f32::MAX, f32::min),
    };
    asked.weight * rarity
}

/// The documents that fit best, best first; ties by name.
pub(super) fn rank(
    plan: &Plan,
    store: &Store,
    scratch: &mut Scratch,
    allowed: &dyn Fn(u32) -> bool,
) -> Vec<Ranked> {
    scratch.clear(store.extent());
    let gains: Vec<f32> = plan.asked.iter().map(|a| gain(a, store)).collect();
    let mut picked: Vec<u32> = Vec::new();
    for clause in 0..plan.clauses {
        for (asked, gain) in plan.asked.iter().zip(&gains) {
            if asked.clauses >> clause & 1 == 1 {
                let first = asked.clauses.trailing_zeros() as usize == clause;
                scratch.add(asked, *gain, first, store);
            }
        }
        if plan.clauses > 1 {
            scratch.close(&mut picked, store, allowed);
        }
    }
    let whole = top(&scratch.full, CANDIDATES, store, allowed);
    let Some((_, most)) = whole.first().copied() else {
        return Vec::new();
    };
    picked.extend(whole.iter().map(|t| t.0));
    picked.sort_unstable();
    picked.dedup();
    let ideal = ideal(plan, &gains);
    let asked = numbers(plan);
    let mut ranked: Vec<Ranked> = picked
        .into_iter()
        .map(|slot| {
            let full = scratch.full[slot as usize];
            let extra = CLAUSE * scratch.best[slot as usize] + NAMED * named(slot, &asked, store);
            Ranked {
                slot,
                score: full / most + extra,
                cover: full / ideal,
                certain: 0.0,
            }
        })
        .collect();
    sort(&mut ranked, store);
    ranked
}

/// Those that are named first, then by score, then by name.
pub(super) fn sort(ranked: &mut [Ranked], store: &Store) {
    ranked.sort_by(|a, b| {
        let by_name = b.certain.total_cmp(&a.certain);
        let by_score = by_name.then_with(|| b.score.total_cmp(&a.score));
        by_score.then_with(|| store.name(a.slot).cmp(&store.name(b.slot)))
    });
}

/// Joins what a model found, measured against its best as words are against theirs.
/// Says whether it found any.
pub(super) fn join(
    ranked: &mut Vec<Ranked>,
    near: &[(String, f32)],
    store: &Store,
    allowed: &dyn Fn(u32) -> bool,
) -> bool {
    let slots = near
        .iter()
        .filter_map(|(key, near)| Some((store.slot(key)?, *near)));
    let near: Vec<(u32, f32)> = slots
        .filter(|(slot, near)| *near > 0.0 && allowed(*slot))
        .collect();
    let most = near.iter().map(|n| n.1).fold(0.0, f32::max);
    let words = ranked
        .iter()
        .map(|r| r.score)
        .fold(f32::MIN_POSITIVE, f32::max);
    for known in ranked.iter_mut() {
        known.score /= words;
    }
    for (slot, near) in &near {
        let share = near / most;
        match ranked.iter_mut().find(|r| r.slot == *slot) {
            Some(known) => known.score += MEANING * share,
            None => ranked.push(Ranked {
                slot: *slot,
                score: MEANING * share,
                cover: 0.0,
                certain: 0.0,
            }),
        }
    }
    sort(ranked, store);
    !near.is_empty()
}

/// What a document would have that has every word, in whichever script it is.
fn ideal(plan: &Plan, gains: &[f32]) -> f32 {
    let sum = |kind: Kind| -> f32 {
        let of_kind = plan.asked.iter().zip(gains).filter(|(a, _)| a.kind == kind);
        of_kind.map(|(_, gain)| gain).sum()
    };
    sum(Kind::Word).max(sum(Kind::Gram)).max(f32::MIN_POSITIVE)
}

/// What was asked for, by number, sorted.
fn numbers(plan: &Plan) -> Vec<(u32, f32)> {
    let words = plan.asked.iter().filter(|a| a.kind == Kind::Word);
    let mut numbers: Vec<(u32, f32)> = words
        .flat_map(|a| a.terms.iter().map(|(n, w)| (*n, w * a.weight)))
        .collect();
    numbers.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    numbers.dedup_by_key(|t| t.0);
    numbers
}

/// How much of a document's name was asked for.
fn named(slot: u32, asked: &[(u32, f32)], store: &Store) -> f32 {
    let Some(entry) = store.entry(slot) else {
        return 0.0;
    };
    let (mut all, mut had) = (0.0, 0.0);
    for number in &entry.named {
        let rarity = rarity(store.count(*number), store.len());
        all += rarity;
        if let Ok(at) = asked.binary_search_by_key(number, |t| t.0) {
            had += rarity * asked[at].1;
        }
    }
    if all > 0.0 { had / all } else { 0.0 }
}

impl Scratch {
    fn clear(&mut self, extent: usize) {
        for room in [
            &mut self.full,
            &mut self.clause,
            &mut self.best,
            &mut self.word,
        ] {
            room.clear();
            room.resize(extent, 0.0);
        }
    }

    /// Adds what documents gain by a word.
    fn add(&mut self, asked: &Asked, gain: f32, first: bool, store: &Store) {
        let (lengths, mean) = store.lengths();
        let (base, slope) = (SATURATION * (1.0 - LENGTH), SATURATION * LENGTH / mean);
        for (number, weight) in &asked.terms {
            let (own, learned) = store.postings(*number);
            for posting in own.iter().chain(learned) {
                let room = &mut self.word[posting.slot as usize];
                if *room == 0.0 {
                    self.touched.push(posting.slot);
                }
                *room += weight * f32::from(posting.strength);
            }
        }
        for slot in self.touched.drain(..) {
            let at = slot as usize;
            let strength = std::mem::take(&mut self.word[at]);
            let points = gain * strength / (strength + base + slope * lengths[at]);
            self.clause[at] += points;
            if first {
                self.full[at] += points;
            }
        }
    }

    /// Ends a clause: its best are candidates, and count against its best.
    fn close(&mut self, picked: &mut Vec<u32>, store: &Store, allowed: &dyn Fn(u32) -> bool) {
        let top = top(&self.clause, CLAUSE_CANDIDATES, store, allowed);
        if let Some((_, most)) = top.first() {
            for (best, this) in self.best.iter_mut().zip(&self.clause) {
                *best = best.max(*this / most);
            }
        }
        picked.extend(top.iter().map(|t| t.0));
        self.clause.fill(0.0);
    }
}

/// The best of those that are allowed, best first; ties by name, so that it is
/// never the slot that decides.
fn top(
    scores: &[f32],
    most: usize,
    store: &Store,
    allowed: &dyn Fn(u32) -> bool,
) -> Vec<(u32, f32)> {
    let order = |a: &(u32, f32), b: &(u32, f32)| {
        let by_score = b.1.total_cmp(&a.1);
        by_score.then_with(|| store.name(a.0).cmp(&store.name(b.0)))
    };
    let mut kept: Vec<(u32, f32)> = Vec::with_capacity(2 * most);
    let mut last = (u32::MAX, 0.0);
    for (slot, score) in scores.iter().enumerate() {
        if *score <= 0.0 || *score < last.1 {
            continue;
        }
        let this = (slot as u32, *score);
        let better = last.0 == u32::MAX || order(&this, &last).is_lt();
        if better && allowed(this.0) {
            kept.push(this);
            if kept.len() == 2 * most {
                kept.select_nth_unstable_by(most - 1, order);
                kept.truncate(most);
                last = kept[most - 1];
            }
        }
    }
    kept.sort_unstable_by(order);
    kept.truncate(most);
    kept
}
