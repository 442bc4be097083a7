//! Tools that a query calls by name.

use super::rank::{self, Ranked};
use super::store::{Store, squeeze};

/// Longer texts are not a name.
const MAX_NAME: usize = 128;
/// How many words of a text are looked at as names.
const MAX_WORDS: usize = 64;
/// How many tools come first because their name begins as asked.
const MAX_BEGUN: usize = 64;
/// A beginning that is shorter says nothing.
const LEAST_BEGUN: usize = 3;

/// Puts those first that are named: exactly, then by how the name begins. Says
/// whether there were any.
pub(super) fn lift(
    text: &str,
    ranked: &mut Vec<Ranked>,
    store: &Store,
    allowed: &dyn Fn(u32) -> bool,
) -> bool {
    let text = text.trim();
    let mut exact: Vec<u32> = Vec::new();
    let mut begun: Vec<u32> = Vec::new();
    let whole = match text.len() <= MAX_NAME {
        true => squeeze(text),
        false => Box::default(),
    };
    if !whole.is_empty() {
        exact.extend(store.called(&whole));
        if whole.len() >= LEAST_BEGUN && !text.contains(char::is_whitespace) {
            begun.extend(store.named(&whole).map(|(_, slot)| slot).take(MAX_BEGUN));
        }
    }
    for word in text.split_whitespace().take(MAX_WORDS) {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        if word.len() <= MAX_NAME && looks_like_name(word) {
            exact.extend(store.called(&squeeze(word)));
        }
    }
    exact.retain(|slot| allowed(*slot));
    begun.retain(|slot| allowed(*slot) && !exact.contains(slot));
    if exact.is_empty() && begun.is_empty() {
        return false;
    }
    for slot in exact.iter().chain(&begun) {
        let certain = if exact.contains(slot) { 1.0 } else { 0.9 };
        match ranked.iter_mut().find(|r| r.slot == *slot) {
            Some(known) => known.certain = certain,
            None => ranked.push(Ranked {
                slot: *slot,
                score: 0.0,
                cover: 0.0,
                certain,
            }),
        }
    }
    rank::sort(ranked, store);
    true
}

/// Whether a word of a sentence is written as only names are: `file_read`,
/// `web-search`, `getWeather`, `disk.clean`.
fn looks_like_name(word: &str) -> bool {
    let joined = word.contains(['_', '-', '.', ':', '/']);
    let humped = word
        .as_bytes()
        .windows(2)
        .any(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase());
    joined || humped
}
