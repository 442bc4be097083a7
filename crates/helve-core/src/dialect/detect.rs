//! Which dialect a document is in, by its shape, and where its tools stand.

use serde_json::{Value, json};

use super::{Dialect, find};
use crate::node::escape;
use crate::read::Syntax;

/// What a document turned out to be.
#[derive(Debug)]
pub struct Detected {
    /// The dialect.
    pub dialect: &'static Dialect,
    /// What gave it away.
    pub because: &'static str,
}

/// The dialect of one tool.
pub fn detect(tool: &Value, syntax: Syntax) -> Option<Detected> {
    let has = |key: &str| tool.get(key).is_some();
    let found = |name: &str, because| find(name).map(|dialect| Detected { dialect, because });
    if !tool.is_object() {
        return None;
    }
    if syntax == Syntax::Skill || has("frontmatter") && has("body") {
        return found("skill", "it has frontmatter and a body");
    }
    if tool.get("function").is_some_and(Value::is_object) {
        return found("openai", "its fields are inside `function`");
    }
    if has("toolSpec") {
        return found("bedrock", "its fields are inside `toolSpec`");
    }
    if tool.get("type") == Some(&json!("function")) {
        return found("openai-responses", "it is flat, with `type: function`");
    }
    if [
        "parametersJsonSchema",
        "parameters_json_schema",
        "responseJsonSchema",
    ]
    .iter()
    .any(|k| has(k))
    {
        return found("gemini", "it has `parametersJsonSchema`");
    }
    if ["risk_level", "args_schema", "is_enabled", "timeout_sec"]
        .iter()
        .any(|k| has(k))
    {
        return found(
            "automation-hub",
            "it has `risk_level`, `args_schema` or the like",
        );
    }
    if super::legacy::is_entry(tool) {
        return found("automation-hub", "it is an entry of an old manifest");
    }
    if syntax == Syntax::Erlang || has("handler") && !has("inputSchema") || has("tag") {
        return found("beamai", "it has a `handler` or a `tag`");
    }
    if let Some(parameters) = tool.get("parameters") {
        return parameters_of(parameters, tool);
    }
    if has("inputSchema") {
        let internal = syntax == Syntax::JavaScript
            || has("handler")
            || tool.pointer("/metadata/type") == Some(&json!("internal"));
        return match internal {
            true => found(
                "internal",
                "it has `inputSchema` and a handler or `metadata.type: internal`",
            ),
            false => found("mcp", "it has `inputSchema`"),
        };
    }
    if let Some(schema) = tool.get("input_schema") {
        return input_schema_of(schema, tool, syntax);
    }
    None
}

fn parameters_of(parameters: &Value, tool: &Value) -> Option<Detected> {
    let found = |name: &str, because| find(name).map(|dialect| Detected { dialect, because });
    let capitals = parameters
        .get("type")
        .and_then(Value::as_str)
        .is_some_and(|t| t.chars().all(|c| c.is_ascii_uppercase()));
    if capitals || tool.get("response").is_some() {
        return found("gemini", "its types are in capitals");
    }
    let schema = parameters.get("type").is_some_and(Value::is_string)
        && parameters.get("properties").is_some();
    match schema
        || parameters
            .as_object()
            .is_some_and(|p| p.get("type") == Some(&json!("object")))
    {
        true => found("openai-responses", "it is flat, with `parameters`"),
        false => found("beamai", "each parameter has its own `required`"),
    }
}

fn input_schema_of(schema: &Value, tool: &Value, syntax: Syntax) -> Option<Detected> {
    let found = |name: &str, because| find(name).map(|dialect| Detected { dialect, because });
    let has = |key: &str| tool.get(key).is_some();
    let shorthand = schema.as_object().is_some_and(|map| {
        let typed = map.get("type").is_some_and(Value::is_string) && map.contains_key("properties");
        !typed
            && map.get("type") != Some(&json!("object"))
            && map.values().all(|v| v.as_str().is_some_and(is_type))
    });
    if has("server") || shorthand && !is_native(tool) {
        return found("claude-sdk", "its parameters are `{name: type}`");
    }
    if [
        "input_examples",
        "cache_control",
        "defer_loading",
        "allowed_callers",
        "strict",
    ]
    .iter()
    .any(|k| has(k))
    {
        return found(
            "anthropic",
            "it has `input_examples`, `cache_control` or the like",
        );
    }
    if syntax == Syntax::Python {
        return found("openakita", "it is a Python dict with `input_schema`");
    }
    if is_native(tool) || matches!(syntax, Syntax::Toml | Syntax::Yaml) {
        return found("helve", "it has fields that only Helve knows");
    }
    let level2 = [
        "detail",
        "triggers",
        "prerequisites",
        "warnings",
        "examples",
        "related_tools",
        "workflow",
        "category",
    ];
    if level2.iter().any(|k| has(k)) {
        return found(
            "openakita",
            "it has Level 2 fields and nothing about running",
        );
    }
    found(
        "anthropic",
        "it has a name, a description and `input_schema`",
    )
}

