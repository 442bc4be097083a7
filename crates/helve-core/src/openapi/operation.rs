//! One operation as a tool.

use serde_json::{Map, Value, json};

use super::parameters::Inputs;
use super::schema::{self, Schemas};
use super::{Reading, Tool, body, naming, security, servers};
use crate::def::{Executor, ExecutorKind, Reversible, Risk};
use crate::dialect::Loss;
use crate::lint::{self, Severity, rules};
use crate::schema::walk;
use crate::{ToolDef, ToolName};

/// How long a description may be; the rest is the detail.
const SHORT: usize = 200;

/// How long a detail may be.
const LONG: usize = 4000;

/// The most bytes of a schema of results.
const RESULT: usize = 64 * 1024;

pub(super) fn tool<'d>(
    reading: &mut Reading<'d>,
    path: &str,
    method: &'static str,
    item: &'d Map<String, Value>,
    operation: &'d Map<String, Value>,
) -> Result<Tool, String> {
    sound_path(path)?;
    let base = servers::base(reading.root, item, operation, reading.options)?;
    let mut inputs = Inputs::default();
    let mut schemas = Schemas::new(reading, schema::ARGUMENTS);
    inputs.parameters(&mut schemas, item, operation, path)?;
    body::take(&mut inputs, &mut schemas, operation)?;
    let defs = schemas.defs()?;
    let mut losses = std::mem::take(&mut schemas.losses);
    let input_schema = input_schema(&inputs, defs);
    if walk::bytes(&input_schema) > schema::MOST {
        return Err("its schema is too large".to_owned());
    }
    let output_schema = output(reading, operation, &mut losses);
    let (description, detail) = words(operation, item, method, path);
    let unnamed = ToolName::new(method).map_err(|e| e.to_string())?;
    let mut def = ToolDef::new(unnamed, description);
    def.detail = detail;
    def.input_schema = input_schema;
    def.output_schema = output_schema;
    let tags = operation.get("tags").and_then(Value::as_array);
    for tag in tags
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .take(16)
    {
        if !tag.trim().is_empty() && !def.tags.iter().any(|t| t == tag) {
            def.tags.push(tag.trim().to_owned());
        }
    }
    if operation.get("deprecated") == Some(&Value::Bool(true)) {
        def.warnings
            .push("The service calls this operation deprecated.".to_owned());
    }
    let id = operation.get("operationId").and_then(Value::as_str);
    let mut origin = json!({"operation": format!("{} {path}", method.to_ascii_uppercase())});
    if let Some(id) = id {
        origin["id"] = json!(id);
    }
    def.metadata.insert("openapi".to_owned(), origin);
    let reads = matches!(method, "get" | "head" | "options");
    def.risk = Some(if reads { Risk::Read } else { Risk::Write });
    def.idempotent = reads;
    if !reads {
        def.reversible = Reversible::No;
    }
    def.executor = Some(executor(&inputs, &base, method, path));
    mend(&mut def, &mut losses)?;
    // Last, so that an operation that is passed over asks for no secret and no name.
    let auth = security::auth(reading, operation, &servers::host(&base), &mut losses)?;
    if let (Some(auth), Some(executor)) = (auth, &mut def.executor) {
        executor.settings.insert("auth".to_owned(), auth);
    }
    let name = naming::tool(&reading.group, id, method, path, &mut reading.taken);
    def.name = ToolName::new(name).map_err(|e| e.to_string())?;
    Ok(Tool {
        def,
        losses,
        pointer: String::new(),
    })
}

fn sound_path(path: &str) -> Result<(), String> {
    let bad = |c: char| c.is_control() || c.is_whitespace() || "#\\?".contains(c);
    match path {
        _ if !path.starts_with('/') => Err("its path does not begin with `/`".to_owned()),
        _ if path.contains(bad) => Err("its path has characters that no path has".to_owned()),
        _ if path.split('/').any(|s| {
            let plain = s.to_ascii_lowercase().replace("%2e", ".");
            plain == "." || plain == ".."
        }) =>
        {
            Err("its path has `.` or `..` in it".to_owned())
        }
        _ => Ok(()),
    }
}

fn input_schema(inputs: &Inputs, defs: Map<String, Value>) -> Value {
    let mut schema = json!({"type": "object", "properties": inputs.properties});
    if !inputs.required.is_empty() {
        schema["required"] = json!(inputs.required);
    }
    schema["additionalProperties"] = Value::Bool(false);
    if !defs.is_empty() {
        schema["$defs"] = Value::Object(defs);
    }
    schema
}

fn executor(inputs: &Inputs, base: &str, method: &str, path: &str) -> Executor {
    let mut executor = Executor::of(ExecutorKind::Http);
    let mut set = |key: &str, value: Value| executor.settings.insert(key.to_owned(), value);
    set("url", json!(base));
    set("method", json!(method.to_ascii_uppercase()));
    set("path", json!(inputs.template(path)));
    if !inputs.arguments.is_empty() {
        set("arguments", Value::Object(inputs.arguments.clone()));
    }
    if let Some(body) = &inputs.body {
        set("body", json!(body));
    }
    if let Some(kind) = &inputs.content_type {
        set("content_type", json!(kind));
    }
    executor
}

