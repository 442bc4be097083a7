//! What the readers of Python, Erlang and JavaScript literals share: a place in
//! a text, and how to step over it.
//!
//! These readers take *literals* out of source files and never run anything;
//! what is not a literal is stepped over or refused.

use super::{Problem, ReadError, syntax};
use crate::node::{Entry, Kind, Node};

pub(super) struct Cursor<'t> {
    pub text: &'t str,
    pub at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn done(&self) -> bool {
        self.at >= self.text.len()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Steps over `token` if it stands here.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        let here = self.rest().starts_with(token);
        if here {
            self.at += token.len();
        }
        here
    }

    pub(super) fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// An identifier, or nothing.
    pub(super) fn word(&mut self) -> &'t str {
        match self.peek() {
            Some(c) if is_word_start(c) => self.take_while(is_word),
            _ => "",
        }
    }

    /// The character before this place.
    pub(super) fn before(&self) -> Option<char> {
        self.text[..self.at].chars().next_back()
    }

    pub(super) fn line_end(&mut self) {
        self.take_while(|c| c != '\n');
    }

    pub(super) fn expect(
        &mut self,
        token: &'static str,
        within: &'static str,
    ) -> Result<(), ReadError> {
        match self.eat(token) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{token}`"), within)),
        }
    }

    pub(super) fn unexpected(&self, wanted: &str, within: &'static str) -> ReadError {
        match self.peek() {
            None => Problem::Truncated(within).at(self.at),
            Some(c) => syntax(
                self.at,
                format!(
                    "expected {wanted} in {within}, found `{}`",
                    c.escape_debug()
                ),
            ),
        }
    }

    /// The digits of a hexadecimal escape, as a character.
    pub(super) fn hex_escape(&mut self, digits: usize) -> Result<char, ReadError> {
        let at = self.at;
        let hex = self.rest().get(..digits).unwrap_or_default();
        // `from_str_radix` takes a sign for the first digit.
        let code = u32::from_str_radix(hex, 16)
            .ok()
            .filter(|_| !hex.starts_with('+'))
            .ok_or_else(|| syntax(at, format!("expected {digits} hexadecimal digits")))?;
        self.at += digits;
        // Source files write characters past U+FFFF as two halves.
        if (0xd800..0xdc00).contains(&code) && self.rest().starts_with("\\u") {
            let low = self.rest().get(2..6).unwrap_or_default();
            if let Ok(low @ 0xdc00..0xe000) = u32::from_str_radix(low, 16) {
                self.at += 6;
                let joined = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                return char::from_u32(joined).ok_or_else(|| syntax(at, "not a character"));
            }
        }
        char::from_u32(code).ok_or_else(|| syntax(at, "half of a surrogate pair"))
    }
}

/// Source that is not data, kept under the key of its language.
pub(super) fn code(key: &str, at: usize, source: impl Into<String>) -> Node {
    let value = Node::string(at, source);
    let key = key.to_owned();
    Node::new(at, Kind::Object(vec![Entry { at, key, value }]))
}

pub(super) fn is_word_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
