//! What is asked, and what comes back.

use serde::Serialize;

use super::plan::{Asked, Kind, Plan};
use super::rank::{self, Ranked};
use super::store::{Entry, Field, Store};
use crate::def::Risk;

/// How many words a hit is explained with.
const MAX_WHY: usize = 6;

/// What is asked for.
#[derive(Clone)]
pub struct Query<'q> {
    /// What is wanted, in words: one text, or one for each step of a task.
    pub texts: Vec<String>,
    /// Only tools of this group or server.
    pub group: Option<String>,
    /// Only tools that have all of these tags.
    pub tags: Vec<String>,
    /// Only tools that do no more than this. A tool that does not say counts as the
    /// most dangerous.
    pub max_risk: Option<Risk>,
    /// How many hits at most.
    pub limit: usize,
    /// Only tools with a key that this allows. Asked for few, not for all.
    pub allow: Option<&'q dyn Fn(&str) -> bool>,
    /// A model that knows meanings.
    pub meaning: Option<&'q dyn Meaning>,
}

/// An embedding model, given by whoever has one.
pub trait Meaning {
    /// Up to `most` keys of documents near a text, each with how near it is. What is
    /// not near enough to be an answer is left out. Keys that the index does not
    /// know are passed over.
    fn nearest(&self, text: &str, most: usize) -> Vec<(String, f32)>;
}

impl<'q> Query<'q> {
    /// A query of one text, for ten hits among all tools.
    pub fn new(text: impl Into<String>) -> Self {
        Self::several([text.into()])
    }

    /// A query of several texts.
    pub fn several(texts: impl IntoIterator<Item = String>) -> Self {
        Self {
            texts: texts.into_iter().collect(),
            group: None,
            tags: Vec::new(),
            max_risk: None,
            limit: 10,
            allow: None,
            meaning: None,
        }
    }

    /// Whether it leaves nothing out.
    pub(super) fn is_open(&self) -> bool {
        self.group.is_none()
            && self.tags.is_empty()
            && self.max_risk.is_none()
            && self.allow.is_none()
    }

    pub(super) fn allows(&self, entry: &Entry) -> bool {
        let in_group = self.group.as_deref().is_none_or(|wanted| {
            let places = [&entry.group, &entry.server];
            let mut places = places.into_iter().flatten();
            places.any(|p| p.to_lowercase() == wanted.to_lowercase())
        });
        let tagged = self.tags.iter().all(|wanted| {
            let mut tags = entry.tags.iter();
            tags.any(|t| t.to_lowercase() == wanted.to_lowercase())
        });
        let risk = entry.risk.unwrap_or(Risk::Write);
        in_group
            && tagged
            && self.max_risk.is_none_or(|most| risk <= most)
            && self.allow.is_none_or(|allow| allow(&entry.key))
    }
}

/// Whether what was found is an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fit {
    /// Nothing fits; there are no hits.
    Nothing,
    /// Something might; the hits are guesses.
    Weak,
    /// The best of the hits has most of what was asked for.
    Good,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// The best first; of several texts, each text's best first.
    pub hits: Vec<Hit>,
    /// The best fit of all texts.
    pub fit: Fit,
    /// The fit of each text.
    pub texts: Vec<Fit>,
}

/// A tool that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// The document's key.
    pub key: String,
    /// How sure it is, from 0 to 1.
    pub score: f32,
    /// Which of the query's texts it answers, counted from 0.
    pub text: usize,
    /// The words of the query that it has, those that say most first.
    pub why: Vec<Why>,
}

/// A word that was found, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Why {
    /// The word as it was asked for.
    pub word: String,
    /// The fields that have it, or a relative of it.
    pub fields: Vec<Field>,
}

impl Found {
    /// Lets the answers take turns; a tool stands once, where it came first.
    pub(super) fn of(answers: Vec<(Fit, Vec<Hit>)>, limit: usize) -> Self {
        let texts: Vec<Fit> = answers.iter().map(|(fit, _)| *fit).collect();
        let fit = texts.iter().copied().max().unwrap_or(Fit::Nothing);
        let mut turns: Vec<_> = answers
            .into_iter()
            .map(|(_, hits)| hits.into_iter())
            .collect();
        let mut hits: Vec<Hit> = Vec::new();
        let mut left = true;
        while left && hits.len() < limit {
            left = false;
            for turn in &mut turns {
                if let Some(hit) = turn.find(|h| hits.iter().all(|k| k.key != h.key)) {
                    left = true;
                    hits.push(hit);
                }
            }
        }
        hits.truncate(limit);
        Self { hits, fit, texts }
    }
}

