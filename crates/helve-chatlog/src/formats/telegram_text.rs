//! What a message of Telegram says: its text comes in parts, its notices as actions.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::telegram::Record;
use crate::Kind;

/// A part of a text: words, or words that are a link, a mention, a piece of code.
#[derive(Deserialize)]
#[serde(untagged)]
enum Part<'a> {
    Plain(#[serde(borrow)] Cow<'a, str>),
    Marked {
        #[serde(borrow)]
        text: Cow<'a, str>,
        #[serde(borrow, default)]
        href: Option<Cow<'a, str>>,
    },
}

/// The text, joined. A link under other words is kept in parentheses.
pub(super) fn text(raw: &RawValue) -> Result<String, serde_json::Error> {
    let raw = raw.get();
    if raw.starts_with('"') {
        return serde_json::from_str(raw);
    }
    if raw == "null" {
        return Ok(String::new());
    }
    let parts: Vec<Part<'_>> = serde_json::from_str(raw)?;
    let mut joined = String::new();
    for part in parts {
        match part {
            Part::Plain(text) => joined.push_str(&text),
            Part::Marked { text, href } => {
                joined.push_str(&text);
                if let Some(href) = href.filter(|h| *h != text && !h.is_empty()) {
                    joined.push_str(&format!(" ({href})"));
                }
            }
        }
    }
    Ok(joined)
}

/// A notice: the action in words, and whom or what it is about.
pub(super) fn action(record: &Record<'_>) -> (Kind, String) {
    let name = &*record.action.0;
    let kind = match name {
        "phone_call" | "group_call" => Kind::Call,
        _ => Kind::System,
    };
    let mut text = name.replace('_', " ");
    let members: Vec<_> = record.members.iter().map(|m| &*m.0).collect();
    let members = members.join(", ");
    for about in [&*record.title.0, &*members] {
        if !about.is_empty() {
            text.push_str(": ");
            text.push_str(about);
        }
    }
    (kind, text)
}
