//! What in a message may be a topic.

use rust_stemmers::Stemmer;
use rustc_hash::{FxHashMap, FxHashSet};

use super::words::LONGEST;
use crate::text::{self, Run};
use crate::{stop, text::is_cjk};

/// Of what kind a candidate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// It stands in marks that name a work, or in quotes.
    Title,
    /// Letters that were found to be a word, or words that were found to be a phrase.
    New,
    /// A word of a language with spaces, or what stands between two Chinese particles.
    Word,
}

/// A candidate in a message.
pub(super) struct Found<'t> {
    pub(super) key: u64,
    pub(super) kind: Kind,
    /// As written.
    pub(super) shown: &'t str,
}

/// What the first pass found to be worth looking for.
#[derive(Default)]
pub(super) struct Lexicon {
    /// New words of scripts without spaces.
    pub(super) new: FxHashSet<u64>,
    /// What stands between particles, more than once.
    pub(super) chunks: FxHashSet<u64>,
    /// Stems that occur more than once, as they are written most often, and how often.
    pub(super) stems: FxHashMap<u64, (Box<str>, u32)>,
    /// Pairs and triples of words, and how often.
    pub(super) phrases: FxHashMap<u64, u32>,
}

impl Lexicon {
    /// Whether words are a phrase: the commonest of them stands in it often enough.
    fn holds_together(&self, phrase: &Phrase<'_>) -> bool {
        let count = self.phrases.get(&phrase.key).copied().unwrap_or(0);
        let most = phrase
            .words
            .iter()
            .map(|(word, _)| self.stems.get(word).map_or(1, |stem| stem.1))
            .max();
        count > 0 && f64::from(count) >= LEAST_SHARE * f64::from(most.unwrap_or(1))
    }
}

/// The least share of its commonest word's occurrences that a phrase has.
const LEAST_SHARE: f64 = 0.3;

const WORD_SEED: u64 = 1;
const PHRASE_SEED: u64 = 2;

/// The longest stretch between particles that may be a topic.
const LONGEST_CHUNK: usize = 6;

/// Candidates of a message that the lexicon knows, and titles.
pub(super) fn known<'t>(
    lexicon: &Lexicon,
    stemmer: &Stemmer,
    message: &'t str,
    mut f: impl FnMut(Found<'t>),
) {
    titles(message, |title| {
        f(Found {
            key: title_key(title),
            kind: Kind::Title,
            shown: title,
        });
    });
    let mut tail = Tail::default();
    text::runs(message, |run| match run {
        Run::Cjk(run) => cjk(lexicon, run, &mut f),
        Run::Word { word, at, joined } => {
            let Some(key) = word_key(stemmer, word) else {
                tail.clear();
                return;
            };
            if lexicon.stems.contains_key(&key) {
                f(Found {
                    key,
                    kind: Kind::Word,
                    shown: word,
                });
            }
            tail.push(key, at, joined, |phrase, from| {
                if lexicon.holds_together(&phrase) {
                    f(Found {
                        key: phrase.key,
                        kind: Kind::New,
                        shown: &message[from..at + word.len()],
                    });
                }
            });
        }
    });
}

/// Words that stand together.
pub(super) struct Phrase<'w> {
    pub(super) key: u64,
    /// Each with where it begins.
    words: &'w [(u64, usize)],
}

/// The words just read, for phrases of two and three.
#[derive(Default)]
pub(super) struct Tail(Vec<(u64, usize)>);

