//! From a plan to an order.
//!
//! BM25 over weighted fields, where a word and its relatives share one saturation,
//! so that a document with all synonyms of a word is not better than one with the
//! word itself. To the score for the whole query comes one for the clause that
//! fits best, and one for how much of the tool's name was asked for; each is
//! measured against its best.

use std::ops::Range;

use super::gather::{Candidate, Scratch, gather};
use super::plan::{Asked, Kind, Plan};
use super::store::{Posting, Store};

/// How many documents are looked at closely for the whole query, where few are shown.
pub(super) const CANDIDATES: usize = 32;
/// And where many are.
const MANY_CANDIDATES: usize = 128;
/// And for each of its clauses.
pub(super) const CLAUSE_CANDIDATES: usize = 12;

/// How many a model is asked for.
pub(super) const NEAREST: usize = 64;

/// What the best clause counts beside the whole.
const CLAUSE: f32 = 0.5;
/// What the name counts beside the whole.
const NAMED: f32 = 0.15;
/// What a model counts beside the words.
const MEANING: f32 = 1.0;

/// A relative that more documents have than this says too little to be looked up.
const COMMON_RELATIVE: f32 = 0.04;
/// And so does a word itself.
const COMMON: f32 = 0.4;
/// In small hubs every word is common.
const FEW: usize = 40;

/// A document and how well it fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ranked {
    pub(super) slot: u32,
    /// Against the best of this query.
    pub(super) score: f32,
    /// How much of what was asked for it has, from 0 to 1.
    pub(super) cover: f32,
    /// How sure it is because the query names it; 0 where it does not.
    pub(super) certain: f32,
}

/// A word as it is looked up.
pub(super) struct Look {
    /// What a document gains at most.
    pub(super) gain: f32,
    /// The clauses that have it, a bit each.
    pub(super) clauses: u16,
    /// Its lists.
    pub(super) lists: Range<usize>,
}

/// All that is looked up: words that can add most come first.
#[derive(Default)]
pub(super) struct Looks<'s> {
    pub(super) looks: Vec<Look>,
    /// The documents, and how much their strengths count.
    pub(super) lists: Vec<(&'s [Posting], f32)>,
}

/// How much it says that a document has a word which `count` of `all` have.
fn rarity(count: usize, all: usize) -> f32 {
    let (count, all) = (count as f32, all.max(count) as f32);
    (1.0 + (all - count + 0.5) / (count + 0.5)).ln()
}

/// What a document gains at most by having each word of a plan.
pub(super) fn gains(plan: &Plan, store: &Store) -> Vec<f32> {
    let gain = |asked: &Asked| {
        let all = match asked.kind {
            Kind::Word => store.len(),
            Kind::Gram => store.unspaced(),
        };
        let terms = plan.terms(asked);
        let count = match terms.first() {
            None => 0,
            Some((number, 1.0)) => store.count(*number),
            // No document has the word itself: the commonest relative says how rare it is.
            Some(_) => terms.iter().map(|t| store.count(t.0)).max().unwrap_or(0),
        };
        asked.weight * rarity(count, all)
    };
    plan.asked.iter().map(gain).collect()
}

/// The documents that fit best, best first; ties by name.
pub(super) fn rank(
    plan: &Plan,
    gains: &[f32],
    store: &Store,
    scratch: &mut Scratch,
    limit: usize,
    allowed: Option<&dyn Fn(u32) -> bool>,
) -> Vec<Ranked> {
    let mut looks = Looks::of(plan, gains, COMMON, store);
    if looks.lists.is_empty() {
        // Only words that nearly all have: then they must do.
        looks = Looks::of(plan, gains, 1.0, store);
    }
    let closely = limit.saturating_mul(2).clamp(CANDIDATES, MANY_CANDIDATES);
    let (candidates, most) = gather(&looks, plan.clauses, closely, store, scratch, allowed);
    let ideal = ideal(plan, gains);
    let asked = numbers(plan);
    let mut ranked: Vec<Ranked> = candidates
        .iter()
        .map(|candidate| Ranked {
            slot: candidate.slot,
            score: candidate.full / most.full + CLAUSE * best_clause(candidate, &most),
            cover: (candidate.full / ideal).min(1.0),
            certain: 0.0,
        })
        .collect();
    // A name lifts by so much at most: who is further behind the last that is shown
    // need not be asked for theirs.
    ranked.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.slot.cmp(&b.slot)));
    let mut shown: Vec<f32> = Vec::with_capacity(limit.saturating_add(1).min(closely));
    for ranked in &mut ranked {
        let full = shown.len() >= limit.max(1);
        if full
            && shown
                .last()
                .is_some_and(|last| ranked.score + NAMED < *last)
        {
            break;
        }
        ranked.score += NAMED * named(ranked.slot, &asked, store);
        let at = shown.partition_point(|s| *s >= ranked.score);
        shown.insert(at, ranked.score);
        shown.truncate(limit.max(1));
    }
    sort(&mut ranked, store);
    ranked
}

