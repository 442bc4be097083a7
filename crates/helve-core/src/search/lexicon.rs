//! Words that mean the same: Chinese and English, and English among itself.
//!
//! Two tables, written for Helve. `chinese.txt` has a Chinese word a line and
//! English words for it; `synonyms.txt` a group of English words a line. They are
//! read once, when the first query needs them.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::words::{is_stop, stem};

const CHINESE: &str = include_str!("chinese.txt");
const SYNONYMS: &str = include_str!("synonyms.txt");

/// The tables, with stemmed English.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    chinese: HashMap<&'static str, Vec<Box<str>>>,
    /// How many characters the longest Chinese word has.
    longest: usize,
    english: HashMap<Box<str>, Vec<&'static str>>,
    synonyms: HashMap<Box<str>, Vec<Box<str>>>,
}

/// The tables.
pub(super) fn lexicon() -> &'static Lexicon {
    static LEXICON: OnceLock<Lexicon> = OnceLock::new();
    LEXICON.get_or_init(Lexicon::read)
}

/// The words of a table's line, comments left out.
fn lines(table: &'static str) -> impl Iterator<Item = &'static str> {
    table
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
}

impl Lexicon {
    fn read() -> Self {
        let mut lexicon = Self::default();
        for line in lines(CHINESE) {
            let mut words = line.split_whitespace();
            let Some(chinese) = words.next() else {
                continue;
            };
            lexicon.longest = lexicon.longest.max(chinese.chars().count());
            for word in words {
                let english: Box<str> = stem(word).into();
                let back = lexicon.english.entry(english.clone()).or_default();
                if chinese.chars().count() > 1 {
                    back.push(chinese);
                }
                let known = lexicon.chinese.entry(chinese).or_default();
                if !known.contains(&english) {
                    known.push(english);
                }
            }
            // A word without a translation is one that says nothing.
            lexicon.chinese.entry(chinese).or_default();
        }
        for line in lines(SYNONYMS) {
            let group: Vec<Box<str>> = line.split_whitespace().map(|w| stem(w).into()).collect();
            for word in &group {
                let known = lexicon.synonyms.entry(word.clone()).or_default();
                for other in &group {
                    if other != word && !known.contains(other) && !is_stop(other) {
                        known.push(other.clone());
                    }
                }
            }
        }
        lexicon
    }

    /// Other English words for a stemmed one.
    pub(super) fn synonyms(&self, word: &str) -> &[Box<str>] {
        self.synonyms.get(word).map_or(&[], Vec::as_slice)
    }

    /// Chinese words for a stemmed English one.
    pub(super) fn chinese(&self, word: &str) -> &[&'static str] {
        self.english.get(word).map_or(&[], Vec::as_slice)
    }

    /// The known words of a Chinese run, longest first at each place, each with
    /// its English words. What is not known is passed over.
    pub(super) fn english<'t>(&self, run: &'t str, mut each: impl FnMut(&'t str, &[Box<str>])) {
        let mut ends: Vec<usize> = run.char_indices().map(|(i, _)| i).collect();
        ends.push(run.len());
        let mut at = 0;
        while at + 1 < ends.len() {
            let most = self.longest.min(ends.len() - 1 - at);
            let found = (1..=most).rev().find_map(|n| {
                let word = &run[ends[at]..ends[at + n]];
                self.chinese.get(word).map(|english| (n, word, english))
            });
            match found {
                Some((n, word, english)) => {
                    each(word, english);
                    at += n;
                }
                None => at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests;
