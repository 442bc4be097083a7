//! What a hub keeps, as a person sees it: states, arguments, callers.

use anstyle::Style;
use serde_json::Value;

use crate::out;
use crate::table::{Cell, Table};

/// Foreign text, with all that hides made visible.
pub(crate) fn text(value: &Value) -> String {
    out::visible(value.as_str().unwrap_or_default())
}

/// The state of a run or an approval.
pub(crate) fn state(value: &Value) -> Cell {
    let word = value.as_str().unwrap_or_default();
    let style = match word {
        "succeeded" | "approved" | "spent" => out::FIX,
        "failed" | "timed_out" | "denied" => out::ERROR,
        "pending" | "pending_approval" | "queued" | "running" | "staged" => out::WARNING,
        _ => Style::new(),
    };
    Cell::styled(style, word)
}

/// Who called, and for whom.
pub(crate) fn caller(owner: &Value, under: &Value) -> String {
    match under.as_str() {
        Some(_) => format!("{} (for {})", text(owner), text(under)),
        None => text(owner),
    }
}

/// Arguments on one line.
pub(crate) fn arguments(args: &Value) -> String {
    match args.as_object() {
        Some(map) if map.is_empty() => String::new(),
        Some(map) => {
            let each = map.iter().map(|(name, value)| match secret(value) {
                true => format!("{name}=[secret]"),
                false => format!("{name}={}", shortened(&value.to_string(), LINE)),
            });
            out::visible(&each.collect::<Vec<_>>().join(" "))
        }
        None => out::visible(&args.to_string()),
    }
}

/// How many characters of a value are shown among others on a line, and on one of its own.
const LINE: usize = 100;
const SCREEN: usize = 400;

/// A text without its middle, if it is longer than `most`; and how long it is.
fn shortened(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(length - half).collect();
    format!("{start} … [{length} characters] … {end}")
}

/// How much of long values is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    /// So much that what stands beside them is still seen.
    Screen,
}

/// Whether some value is too long for the screen.
pub(crate) fn is_long(args: &Value) -> bool {
    let values = args.as_object().into_iter().flatten();
    let mut lengths = values.map(|(_, value)| value.to_string().chars().count());
    lengths.any(|length| length > SCREEN)
}

/// Whether an argument stands as a keyed hash.
pub(crate) fn secret(value: &Value) -> bool {
    let hash = value.as_object().filter(|map| map.len() == 1);
    hash.and_then(|map| map.get("hmac"))
        .is_some_and(Value::is_string)
}

/// Names and values below each other, values as they are however long.
#[derive(Default)]
pub(crate) struct Fields(Vec<(String, Cell)>);

impl Fields {
    pub(crate) fn add(&mut self, name: &str, value: impl Into<Cell>) -> &mut Self {
        self.0.push((name.to_owned(), value.into()));
        self
    }

    /// Only if there is something to say.
    pub(crate) fn some(&mut self, name: &str, value: &str) -> &mut Self {
        if !value.is_empty() {
            self.add(name, value);
        }
        self
    }

    /// Each argument on a line of its own.
    pub(crate) fn arguments(&mut self, args: &Value, extent: Extent) -> &mut Self {
        let empty = serde_json::Map::new();
        let map = args.as_object().unwrap_or(&empty);
        for (i, (name, value)) in map.iter().enumerate() {
            let heading = if i == 0 { "arguments" } else { "" };
            let shown = match (secret(value), extent) {
                (true, _) => "[secret]".to_owned(),
                (false, Extent::Whole) => value.to_string(),
                (false, Extent::Screen) => shortened(&value.to_string(), SCREEN),
            };
            self.add(heading, format!("{name} = {shown}"));
        }
        if map.is_empty() {
            self.add("arguments", "none");
        }
        self
    }

    pub(crate) fn text(&self) -> String {
        let mut table = Table::plain();
        for (name, value) in &self.0 {
            let name = Cell::styled(out::DIM, format!("  {name}"));
            table.row([name, value.clone()]);
        }
        table.whole()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_loses_its_middle() {
        assert_eq!(shortened("aébc", 4), "aébc");
        assert_eq!(shortened("aébcd", 4), "aé … [5 characters] … cd");
    }
}
