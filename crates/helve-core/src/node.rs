//! A parsed document that remembers where each part stood.
//!
//! Every reader (JSON, TOML, YAML, Python, Erlang, JavaScript, `SKILL.md`) ends in a
//! [`Node`], so that everything after it speaks of one shape and every finding
//! can name a line. Keys keep their order; a key given twice never gets this far.

use serde_json::{Map, Number, Value};

/// A value and the byte at which it began.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Byte offset of the first character.
    pub at: usize,
    /// What stands there.
    pub kind: Kind,
}

/// What a [`Node`] holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// `null`, `None`, `undefined`.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number that JSON can hold exactly as it was written.
    Number(Number),
    /// Text.
    String(String),
    /// A list.
    Array(Vec<Node>),
    /// Keys and values in the order of the file.
    Object(Vec<Entry>),
}

/// One key of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Byte offset of the key.
    pub at: usize,
    /// The key.
    pub key: String,
    /// Its value.
    pub value: Node,
}

impl Node {
    /// A node of `kind` that began at byte `at`.
    pub fn new(at: usize, kind: Kind) -> Self {
        Self { at, kind }
    }

    /// A text node.
    pub fn string(at: usize, text: impl Into<String>) -> Self {
        Self::new(at, Kind::String(text.into()))
    }

    /// The value of `key`, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.kind {
            Kind::Object(entries) => entries.iter().find(|e| e.key == key).map(|e| &e.value),
            _ => None,
        }
    }

    /// The text, if this is text.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::String(text) => Some(text),
            _ => None,
        }
    }

    /// The same value without its places.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(b) => Value::Bool(*b),
            Kind::Number(n) => Value::Number(n.clone()),
            Kind::String(s) => Value::String(s.clone()),
            Kind::Array(items) => Value::Array(items.iter().map(Node::to_value).collect()),
            Kind::Object(entries) => Value::Object(
                entries
                    .iter()
                    .map(|e| (e.key.clone(), e.value.to_value()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// Where `pointer` (RFC 6901) stands, or the deepest part of it that exists.
    pub fn locate(&self, pointer: &str) -> usize {
        let mut node = self;
        let mut at = self.at;
        for part in pointer.split('/').skip(1) {
            let part = unescape(part);
            match &node.kind {
                Kind::Object(entries) => match entries.iter().find(|e| e.key == part) {
                    Some(entry) => {
                        at = entry.at;
                        node = &entry.value;
                    }
                    None => break,
                },
                Kind::Array(items) => match part.parse().ok().and_then(|i: usize| items.get(i)) {
                    Some(item) => {
                        at = item.at;
                        node = item;
                    }
                    None => break,
                },
                _ => break,
            }
        }
        at
    }
}

/// A place in a text, both counted from 1; columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Place {
    /// The place of byte `at` of `text`.
    pub fn of(text: &str, at: usize) -> Self {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &text[..at];
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        Self {
            line: before.bytes().filter(|b| *b == b'\n').count() + 1,
            column: before[start..].chars().count() + 1,
        }
    }
}

/// Where the lines of a text begin: for many places in one text.
#[derive(Debug, Clone, Default)]
pub struct Lines(Vec<usize>);

impl Lines {
    /// Looks through a text once.
    pub fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        Self(
            std::iter::once(0)
                .chain(breaks.map(|(at, _)| at + 1))
                .collect(),
        )
    }

    /// The place of byte `at` of the same text.
    pub fn place(&self, text: &str, at: usize) -> Place {
        let at = at.min(text.len());
        let line = self.0.partition_point(|start| *start <= at).max(1);
        let start = self.0.get(line - 1).copied().unwrap_or(0);
        let place = Place::of(&text[start..], at - start);
        Place { line, ..place }
    }

    /// The text of a line, from 1.
    pub fn line<'t>(&self, text: &'t str, number: usize) -> Option<&'t str> {
        let start = *self.0.get(number.checked_sub(1)?)?;
        text[start..].lines().next()
    }
}

/// One step of a JSON pointer, escaped.
pub fn escape(part: &str) -> String {
    if !part.contains(['~', '/']) {
        return part.to_owned();
    }
    part.replace('~', "~0").replace('/', "~1")
}

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}
