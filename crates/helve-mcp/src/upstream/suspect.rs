//! Text that hides something, or talks to the model that reads it.

use serde_json::Value;

use super::book::Flag;

/// What is suspicious about the texts of a value.
pub(crate) fn in_value(value: &Value) -> Vec<Flag> {
    let mut found = Vec::new();
    walk(value, &mut String::new(), &mut found, 0);
    found
}

fn walk(value: &Value, pointer: &mut String, found: &mut Vec<Flag>, depth: usize) {
    if depth > 128 || found.len() >= 32 {
        return;
    }
    match value {
        Value::String(text) => look(text, pointer, found),
        Value::Array(list) => {
            for (i, item) in list.iter().enumerate() {
                step(pointer, &i.to_string(), |p| walk(item, p, found, depth + 1));
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                step(pointer, key, |p| {
                    look(key, p, found);
                    walk(item, p, found, depth + 1);
                });
            }
        }
        _ => {}
    }
}

fn step(pointer: &mut String, key: &str, then: impl FnOnce(&mut String)) {
    let length = pointer.len();
    pointer.push('/');
    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
    then(pointer);
    pointer.truncate(length);
}

/// Words that are addressed to a model and not to a reader.
const PHRASES: &[&str] = &[
    "ignore previous",
    "ignore all previous",
    "ignore the above",
    "disregard previous",
    "do not tell the user",
    "don't tell the user",
    "do not mention",
    "without telling the user",
    "<important>",
    "<system>",
    "system prompt",
    "before using this tool, read",
    "before using any other tool",
];

fn look(text: &str, pointer: &str, found: &mut Vec<Flag>) {
    let unseen = |c: char| {
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{00ad}' | '\u{180e}' | '\u{e0000}'..='\u{e007f}' | '\u{fe00}'..='\u{fe0f}')
            || (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
    };
    if let Some(c) = text.chars().find(|c| unseen(*c)) {
        let says = format!("it has U+{:04X}, which cannot be seen", u32::from(c));
        found.push(Flag {
            pointer: pointer.to_owned(),
            kind: "hidden".to_owned(),
            says,
        });
    }
    let lower = text.to_lowercase();
    if let Some(phrase) = PHRASES.iter().find(|p| lower.contains(*p)) {
        let says = format!("it talks to the model: `{phrase}`");
        found.push(Flag {
            pointer: pointer.to_owned(),
            kind: "instruction".to_owned(),
            says,
        });
    }
}
