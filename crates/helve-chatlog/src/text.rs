//! How text is cut into what is counted.
//!
//! Chinese, Japanese and Korean come as runs of letters, everything else as words. Nothing here
//! needs a dictionary.

use rust_stemmers::{Algorithm, Stemmer};

use crate::variants;

/// A stretch of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Run<'t> {
    /// Letters of a script that sets no spaces.
    Cjk(&'t str),
    /// A word, and where it begins.
    Word {
        /// As written.
        word: &'t str,
        /// Its first byte in the text.
        at: usize,
        /// Whether only a space or a hyphen stands between it and the word before.
        joined: bool,
    },
}

/// Cuts a text into runs; addresses of the web are left out.
pub(crate) fn runs<'t>(text: &'t str, mut f: impl FnMut(Run<'t>)) {
    let mut rest = 0;
    let mut last_end = usize::MAX;
    while let Some(c) = text[rest..].chars().next() {
        if is_cjk(c) {
            let end = end_of(text, rest, is_cjk);
            f(Run::Cjk(&text[rest..end]));
            rest = end;
        } else if c.is_alphanumeric() {
            let end = end_of_word(text, rest);
            let word = &text[rest..end];
            if is_scheme(word) && text[end..].starts_with("://") || word.eq_ignore_ascii_case("www")
            {
                rest = end_of(text, end, |c| !c.is_whitespace() && !is_cjk(c));
                continue;
            }
            let joined = last_end != usize::MAX && matches!(&text[last_end..rest], " " | "-");
            f(Run::Word {
                word,
                at: rest,
                joined,
            });
            rest = end;
            last_end = end;
        } else {
            rest += c.len_utf8();
        }
    }
}

/// Whether a letter is of a script that sets no spaces between words.
pub(crate) fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
        | '々' | '〇')
        && c != '・'
}

/// Whether it is of the Chinese script.
pub(crate) fn is_han(c: char) -> bool {
    is_cjk(c) && !matches!(c, '\u{3040}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}')
}

/// A letter without case and width.
pub(crate) fn fold_char(c: char) -> char {
    match c {
        'a'..='z' | '\u{4e00}'..='\u{9fff}' => c,
        'A'..='Z' => c.to_ascii_lowercase(),
        '\u{3000}' => ' ',
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(c) - 0xfee0).map_or(c, |c| c.to_ascii_lowercase())
        }
        '’' | '‘' => '\'',
        _ => c.to_lowercase().next().unwrap_or(c),
    }
}

/// A text without case, width and the difference between the two Chinese scripts, for comparing.
pub(crate) fn fold(text: &str) -> String {
    text.trim()
        .chars()
        .map(|c| variants::simplified(fold_char(c)))
        .collect()
}

/// A word as it is counted: folded, without `'s`, and down to its stem.
pub(crate) fn stem(stemmer: &Stemmer, word: &str) -> String {
    let folded: String = word.chars().map(fold_char).collect();
    let bare = folded.strip_suffix("'s").unwrap_or(&folded);
    if bare.is_ascii() {
        stemmer.stem(bare).into_owned()
    } else {
        bare.to_owned()
    }
}

/// The stemmer of English.
pub(crate) fn english() -> Stemmer {
    Stemmer::create(Algorithm::English)
}

/// A number for a sequence of letters: the same in every run of the program, since it is saved.
pub(crate) fn key(seed: u64, letters: impl IntoIterator<Item = char>) -> u64 {
    let mut h = seed ^ 0x9e37_79b9_7f4a_7c15;
    for c in letters {
        h = mix(h ^ u64::from(u32::from(c)));
    }
    h
}

/// Spreads a number over all its bits.
pub(crate) fn mix(mut h: u64) -> u64 {
    h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    h ^ (h >> 31)
}

fn end_of(text: &str, from: usize, keep: impl Fn(char) -> bool) -> usize {
    text[from..]
        .find(|c| !keep(c))
        .map_or(text.len(), |n| from + n)
}

/// A word may have an apostrophe within, not at its end.
fn end_of_word(text: &str, from: usize) -> usize {
    let part = |c: char| c.is_alphanumeric() && !is_cjk(c);
    let mut end = end_of(text, from, part);
    while let Some(c) = text[end..]
        .chars()
        .next()
        .filter(|c| matches!(c, '\'' | '’'))
    {
        let next = end + c.len_utf8();
        let after = end_of(text, next, part);
        if after == next {
            break;
        }
        end = after;
    }
    end
}

fn is_scheme(word: &str) -> bool {
    word.eq_ignore_ascii_case("http") || word.eq_ignore_ascii_case("https")
}

#[cfg(test)]
mod tests;