/// So many of the best are looked at to say whether anything fits.
const LOOKED_AT: usize = 3;
/// What a relative of a word is worth at least, where it is asked whether anything fits.
const RELATIVE: f32 = 0.3;
/// Where a tool says what it is for; parameters and details name things of all kinds.
const TELLING: [Field; 8] = [
    Field::Name,
    Field::Alias,
    Field::Title,
    Field::Description,
    Field::Trigger,
    Field::Example,
    Field::Tag,
    Field::Learned,
];

impl Fit {
    /// By the share of what was asked for that one of the best tools has, half of it
    /// only where tools say what they are for. It is not the score: a long description
    /// or a word that stands there once is no reason to doubt.
    ///
    /// The limits were found by drawing hubs of 20 to 1,500 tools from public sets and
    /// asking them what they have a tool for and what they have none for; the more tools,
    /// the more of any request somebody has a word of. The bench prints how often
    /// each is right.
    pub(super) fn of(plan: &Plan, gains: &[f32], ranked: &[Ranked], store: &Store) -> Self {
        let ideal = rank::ideal(plan, gains);
        let shares = ranked.iter().take(LOOKED_AT).map(|r| {
            let (all, telling) = had(r.slot, plan, gains, store);
            (all + telling) / (2.0 * ideal)
        });
        let size = (store.len().clamp(8, 500) as f32).ln();
        match shares.fold(0.0, f32::max) / size {
            share if share < 0.0095 => Fit::Nothing,
            share if share < 0.024 => Fit::Weak,
            _ => Fit::Good,
        }
    }
}

/// How much of what is asked for a tool has: anywhere, and where it says what it is for.
fn had(slot: u32, plan: &Plan, gains: &[f32], store: &Store) -> (f32, f32) {
    let telling = TELLING.iter().fold(0, |bits, f| bits | 1u16 << *f as u16);
    let (mut all, mut told) = (0.0, 0.0);
    for (asked, gain) in plan.asked.iter().zip(gains) {
        let terms = plan.terms(asked).iter();
        let found = terms.filter_map(|(n, weight)| Some((store.fields(*n, slot)?, *weight)));
        let best = found.reduce(|best, next| if next.1 > best.1 { next } else { best });
        if let Some((fields, weight)) = best {
            let worth = gain * weight.clamp(RELATIVE, 1.0);
            all += worth;
            if fields & telling != 0 {
                told += worth;
            }
        }
    }
    (all, told)
}

impl Hit {
    pub(super) fn of(
        ranked: &Ranked,
        text: usize,
        plan: &Plan,
        telling: &[&Asked],
        store: &Store,
    ) -> Self {
        let key = store.name(ranked.slot).map_or("", |(_, key)| key);
        let score = ranked.certain.max(ranked.cover.sqrt().min(0.89));
        Self {
            key: key.to_owned(),
            score,
            text,
            why: why(ranked.slot, plan, telling, store),
        }
    }
}

/// The words by which hits are explained, those that say most first.
pub(super) fn telling<'p>(plan: &'p Plan, gains: &[f32]) -> Vec<&'p Asked> {
    let asked = plan.asked.iter().zip(gains).filter(|(asked, _)| {
        let long = || plan.text(asked).chars().nth(1).is_some();
        !plan.terms(asked).is_empty() && (asked.kind == Kind::Word || long())
    });
    let mut asked: Vec<(&Asked, &f32)> = asked.collect();
    asked.sort_by(|a, b| b.1.total_cmp(a.1));
    asked.into_iter().map(|(asked, _)| asked).collect()
}

fn why(slot: u32, plan: &Plan, telling: &[&Asked], store: &Store) -> Vec<Why> {
    let found = telling.iter().filter_map(|asked| {
        let mut terms = plan.terms(asked).iter();
        let fields = terms.find_map(|(number, _)| store.fields(*number, slot))?;
        let all = Field::ALL.into_iter();
        Some(Why {
            word: plan.text(asked).to_owned(),
            fields: all.filter(|f| fields >> *f as u16 & 1 == 1).collect(),
        })
    });
    found.take(MAX_WHY).collect()
}
