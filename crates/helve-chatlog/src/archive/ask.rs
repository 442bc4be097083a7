//! Questions in natural language: which messages may answer one.
//!
//! BM25 over words and pairs of letters, and on top of it what was measured to help in chats:
//! words that ask are left out, words count in all their forms, names become a boost for
//! whoever bears them instead of words to look for, and what stands near a hit in the same
//! session shares in its score, because an answer is rarely one message.

pub(super) mod query;
mod stop;

use std::collections::HashMap;

use roaring::RoaringBitmap;
use rust_stemmers::{Algorithm, Stemmer};
use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;

use super::index::Entries;
use super::keywords::rarity;
use super::view::{Sieve, View};
use super::{ArchiveError, Hit, Question, literal};
use query::Term;

const K1: f32 = 1.2;
const B: f32 = 0.75;
/// What a message gets of the scores one and two places before and after it.
const NEAR: [f32; 2] = [0.4, 0.2];
/// How much more a message of somebody counts whom the question names.
const BOOST: f32 = 1.5;
/// So many of the best are looked at closely.
const CLOSE: usize = 1_000;
/// So many messages can be looked at one by one.
const FEW: u64 = if cfg!(test) { 50 } else { 20_000 };
/// A word is common that more than one message in so many has.
const COMMON: u64 = 20;
/// A letter that more pairs have is not looked for beside other words.
const MOST_PAIRS: usize = 2_000;
/// What single letters add to pairs of them.
const LETTERS: f32 = 0.5;

pub(super) fn answer(view: &View, question: &Question) -> Result<Vec<Hit>, ArchiveError> {
    let asked = query::read(view, question);
    let sieve = view.sieve(&question.filter);
    let mut boosted = asked.named;
    boosted.extend(question.boost.iter().map(|no| view.stands_for(no.0)));
    if asked.terms.is_empty() {
        return Ok(latest(view, &sieve, &boosted, question.limit));
    }
    let mut scores = Scores::new(view);
    let mut wanted = Vec::new();
    for term in &asked.terms {
        wanted.push(Wanted::of(view, term, asked.terms.len() == 1)?);
    }
    // The rarest first: what only common words are in is then not looked at any more.
    wanted.sort_by_key(|wanted| wanted.count);
    for wanted in &wanted {
        scores.add(view, wanted)?;
    }
    let mut close = scores.best(view, &sieve);
    if !asked.letters.is_empty() && view.visible.len() <= FEW {
        // Words of one letter have no pair: among few, every message is looked at for them.
        let all = view.visible.iter();
        for line in all.filter(|line| sieve.is_open() || sieve.lets(view, *line)) {
            close.entry(line).or_default();
        }
    }
    letters(view, &asked.letters, &mut close);
    close.retain(|_, score| *score > 0.0);
    let mut hits = smooth(view, &sieve, &close);
    for hit in &mut hits {
        if boosted.contains(&view.stands_for(view.sender(line_of(hit)))) {
            hit.score *= BOOST;
        }
    }
    hits.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(b.line.cmp(&a.line)));
    hits.truncate(question.limit);
    Ok(hits)
}

fn line_of(hit: &Hit) -> u32 {
    u32::try_from(hit.line).unwrap_or(0)
}

/// The last words of whoever is named, where the question says nothing else.
fn latest(view: &View, sieve: &Sieve<'_>, people: &[u32], limit: usize) -> Vec<Hit> {
    let by = |line: &u32| people.contains(&view.stands_for(view.sender(*line)));
    let mut lines: Vec<u32> = view
        .visible
        .iter()
        .filter(|line| by(line) && sieve.lets(view, *line))
        .collect();
    lines.sort_unstable_by_key(|line| std::cmp::Reverse((view.time(*line), *line)));
    lines
        .into_iter()
        .take(limit)
        .map(|line| Hit {
            line: u64::from(line),
            score: 1.0,
        })
        .collect()
}

