//! Code in colours: which piece of a text is a comment, which a name, which a number.
//!
//! Who shows code (a page, a terminal) has colours of its own, so it is only said what a piece
//! is. The grammars bring queries that tell; what those leave out or say otherwise than the
//! others stands in `paint/*.scm`, and counts over them.
//!
//! - *A text is mostly a fragment*: the lines of one side of a diff. A tree with errors is as
//!   good as another, and what no query knows is left plain.
//! - *A text is mostly a stranger's.* Its length and the time that it takes have a limit. What
//!   is found within them is told.

use std::ops::Range;

/// What a piece of code is, for whoever colours it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Paint {
    /// Said to people, not to the machine.
    Comment,
    /// Text, a character, a pattern, a symbol.
    String,
    /// A number.
    Number,
    /// A word of the language.
    Keyword,
    /// A type, a class, a variant.
    Type,
    /// What is called, or defined to be.
    Function,
    /// A value that has a name and stays: `true`, `nil`, `MAX_SIZE`.
    Constant,
    /// A field, a key, an attribute.
    Property,
}

/// The coloured pieces of a text, in order, without overlap; nothing for a language that is not known.
///
/// The language is told by the end of the path, the same as for `code_analyze`.
#[cfg(feature = "code")]
#[must_use]
pub fn paint(path: &str, text: &str) -> Vec<(Range<usize>, Paint)> {
    pieces::pieces(path, text)
}

/// Nothing: the grammars are left out of this build.
#[cfg(not(feature = "code"))]
#[must_use]
pub fn paint(_path: &str, _text: &str) -> Vec<(Range<usize>, Paint)> {
    Vec::new()
}

#[cfg(feature = "code")]
pub(super) mod palette;
#[cfg(feature = "code")]
mod pieces;
#[cfg(all(test, feature = "code"))]
mod tests;
