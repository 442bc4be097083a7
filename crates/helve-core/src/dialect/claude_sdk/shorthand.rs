//! `{name: type}` and the schemas that it can say.

use serde_json::{Map, Value, json};

use crate::read::python::{Arg, Type, parse_type};

/// The SDK's own test: a dict with a string `type` and `properties` is a schema.
pub(super) fn is_schema(parameters: &Value) -> bool {
    parameters.get("type").is_some_and(Value::is_string) && parameters.get("properties").is_some()
}

/// From the short form; `Err` has the key and what is wrong with its type.
pub(super) fn read(parameters: &Value) -> Result<Value, (String, String)> {
    let Value::Object(map) = parameters else {
        let problem = format!(
            "parameters must be an object, not {}",
            crate::def::kind_of(parameters)
        );
        return Err((String::new(), problem));
    };
    let mut properties = Map::new();
    for (key, value) in map {
        let refuse = |problem: String| (key.clone(), problem);
        let schema = match value {
            Value::String(text) => {
                let ty =
                    parse_type(text).map_err(|e| refuse(format!("`{text}` is not a type: {e}")))?;
                schema_of(&ty)
                    .ok_or_else(|| refuse(format!("`{text}` is not a type that is known here")))?
            }
            Value::Object(_) => value.clone(),
            other => {
                let kind = crate::def::kind_of(other);
                return Err(refuse(format!(
                    "a type must be a name such as `str`, not {kind}"
                )));
            }
        };
        properties.insert(key.clone(), schema);
    }
    let required: Vec<&String> = map.keys().collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    Ok(schema)
}

fn schema_of(ty: &Type) -> Option<Value> {
    Some(match ty {
        Type::Name(name) => match name.as_str() {
            "str" => json!({"type": "string"}),
            "int" => json!({"type": "integer"}),
            "float" => json!({"type": "number"}),
            "bool" => json!({"type": "boolean"}),
            "list" | "List" | "tuple" | "set" | "Sequence" => json!({"type": "array"}),
            "dict" | "Dict" | "Mapping" => json!({"type": "object"}),
            "None" => json!({"type": "null"}),
            "Any" | "object" => json!({}),
            _ => return None,
        },
        Type::Of(name, args) => match (name.as_str(), args.as_slice()) {
            ("list" | "List" | "Sequence" | "set", [Arg::Type(item)]) => {
                json!({"type": "array", "items": schema_of(item)?})
            }
            ("tuple" | "Tuple", [Arg::Type(item), ..]) => {
                json!({"type": "array", "items": schema_of(item)?})
            }
            ("dict" | "Dict" | "Mapping", [_, Arg::Type(value)]) => {
                json!({"type": "object", "additionalProperties": schema_of(value)?})
            }
            ("Annotated", [Arg::Type(inner), Arg::Value(Value::String(text)), ..]) => {
                let mut schema = schema_of(inner)?;
                schema["description"] = json!(text);
                schema
            }
            ("Annotated", [Arg::Type(inner), ..]) => schema_of(inner)?,
            ("Optional", [Arg::Type(inner)]) => with_null(schema_of(inner)?),
            ("Union", types) => union(types.iter().map(|a| match a {
                Arg::Type(ty) => schema_of(ty),
                Arg::Value(_) => None,
            }))?,
            ("Literal", values) => {
                let values: Option<Vec<&Value>> = values
                    .iter()
                    .map(|a| match a {
                        Arg::Value(v) => Some(v),
                        Arg::Type(_) => None,
                    })
                    .collect();
                let values = values?;
                match values.iter().all(|v| v.is_string()) {
                    true => json!({"type": "string", "enum": values}),
                    false => json!({"enum": values}),
                }
            }
            _ => return None,
        },
        Type::Union(types) => union(types.iter().map(schema_of))?,
    })
}

fn union(schemas: impl Iterator<Item = Option<Value>>) -> Option<Value> {
    let mut schemas: Vec<Value> = schemas.collect::<Option<_>>()?;
    let null = json!({"type": "null"});
    let before = schemas.len();
    schemas.retain(|s| *s != null);
    let nullable = schemas.len() < before;
    let one = match schemas.len() {
        1 => schemas.swap_remove(0),
        _ => json!({"anyOf": schemas}),
    };
    Some(if nullable { with_null(one) } else { one })
}

fn with_null(mut schema: Value) -> Value {
    match schema
        .get("type")
        .and_then(Value::as_str)
        .map(str::to_owned)
    {
        Some(kind) => {
            schema["type"] = json!([kind, "null"]);
            schema
        }
        None => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}

/// The short form, where reading it gives back exactly this schema.
pub(super) fn write(schema: &Value) -> Option<Value> {
    let properties = schema.get("properties")?.as_object()?;
    // A parameter called `type` beside one called `properties` would be taken for a schema.
    if properties.contains_key("type") && properties.contains_key("properties") {
        return None;
    }
    let mut short = Map::new();
    for (key, value) in properties {
        short.insert(key.clone(), json!(type_of(value)?));
    }
    let short = Value::Object(short);
    (read(&short).ok().as_ref() == Some(schema)).then_some(short)
}

fn type_of(schema: &Value) -> Option<String> {
    let map = schema.as_object()?;
    let plain = match map.get("type")?.as_str()? {
        "string" => "str".to_owned(),
        "integer" => "int".to_owned(),
        "number" => "float".to_owned(),
        "boolean" => "bool".to_owned(),
        "object" => "dict".to_owned(),
        "array" => match map.get("items") {
            None => "list".to_owned(),
            Some(items) => format!("list[{}]", type_of(items)?),
        },
        _ => return None,
    };
    Some(match map.get("description").and_then(Value::as_str) {
        Some(text) => format!("Annotated[{plain}, {}]", crate::write::python::quote(text)),
        None => plain,
    })
}
