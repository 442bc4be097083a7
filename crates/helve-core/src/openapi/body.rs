//! The body of a request: its fields beside the parameters, or one argument.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::naming::argument;
use super::parameters::{Inputs, placed};
use super::schema::Schemas;
use crate::dialect::Loss;

const FORM: &str = "application/x-www-form-urlencoded";

/// Whether a media type is JSON.
pub(super) fn is_json(kind: &str) -> bool {
    let kind = kind
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    kind == "application/json" || kind.ends_with("+json") || kind == "*/*"
}

/// The media type that is used: JSON before a form before text.
fn choose(content: &Map<String, Value>) -> Option<(&String, &Value)> {
    let plain = |kind: &String| {
        kind.split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase()
    };
    content
        .iter()
        .find(|(kind, _)| plain(kind) == "application/json")
        .or_else(|| content.iter().find(|(kind, _)| is_json(kind)))
        .or_else(|| content.iter().find(|(kind, _)| plain(kind) == FORM))
        .or_else(|| {
            content
                .iter()
                .find(|(kind, _)| plain(kind).starts_with("text/"))
        })
}

/// Takes in the body of an operation.
pub(super) fn take(
    inputs: &mut Inputs,
    schemas: &mut Schemas<'_, '_>,
    operation: &Map<String, Value>,
) -> Result<(), String> {
    let Some(body) = operation.get("requestBody") else {
        return Ok(());
    };
    let body = match body.get("$ref").and_then(Value::as_str) {
        Some(reference) => schemas
            .reading
            .follow(schemas.reading.target(reference)?)?
            .clone(),
        None => body.clone(),
    };
    let required = body.get("required") == Some(&Value::Bool(true));
    let Some(content) = body
        .get("content")
        .and_then(Value::as_object)
        .filter(|c| !c.is_empty())
    else {
        return Ok(());
    };
    let Some((kind, media)) = choose(content) else {
        let kinds: Vec<String> = content
            .keys()
            .take(3)
            .map(|k| k.escape_debug().to_string())
            .collect();
        let kinds = kinds.join(", ");
        return match required {
            true => Err(format!(
                "its body is `{kinds}`; only JSON, forms and text are sent"
            )),
            false => {
                schemas.losses.push(Loss::dropped(
                    "/executor/body",
                    format!("`{kinds}` is not sent"),
                ));
                Ok(())
            }
        };
    };
    if content.len() > 1 {
        let reason = format!(
            "of several forms of the body, it takes `{}`",
            kind.escape_debug()
        );
        schemas
            .losses
            .push(Loss::changed("/executor/content_type", reason));
    }
    inputs.content_type = match kind.as_str() {
        "application/json" | "*/*" => None,
        other => Some(other.to_owned()),
    };
    let schema = media.get("schema").cloned().unwrap_or(Value::Bool(true));
    let text = !is_json(kind) && !kind.to_ascii_lowercase().starts_with(FORM);
    let fields = fields(schemas, &schema, &mut HashSet::new(), 0);
    match fields.filter(|f| !text && (required || f.required.is_empty())) {
        Some(fields) => each(inputs, schemas, &fields),
        None => whole(inputs, schemas, &schema, &body, required),
    }
}

/// An object whose fields can stand beside the parameters.
#[derive(Default)]
struct Fields {
    properties: Vec<(String, Value)>,
    required: Vec<String>,
}

/// The fields of an object that is nothing but its fields; also of several together.
fn fields(
    schemas: &Schemas<'_, '_>,
    schema: &Value,
    seen: &mut HashSet<String>,
    depth: usize,
) -> Option<Fields> {
    let map = schema.as_object().filter(|_| depth < 8)?;
    if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
        // The same twice may be a circle; then it stays a reference.
        if !seen.insert(reference.to_owned()) || !schemas.reading.old && map.len() > 1 {
            return None;
        }
        let target = schemas.reading.target(reference).ok()?;
        return fields(schemas, target, seen, depth + 1);
    }
    const HARMLESS: &[&str] = &[
        "type",
        "properties",
        "required",
        "description",
        "title",
        "example",
        "examples",
        "xml",
        "externalDocs",
        "additionalProperties",
        "allOf",
        "discriminator",
        "deprecated",
        "nullable",
    ];
    let plain = map
        .keys()
        .all(|k| HARMLESS.contains(&k.as_str()) || k.starts_with("x-"));
    let closed = map
        .get("additionalProperties")
        .is_none_or(|a| a == &Value::Bool(false));
    let object = map.get("type").is_none_or(|t| t == "object");
    let nullable = map.get("nullable") == Some(&Value::Bool(true));
    if !plain || !closed || !object || nullable {
        return None;
    }
    let mut all = Fields::default();
    for part in map
        .get("allOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let part = fields(schemas, part, seen, depth + 1)?;
        for (name, one) in part.properties {
            // Both would count: leave it to the schema.
            if all.properties.iter().any(|(n, _)| *n == name) {
                return None;
            }
            all.properties.push((name, one));
        }
        all.required.extend(part.required);
    }
    for (name, one) in map
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        if all.properties.iter().any(|(n, _)| n == name) {
            return None;
        }
        all.properties.push((name.clone(), one.clone()));
    }
    let names = map
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    all.required
        .extend(names.filter_map(Value::as_str).map(str::to_owned));
    let known = |name: &String| all.properties.iter().any(|(n, _)| n == name);
    let part = depth > 0 && map.contains_key("required");
    let whole = part || all.required.iter().all(known);
    (whole && (depth > 0 || !all.properties.is_empty())).then_some(all)
}

/// Each field is an argument.
fn each(inputs: &mut Inputs, schemas: &mut Schemas<'_, '_>, fields: &Fields) -> Result<(), String> {
    for (name, schema) in &fields.properties {
        let read_only = schema.get("readOnly") == Some(&Value::Bool(true));
        if read_only {
            continue;
        }
        let own = argument(name, "body", &mut inputs.taken);
        let at = format!("/input_schema/properties/{}", crate::node::escape(&own));
        let converted = schemas.convert(schema, &at)?;
        let converted = match converted {
            Value::Bool(true) => Value::Object(Map::new()),
            other => other,
        };
        inputs.properties.insert(own.clone(), converted);
        inputs
            .arguments
            .insert(own.clone(), placed("body", name, &own, Map::new()));
        if fields.required.contains(name) {
            inputs.required.push(own);
        }
    }
    Ok(())
}

/// The body is one argument.
fn whole(
    inputs: &mut Inputs,
    schemas: &mut Schemas<'_, '_>,
    schema: &Value,
    body: &Value,
    required: bool,
) -> Result<(), String> {
    let own = argument("body", "whole", &mut inputs.taken);
    let at = format!("/input_schema/properties/{own}");
    let mut converted = match schemas.convert(schema, &at)? {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    if let (Some(text @ Value::String(_)), false) = (
        body.get("description"),
        converted.contains_key("description"),
    ) {
        converted.insert("description".to_owned(), text.clone());
    }
    inputs
        .properties
        .insert(own.clone(), Value::Object(converted));
    if required {
        inputs.required.push(own.clone());
    }
    inputs.body = Some(own);
    Ok(())
}