/// A type as the Agent SDK's short form has it.
fn is_type(text: &str) -> bool {
    crate::read::python::parse_type(text).is_ok_and(|ty| ty.is_known())
}

fn is_native(tool: &Value) -> bool {
    [
        "risk",
        "executor",
        "allowed_paths",
        "reversible",
        "idempotent",
        "aliases",
        "version",
        "title",
        "tags",
        "output_schema",
        "timeout",
        "retry",
        "serial",
        "sensitive",
        "return_direct",
        "enabled",
        "metadata",
    ]
    .iter()
    .any(|key| tool.get(key).is_some())
}

/// What a vendor runs itself, and lists beside functions: it has no schema to convert.
pub(crate) fn vendor_tool(tool: &Value) -> Option<&str> {
    let map = tool.as_object()?;
    const KEYS: &[&str] = &[
        "cachePoint",
        "googleSearch",
        "google_search",
        "codeExecution",
        "code_execution",
        "urlContext",
        "googleMaps",
        "computerUse",
        "fileSearch",
        "googleSearchRetrieval",
    ];
    if let (1, Some(key)) = (map.len(), map.keys().find(|k| KEYS.contains(&k.as_str()))) {
        return Some(key);
    }
    // `web_search_20250305`, `bash_20250124`: a type with a date, or without a function.
    let kind = map.get("type")?.as_str()?;
    let dated = kind
        .rsplit_once('_')
        .is_some_and(|(_, d)| d.len() == 8 && d.bytes().all(|b| b.is_ascii_digit()));
    let hosted = [
        "web_search",
        "web_search_preview",
        "file_search",
        "code_interpreter",
        "image_generation",
        "computer_use_preview",
        "local_shell",
        "mcp",
    ];
    let schema = ["parameters", "input_schema", "inputSchema", "function"]
        .iter()
        .any(|k| map.contains_key(*k));
    (!schema && (dated || hosted.contains(&kind))).then_some(kind)
}

/// The tools of a document: where each stands, its key where it has one, and what
/// the collection says about all of them.
pub(crate) struct Found<'v> {
    pub pointer: String,
    pub value: &'v Value,
    pub key: Option<&'v str>,
    pub shared: Option<&'v Value>,
    /// Whether it stood among Gemini's declarations, which need no parameters.
    pub declared: bool,
}

/// Opens the wrappers that collections come in.
pub(crate) fn tools_of(document: &Value) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    open(document, String::new(), None, &mut found, 0);
    found
}

const WRAPPERS: &[&str] = &[
    "tools",
    "functionDeclarations",
    "function_declarations",
    "scripts",
    "functions",
];

fn open<'v>(
    value: &'v Value,
    pointer: String,
    shared: Option<&'v Value>,
    found: &mut Vec<Found<'v>>,
    depth: usize,
) {
    let single = |pointer: String, value, key| Found {
        declared: pointer.contains("/functionDeclarations/")
            || pointer.contains("/function_declarations/"),
        pointer,
        value,
        key,
        shared,
    };
    if depth > 4 {
        return found.push(single(pointer, value, None));
    }
    match value {
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                open(item, format!("{pointer}/{i}"), shared, found, depth + 1);
            }
        }
        Value::Object(map) => {
            let tool = map.contains_key("name") && !map.contains_key("tools")
                || map.contains_key("frontmatter");
            let wrapper = WRAPPERS
                .iter()
                .find(|w| map.get(**w).is_some_and(|v| v.is_array() || v.is_object()));
            if let (false, Some(wrapper)) = (tool, wrapper) {
                let at = format!("{pointer}/{wrapper}");
                let info = map.get("tool_info").or(shared);
                return match &map[*wrapper] {
                    Value::Object(named) if *wrapper == "scripts" => {
                        found.extend(named.iter().map(|(key, value)| {
                            single(format!("{at}/{}", escape(key)), value, Some(key.as_str()))
                        }));
                    }
                    inner => open(inner, at, info, found, depth + 1),
                };
            }
            for outer in ["toolConfig", "result"] {
                if let (false, Some(inner)) = (tool, map.get(outer)) {
                    return open(
                        inner,
                        format!("{pointer}/{outer}"),
                        shared,
                        found,
                        depth + 1,
                    );
                }
            }
            let manifest = !map.is_empty()
                && !map.contains_key("id")
                && !tool
                && map.values().all(super::legacy::is_entry);
            match manifest {
                true => found.extend(map.iter().map(|(key, value)| {
                    single(
                        format!("{pointer}/{}", escape(key)),
                        value,
                        Some(key.as_str()),
                    )
                })),
                false => found.push(single(pointer, value, None)),
            }
        }
        _ => found.push(single(pointer, value, None)),
    }
}
