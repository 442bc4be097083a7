//! The same Chinese word in the other script.
//!
//! Letter by letter, from the tables of `hanconv`: what is looked for is short, and one
//! simplified letter may stand for several traditional ones, so that all of them are tried. The
//! tables of phrases would take tens of megabytes of memory and are not loaded.

use std::sync::OnceLock;

use hanconv::RawDictionary;
use rustc_hash::FxHashMap;

/// The most spellings that are given for a word.
const MOST: usize = 8;

/// A letter in the simplified script; itself where it has none other.
#[must_use]
pub fn simplified(c: char) -> char {
    // Almost everything else that is read.
    if c < '\u{3400}' {
        return c;
    }
    tables().simple.get(&c).copied().unwrap_or(c)
}

/// A text in the simplified script.
#[must_use]
pub fn to_simplified(text: &str) -> String {
    text.chars().map(simplified).collect()
}

/// Other spellings of a text: simplified, and traditional with each letter that may be meant.
/// The text itself is not among them; the likelier come first; there are at most eight.
#[must_use]
pub fn spellings(text: &str) -> Vec<String> {
    let simple = to_simplified(text);
    let mut found = vec![String::new()];
    for c in simple.chars() {
        let mut forms = tables()
            .traditional
            .get(&c)
            .map_or_else(|| vec![c], Clone::clone);
        // Past the limit, only the likeliest form of each further letter.
        if found.len() * forms.len() > MOST {
            forms.truncate(1);
        }
        found = forms
            .iter()
            .flat_map(|form| found.iter().map(move |so_far| format!("{so_far}{form}")))
            .collect();
    }
    found.insert(0, simple);
    let mut kept: Vec<String> = Vec::new();
    for spelling in found {
        if spelling != text && !kept.contains(&spelling) {
            kept.push(spelling);
        }
    }
    kept.truncate(MOST);
    kept
}

struct Tables {
    simple: FxHashMap<char, char>,
    traditional: FxHashMap<char, Vec<char>>,
}

fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| Tables {
        simple: RawDictionary::TSCharacters
            .iter()
            .filter_map(|(from, to)| Some((only(from)?, only(to)?)))
            .filter(|(from, to)| from != to)
            .collect(),
        traditional: RawDictionary::STCharacters
            .var_iter()
            .filter_map(|(from, to)| {
                Some((
                    only(from)?,
                    to.into_iter().filter_map(only).collect::<Vec<_>>(),
                ))
            })
            .filter(|(_, to)| !to.is_empty())
            .collect(),
    })
}

fn only(text: &str) -> Option<char> {
    let mut letters = text.chars();
    letters.next().filter(|_| letters.next().is_none())
}

#[cfg(test)]
mod tests;
