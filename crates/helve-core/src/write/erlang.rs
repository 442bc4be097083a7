//! Erlang terms for BeamAI: atoms where the form has atoms, binaries elsewhere.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::dialect::EncodeError;
use crate::read::erlang::{CODE, is_handler};

/// One term a tool, each ended by a dot.
pub(super) fn terms(tools: &[Value]) -> Result<String, EncodeError> {
    let mut out = String::new();
    for tool in tools {
        out.push_str(&tool_map(tool)?);
        out.push_str(".\n");
    }
    Ok(out)
}

const STUB: &str = "fun(_Args, _Ctx) -> {error, not_implemented} end";

fn tool_map(tool: &Value) -> Result<String, EncodeError> {
    let empty = Map::new();
    let map = tool.as_object().unwrap_or(&empty);
    let mut entries = Vec::new();
    for (key, value) in map {
        let value = match key.as_str() {
            "parameters" => parameters(value, 1)?,
            "retry" => atoms(value, 1)?,
            _ => term(value, 1)?,
        };
        entries.push(format!("    {} => {value}", atom(key)));
    }
    if !map.contains_key("handler") {
        entries.push(format!("    handler => {STUB}"));
    }
    Ok(format!("#{{\n{}\n}}", entries.join(",\n")))
}

fn parameters(value: &Value, indent: usize) -> Result<String, EncodeError> {
    let Value::Object(map) = value else {
        return term(value, indent);
    };
    let each = |(name, spec): (&String, &Value)| {
        Ok(format!(
            "{} => {}",
            binary(name),
            parameter(spec, indent + 1)?
        ))
    };
    braces(map.iter().map(each), indent)
}

fn parameter(spec: &Value, indent: usize) -> Result<String, EncodeError> {
    let Value::Object(map) = spec else {
        return term(spec, indent);
    };
    let each = |(key, value): (&String, &Value)| {
        let value = match (key.as_str(), value) {
            ("type", Value::String(kind)) => atom(kind),
            ("items", _) => parameter(value, indent + 1)?,
            ("properties", _) => parameters(value, indent + 1)?,
            _ => term(value, indent + 1)?,
        };
        Ok(format!("{} => {value}", atom(key)))
    };
    braces(map.iter().map(each), indent)
}

/// A map whose keys are atoms.
fn atoms(value: &Value, indent: usize) -> Result<String, EncodeError> {
    match value {
        Value::Object(map) => {
            let each =
                |(k, v): (&String, &Value)| Ok(format!("{} => {}", atom(k), term(v, indent + 1)?));
            braces(map.iter().map(each), indent)
        }
        other => term(other, indent),
    }
}

fn term(value: &Value, indent: usize) -> Result<String, EncodeError> {
    Ok(match value {
        Value::Null => "undefined".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) if n.is_f64() => float(&n.to_string()),
        Value::Number(n) => n.to_string(),
        Value::String(text) => binary(text),
        Value::Array(items) => {
            let items: Result<Vec<String>, _> = items.iter().map(|i| term(i, indent + 1)).collect();
            format!("[{}]", items?.join(", "))
        }
        Value::Object(map) => {
            if let (1, Some(Value::String(source))) = (map.len(), map.get(CODE)) {
                return code(source);
            }
            let each = |(k, v): (&String, &Value)| {
                Ok(format!("{} => {}", binary(k), term(v, indent + 1)?))
            };
            braces(map.iter().map(each), indent)?
        }
    })
}

/// Source goes back only if it is a handler and nothing more.
fn code(source: &str) -> Result<String, EncodeError> {
    match is_handler(source) {
        true => Ok(source.to_owned()),
        false => Err(EncodeError::Text {
            dialect: "beamai",
            pointer: "/metadata/beamai".to_owned(),
            reason: "what stands under `$erlang` is neither a fun nor a tuple".to_owned(),
        }),
    }
}

fn braces(
    entries: impl Iterator<Item = Result<String, EncodeError>>,
    indent: usize,
) -> Result<String, EncodeError> {
    let entries: Vec<String> = entries.collect::<Result<_, _>>()?;
    let pad = "    ".repeat(indent + 1);
    let end = "    ".repeat(indent);
    Ok(match entries.is_empty() {
        true => "#{}".to_owned(),
        false => format!("#{{\n{pad}{}\n{end}}}", entries.join(&format!(",\n{pad}"))),
    })
}

/// Erlang wants a digit on both sides of the dot, and one before an exponent.
fn float(text: &str) -> String {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((m, e)) => (m, format!("e{e}")),
        None => (text, String::new()),
    };
    match mantissa.contains('.') {
        true => format!("{mantissa}{exponent}"),
        false => format!("{mantissa}.0{exponent}"),
    }
}

/// A binary; what is not ASCII is marked, or its bytes would be cut off.
fn binary(text: &str) -> String {
    let utf8 = if text.is_ascii() { "" } else { "/utf8" };
    format!("<<\"{}\"{utf8}>>", escaped(text, '"'))
}

fn atom(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '@')
        && !RESERVED.contains(&name);
    match plain {
        true => name.to_owned(),
        false => format!("'{}'", escaped(name, '\'')),
    }
}

fn escaped(text: &str, quote: char) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => drop(write!(out, "\\x{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

const RESERVED: &[&str] = &[
    "after", "and", "andalso", "band", "begin", "bnot", "bor", "bsl", "bsr", "bxor", "case",
    "catch", "cond", "div", "else", "end", "fun", "if", "let", "maybe", "not", "of", "or",
    "orelse", "receive", "rem", "try", "when", "xor",
];
