//! `parameters_schema()`: a map of parameters, each of which says itself whether
//! it is required.

use serde_json::{Map, Value, json};

use super::super::Loss;
use crate::lint::{Issue, rules};
use crate::node::escape;
use crate::schema::walk;

const KINDS: &[(&str, &str)] = &[
    ("string", "string"),
    ("integer", "integer"),
    ("float", "number"),
    ("boolean", "boolean"),
    ("array", "array"),
    ("object", "object"),
];

type Places = Vec<(String, String)>;

/// To JSON Schema, with where each part stood.
pub(super) fn read(parameters: &Value) -> Result<(Value, Places), Issue> {
    let whole = parameters.get("type").is_some_and(Value::is_string)
        && parameters.get("properties").is_some_and(Value::is_object);
    if whole {
        return Ok((parameters.clone(), Vec::new()));
    }
    let mut places = Vec::new();
    let schema = object(parameters, "", "", &mut places)?;
    Ok((schema, places))
}

fn object(map: &Value, def: &str, source: &str, places: &mut Places) -> Result<Value, Issue> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let Value::Object(map) = map else {
        return Err(wrong(source, "parameters must be a map of parameters"));
    };
    for (name, spec) in map {
        let def = format!("{def}/properties/{}", escape(name));
        let source = format!("{source}/{}", escape(name));
        if spec.get("required") == Some(&json!(true)) {
            required.push(name.clone());
        }
        properties.insert(name.clone(), parameter(spec, &def, &source, places)?);
        places.push((def, source));
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    Ok(schema)
}

fn parameter(spec: &Value, def: &str, source: &str, places: &mut Places) -> Result<Value, Issue> {
    let Value::Object(spec) = spec else {
        return Err(wrong(source, "a parameter must be a map with a `type`"));
    };
    let mut out = Map::new();
    for (key, value) in spec {
        match key.as_str() {
            "required" => {}
            "type" => {
                let word = value.as_str().unwrap_or_default();
                let kind = KINDS
                    .iter()
                    .find(|(theirs, ours)| *theirs == word || *ours == word);
                let Some((_, kind)) = kind else {
                    return Err(wrong(
                        &format!("{source}/type"),
                        &format!("`{word}` is no type of BeamAI"),
                    )
                    .fix("use string, integer, float, boolean, array or object"));
                };
                out.insert("type".to_owned(), json!(kind));
            }
            "items" => {
                let item = parameter(
                    value,
                    &format!("{def}/items"),
                    &format!("{source}/items"),
                    places,
                )?;
                out.insert(key.clone(), item);
            }
            "properties" => {
                let nested = object(value, def, &format!("{source}/properties"), places)?;
                for part in ["properties", "required"] {
                    if let Some(part_value) = nested.get(part) {
                        out.insert(part.to_owned(), part_value.clone());
                    }
                }
            }
            _ => drop(out.insert(key.clone(), value.clone())),
        }
    }
    Ok(Value::Object(out))
}

fn wrong(source: &str, message: &str) -> Issue {
    Issue::new(&rules::WRONG_TYPE, format!("/parameters{source}"), message)
}

/// From JSON Schema.
pub(super) fn write(schema: &Value) -> (Map<String, Value>, Vec<Loss>) {
    let mut losses = Vec::new();
    let at = "/input_schema";
    if let Value::Object(map) = schema {
        for key in map
            .keys()
            .filter(|k| !["type", "properties", "required"].contains(&k.as_str()))
        {
            losses.push(Loss::dropped(
                format!("{at}/{}", escape(key)),
                "parameters have no place for it",
            ));
        }
        if !map.contains_key("properties") {
            losses.push(Loss::changed(
                format!("{at}/properties"),
                "written out, empty",
            ));
        }
    }
    (parameters(schema, at, &mut losses), losses)
}

fn parameters(schema: &Value, at: &str, losses: &mut Vec<Loss>) -> Map<String, Value> {
    let required = walk::required(schema);
    // The order, a double, or a name that is no property cannot be said.
    let said: Vec<&str> = walk::properties(schema)
        .map(|(name, _)| name.as_str())
        .filter(|p| required.contains(p))
        .collect();
    if schema.get("required").is_some() && (said != required || required.is_empty()) {
        losses.push(Loss::changed(
            format!("{at}/required"),
            "each parameter says it for itself",
        ));
    }
    walk::properties(schema)
        .map(|(name, schema)| {
            let here = format!("{at}/properties/{}", escape(name));
            let mut spec = parameter_of(schema, &here, losses);
            if required.contains(&name.as_str()) {
                spec.insert("required".to_owned(), json!(true));
            }
            (name.clone(), Value::Object(spec))
        })
        .collect()
}

fn parameter_of(schema: &Value, at: &str, losses: &mut Vec<Loss>) -> Map<String, Value> {
    let mut out = Map::new();
    let given = schema.get("type");
    let kind = match given {
        Some(Value::String(kind)) => Some(kind.as_str()),
        Some(Value::Array(kinds)) => kinds
            .iter()
            .filter_map(Value::as_str)
            .find(|k| *k != "null"),
        _ => None,
    };
    let theirs = KINDS
        .iter()
        .find(|(_, ours)| Some(*ours) == kind)
        .map(|(theirs, _)| *theirs);
    let exact = theirs.is_some() && given.is_some_and(Value::is_string);
    if !exact {
        losses.push(Loss::changed(
            format!("{at}/type"),
            "a parameter has one of six types",
        ));
    }
    out.insert("type".to_owned(), json!(theirs.unwrap_or("string")));
    let Value::Object(map) = schema else {
        losses.push(Loss::changed(at, "a parameter has a type"));
        return out;
    };
    for (key, value) in map {
        let here = format!("{at}/{}", escape(key));
        match key.as_str() {
            "type" => {}
            "description" | "default" | "enum" => drop(out.insert(key.clone(), value.clone())),
            "items" if value.is_object() => {
                let item = parameter_of(value, &here, losses);
                out.insert(key.clone(), Value::Object(item));
            }
            "properties" if value.is_object() => {
                let nested = parameters(schema, at, losses);
                out.insert(key.clone(), Value::Object(nested));
            }
            "required" if map.contains_key("properties") => {}
            _ => losses.push(Loss::dropped(here, "a parameter has no place for it")),
        }
    }
    out
}
