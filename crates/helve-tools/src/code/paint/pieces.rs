//! The pieces of a text: a query asked about its tree, and the answers laid flat.

use std::cmp::Reverse;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use tree_sitter::{QueryCursor, QueryCursorOptions, StreamingIterator as _, Tree};

use super::Paint;
use super::palette::{Colour, Ready};
use crate::code::analyze;
use crate::code::parse::{Read, parse, until};

/// Longer texts are left plain.
const LARGEST: usize = 256 * 1024;

/// How long it may take altogether.
const LONGEST: Duration = Duration::from_millis(500);

/// How much may lie side by side in an error. A query looks from each at all that follow, so
/// that with a hundred thousand brackets it would hardly get to where its time is looked at.
const WIDEST: u32 = 10_000;

/// How many matches of a query may be open at a time; a good text has a handful.
const OPEN: u32 = 1024;

pub(super) fn pieces(path: &str, text: &str) -> Vec<(Range<usize>, Paint)> {
    if text.len() > LARGEST {
        return Vec::new();
    }
    let palette = analyze::grammar(Path::new(path)).map(|g| (g.palette)(text));
    let Some((palette, ready)) = palette.and_then(|p| Some((p, p.ready()?))) else {
        return Vec::new();
    };
    let end = Instant::now() + LONGEST;
    let read = parse(palette.language, text, LONGEST).filter(|r| is_narrow(&r.tree));
    let Some(read) = read else {
        return Vec::new();
    };
    flat(said(ready, &read, text, end), text)
}

fn is_narrow(tree: &Tree) -> bool {
    if !tree.root_node().has_error() {
        return true;
    }
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_error() && node.child_count() > WIDEST {
            return false;
        }
        // Only where there is an error inside is it worth going in.
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return true;
            }
        }
    }
}

/// A piece as a query names it. Of two about the same piece, the later pattern counts.
struct Said {
    range: Range<usize>,
    pattern: usize,
    colour: Colour,
}

/// What the query says, the outer before the inner.
fn said(ready: &Ready, read: &Read, text: &str, end: Instant) -> Vec<Said> {
    let mut cursor = QueryCursor::new();
    cursor.set_match_limit(OPEN);
    let mut progress = |_: &_| until(end);
    let options = QueryCursorOptions::new().progress_callback(&mut progress);
    let mut matches = cursor.matches_with_options(
        &ready.query,
        read.tree.root_node(),
        text.as_bytes(),
        options,
    );
    let quoted = read.quoted.iter().map(|range| Said {
        range: range.clone(),
        pattern: usize::MAX,
        colour: Some(Paint::String),
    });
    let mut said: Vec<Said> = quoted.collect();
    while let Some(found) = matches.next() {
        for capture in found.captures() {
            let colour = ready.colours.get(capture.index as usize).copied().flatten();
            if let Some(colour) = colour {
                said.push(Said {
                    range: capture.node.byte_range(),
                    pattern: found.pattern_index,
                    colour,
                });
            }
        }
    }
    said.sort_by_key(|s| (s.range.start, Reverse(s.range.end), s.pattern));
    said
}

/// Nested pieces laid side by side: everywhere, the innermost counts.
fn flat(said: Vec<Said>, text: &str) -> Vec<(Range<usize>, Paint)> {
    let mut laid = Laid {
        text,
        pieces: Vec::new(),
        until: 0,
    };
    let mut open: Vec<Said> = Vec::new();
    for inner in said {
        while let Some(outer) = open.pop_if(|o| o.range.end <= inner.range.start) {
            laid.lay(outer.range.end, outer.colour);
        }
        if let Some(outer) = open.last() {
            laid.lay(inner.range.start, outer.colour);
        }
        laid.until = laid.until.max(inner.range.start);
        open.pop_if(|o| o.range == inner.range);
        open.push(inner);
    }
    while let Some(outer) = open.pop() {
        laid.lay(outer.range.end, outer.colour);
    }
    laid.pieces
}

struct Laid<'a> {
    text: &'a str,
    pieces: Vec<(Range<usize>, Paint)>,
    until: usize,
}

impl Laid<'_> {
    /// Lays a colour from where the last one ended. Neighbours of one colour are one piece.
    fn lay(&mut self, end: usize, colour: Colour) {
        let range = self.until..end;
        if range.is_empty() {
            return;
        }
        self.until = end;
        let (Some(paint), Some(_)) = (colour, self.text.get(range.clone())) else {
            return;
        };
        match self.pieces.last_mut() {
            Some((last, of)) if last.end == range.start && *of == paint => last.end = range.end,
            _ => self.pieces.push((range, paint)),
        }
    }
}
