//! Words that mean the same: Chinese and English, and English among itself.
//!
//! Two tables, written for Helve. `chinese.txt` has a Chinese word a line and
//! English words for it; `synonyms.txt` a group of English words a line. They are
//! read once, when the first document or query needs them. Every vocabulary begins
//! with the words of the tables, so a relative is a number here and there.

use std::sync::OnceLock;

use hashbrown::HashMap;

use super::vocabulary::{Texts, Vocabulary};
use super::words::{grams, is_stop, stem};

const CHINESE: &str = include_str!("chinese.txt");
const SYNONYMS: &str = include_str!("synonyms.txt");

/// Lists of different lengths, one behind the other.
#[derive(Debug)]
struct Rows<T> {
    items: Vec<T>,
    ends: Vec<u32>,
}

impl<T> Rows<T> {
    fn of(rows: Vec<Vec<T>>) -> Self {
        let ends = rows.iter().scan(0u32, |end, row| {
            *end += row.len() as u32;
            Some(*end)
        });
        Self {
            ends: ends.collect(),
            items: rows.into_iter().flatten().collect(),
        }
    }

    fn get(&self, at: u32) -> &[T] {
        let at = at as usize;
        let Some(end) = self.ends.get(at) else {
            return &[];
        };
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.items[start as usize..*end as usize]
    }
}

/// The tables, with stemmed English, by number.
#[derive(Debug)]
pub(super) struct Lexicon {
    texts: Texts,
    /// English words for a Chinese one, by the row of that.
    english: Rows<u32>,
    chinese: HashMap<&'static str, u32>,
    /// How many characters the longest Chinese word has.
    longest: usize,
    synonyms: Rows<u32>,
    /// Pairs of the Chinese words for an English one, each with how many pairs its word has.
    pairs: Rows<(u32, u32)>,
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

/// The row of a number, made if there is none.
fn row<T>(rows: &mut Vec<Vec<T>>, number: u32) -> &mut Vec<T> {
    let at = number as usize;
    if rows.len() <= at {
        rows.resize_with(at + 1, Vec::new);
    }
    &mut rows[at]
}

impl Lexicon {
    fn read() -> Self {
        let mut words = Vocabulary::default();
        let (mut english, mut synonyms, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
        let mut chinese: HashMap<&'static str, u32> = HashMap::new();
        let mut longest = 0;
        for line in lines(CHINESE) {
            let mut cells = line.split_whitespace();
            let Some(word) = cells.next() else {
                continue;
            };
            let characters = word.chars().count();
            longest = longest.max(characters);
            // A word without a translation is one that says nothing.
            let next = chinese.len() as u32;
            let at = *chinese.entry(word).or_insert(next);
            row(&mut english, at);
            for cell in cells {
                let number = words.insert(&stem(cell));
                if !english[at as usize].contains(&number) {
                    english[at as usize].push(number);
                }
                let back = row(&mut pairs, number);
                grams(word, |gram| {
                    if is_pair(gram) {
                        back.push((words.insert(gram), (characters - 1) as u32));
                    }
                });
            }
        }
        for line in lines(SYNONYMS) {
            let group = line.split_whitespace().map(stem);
            let group: Vec<(u32, bool)> = group.map(|w| (words.insert(&w), is_stop(&w))).collect();
            for (word, _) in &group {
                let known = row(&mut synonyms, *word);
                for (other, stop) in &group {
                    if other != word && !known.contains(other) && !stop {
                        known.push(*other);
                    }
                }
            }
        }
        chinese.shrink_to_fit();
        Self {
            texts: words.into_texts(),
            english: Rows::of(english),
            chinese,
            longest,
            synonyms: Rows::of(synonyms),
            pairs: Rows::of(pairs),
        }
    }

    /// A vocabulary that begins with the words of the tables.
    pub(super) fn vocabulary(&self) -> Vocabulary {
        Vocabulary::of(&self.texts)
    }

    /// Other English words for a stemmed one.
    pub(super) fn synonyms(&self, word: u32) -> &[u32] {
        self.synonyms.get(word)
    }

    /// The pairs of Chinese words for a stemmed English one, each with how many
    /// its word has.
    pub(super) fn pairs(&self, word: u32) -> &[(u32, u32)] {
        self.pairs.get(word)
    }

    /// The known words of a Chinese run, longest first at each place, each with
    /// its English words. What is not known is passed over.
    pub(super) fn english<'t>(&self, run: &'t str, mut each: impl FnMut(&'t str, &[u32])) {
        let mut ends: Vec<usize> = run.char_indices().map(|(i, _)| i).collect();
        ends.push(run.len());
        let mut at = 0;
        while at + 1 < ends.len() {
            let most = self.longest.min(ends.len() - 1 - at);
            let found = (1..=most).rev().find_map(|n| {
                let word = &run[ends[at]..ends[at + n]];
                self.chinese.get(word).map(|row| (n, word, *row))
            });
            match found {
                Some((n, word, row)) => {
                    each(word, self.english.get(row));
                    at += n;
                }
                None => at += 1,
            }
        }
    }
}

/// Whether a gram is two characters.
pub(super) fn is_pair(gram: &str) -> bool {
    gram.chars().nth(1).is_some()
}

#[cfg(test)]
mod tests;