/// The description and, where there is more to say, the detail.
fn words(
    operation: &Map<String, Value>,
    item: &Map<String, Value>,
    method: &str,
    path: &str,
) -> (String, Option<String>) {
    let text = |from: &Map<String, Value>, key: &str| {
        let text = from.get(key).and_then(Value::as_str).map(str::trim);
        text.filter(|t| !t.is_empty()).map(str::to_owned)
    };
    let summary = text(operation, "summary").or_else(|| text(item, "summary"));
    let long = text(operation, "description").or_else(|| text(item, "description"));
    let plain = format!("{} {path}", method.to_ascii_uppercase());
    let first = summary.clone().or_else(|| long.clone()).unwrap_or(plain);
    let short = shortened(&first);
    let rest = match (summary, long) {
        (Some(summary), Some(long)) if summary != long => Some(long),
        _ if short != first => Some(first),
        _ => None,
    };
    (short, rest.map(|r| r.chars().take(LONG).collect()))
}

/// The first sentences that fit.
fn shortened(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let flat = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= SHORT {
        return flat;
    }
    let cut: String = flat.chars().take(SHORT - 1).collect();
    match cut.rfind(". ") {
        Some(end) if end > SHORT / 4 => cut[..=end].to_owned(),
        _ => format!(
            "{}…",
            cut.rsplit_once(' ').map_or(cut.as_str(), |(head, _)| head)
        ),
    }
}

/// The schema of results, where there is one sort of success and it is JSON.
fn output(
    reading: &mut Reading<'_>,
    operation: &Map<String, Value>,
    losses: &mut Vec<Loss>,
) -> Option<Value> {
    let responses = operation.get("responses")?.as_object()?;
    let mut good = responses
        .iter()
        .filter(|(status, _)| status.starts_with('2'));
    let (_, response) = good.next()?;
    if good.next().is_some() {
        return None;
    }
    let response = match response.get("$ref").and_then(Value::as_str) {
        Some(reference) => reading
            .follow(reading.target(reference).ok()?)
            .ok()?
            .clone(),
        None => response.clone(),
    };
    let content = response.get("content")?.as_object()?;
    let (_, media) = content
        .iter()
        .find(|(kind, _)| body::is_json(kind) && *kind != "*/*")?;
    if content.len() > 1 {
        return None;
    }
    let schema = media.get("schema")?;
    let mut drop = |reason: String| {
        losses.push(Loss::dropped("/output_schema", reason));
        None
    };
    let mut schemas = Schemas::new(reading, schema::RESULTS);
    let converted = schemas
        .convert(schema, "/output_schema")
        .and_then(|schema| {
            let Value::Object(mut map) = schema else {
                return Err("it says nothing".to_owned());
            };
            let defs = schemas.defs()?;
            if !defs.is_empty() {
                map.insert("$defs".to_owned(), Value::Object(defs));
            }
            Ok(Value::Object(map))
        });
    match converted {
        Err(why) => drop(why),
        Ok(schema) if walk::bytes(&schema) > RESULT => {
            drop("it is too long to be carried along".to_owned())
        }
        Ok(schema) => match schema::is_sound(&schema) {
            Ok(()) => Some(schema),
            Err(why) => drop(why),
        },
    }
}

/// Takes out what would make the definition unusable: defaults that do not fit.
fn mend(def: &mut ToolDef, losses: &mut Vec<Loss>) -> Result<(), String> {
    let context = lint::Context {
        stem: None,
        group: None,
        dialect: "helve",
        vendor: None,
    };
    let errors = |def: &ToolDef| {
        let issues = lint::check(def, &context);
        let errors = issues
            .into_iter()
            .filter(|i| i.rule.severity == Severity::Error);
        errors.collect::<Vec<_>>()
    };
    // Looking at all rules takes long; without a default, the schema is all that counts.
    if !has_default(&def.input_schema) {
        let empty = walk::properties(&def.input_schema).next().is_none();
        return match empty {
            true => Ok(()),
            false => schema::is_sound(&def.input_schema),
        };
    }
    for issue in errors(def) {
        let pointer = issue
            .pointer
            .strip_prefix("/input_schema")
            .unwrap_or_default();
        if issue.rule == &rules::BROKEN_DEFAULT {
            let at = pointer.strip_suffix("/default").unwrap_or(pointer);
            let holder = def
                .input_schema
                .pointer_mut(at)
                .and_then(Value::as_object_mut);
            if holder.and_then(|h| h.shift_remove("default")).is_some() {
                losses.push(Loss::dropped(
                    issue.pointer.clone(),
                    "the default does not fit its own schema",
                ));
            }
        }
    }
    match errors(def).first() {
        None => Ok(()),
        Some(issue) => Err(format!("`{}` {}", issue.pointer, issue.message)),
    }
}

fn has_default(schema: &Value) -> bool {
    let mut found = false;
    walk::subschemas(schema, &mut |_, sub| found |= sub.contains_key("default"));
    found
}
