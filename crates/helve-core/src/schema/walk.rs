//! Ways through a schema that know which values are schemas.

use serde_json::{Map, Value};

use crate::node::escape;

/// Keywords whose value is a schema.
pub const ONE: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords whose value is a list of schemas.
pub const LIST: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems"];

/// Keywords whose value has schemas by name.
pub const NAMED: &[&str] = &[
    "$defs",
    "definitions",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// Visits every schema object inside `schema`, itself first, with its pointer.
pub fn subschemas<'v>(schema: &'v Value, visit: &mut impl FnMut(&str, &'v Map<String, Value>)) {
    visit_at(schema, &mut String::new(), visit);
}

fn visit_at<'v>(
    schema: &'v Value,
    at: &mut String,
    visit: &mut impl FnMut(&str, &'v Map<String, Value>),
) {
    let Value::Object(map) = schema else {
        return;
    };
    visit(at, map);
    for (key, value) in map {
        let name = key.as_str();
        let length = at.len();
        match value {
            Value::Object(named) if NAMED.contains(&name) => {
                for (sub, schema) in named {
                    push(at, &[name, sub]);
                    visit_at(schema, at, visit);
                    at.truncate(length);
                }
            }
            Value::Array(list) if LIST.contains(&name) || name == "items" => {
                for (i, schema) in list.iter().enumerate() {
                    push(at, &[name, &i.to_string()]);
                    visit_at(schema, at, visit);
                    at.truncate(length);
                }
            }
            Value::Object(_) if ONE.contains(&name) => {
                push(at, &[name]);
                visit_at(value, at, visit);
                at.truncate(length);
            }
            _ => {}
        }
    }
}

fn push(at: &mut String, parts: &[&str]) {
    for part in parts {
        at.push('/');
        match part.contains(['~', '/']) {
            true => at.push_str(&escape(part)),
            false => at.push_str(part),
        }
    }
}

/// The properties of an object schema, by name.
pub fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let named = schema.get("properties").and_then(Value::as_object);
    named.into_iter().flatten()
}

/// The names that an object schema requires.
pub fn required(schema: &Value) -> Vec<&str> {
    let names = schema.get("required").and_then(Value::as_array);
    names
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// How deep a value nests.
pub fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// About how many bytes a value takes, written without spaces.
pub fn bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|i| bytes(i) + 1).sum::<usize>(),
        Value::Object(map) => {
            2 + map
                .iter()
                .map(|(key, value)| key.len() + bytes(value) + 4)
                .sum::<usize>()
        }
    }
}
