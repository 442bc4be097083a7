//! What `--fix` mends: only what can be mended without guessing.
//!
//! The migration guide of the first source system is most of it. Text moves from
//! the description into the field made for it, word for word, and only where that
//! field is still empty; examples move only if they parse and fit the schema.

mod description;
mod detail;
mod rewrite;

pub(crate) use rewrite::is_mended;
pub use rewrite::{Rewrite, rewrite};

use super::{Issue, Rule, rules};
use crate::def::{Prerequisite, ToolDef};

/// One thing that was mended, or could be by hand.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// The rule that was broken.
    pub rule: &'static Rule,
    /// Where, in the definition.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
    /// What was done, or is to be done.
    pub done: String,
    /// Whether it can be done without a person.
    pub safe: bool,
}

impl Applied {
    pub(super) fn issue(self) -> Issue {
        let safe = self.safe;
        let issue = Issue::new(self.rule, self.pointer, self.message).fix(self.done);
        Issue { safe, ..issue }
    }
}

/// What could be mended.
pub fn plan(def: &ToolDef) -> Vec<Applied> {
    mend(&mut def.clone())
}

/// Mends a definition and says what was done.
pub fn mend(def: &mut ToolDef) -> Vec<Applied> {
    let mut applied = Vec::new();
    move_from_description(def, &mut applied);
    detail::move_examples(def, &mut applied);
    trim(def, &mut applied);
    object_type(def, &mut applied);
    applied
}

fn move_from_description(def: &mut ToolDef, applied: &mut Vec<Applied>) {
    let parts = description::take_apart(&def.description);
    if parts.rest.is_empty() {
        return;
    }
    let mut kept = description::Kept::default();
    let mut add = |rule, message: &str, done: String| {
        applied.push(Applied {
            rule,
            pointer: "/description".to_owned(),
            message: message.to_owned(),
            done,
            safe: true,
        });
    };
    if !parts.triggers.is_empty() {
        if def.triggers.is_empty() {
            add(
                &rules::WHEN_IN_DESCRIPTION,
                "the description lists when to use it",
                format!("move it to `triggers` ({})", parts.triggers.len()),
            );
            def.triggers.clone_from(&parts.triggers);
        } else {
            kept.triggers = true;
        }
    }
    if !parts.prerequisites.is_empty() {
        if def.prerequisites.is_empty() {
            add(
                &rules::PREREQUISITE_IN_DESCRIPTION,
                "the description has a PREREQUISITE",
                format!("move it to `prerequisites` ({})", parts.prerequisites.len()),
            );
            def.prerequisites = parts
                .prerequisites
                .iter()
                .cloned()
                .map(Prerequisite::Text)
                .collect();
        } else {
            kept.prerequisites = true;
        }
    }
    if !parts.warnings.is_empty() {
        if def.warnings.is_empty() {
            add(
                &rules::IMPORTANT_IN_DESCRIPTION,
                "the description has an IMPORTANT",
                format!("move it to `warnings` ({})", parts.warnings.len()),
            );
            def.warnings.clone_from(&parts.warnings);
        } else {
            kept.warnings = true;
        }
    }
    def.description = description::without(&def.description, kept);
}

fn trim(def: &mut ToolDef, applied: &mut Vec<Applied>) {
    let mut one = |pointer: String, text: &mut String| {
        if text.trim() != text.as_str() && !text.trim().is_empty() {
            *text = text.trim().to_owned();
            applied.push(Applied {
                rule: &rules::EDGE_SPACE,
                pointer,
                message: "it begins or ends with white space".to_owned(),
                done: "trim it".to_owned(),
                safe: true,
            });
        }
    };
    one("/description".to_owned(), &mut def.description);
    if let Some(title) = &mut def.title {
        one("/title".to_owned(), title);
    }
    for (field, list) in [
        ("triggers", &mut def.triggers),
        ("warnings", &mut def.warnings),
    ] {
        for (i, text) in list.iter_mut().enumerate() {
            one(format!("/{field}/{i}"), text);
        }
    }
    for (field, list) in [
        ("triggers", &mut def.triggers),
        ("warnings", &mut def.warnings),
        ("tags", &mut def.tags),
        ("aliases", &mut def.aliases),
    ] {
        let mut seen: Vec<String> = Vec::new();
        list.retain(|text| {
            let first = !seen.contains(text);
            if first {
                seen.push(text.clone());
            } else {
                applied.push(Applied {
                    rule: &rules::REPEATED,
                    pointer: format!("/{field}"),
                    message: format!("`{text}` stands there twice"),
                    done: "keep the first".to_owned(),
                    safe: true,
                });
            }
            first
        });
    }
}

fn object_type(def: &mut ToolDef, applied: &mut Vec<Applied>) {
    let Some(schema) = def.input_schema.as_object_mut() else {
        return;
    };
    // A missing type with properties can only mean an object; any other type is a mistake to look at.
    if !schema.contains_key("type") && schema.contains_key("properties") {
        schema.shift_insert(0, "type".to_owned(), "object".into());
        applied.push(Applied {
            rule: &rules::NOT_OBJECT,
            pointer: "/input_schema".to_owned(),
            message: "the schema has no `type: object`".to_owned(),
            done: "set `type` to `object`".to_owned(),
            safe: true,
        });
    }
}
