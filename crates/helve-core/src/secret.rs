//! Secrets kept out of what is recorded and shown.
//!
//! In the record, a secret argument stands as a keyed hash ([`hide`]): whoever has the
//! key can ask whether it was a certain value ([`hmac_of`]), and nobody can read it.
//! In what a tool gives back, the text of a secret is replaced ([`redact`]).

use std::borrow::Cow;

use aho_corasick::AhoCorasick;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value, json};
use sha2::Sha256;

use crate::audit::canonical;
use crate::hex::Hex;
use crate::marked::{Mark, marked};

/// What stands where a secret was.
pub const PLACEHOLDER: &str = "[secret]";

/// Secrets of fewer characters are not looked for in texts: they would be found
/// everywhere, and give themselves away by what is missing.
pub const MIN_CHARS: usize = 4;

/// A copy of arguments in which each value that the schema marks as secret is
/// `{"hmac": "…"}`.
pub fn hide(schema: &Value, args: &Map<String, Value>, key: &[u8]) -> Map<String, Value> {
    let secrets = marked(schema, args, Mark::Secret);
    let mut copy = args.clone();
    for secret in secrets {
        let mut steps = secret.pointer[1..].splitn(2, '/');
        let first = steps.next().unwrap_or_default();
        let first = first.replace("~1", "/").replace("~0", "~");
        let slot = copy.get_mut(&first);
        let slot = match steps.next() {
            Some(rest) => slot.and_then(|value| value.pointer_mut(&format!("/{rest}"))),
            None => slot,
        };
        if let Some(slot) = slot {
            *slot = json!({"hmac": hmac_of(key, secret.value)});
        }
    }
    copy
}

/// What a value is as a secret in the record: the HMAC-SHA-256 of its canonical JSON,
/// in hexadecimal digits.
pub fn hmac_of(key: &[u8], value: &Value) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    let bytes = canonical(value).unwrap_or_else(|_| value.to_string().into_bytes());
    mac.update(&bytes);
    Hex(&mac.finalize().into_bytes()).to_string()
}

/// Replaces the secrets in a text by [`PLACEHOLDER`], as they are and as JSON writes
/// them. Where secrets overlap or stand in each other, nothing of them is left.
pub fn redact<'t>(text: &'t str, secrets: &[String]) -> Cow<'t, str> {
    Needles::new(secrets).redact(text)
}

/// Replaces the secrets in all texts, keys and numbers of a value.
pub fn redact_value(value: &mut Value, secrets: &[String]) {
    Needles::new(secrets).redact_value(value);
}

/// What is looked for.
enum Needles {
    Nothing,
    Some(AhoCorasick),
    /// More than can be looked for: then everything counts as secret.
    Everything,
}

impl Needles {
    fn new(secrets: &[String]) -> Self {
        let long = |s: &&String| s.chars().count() >= MIN_CHARS;
        let mut texts: Vec<String> = secrets.iter().filter(long).flat_map(|s| forms(s)).collect();
        texts.sort();
        texts.dedup();
        match AhoCorasick::new(&texts) {
            _ if texts.is_empty() => Needles::Nothing,
            Ok(found) => Needles::Some(found),
            Err(_) => Needles::Everything,
        }
    }

    fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let needles = match self {
            Needles::Nothing => return Cow::Borrowed(text),
            Needles::Some(needles) => needles,
            Needles::Everything => return Cow::Borrowed(PLACEHOLDER),
        };
        let mut out = String::new();
        let mut kept = 0;
        for (start, end) in spans(needles, text) {
            out.push_str(&text[kept..start]);
            out.push_str(PLACEHOLDER);
            kept = end;
        }
        match kept {
            0 => Cow::Borrowed(text),
            _ => Cow::Owned(out + &text[kept..]),
        }
    }

    fn redact_value(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                let text = number.to_string();
                let redacted = self.redact(&text);
                if redacted != text {
                    *value = Value::String(redacted.into_owned());
                }
            }
            Value::String(text) => {
                let redacted = self.redact(text);
                if redacted != text.as_str() {
                    *text = redacted.into_owned();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|v| self.redact_value(v)),
            Value::Object(map) => {
                for (key, mut value) in std::mem::take(map) {
                    self.redact_value(&mut value);
                    let redacted = self.redact(&key);
                    let mut name = redacted.clone().into_owned();
                    // Two keys may be the same without their secrets.
                    let mut copies = 1;
                    while map.contains_key(&name) {
                        copies += 1;
                        name = format!("{redacted} {copies}");
                    }
                    map.insert(name, value);
                }
            }
        }
    }
}

/// Where secrets stand, from left to right; those that overlap as one.
fn spans(needles: &AhoCorasick, text: &str) -> Vec<(usize, usize)> {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    // They come by their ends, so that a longer one may reach back over earlier ones.
    for found in needles.find_overlapping_iter(text) {
        let (mut start, end) = (found.start(), found.end());
        while let Some((before, _)) = spans.pop_if(|(_, before)| start < *before) {
            start = start.min(before);
        }
        spans.push((start, end));
    }
    spans
}

/// A secret as it is, as JSON writes it, and as JSON writes it in ASCII.
fn forms(secret: &str) -> [String; 3] {
    let json = Value::from(secret).to_string();
    let json = json[1..json.len() - 1].to_owned();
    let mut ascii = String::with_capacity(json.len());
    for c in json.chars() {
        match c.is_ascii() {
            true => ascii.push(c),
            false => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    ascii.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    [secret.to_owned(), json, ascii]
}

#[cfg(test)]
mod tests;
