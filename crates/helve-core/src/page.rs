//! Level 2: all that an agent is told about one tool.
//!
//! As Markdown for reading, as JSON for programs: the same facts in both. What is
//! about running (the executor, the paths) is the hub's business and not shown.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::ToolDef;
use crate::def::{Prerequisite, Reversible};

/// The fields that Level 2 leaves out.
const UNSHOWN: &[&str] = &[
    "executor",
    "allowed_paths",
    "metadata",
    "retry",
    "enabled",
    "sensitive",
];

/// The page as JSON.
pub fn json(def: &ToolDef) -> Value {
    let Value::Object(mut fields) = def.to_value() else {
        return Value::Object(Map::new());
    };
    for field in UNSHOWN {
        fields.shift_remove(*field);
    }
    Value::Object(fields)
}

/// The page as Markdown.
pub fn markdown(def: &ToolDef) -> String {
    let mut out = format!("# {}\n", def.name);
    if let Some(title) = &def.title {
        let _ = writeln!(out, "\n*{title}*");
    }
    let _ = writeln!(out, "\n{}", def.description.trim());
    facts(&mut out, def);
    list(
        &mut out,
        "Warnings",
        def.warnings.iter().map(|w| format!("⚠ {w}")),
    );
    list(&mut out, "When to use", def.triggers.iter().cloned());
    list(
        &mut out,
        "Before you call it",
        def.prerequisites.iter().map(prerequisite),
    );
    if let Some(detail) = &def.detail {
        let _ = writeln!(out, "\n## Detail\n\n{}", detail.trim());
    }
    parameters(&mut out, def);
    examples(&mut out, def);
    workflow(&mut out, def);
    let related = def.related_tools.iter().map(|r| match &r.relation {
        Some(relation) => format!("`{}`: {relation}", r.name),
        None => format!("`{}`", r.name),
    });
    list(&mut out, "Related tools", related);
    out
}

fn facts(out: &mut String, def: &ToolDef) {
    let mut facts = Vec::new();
    let mut fact =
        |name: &str, value: Option<String>| facts.extend(value.map(|v| format!("{name}: {v}")));
    fact("category", def.category.clone());
    fact("risk", def.risk.map(|r| r.as_str().to_owned()));
    fact(
        "reversible",
        match &def.reversible {
            Reversible::Yes => None,
            Reversible::No => Some("no, what it does cannot be undone".to_owned()),
            Reversible::Compensate(tool) => Some(format!("by calling `{tool}`")),
        },
    );
    fact("timeout", def.timeout.map(|t| format!("{t:?}")));
    fact("tags", (!def.tags.is_empty()).then(|| def.tags.join(", ")));
    fact(
        "also called",
        (!def.aliases.is_empty()).then(|| def.aliases.join(", ")),
    );
    fact("version", def.version.as_ref().map(ToString::to_string));
    for (name, set) in [
        ("idempotent", def.idempotent),
        ("serial", def.serial),
        ("return_direct", def.return_direct),
    ] {
        fact(name, set.then(|| "yes".to_owned()));
    }
    if !facts.is_empty() {
        let _ = writeln!(out, "\n{}", facts.join(" · "));
    }
}

fn list(out: &mut String, heading: &str, items: impl Iterator<Item = String>) {
    let items: String = items
        .map(|i| format!("- {}\n", i.trim().replace('\n', "\n  ")))
        .collect();
    if !items.is_empty() {
        let _ = write!(out, "\n## {heading}\n\n{items}");
    }
}

fn prerequisite(p: &Prerequisite) -> String {
    match p {
        Prerequisite::Text(text) => text.clone(),
        Prerequisite::Check {
            condition,
            check_tool,
            action_if_not_met,
        } => {
            let check = check_tool.iter().map(|t| format!(" (check with `{t}`)"));
            let action = action_if_not_met
                .iter()
                .map(|a| format!("; otherwise: {a}"));
            format!(
                "{condition}{}{}",
                check.collect::<String>(),
                action.collect::<String>()
            )
        }
    }
}

fn parameters(out: &mut String, def: &ToolDef) {
    let properties = def
        .input_schema
        .get("properties")
        .and_then(Value::as_object);
    let Some(properties) = properties.filter(|p| !p.is_empty()) else {
        let _ = writeln!(out, "\n## Parameters\n\nNone.");
        return;
    };
    let _ = write!(
        out,
        "\n## Parameters\n\n| name | type | required | default | description |\n|---|---|---|---|---|\n"
    );
    for (name, property) in properties {
        let required = def
            .input_schema
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|r| r.iter().any(|n| n == name));
        let text = |key: &str| property.get(key).map(cell).unwrap_or_default();
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} | {} |",
            cell(&Value::from(name.as_str())),
            kind(property),
            if required { "yes" } else { "no" },
            text("default"),
            text("description"),
        );
    }
    if let Ok(schema) = serde_json::to_string(&def.input_schema) {
        let _ = write!(out, "\n```json\n{schema}\n```\n");
    }
}

/// A type in a few words: `string`, `one of "a", "b"`, `list of integer`.
fn kind(schema: &Value) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<String> = values.iter().map(cell).collect();
        return format!("one of {}", values.join(", "));
    }
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "array" => match schema.get("items") {
            Some(items) => format!("list of {}", self::kind(items)),
            None => "list".to_owned(),
        },
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => kinds
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" or "),
        _ => "any".to_owned(),
    }
}

fn cell(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.replace('|', "\\|")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

fn examples(out: &mut String, def: &ToolDef) {
    if def.examples.is_empty() {
        return;
    }
    out.push_str("\n## Examples\n");
    for example in &def.examples {
        if let Some(scenario) = &example.scenario {
            let _ = writeln!(out, "\n{scenario}:");
        }
        let _ = write!(out, "\n```json\n{}\n```\n", example.params);
        if let Some(expected) = &example.expected {
            let _ = writeln!(out, "\n→ {expected}");
        }
    }
}

fn workflow(out: &mut String, def: &ToolDef) {
    let Some(workflow) = &def.workflow else {
        return;
    };
    let name = workflow
        .name
        .as_deref()
        .map(|n| format!(": {n}"))
        .unwrap_or_default();
    let _ = write!(out, "\n## Workflow{name}\n\n");
    for (i, step) in workflow.steps.iter().enumerate() {
        let number = step.step.unwrap_or(i as u64 + 1);
        let mut tools: Vec<String> = step
            .tool
            .iter()
            .chain(&step.tools)
            .map(|t| format!("`{t}`"))
            .collect();
        tools.dedup();
        let tools = if tools.is_empty() {
            String::new()
        } else {
            format!(" with {}", tools.join(" or "))
        };
        let condition = step
            .condition
            .as_ref()
            .map(|c| format!(" ({c})"))
            .unwrap_or_default();
        let _ = writeln!(out, "{number}. {}{tools}{condition}", step.action);
    }
}

#[cfg(test)]
mod tests;