/// The score of each message, by line; 0 where no word of the question is.
struct Scores {
    scores: Vec<f32>,
    met: Vec<u32>,
}

impl Scores {
    fn new(view: &View) -> Self {
        let lines = view.visible.max().map_or(0, |last| last as usize + 1);
        Self {
            scores: vec![0.0; lines],
            met: Vec::new(),
        }
    }

    fn add(&mut self, view: &View, wanted: &Wanted) -> Result<(), ArchiveError> {
        let messages = view.visible.len();
        let weight = rarity(messages as f32, wanted.count as f32);
        let is_common = wanted.count > messages / COMMON;
        let seen = if is_common && self.met.len() >= CLOSE {
            Seen::Only
        } else {
            Seen::OrNew
        };
        for line in &wanted.lines {
            self.met(view, line, 1.0, weight, seen);
        }
        let Some(index) = &view.index else {
            return Ok(());
        };
        for (part, infos) in index.parts.iter().zip(&wanted.infos) {
            let reader = if wanted.is_word {
                &part.words
            } else {
                &part.pairs
            };
            let alive = part.reader.alive_bitset();
            for info in infos {
                let option = IndexRecordOption::WithFreqs;
                let mut block = reader.read_block_postings_from_terminfo(info, option)?;
                while !block.docs().is_empty() {
                    for (doc, times) in block.docs().iter().zip(block.freqs()) {
                        if alive.is_none_or(|alive| alive.is_alive(*doc)) {
                            self.met(view, part.lines.line(*doc), *times as f32, weight, seen);
                        }
                    }
                    block.advance();
                }
            }
        }
        Ok(())
    }

    fn met(&mut self, view: &View, line: u32, times: f32, weight: f32, seen: Seen) {
        let score = &mut self.scores[line as usize];
        if *score == 0.0 {
            match seen {
                Seen::Only => return,
                Seen::OrNew => self.met.push(line),
            }
        }
        let length = view.length(line) as f32 / view.average;
        *score += weight * times * (K1 + 1.0) / (times + K1 * (1.0 - B + B * length));
    }

    /// The best that the filter lets through, with their scores.
    fn best(mut self, view: &View, sieve: &Sieve<'_>) -> HashMap<u32, f32> {
        if !sieve.is_open() {
            self.met.retain(|line| sieve.lets(view, *line));
        }
        if self.met.len() > CLOSE {
            let scores = &self.scores;
            let better = |a: &u32, b: &u32| {
                scores[*b as usize]
                    .total_cmp(&scores[*a as usize])
                    .then(b.cmp(a))
            };
            self.met.select_nth_unstable_by(CLOSE, better);
            self.met.truncate(CLOSE);
        }
        self.met
            .iter()
            .map(|line| (*line, self.scores[*line as usize]))
            .collect()
    }
}

/// Which messages a word adds to.
#[derive(Debug, Clone, Copy)]
enum Seen {
    /// Those that have a rarer word.
    Only,
    /// All that have it.
    OrNew,
}

/// Where a term of the question is.
struct Wanted {
    is_word: bool,
    /// How many messages have it.
    count: u64,
    /// Its entries, by part of the index.
    infos: Vec<Vec<TermInfo>>,
    /// The messages themselves, where the index has no entry for it.
    lines: RoaringBitmap,
}

impl Wanted {
    fn of(view: &View, term: &Term, is_only: bool) -> Result<Self, ArchiveError> {
        let mut lines = RoaringBitmap::new();
        let mut infos = Vec::new();
        match (&view.index, term) {
            (Some(index), Term::Stem(_) | Term::Pairs(_)) => infos = entries(index, term)?,
            // A letter that is in many words says little beside others.
            (Some(_), Term::Letter(text)) if !is_only => {
                lines = literal::letter(view, text, MOST_PAIRS)?.unwrap_or_default();
            }
            (_, Term::Letter(text) | Term::Stem(text)) => lines = literal::find(view, text)?.0,
            (None, Term::Pairs(ways)) => {
                for way in ways {
                    lines |= literal::find(view, way)?.0;
                }
            }
        }
        let count = infos
            .iter()
            .flatten()
            .map(|info| u64::from(info.doc_freq))
            .sum::<u64>();
        let count = count + lines.len();
        Ok(Self {
            is_word: matches!(term, Term::Stem(_)),
            count,
            infos,
            lines,
        })
    }
}

