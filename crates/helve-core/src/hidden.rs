//! Text that is meant for the model and not for the people who read about a tool.
//!
//! A definition from a stranger is read by a model as it stands. It can hold what
//! nobody sees (zero-width, direction-changing and tag characters, comments, text
//! pushed off the screen) and what nobody asked for: "ignore your instructions",
//! "do not tell the user", "read this key first". [`suspicious`] finds both.
//!
//! These are marks, not proofs. Nothing here refuses anything: whoever takes a
//! definition in shows what was found, and a person decides. The phrases are chosen
//! so that ordinary descriptions of real servers almost never match.

mod characters;
mod phrases;
mod words;

use std::fmt;

use serde_json::Value;

use crate::def::ToolDef;
use crate::node::escape;

/// How many marks one text gives at most: the rest says nothing new.
const MOST: usize = 16;

/// Something in a text that a person should look at.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Suspicion {
    /// A JSON pointer to the text; empty for the text itself.
    pub pointer: String,
    /// The byte of the text at which it begins.
    pub at: usize,
    /// What sort of thing it is.
    pub kind: Kind,
    /// What stands there, everything in it visible.
    pub excerpt: String,
}

/// What makes a text suspicious.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Characters that take no room: zero-width, soft hyphens, fillers.
    Invisible,
    /// Characters that turn the direction of what follows.
    Bidi,
    /// Tag characters or variation selectors that spell something.
    Smuggled,
    /// Control characters, of which terminals take some as commands.
    Control,
    /// Text that is there and not shown: a comment, or far off to the side.
    OutOfSight,
    /// Marks of a conversation or a prompt, like `<IMPORTANT>`.
    PromptMarkup,
    /// Asks the model to set its instructions aside.
    Override,
    /// Asks the model to keep something from people.
    Secrecy,
    /// Asks for a file in which keys and passwords are kept.
    CredentialFile,
    /// Asks to hand on what was said, or secrets.
    Exfiltration,
    /// Asks for something before, or instead of, other tools.
    Hijack,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 11] = [
        Kind::Invisible,
        Kind::Bidi,
        Kind::Smuggled,
        Kind::Control,
        Kind::OutOfSight,
        Kind::PromptMarkup,
        Kind::Override,
        Kind::Secrecy,
        Kind::CredentialFile,
        Kind::Exfiltration,
        Kind::Hijack,
    ];

    /// The word for it, as it is in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Invisible => "invisible",
            Kind::Bidi => "bidi",
            Kind::Smuggled => "smuggled",
            Kind::Control => "control",
            Kind::OutOfSight => "out_of_sight",
            Kind::PromptMarkup => "prompt_markup",
            Kind::Override => "override",
            Kind::Secrecy => "secrecy",
            Kind::CredentialFile => "credential_file",
            Kind::Exfiltration => "exfiltration",
            Kind::Hijack => "hijack",
        }
    }

    /// What it does, as the rest of a sentence.
    pub fn says(self) -> &'static str {
        match self {
            Kind::Invisible => "has characters that nobody sees",
            Kind::Bidi => "has characters that turn the direction of the text",
            Kind::Smuggled => "spells something in characters that nobody sees",
            Kind::Control => "has control characters",
            Kind::OutOfSight => "has text where nobody looks",
            Kind::PromptMarkup => "has the marks of a prompt",
            Kind::Override => "asks the model to set its instructions aside",
            Kind::Secrecy => "asks the model to keep something from people",
            Kind::CredentialFile => "asks for a file that holds keys or passwords",
            Kind::Exfiltration => "asks to hand on secrets or what was said",
            Kind::Hijack => "asks for something beside the tool's own work",
        }
    }

    /// Whether it is about characters that are not seen, rather than about words.
    pub fn is_unseen(self) -> bool {
        self <= Kind::OutOfSight
    }
}

impl fmt::Display for Suspicion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            pointer, excerpt, ..
        } = self;
        match pointer.is_empty() {
            true => write!(f, "it {}: `{excerpt}`", self.kind.says()),
            false => write!(f, "`{pointer}` {}: `{excerpt}`", self.kind.says()),
        }
    }
}

/// What is suspicious about a text, in the order of its places; each kind of
/// phrase once.
pub fn suspicious(text: &str) -> Vec<Suspicion> {
    let mut found = Vec::new();
    if !characters::is_plain(text) {
        characters::find(text, &mut found);
    }
    phrases::find(text, &mut found);
    found.sort_by_key(|s| (s.at, s.kind));
    found.truncate(MOST);
    found
}

/// What is suspicious about the texts of a value: its strings and its keys.
pub fn in_value(value: &Value) -> Vec<Suspicion> {
    let mut found = Vec::new();
    walk(value, "", &mut found);
    found
}

/// What is suspicious about the texts of a definition.
pub fn in_def(def: &ToolDef) -> Vec<Suspicion> {
    in_value(&def.to_value())
}

fn walk(value: &Value, at: &str, found: &mut Vec<Suspicion>) {
    match value {
        Value::String(text) => look(text, at, found),
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                walk(item, &format!("{at}/{i}"), found);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                let at = format!("{at}/{}", escape(key));
                look(key, &at, found);
                walk(item, &at, found);
            }
        }
        _ => {}
    }
}

fn look(text: &str, at: &str, found: &mut Vec<Suspicion>) {
    found.extend(suspicious(text).into_iter().map(|s| Suspicion {
        pointer: visible(at),
        ..s
    }));
}

/// A mark at `at`, with some of what stands around `at..end`.
fn mark(text: &str, at: usize, end: usize, kind: Kind) -> Suspicion {
    const WIDTH: usize = 100;
    const BEFORE: usize = 24;
    let back = text[..at].char_indices().rev().take(BEFORE).last();
    let start = match kind.is_unseen() {
        true => back.map_or(at, |(i, _)| i),
        false => at,
    };
    let end = end.max(at);
    let shown: String = text[start..].chars().take(WIDTH).collect();
    let long = end - start > shown.len();
    let cut = match kind.is_unseen() {
        true => shown.as_str(),
        false => &text[start..end.min(start + shown.len())],
    };
    let excerpt = visible(cut.trim());
    Suspicion {
        pointer: String::new(),
        at,
        kind,
        excerpt: if long {
            format!("{excerpt}…")
        } else {
            excerpt
        },
    }
}

/// The text with nothing hidden in it, on one line.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            c if characters::is_unseen(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
