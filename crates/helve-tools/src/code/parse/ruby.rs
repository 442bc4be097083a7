//! Ruby without heredocs.
//!
//! Its scanner keeps the words of the heredocs that are open, their lengths in one byte each,
//! all of them in a room of which it miscounts the end. So it is given none: a heredoc becomes
//! a name where it is named, and its lines become blank.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::Tame;

/// The same text, each byte at its place, without anything that could open a heredoc.
pub(super) fn without_heredocs(text: &str) -> Tame<'_> {
    if !text.contains("<<") {
        return Cow::Borrowed(text).into();
    }
    let mut flat = Flat {
        text,
        bytes: text.as_bytes().to_vec(),
        lines: Lines::of(text),
        taken: 0,
        quoted: Vec::new(),
    };
    for at in 0..text.len() {
        // Looked for in what is left of the text: lines of a heredoc are gone by then.
        if flat.bytes[at..].starts_with(b"<<") {
            flat.mark(at);
        }
    }
    let Flat { bytes, quoted, .. } = flat;
    Tame {
        // Only whole characters were written over; were it otherwise, nothing would be read.
        text: Cow::Owned(String::from_utf8(bytes).unwrap_or_default()),
        quoted,
    }
}

struct Flat<'a> {
    text: &'a str,
    bytes: Vec<u8>,
    lines: Lines<'a>,
    /// Up to where lines belong to a heredoc.
    taken: usize,
    quoted: Vec<Range<usize>>,
}

/// Where each line stands, so that a text full of marks is not searched for each of them.
struct Lines<'a> {
    starts: Vec<usize>,
    /// Which are nothing but a comment.
    comments: Vec<bool>,
    /// Those that could end a heredoc, by what they say.
    saying: HashMap<&'a str, Vec<Range<usize>>>,
    /// The same, without the space before it.
    indented: HashMap<&'a str, Vec<Range<usize>>>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let mut lines = Self {
            starts: Vec::new(),
            comments: Vec::new(),
            saying: HashMap::new(),
            indented: HashMap::new(),
        };
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let said = line.trim_end_matches(['\n', '\r']);
            let range = at..at + said.len();
            let bare = said.trim_start();
            lines.comments.push(bare.starts_with('#'));
            lines.indented.entry(bare).or_default().push(range.clone());
            lines.saying.entry(said).or_default().push(range);
            lines.starts.push(at);
            at += line.len();
        }
        lines
    }

    /// Where the line after this place begins.
    fn after(&self, at: usize) -> Option<usize> {
        let next = self.starts.partition_point(|start| *start <= at);
        self.starts.get(next).copied()
    }

    /// Whether this place is on a line that is a comment.
    fn is_comment(&self, at: usize) -> bool {
        let next = self.starts.partition_point(|start| *start <= at);
        next.checked_sub(1).is_some_and(|this| self.comments[this])
    }

    /// The end of the first line from there on that ends this heredoc.
    fn end(&self, mark: &Mark<'_>, from: usize) -> Option<usize> {
        let by_word = if mark.indented {
            &self.indented
        } else {
            &self.saying
        };
        let lines = by_word.get(mark.word)?;
        let first = lines.partition_point(|line| line.start < from);
        lines.get(first).map(|line| line.end)
    }
}

impl Flat<'_> {
    /// A heredoc, if its end is found; otherwise something is shifted or added to.
    fn mark(&mut self, at: usize) {
        let Some(mark) = Mark::read(&self.text[at + 2..]) else {
            return;
        };
        let end = at + 2 + mark.length;
        let lines = match self.is_said(at) {
            true => None,
            false => self.lines(end, &mark),
        };
        match lines {
            Some(lines) => {
                // With a space first: another `<<` may stand before it.
                self.bytes[at..end].fill(b'x');
                self.bytes[at] = b' ';
                for byte in &mut self.bytes[lines.clone()] {
                    if *byte != b'\n' {
                        *byte = b' ';
                    }
                }
                self.taken = lines.end;
                self.quoted.extend([at..end, lines]);
            }
            None => self.bytes[at..at + 2].copy_from_slice(b"+ "),
        }
    }

    /// Whether a mark is only talked about: in a comment of its own, or first in a text.
    fn is_said(&self, at: usize) -> bool {
        self.lines.is_comment(at) || self.text[..at].ends_with(['"', '\'', '`', '/'])
    }

    /// The lines of a heredoc, with the one that ends it: from the line after its mark, or
    /// after the lines of the one before it.
    fn lines(&self, mark_end: usize, mark: &Mark<'_>) -> Option<Range<usize>> {
        let start = self.lines.after(mark_end)?.max(self.taken);
        Some(start..self.lines.end(mark, start)?)
    }
}

/// What stands after `<<`.
struct Mark<'a> {
    word: &'a str,
    /// Whether the word may stand further in where it ends.
    indented: bool,
    /// Of all after `<<`.
    length: usize,
}

impl<'a> Mark<'a> {
    fn read(rest: &'a str) -> Option<Self> {
        let named = rest.strip_prefix(['-', '~']).unwrap_or(rest);
        let before = rest.len() - named.len();
        let quote = named.chars().next().filter(|c| "\"'`".contains(*c));
        let (word, length) = match quote {
            Some(quote) => {
                let inner = &named[1..];
                let length = inner.find(quote).unwrap_or(inner.len());
                (&inner[..length], (length + 2).min(named.len()))
            }
            None => {
                let length = named.find(ends_a_word).unwrap_or(named.len());
                (&named[..length], length)
            }
        };
        (length > 0).then_some(Self {
            word,
            indented: before > 0,
            length: before + length,
        })
    }
}

/// Beyond ASCII, what is a letter depends on the machine: anything may be.
fn ends_a_word(c: char) -> bool {
    c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_'
}
