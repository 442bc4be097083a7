//! What of a request travels as headers too, since 2026-07-28: its method, what it names,
//! and the arguments that a tool's schema marks with `x-mcp-header`.

use std::collections::HashMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use super::Message;

/// Arguments that travel as headers: where they stand, and the header's name.
pub(crate) type Marked = Vec<(Vec<String>, String)>;

/// The marked arguments of all tools, by the tools' names.
pub(crate) fn of_tools(tools: &[Value]) -> HashMap<String, Marked> {
    let mut found = HashMap::new();
    for tool in tools {
        let Some(name) = tool["name"].as_str() else {
            continue;
        };
        if let Ok(marked) = marked(&tool["inputSchema"])
            && !marked.is_empty()
        {
            found.insert(name.to_owned(), marked);
        }
    }
    found
}

/// The marked arguments of a schema, or what is wrong with a mark.
pub(crate) fn marked(schema: &Value) -> Result<Marked, String> {
    let mut found = Vec::new();
    if schema.get(MARK).is_some() {
        return Err(format!("`{MARK}` stands at the root of its schema"));
    }
    collect(schema, &mut Vec::new(), &mut found)?;
    let mut names: Vec<String> = found.iter().map(|(_, n)| n.to_ascii_lowercase()).collect();
    names.sort();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("two arguments have the `{MARK}` `{}`", pair[0])),
        None => Ok(found),
    }
}

const MARK: &str = "x-mcp-header";

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Marked) -> Result<(), String> {
    // Schemas are held to a depth before; this one comes from outside.
    if path.len() > 64 {
        return Ok(());
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        path.push(name.clone());
        if let Some(header) = property.get(MARK) {
            let header = header
                .as_str()
                .filter(|h| !h.is_empty() && h.bytes().all(is_token));
            let header =
                header.ok_or_else(|| format!("the `{MARK}` of `{name}` is no name of a header"))?;
            if !["string", "integer", "boolean"]
                .contains(&property["type"].as_str().unwrap_or_default())
            {
                return Err(format!(
                    "`{name}` has an `{MARK}`, and is neither text, whole number nor flag"
                ));
            }
            found.push((path.clone(), header.to_owned()));
        }
        collect(property, path, found)?;
        path.pop();
    }
    Ok(())
}

fn is_token(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)
}

/// The headers of a request.
pub(crate) fn of_request(
    message: &Message,
    tools: &HashMap<String, Marked>,
) -> Vec<(String, String)> {
    let Some(method) = message.get("method").and_then(Value::as_str) else {
        return Vec::new();
    };
    let mut headers = vec![("Mcp-Method".to_owned(), method.to_owned())];
    let params = message.get("params").unwrap_or(&Value::Null);
    let named = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
            params["uri"].as_str()
        }
        "tasks/get" | "tasks/update" | "tasks/cancel" => params["taskId"].as_str(),
        _ => None,
    };
    headers.extend(named.map(|name| ("Mcp-Name".to_owned(), encoded(name))));
    if method == "tools/call"
        && let Some(marked) = params["name"].as_str().and_then(|name| tools.get(name))
    {
        for (path, header) in marked {
            let value = path
                .iter()
                .try_fold(&params["arguments"], |v, key| v.get(key));
            let text = match value {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Bool(flag)) => flag.to_string(),
                Some(Value::Number(number)) => number.to_string(),
                _ => continue,
            };
            headers.push((format!("Mcp-Param-{header}"), encoded(&text)));
        }
    }
    headers
}

/// A value as a header can carry it.
fn encoded(value: &str) -> String {
    let (before, after) = ("=?base64?", "?=");
    let bare = value.bytes().all(|b| (0x20..=0x7e).contains(&b))
        && value.trim_matches([' ', '\t']) == value
        && !(value.starts_with(before) && value.ends_with(after));
    match bare {
        true => value.to_owned(),
        false => format!("{before}{}{after}", BASE64_STANDARD.encode(value)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{marked, of_request, of_tools};

    #[test]
    fn marked_arguments_become_headers() {
        let tool = json!({"name": "deploy", "inputSchema": {"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "absent": {"type": "boolean", "x-mcp-header": "Absent"},
        }}});
        let tools = of_tools(&[tool]);
        let Value::Object(request) = json!({"method": "tools/call", "params": {
            "name": "deploy", "arguments": {"region": "größe", "deep": {"n": 3}}}})
        else {
            unreachable!()
        };
        let headers = of_request(&request, &tools);
        let shown: Vec<String> = headers.iter().map(|(n, v)| format!("{n}: {v}")).collect();
        assert_eq!(
            shown,
            [
                "Mcp-Method: tools/call",
                "Mcp-Name: deploy",
                "Mcp-Param-Region: =?base64?Z3LDtsOfZQ==?=",
                "Mcp-Param-N: 3"
            ]
        );
    }

    #[test]
    fn bad_marks_are_told() {
        for schema in [
            json!({"x-mcp-header": "A"}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": "A\r\nB: c"}}}),
            json!({"properties": {"a": {"type": "array", "x-mcp-header": "A"}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}}}),
        ] {
            assert!(marked(&schema).is_err(), "{schema}");
        }
    }
}
