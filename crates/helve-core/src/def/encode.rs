//! From a definition to its canonical form.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::fields::FIELDS;
use super::{Executor, Prerequisite, Reversible, ToolDef, Workflow};

pub(super) fn encode(def: &ToolDef) -> Value {
    let mut out = Map::new();
    for field in FIELDS {
        if let Some(value) = field_value(def, field.name) {
            out.insert(field.name.to_owned(), value);
        }
    }
    Value::Object(out)
}

/// The value of one field; `None` where it is at its default.
fn field_value(def: &ToolDef, name: &str) -> Option<Value> {
    match name {
        "name" => Some(json!(def.name.as_str())),
        "title" => def.title.clone().map(Value::from),
        "description" => Some(json!(def.description)),
        "category" => def.category.clone().map(Value::from),
        "tags" => list(&def.tags),
        "aliases" => list(&def.aliases),
        "version" => def.version.as_ref().map(|v| json!(v.to_string())),
        "enabled" => (!def.enabled).then_some(json!(false)),
        "risk" => def.risk.map(|r| json!(r.as_str())),
        "reversible" => match &def.reversible {
            Reversible::Yes => None,
            Reversible::No => Some(json!("no")),
            Reversible::Compensate(tool) => Some(json!({"compensate": tool})),
        },
        "input_schema" => Some(def.input_schema.clone()),
        "output_schema" => def.output_schema.clone(),
        "detail" => def.detail.clone().map(Value::from),
        "triggers" => list(&def.triggers),
        "prerequisites" => each(&def.prerequisites, prerequisite),
        "warnings" => list(&def.warnings),
        "examples" => each(&def.examples, |e| {
            object([
                ("scenario", e.scenario.clone().map(Value::from)),
                ("params", Some(e.params.clone())),
                ("expected", e.expected.clone().map(Value::from)),
            ])
        }),
        "related_tools" => each(&def.related_tools, |r| {
            object([
                ("name", Some(json!(r.name))),
                ("relation", r.relation.clone().map(Value::from)),
            ])
        }),
        "workflow" => def.workflow.as_ref().map(workflow),
        "executor" => def.executor.as_ref().map(executor),
        "allowed_paths" => each(&def.allowed_paths, |p| match p.access {
            None => json!(p.path),
            Some(access) => json!({"path": p.path, "access": access.as_str()}),
        }),
        "timeout" => def.timeout.map(seconds),
        "retry" => def.retry.map(|r| {
            let delay = u64::try_from(r.delay.as_millis()).unwrap_or(u64::MAX);
            json!({"max": r.max, "delay_ms": delay})
        }),
        "idempotent" => def.idempotent.then_some(json!(true)),
        "serial" => def.serial.then_some(json!(true)),
        "sensitive" => def.sensitive.then_some(json!(true)),
        "return_direct" => def.return_direct.then_some(json!(true)),
        "metadata" => (!def.metadata.is_empty()).then(|| Value::Object(def.metadata.clone())),
        _ => None,
    }
}

fn list(items: &[String]) -> Option<Value> {
    (!items.is_empty()).then(|| json!(items))
}

fn each<T>(items: &[T], one: impl Fn(&T) -> Value) -> Option<Value> {
    (!items.is_empty()).then(|| items.iter().map(one).collect())
}

fn object<const N: usize>(pairs: [(&str, Option<Value>); N]) -> Value {
    pairs
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect::<Map<_, _>>()
        .into()
}

fn prerequisite(p: &Prerequisite) -> Value {
    match p {
        Prerequisite::Text(text) => json!(text),
        Prerequisite::Check {
            condition,
            check_tool,
            action_if_not_met,
        } => object([
            ("condition", Some(json!(condition))),
            ("check_tool", check_tool.clone().map(Value::from)),
            (
                "action_if_not_met",
                action_if_not_met.clone().map(Value::from),
            ),
        ]),
    }
}

fn workflow(w: &Workflow) -> Value {
    let steps = w.steps.iter().map(|s| {
        object([
            ("step", s.step.map(Value::from)),
            ("action", Some(json!(s.action))),
            ("tool", s.tool.clone().map(Value::from)),
            ("tools", list(&s.tools)),
            ("condition", s.condition.clone().map(Value::from)),
        ])
    });
    object([
        ("name", w.name.clone().map(Value::from)),
        ("steps", Some(steps.collect())),
    ])
}

fn executor(e: &Executor) -> Value {
    if e.settings.is_empty() {
        return json!(e.kind.as_str());
    }
    let mut out = Map::new();
    out.insert("type".to_owned(), json!(e.kind.as_str()));
    out.extend(e.settings.clone());
    Value::Object(out)
}

/// Whole seconds as a number, anything finer as text with its unit.
fn seconds(duration: Duration) -> Value {
    match duration.subsec_millis() {
        0 => json!(duration.as_secs()),
        _ => json!(format!("{}ms", duration.as_millis())),
    }
}
