//! What an export is made of, seen before it is read.

use std::collections::HashMap;

use super::error::ReadError;
use super::lines::Lines;
use super::source::{Pass, Text};
use super::table::Rows;
use super::walk::Walk;

/// The longest value of a document that is kept, and all of them together.
const KEPT: usize = 1 << 20;
const KEPT_ALL: usize = 16 << 20;

/// What a file is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One object of JSON; also a single line of JSON.
    Document,
    /// One list of JSON.
    List,
    /// Lines of JSON.
    Lines,
    /// Anything else.
    Text,
}

/// What was seen.
pub(crate) struct Look {
    pub(crate) shape: Shape,
    /// The keys of the document, of the first element, or of the first line.
    pub(crate) keys: Vec<String>,
    /// The keys of the first message of a document.
    pub(crate) first: Vec<String>,
    /// The values of a document that are short.
    values: HashMap<String, Vec<u8>>,
    /// The first lines of a text.
    pub(crate) head: Vec<String>,
    /// The columns of its first line.
    pub(crate) columns: Vec<String>,
    pub(crate) delimiter: u8,
    /// It ends too early.
    cut: Option<u64>,
}

impl Look {
    fn new(shape: Shape) -> Self {
        Self {
            shape,
            keys: Vec::new(),
            first: Vec::new(),
            values: HashMap::new(),
            head: Vec::new(),
            columns: Vec::new(),
            delimiter: b',',
            cut: None,
        }
    }

    /// Whether it has all these keys.
    pub(crate) fn has(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.keys.iter().any(|k| k == key))
    }

    /// Whether its first message has all these keys.
    pub(crate) fn first_has(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.first.iter().any(|k| k == key))
    }

    /// Whether it is a text with all these columns.
    pub(crate) fn has_columns(&self, columns: &[&str]) -> bool {
        self.shape == Shape::Text && columns.iter().all(|c| self.column(c).is_some())
    }

    /// Which column that is.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c == name)
    }

    /// Whether it can be lines of JSON: one line is also one document.
    pub(crate) fn lines(&self) -> bool {
        matches!(self.shape, Shape::Lines | Shape::Document)
    }

    /// A value of the document.
    pub(crate) fn value<T: serde::de::DeserializeOwned + Default>(&self, key: &str) -> T {
        let raw = self.values.get(key);
        raw.and_then(|raw| serde_json::from_slice(raw).ok())
            .unwrap_or_default()
    }

    /// Whether what stands under a key is a plain text.
    pub(crate) fn is_text(&self, key: &str) -> bool {
        let raw = self.values.get(key).and_then(|raw| raw.first());
        raw == Some(&b'"')
    }

    /// Takes in a line of JSON.
    fn line(line: &str) -> Self {
        let mut look = Self::new(Shape::Lines);
        look.keys = keys(line.as_bytes());
        let values: HashMap<String, serde_json::Value> =
            serde_json::from_str(line).unwrap_or_default();
        let values = values.into_iter();
        look.values = values
            .map(|(key, value)| (key, value.to_string().into_bytes()))
            .collect();
        look
    }

    /// Whether a mapping can be laid over it.
    pub(crate) fn mappable(&self) -> bool {
        self.is_table()
            || matches!(self.shape, Shape::Lines | Shape::List)
            || (self.shape == Shape::Document && !self.has(&["messages"]) && !self.has(&["chats"]))
    }

    /// Whether it is rows of columns.
    pub(crate) fn is_table(&self) -> bool {
        self.shape == Shape::Text && self.columns.len() > 1
    }

    /// Why nobody reads it.
    pub(crate) fn unknown(&self) -> ReadError {
        if let Some(place) = self.cut {
            return ReadError::Cut { place };
        }
        let list = |names: &[String]| {
            let shown: Vec<_> = names.iter().take(12).map(|n| format!("`{n}`")).collect();
            shown.join(", ")
        };
        let seen = match self.shape {
            Shape::Document => format!("a JSON document with the keys {}", list(&self.keys)),
            Shape::List => format!("a JSON list whose elements have {}", list(&self.keys)),
            Shape::Lines => format!("lines of JSON with the keys {}", list(&self.keys)),
            Shape::Text if self.is_table() => {
                format!("a table with the columns {}", list(&self.columns))
            }
            Shape::Text => {
                let line = self.head.iter().find(|l| !l.trim().is_empty());
                let line: String = line.map_or("", |l| l).chars().take(80).collect();
                format!("a text that begins with `{line}`")
            }
        };
        ReadError::Unknown { seen }
    }
}

/// Looks at a file.
pub(crate) fn look(text: &mut Text<'_>) -> Result<Look, ReadError> {
    let head = head(text)?;
    let mut said = head.iter().map(|l| l.trim()).filter(|l| !l.is_empty());
    let Some(first) = said.next() else {
        return Err(ReadError::Empty);
    };
    let remark = first.starts_with('#') && said.clone().any(|l| l.starts_with('{'));
    if remark {
        let line = said.find(|l| l.starts_with('{')).unwrap_or_default();
        return Ok(Look::line(line));
    }
    let list = first.strip_prefix('[').map(str::trim_start);
    let list = list.is_some_and(|rest| match rest.chars().next() {
        Some(next) => matches!(next, '{' | ']'),
        None => said.next().is_none_or(|l| l.starts_with(['{', ']'])),
    });
    if !first.starts_with('{') && !list {
        return Ok(table(head));
    }
    let mut look = survey(text)?;
    let second = head
        .iter()
        .map(|l| l.trim())
        .filter(|l| !l.is_empty())
        .nth(1);
    if look.cut.is_some() && second.is_some_and(|l| l.starts_with('{')) && !list {
        // A first line that is broken does not hide that these are lines.
        let whole = |l: &&String| serde_json::from_str::<serde_json::Value>(l).is_ok();
        if let Some(line) = head.iter().filter(|l| !l.trim().is_empty()).find(whole) {
            look = Look::line(line);
        }
    }
    Ok(look)
}

