//! Python source: dict literals, and functions with `@tool`.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::name::canonical;

/// A string literal, in double quotes.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || hidden(c) => match u32::from(c) {
                code @ ..=0xff => drop(write!(out, "\\x{code:02x}")),
                code @ ..=0xffff => drop(write!(out, "\\u{code:04x}")),
                code => drop(write!(out, "\\U{code:08x}")),
            },
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Characters that an editor does not show as they are.
fn hidden(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A literal on one line.
pub fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) => {
            let items: Vec<String> = map
                .iter()
                .map(|(k, v)| format!("{}: {}", quote(k), inline(v)))
                .collect();
            format!("{{{}}}", items.join(", "))
        }
        other => scalar(other),
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::String(text) => quote(text),
        other => other.to_string(),
    }
}

fn block(value: &Value, indent: usize) -> String {
    let pad = "    ".repeat(indent + 1);
    let end = "    ".repeat(indent);
    match value {
        Value::Array(items) if !items.is_empty() => {
            let items: String = items
                .iter()
                .map(|i| format!("{pad}{},\n", block(i, indent + 1)))
                .collect();
            format!("[\n{items}{end}]")
        }
        Value::Object(map) if !map.is_empty() => {
            let items: String = map
                .iter()
                .map(|(k, v)| format!("{pad}{}: {},\n", quote(k), block(v, indent + 1)))
                .collect();
            format!("{{\n{items}{end}}}")
        }
        other => inline(other),
    }
}

/// A literal over several lines, as it stands behind `indent` steps.
pub fn literal(value: &Value, indent: usize) -> String {
    block(value, indent)
}

/// `NAME = literal`.
pub(super) fn assigned(name: &str, value: &Value) -> String {
    format!("{name} = {}\n", block(value, 0))
}

/// A module of functions with `@tool`, to be filled in.
pub(super) fn decorators(tools: &[Value]) -> String {
    let mut body = String::new();
    let mut servers: Vec<(String, Vec<String>)> = Vec::new();
    let mut annotated = false;
    for tool in tools {
        let text = |key: &str| tool.get(key).and_then(Value::as_str).unwrap_or_default();
        let function = function_name(text("name"));
        let parameters = tool.get("input_schema").cloned().unwrap_or_default();
        let annotations = tool.get("annotations").and_then(Value::as_object);
        annotated |= annotations.is_some();
        let _ = write!(
            body,
            "\n\n@tool(\n    {},\n    {},\n    {},\n{})\nasync def {function}(args: dict[str, Any]) -> dict[str, Any]:\n    raise NotImplementedError({})\n",
            quote(text("name")),
            quote(text("description")),
            parameters_block(&parameters),
            annotations.map(annotation).unwrap_or_default(),
            quote(text("name")),
        );
        let server = text("server").to_owned();
        match servers.iter_mut().find(|(name, _)| *name == server) {
            Some((_, functions)) => functions.push(function),
            None => servers.push((server, vec![function])),
        }
    }
    for (i, (server, functions)) in servers.iter().enumerate() {
        let functions = functions.join(", ");
        let number = if i == 0 {
            String::new()
        } else {
            format!("_{}", i + 1)
        };
        // Which server they belong to is for whoever knows to say.
        let _ = match server.is_empty() {
            true => write!(body, "\n\ntools{number} = [{functions}]\n"),
            false => write!(
                body,
                "\n\nserver{number} = create_sdk_mcp_server(\n    name={},\n    version=\"1.0.0\",\n    tools=[{functions}],\n)\n",
                quote(server),
            ),
        };
    }
    let typing = if body.contains("Annotated[") {
        "Annotated, Any"
    } else {
        "Any"
    };
    let mcp = if annotated {
        "from mcp.types import ToolAnnotations\n"
    } else {
        ""
    };
    let sdk = if body.contains("create_sdk_mcp_server(") {
        "create_sdk_mcp_server, tool"
    } else {
        "tool"
    };
    format!("from typing import {typing}\n\nfrom claude_agent_sdk import {sdk}\n{mcp}{body}")
}

fn annotation(map: &Map<String, Value>) -> String {
    let fields: Vec<String> = map
        .iter()
        .map(|(k, v)| format!("{k}={}", inline(v)))
        .collect();
    format!("    annotations=ToolAnnotations({}),\n", fields.join(", "))
}

/// The short form has types in it, which are names, not strings.
fn parameters_block(parameters: &Value) -> String {
    let Value::Object(map) = parameters else {
        return block(parameters, 1);
    };
    let schema = map.get("type").is_some_and(Value::is_string) && map.contains_key("properties");
    if schema || map.is_empty() {
        return block(parameters, 1);
    }
    let items: String = map
        .iter()
        .map(|(k, v)| match v {
            Value::String(ty) => format!("        {}: {ty},\n", quote(k)),
            other => format!("        {}: {},\n", quote(k), block(other, 2)),
        })
        .collect();
    format!("{{\n{items}    }}")
}

fn function_name(tool: &str) -> String {
    let name = canonical(tool).unwrap_or_else(|| "tool_".to_owned());
    match KEYWORDS.contains(&name.as_str()) {
        true => format!("{name}_"),
        false => name,
    }
}

/// What no function may be called, and what would hide what the module imports.
const KEYWORDS: &[&str] = &[
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
    "tool",
    "create_sdk_mcp_server",
    "server",
    "tools",
    "str",
    "int",
    "float",
    "bool",
    "list",
    "dict",
];
