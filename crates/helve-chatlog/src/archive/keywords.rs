//! Literal search, by pages.
//!
//! The hits are a set of lines; a page is the best of them after the last of the page
//! before. So a page of a million hits costs no more memory than the page.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write as _;

use roaring::RoaringBitmap;

use super::flat::NO_TIME;
use super::known::Fnv;
use super::normal::normalize;
use super::view::View;
use super::{ArchiveError, Cursor, Filter, Hits, Keywords, Order, Source, literal};

/// As in BM25: how much the length of a text counts.
const B: f32 = 0.75;
const K1: f32 = 1.2;
/// Of more hits than this, not each is looked at.
const MANY: u64 = if cfg!(test) { 4 } else { 4_096 };

pub(super) fn search(view: &View, ask: &Keywords) -> Result<Hits, ArchiveError> {
    let words: Vec<String> = ask.words.iter().map(|word| normalize(word)).collect();
    if words.is_empty() || words.iter().any(String::is_empty) {
        return Err(ArchiveError::BlankKeyword);
    }
    let sieve = view.sieve(&ask.filter);
    let (mut sets, mut source) = (Vec::new(), Source::Index);
    for word in &words {
        let (found, from) = literal::find(view, word)?;
        if from == Source::Scan {
            source = Source::Scan;
        }
        sets.push(sieve.sift(view, found));
    }
    let mut total = sets[0].clone();
    for set in &sets[1..] {
        match ask.all {
            true => total &= set,
            false => total |= set,
        }
    }
    let scores = Scores::new(view, &sets, ask.all);
    let search = fingerprint(&(&words, ask.all), &ask.filter, ask.order);
    let page = page(
        view,
        &total,
        &Page {
            order: ask.order,
            limit: ask.limit,
            after: ask.after,
            search,
            scores: Some(&scores),
        },
    )?;
    Ok(Hits {
        per_word: sets.iter().map(RoaringBitmap::len).collect(),
        source,
        ..page
    })
}

/// Which search a cursor is of.
pub(super) fn fingerprint(what: &dyn std::fmt::Debug, filter: &Filter, order: Order) -> u64 {
    let mut text = String::new();
    let lines = filter
        .lines
        .as_ref()
        .map(|lines| (lines.len(), lines.min(), lines.max()));
    let filter = Filter {
        lines: None,
        ..filter.clone()
    };
    // A text takes everything.
    let _ = write!(text, "{what:?} {filter:?} {lines:?} {order:?}");
    let mut hash = Fnv::new();
    hash.text(&text);
    hash.0
}

/// How well each hit fits: rare words in short messages. How often a word stands in one
/// message says little in a chat.
struct Scores<'s> {
    sets: &'s [RoaringBitmap],
    weights: Vec<f32>,
    /// The weight where every hit has every word.
    sum: Option<f32>,
}

impl<'s> Scores<'s> {
    fn new(view: &View, sets: &'s [RoaringBitmap], all: bool) -> Self {
        let messages = view.visible.len() as f32;
        let weight = |set: &RoaringBitmap| rarity(messages, set.len() as f32);
        let weights: Vec<f32> = sets.iter().map(weight).collect();
        let sum = (all || sets.len() == 1).then(|| weights.iter().sum());
        Self { sets, weights, sum }
    }

    fn of(&self, view: &View, line: u32) -> f32 {
        let weight = self.sum.unwrap_or_else(|| {
            let has = self
                .sets
                .iter()
                .zip(&self.weights)
                .filter(|(set, _)| set.contains(line));
            has.map(|(_, weight)| weight).sum()
        });
        weight * brevity(view, view.length(line))
    }

    /// What orders a hit by relevance: the greater, the sooner.
    fn key(&self, view: &View, line: u32) -> u64 {
        match self.sum {
            // Where every hit has every word, only the length tells them apart.
            Some(_) => !(view.length(line) as u64),
            None => u64::from(self.of(view, line).to_bits()),
        }
    }

    /// No hit of that length, nor a longer one, has a greater key: each step of a score
    /// rounds to no more for fewer words and for longer texts.
    fn most(&self, view: &View, length: usize) -> u64 {
        match self.sum {
            Some(_) => !(length as u64),
            None => {
                let all: f32 = self.weights.iter().sum();
                u64::from((all * brevity(view, length)).to_bits())
            }
        }
    }
}

/// What a word is worth that so many of the messages have.
pub(super) fn rarity(messages: f32, have: f32) -> f32 {
    (1.0 + (messages - have + 0.5).max(0.0) / (have + 0.5)).ln()
}

/// How much one occurrence counts in a text of that length.
fn brevity(view: &View, length: usize) -> f32 {
    let length = length as f32 / view.average;
    (K1 + 1.0) / (1.0 + K1 * (1.0 - B + B * length))
}

