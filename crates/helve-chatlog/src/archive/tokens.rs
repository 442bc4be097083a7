//! What the index holds of a text: its words, and pairs of letters where words have no
//! blanks between them.
//!
//! A text is cut into runs of one class of letters each. The class of a letter depends on
//! nothing but the letter, so a keyword is cut in the same places as the text that holds it,
//! save at its two ends. That is what makes the index usable for literal search.

use std::ops::Range;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// A longer word is not an entry of its own: such are hashes and links, and each is new.
pub(super) const LONGEST: usize = 40;

/// The entry of every message with a word that is too long.
pub(super) const LONG: &str = "\u{1}";

/// What a letter is to the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Of a word with blanks around it.
    Word,
    /// Of a script without blanks: by pairs.
    Pair,
    /// A picture: an entry by itself.
    Symbol,
    /// Not in the index.
    Break,
}

pub(super) fn class(c: char) -> Class {
    match c {
        '\0'..='\x7F' if c.is_ascii_alphanumeric() => Class::Word,
        '\0'..='\x7F' => Class::Break,
        '\u{E00}'..='\u{EFF}'
        | '\u{1000}'..='\u{109F}'
        | '\u{1780}'..='\u{17FF}'
        | '\u{2E80}'..='\u{2FDF}'
        | '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7AF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}' => Class::Pair,
        c if c.is_alphanumeric() => Class::Word,
        '\u{3000}'..='\u{303F}' | '\u{FE30}'..='\u{FE4F}' => Class::Break,
        '\u{2190}'.. => Class::Symbol,
        _ => Class::Break,
    }
}

/// The runs of a text, without those that are not in the index.
pub(super) struct Runs<'t> {
    text: &'t str,
    at: usize,
}

pub(super) fn runs(text: &str) -> Runs<'_> {
    Runs { text, at: 0 }
}

impl Iterator for Runs<'_> {
    type Item = (Class, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let mut chars = self.text[self.at..].char_indices();
        let base = self.at;
        let (kind, start) = chars.find_map(|(i, c)| match class(c) {
            Class::Break => None,
            kind => Some((kind, base + i)),
        })?;
        let end = match kind {
            Class::Symbol => None,
            _ => chars
                .find(|(_, c)| class(*c) != kind)
                .map(|(i, _)| base + i),
        };
        // A picture stands alone, so that two of them are two entries.
        let end = end.unwrap_or_else(|| match kind {
            Class::Symbol => start + self.text[start..].chars().next().map_or(0, char::len_utf8),
            _ => self.text.len(),
        });
        self.at = end;
        Some((kind, start..end))
    }
}

/// The pairs of a run, as ranges of it; a letter alone is its own entry.
pub(super) fn pairs(run: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let starts = || run.char_indices().map(|(i, _)| i);
    let ends = starts().skip(2).chain(std::iter::once(run.len()));
    let count = starts().count().saturating_sub(1).max(1);
    starts()
        .zip(ends)
        .take(count)
        .map(|(start, end)| start..end)
}

/// Which entries of a text a field has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entries {
    /// Words.
    Words,
    /// Pairs and pictures.
    Pairs,
}

impl Tokenizer for Entries {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        Stream {
            entries: *self,
            runs: runs(text),
            pending: 0..0,
            token: Token::default(),
        }
    }
}

/// The entries of one text.
pub(super) struct Stream<'t> {
    entries: Entries,
    runs: Runs<'t>,
    /// What is left of a run that is taken by pairs.
    pending: Range<usize>,
    token: Token,
}

impl Stream<'_> {
    fn set(&mut self, entry: Range<usize>) {
        self.token.text.clear();
        self.token.text.push_str(&self.runs.text[entry]);
    }

    /// The next pair of the run in hand.
    fn pair(&mut self) -> bool {
        let rest = &self.runs.text[self.pending.clone()];
        let mut lengths = rest.chars().map(char::len_utf8);
        let (Some(first), Some(second)) = (lengths.next(), lengths.next()) else {
            return false;
        };
        let start = self.pending.start;
        self.pending.start += first;
        self.set(start..start + first + second);
        true
    }
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        self.token.position = self.token.position.wrapping_add(1);
        if self.pair() {
            return true;
        }
        while let Some((kind, run)) = self.runs.next() {
            match (kind, self.entries) {
                (Class::Word, Entries::Words) => {
                    match self.runs.text[run.clone()].chars().nth(LONGEST).is_some() {
                        true => LONG.clone_into(&mut self.token.text),
                        false => self.set(run),
                    }
                    return true;
                }
                (Class::Symbol, Entries::Pairs) => {
                    self.set(run);
                    return true;
                }
                (Class::Pair, Entries::Pairs) => {
                    self.pending = run.clone();
                    if !self.pair() {
                        self.set(run);
                    }
                    return true;
                }
                _ => {}
            }
        }
        false
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

#[cfg(test)]
mod tests;
