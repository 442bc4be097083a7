//! What a keyword asks for, as a sentence.

use serde_json::{Map, Value};

/// The sentence for a keyword that the subset lacks; `None` for those that say
/// nothing to a model.
pub(super) fn sentence(key: &str, value: &Value, beside: &Map<String, Value>) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some(match key {
        "default" => format!("Default: {value}."),
        "examples" => {
            let list = value.as_array()?;
            let shown: Vec<String> = list.iter().map(Value::to_string).collect();
            format!("For example: {}.", shown.join(", "))
        }
        "minLength" => format!("At least {text} characters."),
        "maxLength" => format!("At most {text} characters."),
        "pattern" => format!("Matches the pattern {text} ."),
        "format" => format!("Format: {text}."),
        "minimum" => format!("At least {text}."),
        "maximum" => format!("At most {text}."),
        "exclusiveMinimum" => format!("More than {text}."),
        "exclusiveMaximum" => format!("Less than {text}."),
        "multipleOf" => format!("A multiple of {text}."),
        "minItems" => format!("At least {text} items."),
        "maxItems" => format!("At most {text} items."),
        "uniqueItems" if *value == Value::Bool(true) => "No item twice.".to_owned(),
        "minProperties" => format!("At least {text} keys."),
        "maxProperties" => format!("At most {text} keys."),
        "contentEncoding" => format!("Encoded as {text}."),
        "contentMediaType" => format!("Content of type {text}."),
        "deprecated" if *value == Value::Bool(true) => "Deprecated.".to_owned(),
        "dependentRequired" => format!("Keys that need others: {text}."),
        "then" if beside.contains_key("if") => format!("Then {text}."),
        "else" if beside.contains_key("if") => format!("Otherwise {text}."),
        "if" => format!("If it fits {text}:"),
        "not" => format!("Not what fits {text}."),
        "prefixItems"
        | "contains"
        | "patternProperties"
        | "propertyNames"
        | "dependentSchemas"
        | "const"
        | "unevaluatedProperties"
        | "unevaluatedItems"
        | "minContains"
        | "maxContains" => {
            format!("{key}: {text}.")
        }
        _ => return None,
    })
}
