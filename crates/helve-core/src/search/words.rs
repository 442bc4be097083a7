//! From text to words: what the index stores and a query asks for.
//!
//! Text is brought to one form (NFKC, small letters, no accents, nothing
//! invisible), then cut: at separators, at `camelCase` humps, between letters and
//! digits. Scripts written without spaces become single characters and pairs,
//! which finds more than a segmenter does and needs no dictionary. English is
//! stemmed lightly, so that `calculator` meets `calculating`.

mod stem;

use std::borrow::Cow;

use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

pub(super) use stem::stem;

/// The longest word that is told from others; what is longer is cut.
const MAX_WORD: usize = 48;

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// Letters or digits, in small letters, not stemmed.
    Word {
        /// The word.
        text: &'t str,
        /// It was written with a capital.
        capital: bool,
    },
    /// A compound as it was written, small: `youtube` for `YouTube`, `k8s`.
    Whole(&'t str),
    /// Characters of a script without spaces.
    Run(&'t str),
    /// Anything between, one character at a time; blanks are left out.
    Mark(char),
}

/// Brings a text to the form in which it is cut.
pub(super) fn normal(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let composed: Cow<'_, str> = match is_nfkc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        _ => Cow::Owned(text.nfkc().collect()),
    };
    if !composed.chars().any(|c| is_invisible(c) || is_accented(c)) {
        return composed;
    }
    let mut plain = String::with_capacity(composed.len());
    for c in composed.chars().filter(|c| !is_invisible(*c)) {
        match is_accented(c) {
            true => plain.extend(std::iter::once(c).nfd().filter(|c| !is_combining_mark(*c))),
            false => plain.push(c),
        }
    }
    Cow::Owned(plain)
}

/// Latin letters with marks; other scripts mean different letters by theirs.
fn is_accented(c: char) -> bool {
    matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' | '\u{300}'..='\u{36f}')
}

/// Marks of direction, joiners, fillers: they are not seen and must not matter.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Whether a character belongs to a script that is written without spaces.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(
        c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
            | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3134f}'
    )
}

/// Cuts a text that is in its [`normal`] form.
pub(super) fn cut(text: &str, mut each: impl FnMut(Piece<'_>)) {
    let mut small = String::with_capacity(MAX_WORD);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if is_unspaced(c) {
            let end = rest.find(|c| !is_unspaced(c)).unwrap_or(rest.len());
            each(Piece::Run(&rest[..end]));
            rest = &rest[end..];
        } else if c.is_alphanumeric() {
            let end = rest
                .find(|c: char| !c.is_alphanumeric() || is_unspaced(c))
                .unwrap_or(rest.len());
            compound(&rest[..end], &mut small, &mut each);
            rest = after_possessive(&rest[end..]);
        } else {
            if !c.is_whitespace() {
                each(Piece::Mark(c));
            }
            rest = &rest[c.len_utf8()..];
        }
    }
}

/// `'s` and `'t` say nothing.
fn after_possessive(rest: &str) -> &str {
    let Some(tail) = rest.strip_prefix(['\'', '\u{2019}']) else {
        return rest;
    };
    for ending in ["s", "t", "re", "ll", "ve", "d", "m"] {
        if let Some(after) = tail.strip_prefix(ending)
            && !after.starts_with(char::is_alphanumeric)
        {
            return after;
        }
    }
    rest
}

/// The parts of `getHTTPServer2`, and the whole where it had parts.
fn compound(text: &str, small: &mut String, each: &mut impl FnMut(Piece<'_>)) {
    let bytes = text.as_bytes();
    let mut start = 0;
    let mut parts = 0;
    if text.is_ascii() {
        for i in 1..=bytes.len() {
            if i < bytes.len() && !is_hump(bytes, i) {
                continue;
            }
            word(&text[start..i], small, each);
            parts += 1;
            start = i;
        }
    } else {
        word(text, small, each);
    }
    if (2..=4).contains(&parts) && text.len() <= 24 {
        lower(text, small);
        each(Piece::Whole(small));
    }
}

fn is_hump(bytes: &[u8], i: usize) -> bool {
    let (last, this) = (bytes[i - 1], bytes[i]);
    let next = bytes.get(i + 1);
    (last.is_ascii_lowercase() && this.is_ascii_uppercase())
        || (last.is_ascii_digit() != this.is_ascii_digit())
        || (last.is_ascii_uppercase()
            && this.is_ascii_uppercase()
            && next.is_some_and(u8::is_ascii_lowercase))
}

fn word(text: &str, small: &mut String, each: &mut impl FnMut(Piece<'_>)) {
    lower(text, small);
    let capital = text.starts_with(char::is_uppercase);
    each(Piece::Word {
        text: small,
        capital,
    });
}

fn lower(text: &str, small: &mut String) {
    small.clear();
    for c in text.chars() {
        if small.len() >= MAX_WORD {
            break;
        }
        match c.is_ascii() {
            true => small.push(c.to_ascii_lowercase()),
            false => small.extend(c.to_lowercase()),
        }
    }
}

/// The single characters and the pairs of a run.
pub(super) fn grams(run: &str, mut each: impl FnMut(&str)) {
    let mut last: Option<usize> = None;
    for (i, c) in run.char_indices() {
        let end = i + c.len_utf8();
        each(&run[i..end]);
        if let Some(before) = last {
            each(&run[before..end]);
        }
        last = Some(i);
    }
}

/// Words that stand in any sentence. Sorted.
const STOP: &[&str] = &[
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "another", "any",
    "are", "as", "at", "be", "because", "been", "before", "being", "below", "between", "both",
    "but", "by", "can", "cannot", "could", "did", "do", "does", "doing", "don", "during", "each",
    "either", "etc", "every", "few", "for", "from", "further", "had", "has", "have", "having",
    "he", "her", "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its",
    "itself", "just", "let", "lets", "ll", "may", "me", "might", "mine", "more", "most", "much",
    "must", "my", "myself", "no", "nor", "not", "of", "off", "on", "once", "only", "or", "other",
    "our", "ours", "out", "over", "own", "per", "please", "re", "same", "shall", "she", "should",
    "so", "some", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they",
    "this", "those", "through", "to", "too", "under", "until", "up", "upon", "us", "ve", "very",
    "via", "was", "we", "were", "what", "when", "where", "whether", "which", "while", "who",
    "whom", "whose", "why", "will", "with", "within", "without", "would", "you", "your", "yours",
    "yourself",
];

/// Whether a word says nothing about what is wanted.
pub(super) fn is_stop(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests;