impl Tail {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn push(
        &mut self,
        key: u64,
        at: usize,
        joined: bool,
        mut f: impl FnMut(Phrase<'_>, usize),
    ) {
        if !joined {
            self.0.clear();
        }
        if self.0.len() == 3 {
            self.0.remove(0);
        }
        self.0.push((key, at));
        for from in 0..self.0.len() - 1 {
            let words = &self.0[from..];
            let key = words
                .iter()
                .fold(PHRASE_SEED, |h, (key, _)| text::mix(h ^ key));
            f(Phrase { key, words }, words[0].1);
        }
    }
}

/// The key of a word that may be a topic, or be part of one.
pub(super) fn word_key(stemmer: &Stemmer, word: &str) -> Option<u64> {
    let folded: String = word.chars().map(text::fold_char).collect();
    let letters = folded.chars().filter(|c| c.is_alphabetic()).count();
    if letters < 2 || folded.chars().count() > 40 || stop::is_plain(&folded) {
        return None;
    }
    // Two letters are a topic only where they are written large: a name of something.
    if letters < 3 && !word.chars().all(|c| c.is_uppercase() || c.is_numeric()) {
        return None;
    }
    Some(text::key(WORD_SEED, text::stem(stemmer, word).chars()))
}

/// What stands between particles in a run.
pub(super) fn chunks<'t>(run: &'t str, mut f: impl FnMut(u64, &'t str)) {
    for chunk in run.split(stop::is_edge) {
        let length = chunk.chars().count();
        if (2..=LONGEST_CHUNK).contains(&length) && !same_letter(chunk) {
            f(text::key(0, chunk.chars()), chunk);
        }
    }
}

/// Known words in a run, the longest first, and beside them what stands between particles.
fn cjk<'t>(lexicon: &Lexicon, run: &'t str, f: &mut impl FnMut(Found<'t>)) {
    let ends: Vec<usize> = run
        .char_indices()
        .map(|(at, _)| at)
        .chain(std::iter::once(run.len()))
        .collect();
    let letters: Vec<char> = run.chars().collect();
    let mut at = 0;
    while at + 1 < letters.len() {
        let longest = (letters.len() - at).min(LONGEST);
        let word = (2..=longest).rev().find_map(|n| {
            let key = text::key(0, letters[at..at + n].iter().copied());
            lexicon.new.contains(&key).then_some((n, key))
        });
        if let Some((n, key)) = word {
            f(Found {
                key,
                kind: Kind::New,
                shown: &run[ends[at]..ends[at + n]],
            });
            at += n;
        } else {
            at += 1;
        }
    }
    chunks(run, |key, shown| {
        if lexicon.chunks.contains(&key) && !lexicon.new.contains(&key) {
            f(Found {
                key,
                kind: Kind::Word,
                shown,
            });
        }
    });
}

/// What stands in marks: short, and no sentence.
pub(super) fn titles<'t>(message: &'t str, mut f: impl FnMut(&'t str)) {
    let mut rest = message;
    while let Some(open) = rest.find(['《', '“', '「', '『']) {
        let mark = rest[open..].chars().next().unwrap_or('《');
        let close = match mark {
            '《' => '》',
            '“' => '”',
            '「' => '」',
            _ => '』',
        };
        let inner = &rest[open + mark.len_utf8()..];
        let Some(end) = inner.find(close) else {
            rest = inner;
            continue;
        };
        let title = inner[..end].trim();
        if is_title(title, mark == '《') {
            f(title);
        }
        rest = &inner[end + close.len_utf8()..];
    }
}

fn is_title(title: &str, marked: bool) -> bool {
    let length = title.chars().count();
    let most = if title.chars().any(is_cjk) { 12 } else { 40 };
    let sentence = title.contains([
        '，', '。', '！', '？', '；', '…', ',', '.', '!', '?', ';', '\n', '《', '“', '「', '『',
    ]);
    let words = title.split_whitespace().count();
    let letters = title.chars().any(char::is_alphabetic);
    if !letters || same_letter(title) {
        return false;
    }
    if marked {
        (1..=30).contains(&length)
    } else {
        !sentence && (2..=most).contains(&length) && words <= 5
    }
}

/// A title that is a word has that word's key.
fn title_key(title: &str) -> u64 {
    text::key(0, title.chars().map(text::fold_char))
}

fn same_letter(text: &str) -> bool {
    let mut letters = text.chars();
    let first = letters.next();
    letters.all(|c| Some(c) == first) && text.chars().count() > 1
}