/// The entries of a word in all its forms, or of a pair in all its ways to be written.
fn entries(index: &Entries, term: &Term) -> Result<Vec<Vec<TermInfo>>, ArchiveError> {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut found = Vec::new();
    for part in &index.parts {
        let mut infos = Vec::new();
        match term {
            Term::Stem(stem) => {
                // A form shares all of the stem but perhaps its last letter (happy, happi).
                let most = stem.char_indices().next_back().map_or(0, |(last, _)| last);
                let start = if stem.chars().count() > 3 {
                    &stem[..most]
                } else {
                    stem
                };
                for (word, info) in part.vocabulary()?.beginning(start) {
                    if stemmer.stem(word) == *stem {
                        infos.push(info);
                    }
                }
            }
            Term::Pairs(pairs) => {
                for pair in pairs {
                    infos.extend(part.pairs.terms().get(pair)?);
                }
            }
            Term::Letter(_) => {}
        }
        found.push(infos);
    }
    Ok(found)
}

/// Adds what single letters of scripts without blanks tell: pairs miss words that are
/// written apart or in another order.
fn letters(view: &View, letters: &[char], close: &mut HashMap<u32, f32>) {
    if letters.is_empty() {
        return;
    }
    let mut have: Vec<(u32, u64)> = Vec::with_capacity(close.len());
    let mut counts = vec![0_u32; letters.len().min(64)];
    for line in close.keys() {
        let text = String::from_utf8_lossy(view.text(*line));
        let mut bits = 0_u64;
        for (at, letter) in letters.iter().take(64).enumerate() {
            if text.contains(*letter) {
                bits |= 1 << at;
                counts[at] += 1;
            }
        }
        have.push((*line, bits));
    }
    let all = close.len() as f32;
    let weights: Vec<f32> = counts
        .iter()
        .map(|count| rarity(all, *count as f32))
        .collect();
    for (line, bits) in have {
        let sum: f32 = weights
            .iter()
            .enumerate()
            .filter(|(at, _)| bits >> at & 1 == 1)
            .map(|(_, w)| w)
            .sum();
        let length = view.length(line) as f32 / view.average;
        if let Some(score) = close.get_mut(&line) {
            *score += LETTERS * sum * (K1 + 1.0) / (1.0 + K1 * (1.0 - B + B * length));
        }
    }
}

/// Gives each message a share of the scores around it in its session, and those that have
/// none of the words their share as well.
fn smooth(view: &View, sieve: &Sieve<'_>, close: &HashMap<u32, f32>) -> Vec<Hit> {
    let mut smoothed: HashMap<usize, f32> = HashMap::with_capacity(close.len() * 3);
    for (line, score) in close {
        let Some(rank) = view.rank(*line) else {
            continue;
        };
        *smoothed.entry(rank).or_default() += score;
        let session = view.session(rank);
        for (at, share) in NEAR.iter().enumerate() {
            let away = at + 1;
            let around = [rank.checked_sub(away), rank.checked_add(away)];
            for near in around
                .into_iter()
                .flatten()
                .filter(|near| *near < view.order.len())
            {
                if view.session(near) == session {
                    *smoothed.entry(near).or_default() += score * share;
                }
            }
        }
    }
    let hits = smoothed
        .into_iter()
        .map(|(rank, score)| (view.order[rank], score));
    hits.filter(|(line, _)| sieve.is_open() || sieve.lets(view, *line))
        .map(|(line, score)| Hit {
            line: u64::from(line),
            score,
        })
        .collect()
}

#[cfg(test)]
mod tests;
