//! `${VAR}` and `${VAR:-default}` in the values of a file. A bare `$VAR` is text, and one
//! that is not set stays as it is written.

use std::cell::RefCell;

/// Puts values in the place of names, and remembers what it found no value for.
pub(super) struct Expand<'v> {
    variable: &'v dyn Fn(&str) -> Option<String>,
    unset: RefCell<Vec<String>>,
}

impl<'v> Expand<'v> {
    pub(super) fn new(variable: &'v dyn Fn(&str) -> Option<String>) -> Self {
        Self {
            variable,
            unset: RefCell::default(),
        }
    }

    /// The names without a value, each once.
    pub(super) fn unset(&self) -> Vec<String> {
        self.unset.borrow().clone()
    }

    /// The text with values. What a value holds is not looked at again.
    pub(super) fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            out.push_str(&rest[..at]);
            let inner = &rest[at + 2..];
            let Some(end) = inner.find('}') else {
                out.push_str(&rest[at..]);
                return out;
            };
            let (name, default) = match inner[..end].split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (&inner[..end], None),
            };
            let value = match is_name(name) {
                true => (self.variable)(name).or_else(|| default.map(str::to_owned)),
                false => None,
            };
            match value {
                Some(value) => out.push_str(&value),
                None => {
                    let mut unset = self.unset.borrow_mut();
                    if !unset.iter().any(|n| n == name) {
                        unset.push(name.to_owned());
                    }
                    out.push_str(&rest[at..at + 2 + end + 1]);
                }
            }
            rest = &inner[end + 1..];
        }
        out.push_str(rest);
        out
    }
}

fn is_name(name: &str) -> bool {
    let mut letters = name.bytes();
    letters
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && letters.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