impl<'s> Looks<'s> {
    pub(super) fn of(plan: &Plan, gains: &[f32], common: f32, store: &'s Store) -> Self {
        let mut looks = Self::default();
        for (asked, gain) in plan.asked.iter().zip(gains) {
            let start = looks.lists.len();
            looks.look(plan, asked, common, store);
            if looks.lists.len() > start {
                looks.looks.push(Look {
                    gain: *gain,
                    clauses: asked.clauses,
                    lists: start..looks.lists.len(),
                });
            }
        }
        looks.looks.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        looks
    }

    fn look(&mut self, plan: &Plan, asked: &Asked, common: f32, store: &'s Store) {
        let all = match asked.kind {
            Kind::Word => store.len(),
            Kind::Gram => store.unspaced(),
        };
        let most = |share: f32| ((share * all as f32) as usize).max(FEW);
        for (i, (number, weight)) in plan.terms(asked).iter().enumerate() {
            let limit = if i == 0 { common } else { COMMON_RELATIVE };
            let (own, learned) = store.postings(*number);
            if own.len().max(learned.len()) > most(limit) {
                continue;
            }
            let both = [own, learned].into_iter().filter(|list| !list.is_empty());
            self.lists.extend(both.map(|list| (list, *weight)));
        }
    }
}

fn best_clause(candidate: &Candidate, most: &Candidate) -> f32 {
    let shares = candidate.clauses.iter().zip(&most.clauses);
    let shares = shares.filter(|(_, most)| **most > 0.0);
    shares.map(|(this, most)| this / most).fold(0.0, f32::max)
}

/// Those that are named first, then by score, then by name.
pub(super) fn sort(ranked: &mut [Ranked], store: &Store) {
    ranked.sort_by(|a, b| {
        let by_name = b.certain.total_cmp(&a.certain);
        let by_score = by_name.then_with(|| b.score.total_cmp(&a.score));
        by_score.then_with(|| store.by_name(a.slot, b.slot))
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
    let known = near
        .iter()
        .filter_map(|(key, near)| Some((store.slot(key)?, *near)));
    let near: Vec<(u32, f32)> = known
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
        let score = MEANING * near / most;
        match ranked.iter_mut().find(|r| r.slot == *slot) {
            Some(known) => known.score += score,
            None => ranked.push(Ranked {
                slot: *slot,
                score,
                cover: 0.0,
                certain: 0.0,
            }),
        }
    }
    sort(ranked, store);
    !near.is_empty()
}

/// What a document would have that has every word, in whichever script it is.
pub(super) fn ideal(plan: &Plan, gains: &[f32]) -> f32 {
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
        .flat_map(|a| plan.terms(a).iter().map(|(n, w)| (*n, w * a.weight)))
        .collect();
    numbers.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    numbers.dedup_by_key(|t| t.0);
    numbers
}

/// How much of a document's name was asked for.
fn named(slot: u32, asked: &[(u32, f32)], store: &Store) -> f32 {
    let (mut all, mut had) = (0.0, 0.0);
    for number in store.words_of_name(slot) {
        let rarity = rarity(store.count(*number), store.len());
        all += rarity;
        if let Ok(at) = asked.binary_search_by_key(number, |t| t.0) {
            had += rarity * asked[at].1;
        }
    }
    if all > 0.0 { had / all } else { 0.0 }
}
