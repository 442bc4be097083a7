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

/// Takes secrets out of a text that comes in pieces. What may be the beginning of a
/// secret waits for the next piece.
pub struct Redactor {
    needles: Needles,
    forms: Vec<String>,
    held: Vec<u8>,
}

/// How much may wait, whatever it may be the beginning of.
const MOST_HELD: usize = 1 << 20;

impl Redactor {
    /// Looks for these secrets.
    pub fn new(secrets: &[String]) -> Self {
        let forms = sought(secrets);
        Self {
            needles: Needles::of(&forms),
            forms,
            held: Vec::new(),
        }
    }

    /// Takes the next piece, and gives what can be shown by now. Without a secret to
    /// look for that is the piece as it came; otherwise it is text.
    pub fn push(&mut self, piece: Vec<u8>) -> Vec<u8> {
        if matches!(self.needles, Needles::Nothing) {
            return piece;
        }
        self.held.extend(piece);
        let whole = match std::str::from_utf8(&self.held) {
            Ok(text) => text.len(),
            // A character may be cut; anything else that is no text stays none.
            Err(e) if e.error_len().is_none() => e.valid_up_to(),
            Err(_) => self.held.len(),
        };
        let rest = self.held.split_off(whole);
        let text = String::from_utf8_lossy(&self.held).into_owned();
        let cut = match text.len() > MOST_HELD {
            true => text.len(),
            false => self.open_end(&text),
        };
        self.held = text.as_bytes()[cut..].to_vec();
        self.held.extend(rest);
        self.needles.redact(&text[..cut]).into_owned().into_bytes()
    }

    /// What was still waiting.
    pub fn finish(self) -> Vec<u8> {
        let text = String::from_utf8_lossy(&self.held);
        self.needles.redact(&text).into_owned().into_bytes()
    }

    /// Where the part begins that the next piece may make a secret of.
    fn open_end(&self, text: &str) -> usize {
        let longest = self.forms.iter().map(String::len).max().unwrap_or(0);
        let from = text.ceil_char_boundary(text.len().saturating_sub(longest));
        let ends = text[from..].char_indices().map(|(i, _)| from + i);
        let begins = |at: &usize| self.forms.iter().any(|f| f.starts_with(&text[*at..]));
        let mut cut = ends.into_iter().find(begins).unwrap_or(text.len());
        if let Needles::Some(needles) = &self.needles {
            // A secret that is whole is not cut in two.
            let spans = spans(needles, text);
            for (start, end) in spans.into_iter().rev() {
                if start < cut && cut < end {
                    cut = start;
                }
            }
        }
        cut
    }
}

/// All that is looked for: the secrets that are long enough, in every form.
fn sought(secrets: &[String]) -> Vec<String> {
    let long = |s: &&String| s.chars().count() >= MIN_CHARS;
    let mut texts: Vec<String> = secrets.iter().filter(long).flat_map(|s| forms(s)).collect();
    texts.sort();
    texts.dedup();
    texts
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
        Self::of(&sought(secrets))
    }

    fn of(texts: &[String]) -> Self {
        // Most calls have no secret, and even an empty automaton takes long to build.
        if texts.is_empty() {
            return Needles::Nothing;
        }
        match AhoCorasick::new(texts) {
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

/// A secret as it is, as JSON writes it, and as JSON writes that once more, where JSON
/// stands in a text of JSON; with every character, and in ASCII.
fn forms(secret: &str) -> Vec<String> {
    let once = in_json(secret);
    let twice = once.iter().flat_map(|form| in_json(form));
    let twice: Vec<String> = twice.collect();
    let mut forms = vec![secret.to_owned()];
    forms.extend(once);
    forms.extend(twice);
    forms
}

/// A text inside the quotes of JSON, and the same in ASCII.
fn in_json(text: &str) -> [String; 2] {
    let json = Value::from(text).to_string();
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
    [json, ascii]
}

#[cfg(test)]
mod tests;
