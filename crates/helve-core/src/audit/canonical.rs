//! The canonical form of a value (RFC 8785).
//!
//! Every record is brought into it before it is hashed, on the path of every call,
//! so what records are made of is written here directly: a value that is already in
//! memory needs one pass. How a fraction is written is left to the crate that knows;
//! a test holds both to the same bytes.

use std::io::Write as _;

use serde_json::{Number, Value};

/// A value that has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it has no canonical form: {0}")]
pub struct NotCanonical(String);

/// The canonical bytes of a value: keys sorted, numbers and strings written in one way.
///
/// RFC 8785 knows only doubles, and would write two whole numbers beyond 2^53 in one
/// way. Here such a number stands as `{"$integer": "<digits>"}`.
pub fn canonical(value: &Value) -> Result<Vec<u8>, NotCanonical> {
    let mut out = Vec::with_capacity(256);
    write(value, &mut out)?;
    Ok(out)
}

fn write(value: &Value, out: &mut Vec<u8>) -> Result<(), NotCanonical> {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(number, out)?,
        Value::String(text) => write_text(text, out)?,
        Value::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                separate(i, out);
                write(item, out)?;
            }
            out.push(b']');
        }
        Value::Object(fields) => {
            write_object(fields.iter().map(|(key, value)| (key.as_str(), value)), out)?;
        }
    }
    Ok(())
}

fn write_object<'k, 'v>(
    fields: impl Iterator<Item = (&'k str, &'v Value)>,
    out: &mut Vec<u8>,
) -> Result<(), NotCanonical> {
    let mut fields: Vec<_> = fields.collect();
    fields.sort_unstable_by(|(a, _), (b, _)| order(a, b));
    out.push(b'{');
    for (i, (key, value)) in fields.into_iter().enumerate() {
        separate(i, out);
        write_text(key, out)?;
        out.push(b':');
        write(value, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// Writes an object whose keys come in their order, without a value of it in memory.
#[derive(Debug)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// An object without fields.
    pub fn begin() -> Self {
        let mut out = Vec::with_capacity(512);
        out.push(b'{');
        Self(out)
    }

    /// Adds a text. The key must come after the one before it.
    pub fn text(&mut self, key: &str, text: &str) -> Result<(), NotCanonical> {
        self.key(key)?;
        write_text(text, &mut self.0)
    }

    /// Adds an object, whose own fields may come in any order.
    pub fn object<'k, 'v>(
        &mut self,
        key: &str,
        fields: impl Iterator<Item = (&'k str, &'v Value)>,
    ) -> Result<(), NotCanonical> {
        self.key(key)?;
        write_object(fields, &mut self.0)
    }

    /// The whole.
    pub fn end(mut self) -> String {
        self.0.push(b'}');
        String::from_utf8(self.0).expect("JSON that was written from texts is text")
    }

    fn key(&mut self, key: &str) -> Result<(), NotCanonical> {
        separate(self.0.len() - 1, &mut self.0);
        write_text(key, &mut self.0)?;
        self.0.push(b':');
        Ok(())
    }
}

/// The order of keys: that of their UTF-16 units, which for ASCII is that of their bytes.
fn order(a: &str, b: &str) -> std::cmp::Ordering {
    match a.is_ascii() && b.is_ascii() {
        true => a.cmp(b),
        false => a.encode_utf16().cmp(b.encode_utf16()),
    }
}

fn separate(i: usize, out: &mut Vec<u8>) {
    if i > 0 {
        out.push(b',');
    }
}

/// Text is escaped as everywhere: no more than must be.
fn write_text(text: &str, out: &mut Vec<u8>) -> Result<(), NotCanonical> {
    serde_json::to_writer(out, text).map_err(|e| NotCanonical(e.to_string()))
}

/// The largest whole number up to which doubles know every one.
const EXACT: u64 = 1 << 53;

fn write_number(number: &Number, out: &mut Vec<u8>) -> Result<(), NotCanonical> {
    let whole = number.as_i64().map(i64::unsigned_abs).or(number.as_u64());
    let written = match whole {
        Some(size) if size <= EXACT => write!(out, "{number}"),
        // The standard would write two of these alike.
        Some(_) => write!(out, r#"{{"$integer":"{number}"}}"#),
        None => {
            let text = serde_json_canonicalizer::to_vec(number);
            let text = text.map_err(|e| NotCanonical(e.to_string()))?;
            out.extend_from_slice(&text);
            Ok(())
        }
    };
    written.map_err(|e| NotCanonical(e.to_string()))
}
