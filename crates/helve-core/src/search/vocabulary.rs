//! All words that documents have, by number, and which are spelled alike.
//!
//! A word is never forgotten: its number stays when the last document that had it
//! is gone, and whoever asks looks whether any has it still.

use std::collections::HashMap;

/// How many words alike are looked at closely.
const MAX_ALIKE: usize = 48;

#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    numbers: HashMap<Box<str>, u32>,
    texts: Vec<Box<str>>,
    /// The words that have three letters in a row.
    trigrams: HashMap<[u8; 3], Vec<u32>>,
}

impl Vocabulary {
    pub(super) fn number(&self, word: &str) -> Option<u32> {
        self.numbers.get(word).copied()
    }

    /// The number of a word, and whether it is new.
    pub(super) fn insert(&mut self, word: &str) -> (u32, bool) {
        if let Some(number) = self.numbers.get(word) {
            return (*number, false);
        }
        let number = self.texts.len() as u32;
        self.numbers.insert(word.into(), number);
        self.texts.push(word.into());
        trigrams(word, |t| {
            let list = self.trigrams.entry(t).or_default();
            if list.last() != Some(&number) {
                list.push(number);
            }
        });
        (number, true)
    }

    /// Words that differ from this one by a slip: a letter too many, too few, wrong
    /// or swapped; two in long words. Nearest first.
    pub(super) fn alike(&self, word: &str, used: impl Fn(u32) -> bool) -> Vec<(u32, f32)> {
        if !(4..=24).contains(&word.len()) || !word.bytes().all(|b| b.is_ascii_lowercase()) {
            return Vec::new();
        }
        let mut found: Vec<u32> = Vec::new();
        let mut count = 0usize;
        trigrams(word, |t| {
            count += 1;
            found.extend(self.trigrams.get(&t).into_iter().flatten());
        });
        found.sort_unstable();
        let mut shared: Vec<(usize, u32)> = found
            .chunk_by(|a, b| a == b)
            .map(|same| (same.len(), same[0]))
            .filter(|(n, number)| 3 * n >= count && used(*number))
            .collect();
        let text = |number: u32| &*self.texts[number as usize];
        shared.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| text(a.1).cmp(text(b.1))));
        shared.truncate(MAX_ALIKE);
        let most = if word.len() < 8 { 1 } else { 2 };
        let mut alike: Vec<(usize, &str, u32)> = shared
            .into_iter()
            .map(|(_, number)| {
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
