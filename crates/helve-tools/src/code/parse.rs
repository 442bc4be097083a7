//! The grammars, and how a stranger's text is read by them.
//!
//! A grammar is a table, and for what a table cannot tell a scanner in C. Three of those
//! scanners fall over texts that can be written on purpose, and would take the whole hub with
//! them. So no text gets to them that could do it: it is changed where little is lost by it,
//! or not read at all. How far each may be trusted stands at its language.

mod ruby;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use tree_sitter::{ParseOptions, Parser, Tree};

/// A language that can be read.
pub(super) struct Language {
    pub(super) grammar: fn() -> tree_sitter::Language,
    /// The text as its scanner can take it; `None` if it cannot.
    tame: fn(&str) -> Option<Tame<'_>>,
}

/// A text that a scanner can take, every byte at its place.
struct Tame<'a> {
    text: Cow<'a, str>,
    /// What was left out: pieces that are text to the language, none within another.
    quoted: Vec<Range<usize>>,
}

impl<'a> From<Cow<'a, str>> for Tame<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self {
            text,
            quoted: Vec::new(),
        }
    }
}

/// A text that was read.
pub(super) struct Read {
    pub(super) tree: Tree,
    /// Pieces that are text to the language, and that the tree knows nothing of.
    pub(super) quoted: Vec<Range<usize>>,
}

pub(super) static RUST: Language = trusted(|| tree_sitter_rust::LANGUAGE.into());
pub(super) static TYPESCRIPT: Language =
    trusted(|| tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into());
pub(super) static TSX: Language = trusted(|| tree_sitter_typescript::LANGUAGE_TSX.into());
pub(super) static GO: Language = trusted(|| tree_sitter_go::LANGUAGE.into());
pub(super) static JAVA: Language = trusted(|| tree_sitter_java::LANGUAGE.into());
pub(super) static CPP: Language = trusted(|| tree_sitter_cpp::LANGUAGE.into());
pub(super) static C_SHARP: Language = trusted(|| tree_sitter_c_sharp::LANGUAGE.into());
pub(super) static PHP: Language = trusted(|| tree_sitter_php::LANGUAGE_PHP.into());
pub(super) static PHP_INSIDE: Language = trusted(|| tree_sitter_php::LANGUAGE_PHP_ONLY.into());

pub(super) static PYTHON: Language = Language {
    grammar: || tree_sitter_python::LANGUAGE.into(),
    tame: |text| is_shallow(text).then(|| Cow::Borrowed(text).into()),
};

pub(super) static RUBY: Language = Language {
    grammar: || tree_sitter_ruby::LANGUAGE.into(),
    tame: |text| Some(ruby::without_heredocs(text)),
};

pub(super) static BASH: Language = Language {
    grammar: || tree_sitter_bash::LANGUAGE.into(),
    tame: |text| Some(in_ascii(text).into()),
};

const fn trusted(grammar: fn() -> tree_sitter::Language) -> Language {
    Language {
        grammar,
        tame: |text| Some(Cow::Borrowed(text).into()),
    }
}

/// Reads a text; `None` if it is not to be read, or not in that time.
pub(super) fn parse(language: &Language, text: &str, within: Duration) -> Option<Read> {
    let end = Instant::now() + within;
    let tame = (language.tame)(text)?;
    let mut parser = Parser::new();
    parser.set_language(&(language.grammar)()).ok()?;
    let mut progress = |_: &_| until(end);
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut bytes = |at: usize, _| tame.text.as_bytes().get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut bytes, None, Some(options))?;
    Some(Read {
        tree,
        quoted: tame.quoted,
    })
}

pub(super) fn until(end: Instant) -> ControlFlow<()> {
    match Instant::now() < end {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    }
}

/// Bash asks of a character whether it is a digit by a table of 256. For the language, one
/// letter is as good as another.
fn in_ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let letters = text.chars().flat_map(|c| {
        let letter = if c.is_ascii() { c } else { 'x' };
        std::iter::repeat_n(letter, c.len_utf8())
    });
    Cow::Owned(letters.collect())
}

/// How many columns a line of Python may be moved in. Each level of indentation takes one at
/// least, and from 384 levels on the scanner may write its state past the end of its room.
const DEEPEST: usize = 320;

fn is_shallow(text: &str) -> bool {
    let mut columns = 0_usize;
    // Only what stands at the beginning of a line moves it in.
    let mut counting = true;
    let mut continued = false;
    for byte in text.bytes() {
        match byte {
            // A line that goes on in the next one counts with it.
            b'\n' if counting && continued => {}
            b'\\' | b'\r' if counting => {}
            b'\n' | b'\r' | b'\x0c' | b'\0' => (counting, columns) = (true, 0),
            b' ' if counting => columns += 1,
            b'\t' if counting => columns += 8,
            _ => counting = false,
        }
        continued = byte == b'\\' || (continued && byte == b'\r');
        if columns > DEEPEST {
            return false;
        }
    }
    true
}