/// The first lines, as far as they are short.
fn head(text: &mut Text<'_>) -> Result<Vec<String>, ReadError> {
    let mut lines = Lines::new(text.open(Pass::Ahead)?);
    let mut head = Vec::new();
    let mut size = 0;
    while head.len() < 60 && size < (4 << 20) {
        let Some(line) = lines.next()? else { break };
        let bytes = line.bytes.unwrap_or_default();
        size += bytes.len();
        let end = bytes.len().min(1 << 20);
        head.push(String::from_utf8_lossy(&bytes[..end]).into_owned());
    }
    Ok(head)
}

/// What a document is made of: one pass over it, in which messages are passed over.
fn survey(text: &mut Text<'_>) -> Result<Look, ReadError> {
    let mut walk = Walk::new(text.open(Pass::Ahead)?);
    let list = walk.peek()? == Some(b'[');
    let mut look = Look::new(if list { Shape::List } else { Shape::Document });
    let result = match list {
        true => survey_list(&mut walk).map(|keys| look.keys = keys),
        false => survey_object(&mut walk, &mut look),
    };
    match result {
        Ok(()) => {}
        Err(ReadError::Cut { place } | ReadError::Broken { place, .. }) => look.cut = Some(place),
        Err(error) => return Err(error),
    }
    Ok(look)
}

fn survey_list<R: std::io::BufRead>(walk: &mut Walk<R>) -> Result<Vec<String>, ReadError> {
    let mut raw = Vec::new();
    let mut found = Vec::new();
    if walk.enter(b'[')? {
        // The first may be broken; that all are is seen soon enough.
        let mut tries = 0;
        while found.is_empty() && tries < 50 && walk.element()? {
            tries += 1;
            if walk.take(&mut raw)? {
                found = keys(&raw);
            }
        }
    }
    Ok(found)
}

fn survey_object<R: std::io::BufRead>(
    walk: &mut Walk<R>,
    look: &mut Look,
) -> Result<(), ReadError> {
    let mut kept = 0;
    let mut raw = Vec::new();
    walk.enter(b'{')?;
    while let Some(key) = walk.key()? {
        look.keys.push(key.clone());
        if key == "messages" {
            if walk.enter(b'[')? {
                while walk.element()? {
                    if look.first.is_empty() && walk.take(&mut raw)? {
                        look.first = keys(&raw);
                    } else {
                        walk.skip()?;
                    }
                }
            }
            continue;
        }
        if matches!(&*key, "chats" | "left_chats" | "members") {
            walk.skip()?;
            continue;
        }
        if walk.take(&mut raw)? && raw.len() <= KEPT && kept + raw.len() <= KEPT_ALL {
            kept += raw.len();
            look.values.insert(key, raw.clone());
        }
    }
    if walk.peek()?.is_some() {
        look.shape = Shape::Lines;
    }
    Ok(())
}

/// The keys of an object.
fn keys(raw: &[u8]) -> Vec<String> {
    type Object = serde_json::Map<String, serde_json::Value>;
    let text = String::from_utf8_lossy(raw);
    let object: Object = serde_json::from_str(&text).unwrap_or_default();
    object.into_iter().map(|(key, _)| key).collect()
}

/// A text: what its first line is as the head of a table.
fn table(head: Vec<String>) -> Look {
    let mut look = Look::new(Shape::Text);
    let first = head.iter().find(|l| !l.trim().is_empty());
    if let Some(first) = first {
        for delimiter in [b',', b';', b'\t'] {
            let mut rows = Rows::new(first.as_bytes(), delimiter);
            let Ok(Some((row, _))) = rows.next() else {
                continue;
            };
            if row.len() > look.columns.len() {
                let name = |n| row.field(n).unwrap_or_default().trim().to_owned();
                look.columns = (0..row.len()).map(name).collect();
                look.delimiter = delimiter;
            }
        }
    }
    look.head = head;
    look
}

/// What a file's name says of the chat.
pub(crate) fn title(name: &str) -> String {
    let mut parts = name.rsplit(['/', '\\']).map(stem);
    let own = parts.next().unwrap_or_default();
    let plain = matches!(own, "_chat" | "result" | "messages" | "manifest" | "chat");
    let own = match parts.next() {
        Some(folder) if plain && !folder.is_empty() => folder,
        _ => own,
    };
    for words in [
        "WhatsApp Chat with ",
        "WhatsApp Chat - ",
        "WhatsApp-Chat mit ",
        "Chat de WhatsApp con ",
        "Discussion WhatsApp avec ",
        "Conversa do WhatsApp com ",
        "Chat WhatsApp con ",
        "WhatsApp 聊天 - ",
        "WhatsApp 对话 - ",
        "与",
    ] {
        if let Some(rest) = own.strip_prefix(words) {
            let rest = rest.strip_suffix("的 WhatsApp 聊天").unwrap_or(rest);
            let rest = rest.strip_suffix("的 WhatsApp 对话").unwrap_or(rest);
            if words != "与" || !rest.is_empty() {
                return rest.trim().to_owned();
            }
        }
    }
    own.to_owned()
}

fn stem(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && ending.len() <= 6 && !ending.contains(' ') => {
            stem
        }
        _ => name,
    }
}