/// Which page is wanted.
pub(super) struct Page<'p> {
    pub(super) order: Order,
    pub(super) limit: usize,
    pub(super) after: Option<Cursor>,
    pub(super) search: u64,
    scores: Option<&'p Scores<'p>>,
}

impl Page<'_> {
    /// A page by time.
    pub(super) fn by_time(order: Order, limit: usize, after: Option<Cursor>, search: u64) -> Self {
        Self {
            order,
            limit,
            after,
            search,
            scores: None,
        }
    }

    /// What orders a line: the greater, the sooner. The line itself, turned over where the
    /// oldest comes first, decides among equals.
    fn key(&self, view: &View, line: u32) -> (u64, u32) {
        // The sign turned, signed numbers are in order as unsigned ones.
        let time = |line| (view.time(line) ^ NO_TIME).cast_unsigned();
        match (self.order, self.scores) {
            (Order::Relevance, Some(scores)) => (scores.key(view, line), line),
            (Order::Relevance | Order::Newest, _) => (time(line), line),
            (Order::Oldest, _) => (!time(line), !line),
        }
    }
}

/// The greatest keys, and whether there are more.
struct Best {
    limit: usize,
    best: BinaryHeap<Reverse<(u64, u32)>>,
    more: bool,
}

impl Best {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            best: BinaryHeap::new(),
            more: false,
        }
    }

    fn add(&mut self, key: (u64, u32)) {
        if self.best.len() < self.limit {
            self.best.push(Reverse(key));
            return;
        }
        self.more = true;
        if let Some(mut worst) = self.best.peek_mut()
            && worst.0 < key
        {
            *worst = Reverse(key);
        }
    }

    /// The least that is still wanted; nothing while anything is.
    fn least(&self) -> Option<(u64, u32)> {
        let full = self.best.len() >= self.limit;
        let least = self.best.peek().filter(|_| full);
        least.map(|Reverse(key)| *key)
    }

    fn take(&mut self) -> Vec<(u64, u32)> {
        self.best.drain().map(|Reverse(key)| key).collect()
    }
}

/// The best of many hits by relevance: the shortest first, until no longer one can be better.
fn shortest(
    view: &View,
    total: &RoaringBitmap,
    scores: &Scores<'_>,
    best: &mut Best,
    later: &dyn Fn(&(u64, u32)) -> bool,
) {
    let mut left = total.len();
    for (length, lines) in view.lengths().iter() {
        if left == 0 {
            return;
        }
        let most = (scores.most(view, length), u32::MAX);
        if best.least().is_some_and(|least| least > most) {
            best.more = true;
            return;
        }
        let hits = total & lines;
        left -= hits.len();
        let keys = hits.iter().map(|line| (scores.key(view, line), line));
        keys.filter(|key| later(key)).for_each(|key| best.add(key));
    }
}

pub(super) fn page(
    view: &View,
    total: &RoaringBitmap,
    page: &Page<'_>,
) -> Result<Hits, ArchiveError> {
    let after = match page.after {
        None => None,
        Some(cursor) if cursor.search != page.search => return Err(ArchiveError::ForeignCursor),
        Some(cursor) if cursor.generation != view.generation => {
            return Err(ArchiveError::StaleCursor);
        }
        Some(cursor) => Some((cursor.key, cursor.line)),
    };
    let later = |key: &(u64, u32)| after.is_none_or(|after| *key < after);
    let keys = total.iter().map(|line| page.key(view, line)).filter(later);
    let mut best = Best::new(page.limit);
    let mut keys = match page.scores.filter(|_| page.order == Order::Relevance) {
        // Lines mostly follow each other in time, and what is in order is soon sorted.
        _ if total.len() <= page.limit as u64 => keys.collect(),
        Some(scores) if total.len() > MANY => {
            shortest(view, total, scores, &mut best, &later);
            best.take()
        }
        _ => {
            keys.for_each(|key| best.add(key));
            best.take()
        }
    };
    let more = best.more;
    keys.sort_unstable_by(|a, b| b.cmp(a));
    let line = |line: u32| match page.order {
        Order::Oldest => u64::from(!line),
        _ => u64::from(line),
    };
    let scores = page.scores.filter(|_| page.order == Order::Relevance);
    let scores = scores.map_or_else(Vec::new, |scores| {
        keys.iter()
            .map(|(_, line)| scores.of(view, *line))
            .collect()
    });
    let last = keys.last().filter(|_| more);
    let next = last.map(|(key, line)| Cursor {
        generation: view.generation,
        search: page.search,
        key: *key,
        line: *line,
    });
    Ok(Hits {
        lines: keys.iter().map(|key| line(key.1)).collect(),
        scores,
        total: total.len(),
        per_word: Vec::new(),
        next,
        source: Source::Scan,
    })
}
