//! The Markdown of a skill's lists: written plainly, read back exactly.
//!
//! A line of text stands as it is; text that would not survive as a line (breaks,
//! outer spaces, a leading quote) is written as a JSON string.

use serde_json::{Value, json};

use crate::def::{Example, RelatedTool};

pub(super) const TRIGGERS: &str = "When to use";
pub(super) const WARNINGS: &str = "Warnings";
pub(super) const PREREQUISITES: &str = "Prerequisites";
pub(super) const SCHEMA: &str = "Arguments";
const EXPECTED: &[&str] = &["Expected:", "结果：", "Result:"];

fn line(text: &str) -> String {
    let plain = !text.is_empty()
        && text.trim() == text
        && !text.starts_with(['"', '`', '#'])
        && !text.contains([
            '\n', '\r', '\u{85}', '\u{2028}', '\u{2029}', '\u{b}', '\u{c}',
        ]);
    match plain {
        true => text.to_owned(),
        false => json!(text).to_string(),
    }
}

fn read_line(text: &str) -> String {
    let text = text.trim();
    match text.starts_with('"') {
        true => serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()),
        false => text.to_owned(),
    }
}

pub(super) fn list<'t>(heading: &str, items: impl Iterator<Item = &'t str>) -> String {
    let items: String = items.map(|i| format!("- {}\n", line(i))).collect();
    format!("\n## {heading}\n\n{items}")
}

pub(super) fn schema(schema: &Value) -> String {
    format!("\n## {SCHEMA}\n\n{}", fenced(schema))
}

fn fenced(value: &Value) -> String {
    let json = serde_json::to_string_pretty(value).unwrap_or_default();
    format!("```json\n{json}\n```\n")
}

/// The value in the first fence of `text`, and what stands behind it.
fn read_fence(text: &str) -> Option<(Value, &str)> {
    let start = text.find("```")?;
    let inner = &text[start + 3..];
    let inner = &inner[inner.find('\n')? + 1..];
    let end = inner.find("\n```")?;
    let value = serde_json::from_str(&inner[..end]).ok()?;
    Some((value, &inner[end + 4..]))
}

/// The sections below the mark.
pub(super) fn sections(text: &str) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    for section in text.split("\n## ").skip(1) {
        let (heading, rest) = section.split_once('\n').unwrap_or((section, ""));
        let heading = heading.trim().to_owned();
        let value = match heading == SCHEMA {
            // Text that is no JSON goes on as text, and is refused as a schema.
            true => read_fence(rest).map_or_else(|| json!(rest.trim()), |(value, _)| value),
            false => bullets(rest).collect(),
        };
        out.push((heading, value));
    }
    out
}

fn bullets(text: &str) -> impl Iterator<Item = Value> {
    text.split('\n')
        .filter_map(|l| l.strip_prefix("- "))
        .map(|l| json!(read_line(l)))
}

pub(super) fn examples(examples: &[Example]) -> String {
    let mut out = "# Examples\n".to_owned();
    for example in examples {
        let scenario = match &example.scenario {
            Some(text) => line(text),
            None => "`no scenario`".to_owned(),
        };
        out.push_str(&format!("\n## {scenario}\n\n{}", fenced(&example.params)));
        if let Some(expected) = &example.expected {
            out.push_str(&format!("\n{} {}\n", EXPECTED[0], line(expected)));
        }
    }
    out
}

/// `None` where the file has no example that can be told apart.
pub(super) fn read_examples(text: &str) -> Option<Value> {
    let mut out = Vec::new();
    for section in format!("\n{text}").split("\n## ").skip(1) {
        let (heading, rest) = section.split_once('\n')?;
        let (params, after) = read_fence(rest)?;
        let mut example = json!({"params": params});
        if heading.trim() != "`no scenario`" {
            example["scenario"] = json!(read_line(heading));
        }
        let after = after.trim();
        if !after.is_empty() {
            let text = EXPECTED
                .iter()
                .find_map(|e| after.strip_prefix(e))
                .unwrap_or(after);
            example["expected"] = json!(read_line(text));
        }
        out.push(example);
    }
    (!out.is_empty()).then_some(Value::Array(out))
}

pub(super) fn related(tools: &[RelatedTool]) -> String {
    let mut out = "# Related tools\n\n".to_owned();
    for tool in tools {
        let name = match tool.name.contains(['`', '\n', '\r'])
            || tool.name.trim() != tool.name
            || tool.name.is_empty()
        {
            true => json!(tool.name).to_string(),
            false => format!("`{}`", tool.name),
        };
        match &tool.relation {
            Some(relation) => out.push_str(&format!("- {name}: {}\n", line(relation))),
            None => out.push_str(&format!("- {name}\n")),
        }
    }
    out
}

/// `None` where the file has no list of tools.
pub(super) fn read_related(text: &str) -> Option<Value> {
    let mut out = Vec::new();
    for item in text.split('\n').filter_map(|l| l.strip_prefix("- ")) {
        let (name, rest) = match item.strip_prefix('`') {
            Some(quoted) => {
                let (name, rest) = quoted.split_once('`')?;
                (name.to_owned(), rest)
            }
            None => {
                let mut stream = serde_json::Deserializer::from_str(item).into_iter::<String>();
                let name = stream.next()?.ok()?;
                (name, &item[stream.byte_offset()..])
            }
        };
        let mut tool = json!({"name": name});
        if let Some(relation) = rest.trim().strip_prefix(':') {
            tool["relation"] = json!(read_line(relation));
        }
        out.push(tool);
    }
    (!out.is_empty()).then_some(Value::Array(out))
}
