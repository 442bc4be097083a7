//! Google Gemini's function declarations.
//!
//! Written with `parametersJsonSchema`, which takes plain JSON Schema. The older
//! `parameters`, an OpenAPI schema with types in capitals, is read as well.

use serde_json::{Map, Value, json};

use super::draft::Outline;
use super::{Dialect, Draft, EncodeError, Encoded, Loss, Source, Strictness, by_name};
use crate::def::ToolDef;
use crate::lint::Issue;
use crate::read::Syntax;
use crate::schema::walk;

pub(super) const DIALECT: Dialect = Dialect {
    name: "gemini",
    about: "Google Gemini",
    syntaxes: &[Syntax::Json],
    holds: &["name", "description", "input_schema", "output_schema"],
    encode,
    decode,
    together: |tools| json!({"functionDeclarations": tools}),
    path: by_name,
};

fn encode(def: &ToolDef, _: Strictness) -> Result<Encoded, EncodeError> {
    let mut outline = Outline::of("gemini", def);
    let carried = outline.carried();
    outline.take_same(&["name", "description"]);
    outline.take("input_schema", "parametersJsonSchema");
    outline.take("output_schema", "responseJsonSchema");
    outline.restore(carried, "name");
    outline.finish()
}

fn decode(source: &Source<'_>) -> Result<Draft, Issue> {
    let mut draft = Draft::of("gemini", source.value)?;
    draft.take_same(&["name", "description"]);
    for (from, to) in [
        ("parameters", "input_schema"),
        ("response", "output_schema"),
    ] {
        if let Some(schema) = draft.remove(from) {
            if from == "parameters" && draft.peek("parametersJsonSchema").is_some() {
                draft.lose(Loss::dropped(
                    "/input_schema",
                    "`parametersJsonSchema` is there, too, and stands",
                ));
            }
            for pointer in unread(&schema) {
                let reason = "JSON Schema has no such keyword";
                draft.lose(Loss::dropped(format!("/{to}{pointer}"), reason));
            }
            draft.set(to, plain(&schema), from);
        }
    }
    for (from, to) in [
        ("parametersJsonSchema", "input_schema"),
        ("parameters_json_schema", "input_schema"),
        ("responseJsonSchema", "output_schema"),
        ("response_json_schema", "output_schema"),
    ] {
        draft.take(from, to);
    }
    draft.schema_or_empty();
    draft.adopt_name();
    draft.carry_rest();
    Ok(draft)
}

/// From Gemini's OpenAPI schema to JSON Schema: small types, `nullable` as a type,
/// counts that are text as numbers.
fn plain(schema: &Value) -> Value {
    let Value::Object(map) = schema else {
        return schema.clone();
    };
    let mut out = Map::new();
    for (key, value) in map {
        let name = key.as_str();
        let value = match value {
            Value::String(kind) if name == "type" => json!(kind.to_ascii_lowercase()),
            Value::String(count) if COUNTS.contains(&name) => count
                .parse::<u64>()
                .map_or_else(|_| value.clone(), Value::from),
            Value::Object(named) if walk::NAMED.contains(&name) => {
                Value::Object(named.iter().map(|(k, v)| (k.clone(), plain(v))).collect())
            }
            Value::Array(list) if walk::LIST.contains(&name) => list.iter().map(plain).collect(),
            Value::Object(_) if walk::ONE.contains(&name) => plain(value),
            other => other.clone(),
        };
        match name {
            "nullable" | "propertyOrdering" => {}
            // An OpenAPI example is one value.
            "example" => drop(out.insert("examples".to_owned(), json!([value]))),
            "format" if value == "enum" => {}
            _ => drop(out.insert(key.clone(), value)),
        }
    }
    if map.get("nullable") == Some(&json!(true)) {
        if let Some(kind) = out.get("type").cloned() {
            out.insert("type".to_owned(), json!([kind, "null"]));
        }
        if let Some(Value::Array(values)) = out.get_mut("enum") {
            values.push(Value::Null);
        }
    }
    Value::Object(out)
}

/// Where Gemini says what JSON Schema cannot.
fn unread(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk::subschemas(schema, &mut |at, map| {
        if map.contains_key("propertyOrdering") {
            found.push(format!("{at}/propertyOrdering"));
        }
        if map.contains_key("nullable") && !map.contains_key("type") {
            found.push(format!("{at}/nullable"));
        }
    });
    found
}

const COUNTS: &[&str] = &[
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
];
