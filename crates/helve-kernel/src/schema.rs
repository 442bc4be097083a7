//! From a Rust type to the schema of a tool.
//!
//! `schemars` writes what is true of the type; this turns it into what is true of
//! a call. An optional argument is left out rather than `null`, nothing refers to
//! a place outside the schema, and what only Rust knows (the width of a number,
//! the name of the type) is not there to be read.

use schemars::JsonSchema;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use serde_json::{Map, Value};

/// The schema of arguments that are read as a `T`.
pub(crate) fn input_schema<T: JsonSchema>() -> Value {
    let mut schema = root::<T>(SchemaSettings::draft2020_12().for_deserialize());
    leave_out_null(&mut schema);
    if schema.get("type").is_none() {
        // An enum or a free value: arguments come by name nevertheless.
        schema.insert("type".to_owned(), "object".into());
    }
    let object = schema.get("type").and_then(Value::as_str) == Some("object");
    if object && schema.get("properties").is_none() {
        // Some vendors refuse an object that has none.
        schema.insert("properties".to_owned(), Value::Object(Map::new()));
    }
    schema.to_value()
}

/// The schema of a result that is a `T`.
pub(crate) fn output_schema<T: JsonSchema>() -> Value {
    root::<T>(SchemaSettings::draft2020_12().for_serialize()).to_value()
}

fn root<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    let settings = settings.with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    drop_widths(&mut schema);
    schema
}

/// Marks text as a path, also that in a list, a map or an optional argument.
pub fn mark_path(schema: &mut Schema) {
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(key)
            && let Ok(inner) = <&mut Schema>::try_from(inner)
            && inner.as_object().is_some()
        {
            return mark_path(inner);
        }
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(options)) = schema.get_mut(key) {
            for option in options.iter_mut().filter(|o| !is_null(o)) {
                if let Ok(option) = <&mut Schema>::try_from(option) {
                    mark_path(option);
                }
            }
            return;
        }
    }
    schema.insert("format".to_owned(), "path".into());
}

/// Formats that name a Rust number, which no vendor and no model knows.
const WIDTHS: &[&str] = &[
    "int8", "int16", "int32", "int64", "int128", "int", "uint8", "uint16", "uint32", "uint64",
    "uint128", "uint", "float", "double",
];

fn drop_widths(schema: &mut Schema) {
    let format = schema.get("format").and_then(Value::as_str);
    if format.is_some_and(|f| WIDTHS.contains(&f)) {
        schema.remove("format");
    }
    transform_subschemas(&mut drop_widths, schema);
}

/// Makes an optional property one that can be left out, and only that.
fn leave_out_null(schema: &mut Schema) {
    let required: Vec<String> = match schema.get("required") {
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(|n| n.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    };
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for (name, property) in properties {
            if let Value::Object(property) = property
                && !required.contains(name)
            {
                without_null(property);
            }
        }
    }
    transform_subschemas(&mut leave_out_null, schema);
}

fn without_null(property: &mut Map<String, Value>) {
    if property.get("default").is_some_and(Value::is_null) {
        property.shift_remove("default");
    }
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|t| t != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|v| !v.is_null());
    }
    let Some(Value::Array(options)) = property.get_mut("anyOf") else {
        return;
    };
    options.retain(|o| !is_null(o));
    if let [Value::Object(only)] = options.as_slice() {
        let only = only.clone();
        property.shift_remove("anyOf");
        for (key, value) in only {
            // What is said of the argument goes before what is said of its type.
            property.entry(key).or_insert(value);
        }
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|t| t == "null")
}

#[cfg(test)]
mod tests;
