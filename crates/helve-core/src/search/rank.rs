//! From a plan to an order.
//!
//! BM25 over weighted fields, where a word and its relatives share one saturation,
//! so that a document with all synonyms of a word is not better than one with the
//! word itself. To the score for the whole query comes one for the clause that
//! fits best, and one for how much of the tool's name was asked for; each is
//! measured against its best.

use super::gather::{Candidate, Scratch, gather};
use super::plan::{Asked, Kind, Plan};
use super::store::{Posting, Store};

/// How many documents are looked at closely for the whole query.
pub(super) const CANDIDATES: usize = 64;
/// And for each of its clauses.
pub(super) const CLAUSE_CANDIDATES: usize = 16;

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
pub(super) struct Look<'s> {
    /// What a document gains at most.
    pub(super) gain: f32,
    /// The clauses that have it, a bit each.
    pub(super) clauses: u16,
    /// The documents, and how much their strengths count.
    pub(super) lists: Vec<(&'s [Posting], f32)>,
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
        Some(_) => {
            let all = asked.terms.iter().map(|t| rare(t.0));
            all.fold(f32::MAX, f32::min)
        }
    };
    asked.weight * rarity
}

/// The documents that fit best, best first; ties by name.
pub(super) fn rank(
    plan: &Plan,
    store: &Store,
    scratch: &mut Scratch,
    limit: usize,
    allowed: &dyn Fn(u32) -> bool,
) -> Vec<Ranked> {
    let gains: Vec<f32> = plan.asked.iter().map(|a| gain(a, store)).collect();
    let looks_within = |common: f32| -> Vec<Look<'_>> {
        let asked = plan.asked.iter().zip(&gains);
        asked
            .map(|(a, gain)| look(a, *gain, common, store))
            .collect()
    };
    let mut looks = looks_within(COMMON);
    if looks.iter().all(|l| l.lists.is_empty()) {
        // Only words that nearly all have: then they must do.
        looks = looks_within(1.0);
    }
    let (candidates, most) = gather(&looks, plan.clauses, store, scratch, allowed);
    let ideal = ideal(plan, &gains);
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
    let mut scores: Vec<f32> = ranked.iter().map(|r| r.score).collect();
    let least = match scores.len() > limit.max(1) {
        true => {
            *scores
                .select_nth_unstable_by(limit.max(1) - 1, |a, b| b.total_cmp(a))
                .1
                - NAMED
        }
        false => 0.0,
    };
    for ranked in ranked.iter_mut().filter(|r| r.score >= least) {
        ranked.score += NAMED * named(ranked.slot, &asked, store);
    }
    sort(&mut ranked, store);
    ranked
}

fn look<'s>(asked: &Asked, gain: f32, common: f32, store: &'s Store) -> Look<'s> {
    let all = match asked.kind {
        Kind::Word => store.len(),
        Kind::Gram => store.unspaced(),
    };
    let most = |share: f32| ((share * all as f32) as usize).max(FEW);
    let mut lists = Vec::with_capacity(asked.terms.len());
    for (i, (number, weight)) in asked.terms.iter().enumerate() {
        let limit = if i == 0 { common } else { COMMON_RELATIVE };
        if store.count(*number) > most(limit) {
            continue;
        }
        let (own, learned) = store.postings(*number);
        let both = [own, learned].into_iter().filter(|list| !list.is_empty());
        lists.extend(both.map(|list| (list, *weight)));
    }
    Look {
        gain,
        clauses: asked.clauses,
        lists,
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
