//! Values that a schema accepts, as far as the suite's schemas go.

use serde_json::{Map, Value, json};

/// A value for a schema: its default if it has one.
pub(crate) fn value(schema: &Value) -> Value {
    if let Some(default) = schema.get("default") {
        return default.clone();
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let fields = schema["properties"].as_object();
            let made = fields
                .into_iter()
                .flatten()
                .map(|(name, field)| (name.clone(), value(field)));
            Value::Object(made.collect::<Map<_, _>>())
        }
        Some("array") => json!([]),
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("null") => Value::Null,
        _ => json!("text"),
    }
}
