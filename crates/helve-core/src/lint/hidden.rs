//! Text that a person does not see: it may be meant for the model alone.

use serde_json::Value;

use super::{Issue, rules};
use crate::def::ToolDef;
use crate::node::escape;

pub(super) fn check(def: &ToolDef, issues: &mut Vec<Issue>) {
    let value = def.to_value();
    // Almost every definition is clean, and then needs no pointers.
    if has_hidden(&value) {
        walk(&value, String::new(), issues);
    }
    for found in crate::hidden::in_value(&value) {
        if !found.kind.is_unseen() {
            let message = format!("it {}: `{}`", found.kind.says(), found.excerpt);
            let issue = Issue::new(&rules::FOR_THE_MODEL, found.pointer, message);
            issues.push(
                issue.fix("if you did not write it, do not use the tool; else say it to people"),
            );
        }
    }
}

fn has_hidden(value: &Value) -> bool {
    match value {
        Value::String(text) => text.chars().any(is_hidden),
        Value::Array(items) => items.iter().any(has_hidden),
        Value::Object(map) => map.values().any(has_hidden),
        _ => false,
    }
}

fn walk(value: &Value, at: String, issues: &mut Vec<Issue>) {
    match value {
        Value::String(text) => {
            if let Some(found) = text.chars().find(|c| is_hidden(*c)) {
                let message = format!("it has the invisible character U+{:04X}", u32::from(found));
                let issue = Issue::new(&rules::HIDDEN_TEXT, at, message);
                issues.push(issue.fix("remove it; a person cannot see what the model reads there"));
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                walk(item, format!("{at}/{i}"), issues);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                walk(item, format!("{at}/{}", escape(key)), issues);
            }
        }
        _ => {}
    }
}

/// Zero-width, direction-changing, tag and control characters.
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' | '\u{ad}' | '\u{180e}' | '\u{61c}')
        || c.is_control() && !matches!(c, '\n' | '\r' | '\t')
}
