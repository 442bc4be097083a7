//! YAML 1.2 (core schema), from `saphyr-parser`'s events.
//!
//! Aliases expand under a budget, so that nine lines cannot become a billion
//! nodes. Tags other than the core ones, merge keys, `.inf` and `.nan` are
//! refused: JSON has no place for them. Several documents become a list.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use super::copies::{Copies, Original};
use super::{MAX_DEPTH, Problem, ReadError, number, push_entry, refuse_doubles, syntax};
use crate::node::{Entry, Kind, Node};

pub(super) fn read(text: &str) -> Result<Node, ReadError> {
    let mut reader = Reader {
        parser: Parser::new_from_str(text),
        text,
        offsets: Offsets::new(text),
        anchors: HashMap::new(),
        copies: Copies::new(),
    };
    let mut documents = Vec::new();
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamEnd => break,
            Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => {}
            event => {
                reader.anchors.clear();
                documents.push(reader.node(event, span, 0)?);
            }
        }
    }
    documents.retain(|d| d.kind != Kind::Null);
    match documents.len() {
        0 => Err(syntax(0, "the text is empty")),
        1 => Ok(documents.swap_remove(0)),
        _ => Ok(Node::new(0, Kind::Array(documents))),
    }
}

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    text: &'t str,
    offsets: Offsets,
    anchors: HashMap<usize, Original>,
    copies: Copies,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), ReadError> {
        match self.parser.next_event() {
            Some(Ok(pair)) => Ok(pair),
            Some(Err(e)) => Err(self.refuse(&e)),
            None => Err(Problem::Truncated("a document").at(self.text.len())),
        }
    }

    fn refuse(&self, error: &ScanError) -> ReadError {
        let at = self.offsets.byte(error.marker().index());
        if error.info().contains("recursion") {
            return Problem::TooDeep.at(at);
        }
        syntax(at, format!("not YAML: {}", error.info()))
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, ReadError> {
        let at = self.offsets.byte(span.start.index());
        if depth > MAX_DEPTH {
            return Err(Problem::TooDeep.at(at));
        }
        let (kind, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                (scalar(&text, style, tag.as_deref(), at)?, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                core_tag(tag.as_deref(), "seq", at)?;
                (self.sequence(depth)?, anchor)
            }
            Event::MappingStart(anchor, tag) => {
                core_tag(tag.as_deref(), "map", at)?;
                (self.mapping(depth)?, anchor)
            }
            Event::Alias(id) => return self.alias(id, at, depth),
            _ => return Err(syntax(at, "not YAML: a value was expected")),
        };
        let node = Node::new(at, kind);
        if anchor == 0 {
            return Ok(node);
        }
        // A named value is kept beside the one in its place, which is a copy, too:
        // names of values in named values would each hold the innermost again.
        let original = Original::new(node);
        let node = self.copies.copy(&original, depth, at)?;
        self.anchors.insert(anchor, original);
        Ok(node)
    }

    fn sequence(&mut self, depth: usize) -> Result<Kind, ReadError> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                return Ok(Kind::Array(items));
            }
            items.push(self.node(event, span, depth + 1)?);
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Kind, ReadError> {
        let mut entries = Vec::new();
        loop {
            let (event, span) = self.next()?;
            let at = self.offsets.byte(span.start.index());
            let key = match event {
                Event::MappingEnd => {
                    refuse_doubles(&entries, self.text)?;
                    return Ok(Kind::Object(entries));
                }
                Event::Scalar(key, ..) if key == "<<" => {
                    let hint = "merge keys (`<<`) are not YAML 1.2; write the keys out";
                    return Err(syntax(at, hint));
                }
                Event::Scalar(key, ..) => key.into_owned(),
                _ => return Err(syntax(at, "a key must be plain text")),
            };
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            push_entry(&mut entries, Entry { at, key, value }, self.text)?;
        }
    }

    fn alias(&mut self, id: usize, at: usize, depth: usize) -> Result<Node, ReadError> {
        match self.anchors.get(&id) {
            Some(target) => self.copies.copy(target, depth, at),
            None => Err(syntax(at, "an alias stands inside the value that it names")),
        }
    }
}

fn core_tag(tag: Option<&Tag>, name: &str, at: usize) -> Result<(), ReadError> {
    match tag {
        None => Ok(()),
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == name => Ok(()),
        Some(tag) => Err(unknown_tag(tag, at)),
    }
}

fn unknown_tag(tag: &Tag, at: usize) -> ReadError {
    let message = format!("the tag `{}{}` is not known here", tag.handle, tag.suffix);
    syntax(at, message)
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, at: usize) -> Result<Kind, ReadError> {
    if let Some(tag) = tag {
        if tag.is_yaml_core_schema() && tag.suffix == "str" {
            return Ok(Kind::String(text.to_owned()));
        }
        let plain = plain(text, at)?;
        let fits = match (&plain, tag.suffix.as_str()) {
            (Kind::Null, "null") | (Kind::Bool(_), "bool") => true,
            (Kind::Number(n), "int") => !n.is_f64(),
            (Kind::Number(_), "float") => true,
            _ => false,
        };
        return match fits && tag.is_yaml_core_schema() {
            true => Ok(plain),
            false => Err(unknown_tag(tag, at)),
        };
    }
    match style {
        ScalarStyle::Plain => plain(text, at),
        _ => Ok(Kind::String(text.to_owned())),
    }
}

/// The core schema of YAML 1.2: `no` and `on` are text here.
fn plain(text: &str, at: usize) -> Result<Kind, ReadError> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Bool(true),
        "false" | "False" | "FALSE" => Kind::Bool(false),
        _ if matches!(unsigned, ".inf" | ".Inf" | ".INF")
            || matches!(text, ".nan" | ".NaN" | ".NAN") =>
        {
            return Err(Problem::Number(text.to_owned()).at(at));
        }
        _ if text.starts_with("0x") || text.starts_with("0o") => {
            let radix = if text.starts_with("0x") { 16 } else { 8 };
            let digits = &text[2..];
            match digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
                true => Kind::String(text.to_owned()),
                false => Kind::Number(
                    u64::from_str_radix(digits, radix)
                        .map_err(|_| Problem::Number(text.to_owned()).at(at))?
                        .into(),
                ),
            }
        }
        _ if is_number(unsigned) => {
            let digits = text.strip_prefix('+').unwrap_or(text);
            Kind::Number(number(digits, at)?)
        }
        _ => Kind::String(text.to_owned()),
    })
}

/// `[0-9]+`, or `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn is_number(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((m, e)) => (m, Some(e.strip_prefix(['-', '+']).unwrap_or(e))),
        None => (text, None),
    };
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let mantissa = match mantissa.split_once('.') {
        None => digits(mantissa),
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && (fraction.is_empty() || digits(fraction)),
    };
    mantissa && exponent.is_none_or(digits)
}

/// From the parser's character index to a byte offset. The end of the text, which
/// has no character, is a place too.
struct Offsets {
    table: Option<Vec<u32>>,
    end: usize,
}

impl Offsets {
    fn new(text: &str) -> Self {
        let bytes = |(at, _): (usize, char)| u32::try_from(at).unwrap_or(u32::MAX);
        Self {
            table: (!text.is_ascii()).then(|| text.char_indices().map(bytes).collect()),
            end: text.len(),
        }
    }

    fn byte(&self, index: usize) -> usize {
        let at = match &self.table {
            None => Some(index),
            Some(table) => table.get(index).and_then(|at| usize::try_from(*at).ok()),
        };
        at.unwrap_or(self.end).min(self.end)
    }
}
