//! How lists and objects are written in an address: the styles of OpenAPI, after
//! RFC 6570.

use serde_json::Value;

use super::encode;
use crate::settings::{Argument, Location, Style};

/// A value as one text, for a path, a header or a cookie.
pub(super) fn delimited(
    name: &str,
    argument: &Argument,
    value: &Value,
    write: impl Fn(&str) -> String,
) -> String {
    if argument.json {
        return write(&value.to_string());
    }
    let style = argument.style.unwrap_or(match argument.place {
        Location::Cookie => Style::Form,
        _ => Style::Simple,
    });
    let explode = argument.explode.unwrap_or(false);
    let items: Vec<String> = match value {
        Value::Array(items) => items.iter().map(|item| write(&scalar(item))).collect(),
        Value::Object(fields) => {
            let mut all = Vec::new();
            for (key, item) in fields {
                let (key, item) = (write(key), write(&scalar(item)));
                match explode {
                    true => all.push(format!("{key}={item}")),
                    false => all.extend([key, item]),
                }
            }
            all
        }
        one => vec![write(&scalar(one))],
    };
    match style {
        Style::Label if explode => format!(".{}", items.join(".")),
        Style::Label => format!(".{}", items.join(",")),
        Style::Matrix if explode && value.is_object() => format!(";{}", items.join(";")),
        Style::Matrix if explode => {
            let each = items.iter().map(|item| format!(";{name}={item}"));
            each.collect::<String>()
        }
        Style::Matrix => format!(";{name}={}", items.join(",")),
        _ => items.join(","),
    }
}

/// A value as names and values of a query, encoded.
pub(super) fn pairs(name: &str, argument: &Argument, value: &Value) -> Vec<(String, String)> {
    let key = encode(name);
    if argument.json {
        return vec![(key, encode(&value.to_string()))];
    }
    let style = argument.style.unwrap_or(Style::Form);
    let explode = argument.explode.unwrap_or(style == Style::Form);
    let separator = match style {
        Style::SpaceDelimited => "%20",
        Style::PipeDelimited => "%7C",
        _ => ",",
    };
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| encode(&scalar(item))).collect();
            match explode {
                true => items.into_iter().map(|item| (key.clone(), item)).collect(),
                false if items.is_empty() => Vec::new(),
                false => vec![(key, items.join(separator))],
            }
        }
        Value::Object(fields) => {
            let mut all = Vec::new();
            let mut flat = Vec::new();
            for (field, item) in fields {
                let (field, item) = (encode(field), encode(&scalar(item)));
                match (style, explode) {
                    (Style::DeepObject, _) => all.push((format!("{key}%5B{field}%5D"), item)),
                    (_, true) => all.push((field, item)),
                    (_, false) => flat.extend([field, item]),
                }
            }
            if !flat.is_empty() {
                all.push((key, flat.join(separator)));
            }
            all
        }
        one => vec![(key, encode(&scalar(one)))],
    }
}

/// A value that is not made of others, as text; what is nested is JSON.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
