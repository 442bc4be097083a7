//! All words that documents have, by number, and which are spelled alike.
//!
//! A word is never forgotten: its number stays when the last document that had it
//! is gone, and whoever asks looks whether any has it still. The first numbers are
//! the lexicon's, so that a word's relatives are found without looking at letters.

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use std::hash::BuildHasher;

/// How many words alike are looked at closely.
const MAX_ALIKE: usize = 48;

/// Short texts, one behind the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Texts {
    all: String,
    ends: Vec<u32>,
}

impl Texts {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn push(&mut self, text: &str) -> u32 {
        self.all.push_str(text);
        self.ends.push(self.all.len() as u32);
        (self.ends.len() - 1) as u32
    }

    pub(super) fn get(&self, number: u32) -> &str {
        let at = number as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.all[start as usize..self.ends[at] as usize]
    }
}

#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    texts: Texts,
    numbers: HashTable<u32>,
    hash: DefaultHashBuilder,
    /// The words that have three letters in a row.
    trigrams: HashMap<[u8; 3], Vec<u32>>,
}

impl Vocabulary {
    /// A vocabulary that begins with these words.
    pub(super) fn of(texts: &Texts) -> Self {
        let mut vocabulary = Self::default();
        for number in 0..texts.len() as u32 {
            vocabulary.insert(texts.get(number));
        }
        vocabulary
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(super) fn into_texts(self) -> Texts {
        self.texts
    }

    pub(super) fn text(&self, number: u32) -> &str {
        self.texts.get(number)
    }

    pub(super) fn number(&self, word: &str) -> Option<u32> {
        let hash = self.hash.hash_one(word);
        let same = |number: &u32| self.texts.get(*number) == word;
        self.numbers.find(hash, same).copied()
    }

    /// The number of a word; a new one if it is new.
    pub(super) fn insert(&mut self, word: &str) -> u32 {
        let hash = self.hash.hash_one(word);
        let same = |number: &u32| self.texts.get(*number) == word;
        if let Some(number) = self.numbers.find(hash, same) {
            return *number;
        }
        let number = self.texts.push(word);
        let (texts, hasher) = (&self.texts, &self.hash);
        let rehash = |number: &u32| hasher.hash_one(texts.get(*number));
        self.numbers.insert_unique(hash, number, rehash);
        trigrams(word, |t| {
            let list = self.trigrams.entry(t).or_default();
            if list.last() != Some(&number) {
                list.push(number);
            }
        });
        number
    }

    /// Words that differ from this one by a slip: a letter too many, too few, wrong
    /// or swapped; two in long words. Nearest first.
    pub(super) fn alike(&self, word: &str, used: impl Fn(u32) -> bool) -> Vec<(u32, f32)> {
        if !(4..=24).contains(&word.len()) || !word.bytes().all(|b| b.is_ascii_lowercase()) {
            return Vec::new();
        }
        let most = if word.len() < 8 { 1 } else { 2 };
        let mut times = vec![0u8; self.texts.len()];
        let mut found: Vec<u32> = Vec::new();
        let mut count = 0usize;
        trigrams(word, |t| {
            count += 1;
            for number in self.trigrams.get(&t).into_iter().flatten() {
                let times = &mut times[*number as usize];
                if *times == 0 {
                    found.push(*number);
                }
                *times += 1;
            }
        });
        let text = |number: u32| self.texts.get(number);
        let times = |number: u32| usize::from(times[number as usize]);
        found.retain(|number| {
            3 * times(*number) >= count
                && text(*number).len().abs_diff(word.len()) <= most
                && used(*number)
        });
        found.sort_unstable_by(|a, b| {
            let by_times = times(*b).cmp(&times(*a));
            by_times.then_with(|| text(*a).cmp(text(*b)))
        });
        found.truncate(MAX_ALIKE);
        let mut alike: Vec<(usize, &str, u32)> = found
            .into_iter()
            .map(|number| {
                (
                    strsim::osa_distance(word, text(number)),
                    text(number),
                    number,
                )
            })
            .filter(|(distance, ..)| (1..=most).contains(distance))
            .collect();
        alike.sort_unstable();
        alike
            .into_iter()
            .take(3)
            .map(|(distance, _, number)| (number, 1.0 / (1.0 + distance as f32)))
            .collect()
    }
}

/// Three letters in a row, the edges of the word being letters as well.
fn trigrams(word: &str, mut each: impl FnMut([u8; 3])) {
    let bytes = word.as_bytes();
    if bytes.len() < 3 || !word.is_ascii() {
        return;
    }
    each([b'^', bytes[0], bytes[1]]);
    for three in bytes.windows(3) {
        each([three[0], three[1], three[2]]);
    }
    each([bytes[bytes.len() - 2], bytes[bytes.len() - 1], b'$']);
}
