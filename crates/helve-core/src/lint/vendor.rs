//! What a vendor would refuse, and what a source system asks of its own tools.

use serde_json::Value;

use super::{Issue, rules};
use crate::def::{ExecutorKind, ToolDef};
use crate::dialect::strict::{self, Vendor as Decoder};
use crate::schema::walk;

/// A target with rules of its own.
#[derive(Debug, PartialEq, Eq)]
pub struct Vendor {
    /// The dialect's name.
    pub name: &'static str,
    /// The fewest and the most characters of a name.
    name_length: (usize, usize),
    /// How many tools a request may have.
    max_tools: Option<usize>,
    /// The most characters of a description.
    max_description: Option<usize>,
    /// Who decodes strictly.
    decoder: Option<Decoder>,
}

const fn vendor(name: &'static str, least: usize, most: usize, max_tools: Option<usize>) -> Vendor {
    Vendor {
        name,
        name_length: (least, most),
        max_tools,
        max_description: None,
        decoder: None,
    }
}

/// All targets.
pub static VENDORS: &[Vendor] = &[
    Vendor {
        decoder: Some(Decoder::OpenAi),
        ..vendor("openai", 1, 64, Some(128))
    },
    Vendor {
        decoder: Some(Decoder::OpenAi),
        ..vendor("openai-responses", 1, 64, Some(128))
    },
    Vendor {
        decoder: Some(Decoder::Kimi),
        ..vendor("kimi", 3, 64, Some(128))
    },
    Vendor {
        decoder: Some(Decoder::Anthropic),
        ..vendor("anthropic", 1, 128, None)
    },
    vendor("gemini", 1, 128, Some(512)),
    vendor("bedrock", 1, 64, None),
    vendor("mcp", 1, 128, None),
    vendor("claude-sdk", 1, 64, None),
    vendor("openakita", 1, 64, None),
    vendor("beamai", 1, 64, None),
    vendor("automation-hub", 1, 64, None),
    vendor("internal", 1, 64, None),
    Vendor {
        max_description: Some(1024),
        ..vendor("skill", 1, 64, None)
    },
];

impl Vendor {
    /// The target of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        VENDORS.iter().find(|v| v.name == name)
    }
}

pub(super) fn check(def: &ToolDef, vendor: &Vendor, issues: &mut Vec<Issue>) {
    let length = def.name.as_str().len();
    let (least, most) = vendor.name_length;
    if !(least..=most).contains(&length) {
        let message = format!(
            "{} wants {least} to {most} characters; `{}` has {length}",
            vendor.name, def.name
        );
        issues.push(Issue::new(&rules::VENDOR_NAME, "/name", message).fix("rename it"));
    }
    let length = def.description.chars().count();
    if let Some(most) = vendor.max_description.filter(|most| length > *most) {
        let message = format!(
            "{} wants at most {most} characters; the description has {length}",
            vendor.name
        );
        issues.push(
            Issue::new(&rules::VENDOR_DESCRIPTION, "/description", message).fix("shorten it"),
        );
    }
    match vendor.name {
        "kimi" => kimi(def, issues),
        "mcp" => mcp(def, issues),
        "claude-sdk" => claude_sdk(def, issues),
        "beamai" => beamai(def, issues),
        "automation-hub" => automation_hub(def, issues),
        _ => {}
    }
    if let Some(decoder) = vendor.decoder
        && let Err(reason) = strict::rewrite(&def.input_schema, decoder)
    {
        let message = format!(
            "{} cannot decode it strictly: {}",
            vendor.name, reason.reason
        );
        let pointer = format!("/input_schema{}", reason.pointer);
        issues.push(Issue::new(&rules::VENDOR_STRICT, pointer, message));
    }
}

fn refuse(issues: &mut Vec<Issue>, pointer: &str, message: String) {
    let pointer = format!("/input_schema{pointer}");
    issues.push(
        Issue::new(&rules::VENDOR_SCHEMA, pointer, message)
            .fix("`helve convert --strict` rewrites it"),
    );
}

/// Kimi's subset, which holds unless a tool says `strict: false`.
fn kimi(def: &ToolDef, issues: &mut Vec<Issue>) {
    const REFUSED: &[&str] = &[
        "allOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "const",
        "pattern",
        "format",
        "$schema",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "uniqueItems",
        "prefixItems",
    ];
    let schema = &def.input_schema;
    let mut keys = 0;
    let mut enums = 0;
    walk::subschemas(schema, &mut |at, map| {
        for key in REFUSED.iter().filter(|k| map.contains_key(**k)) {
            refuse(
                issues,
                &format!("{at}/{key}"),
                format!("Kimi does not know `{key}`"),
            );
        }
        for key in ["anyOf", "$ref"].iter().filter(|k| map.contains_key(**k)) {
            if map.contains_key("type") {
                refuse(
                    issues,
                    &format!("{at}/type"),
                    format!("Kimi refuses `type` beside `{key}`"),
                );
            }
        }
        if !at.is_empty() && map.contains_key("$defs") {
            refuse(
                issues,
                &format!("{at}/$defs"),
                "Kimi takes `$defs` at the root only".to_owned(),
            );
        }
        if let Some(Value::Array(values)) = map.get("enum") {
            enums += values.len();
            let kind = |v: &Value| std::mem::discriminant(v);
            if values.windows(2).any(|w| kind(&w[0]) != kind(&w[1])) {
                refuse(
                    issues,
                    &format!("{at}/enum"),
                    "Kimi wants the values of an `enum` to be of one type".to_owned(),
                );
            }
        }
        let properties = map.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            keys += 1;
            if property.is_boolean() || property.as_object().is_some_and(serde_json::Map::is_empty)
            {
                let pointer = format!("{at}/properties/{}", crate::node::escape(name));
                refuse(
                    issues,
                    &pointer,
                    "Kimi refuses a property without a schema".to_owned(),
                );
            }
        }
        for name in map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let known = name
                .as_str()
                .is_some_and(|n| properties.is_some_and(|p| p.contains_key(n)));
            if !known {
                refuse(
                    issues,
                    &format!("{at}/required"),
                    format!("Kimi wants {name} among the properties"),
                );
            }
        }
    });
    limits(
        issues,
        "Kimi",
        &[
            ("levels", walk::depth(schema), 30),
            ("keys", keys, 3000),
            ("enum values", enums, 1000),
        ],
    );
}

/// How large a schema is, beside what OpenAI's strict mode takes.
pub(crate) fn openai_sizes(schema: &Value) -> [(&'static str, usize, usize); 4] {
    let mut properties = 0;
    let mut enums = 0;
    let mut characters = 0;
    let mut deepest = 0;
    walk::subschemas(schema, &mut |at, map| {
        let named = map.get("properties").and_then(Value::as_object);
        properties += named.map_or(0, serde_json::Map::len);
        characters += named
            .into_iter()
            .flatten()
            .map(|(name, _)| name.len())
            .sum::<usize>();
        for value in map
            .get("enum")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            enums += 1;
            characters += value.as_str().map_or(0, str::len);
        }
        deepest = deepest.max(at.matches("/properties/").count() + at.matches("/items").count());
    });
    [
        ("properties", properties, 5000),
        ("enum values", enums, 1000),
        ("characters of names and values", characters, 120_000),
        ("levels", deepest, 10),
    ]
}

fn limits(issues: &mut Vec<Issue>, who: &str, limits: &[(&str, usize, usize)]) {
    for (what, have, most) in limits.iter().filter(|(_, have, most)| have > most) {
        let message = format!("{who} takes at most {most} {what}; the schema has {have}");
        issues.push(Issue::new(&rules::VENDOR_SCHEMA, "/input_schema", message));
    }
}

fn mcp(def: &ToolDef, issues: &mut Vec<Issue>) {
    if let Some(output) = &def.output_schema
        && output.get("type") != Some(&Value::from("object"))
    {
        let message = "MCP before 2026-07-28 wants `type: object` at the root of an output schema";
        issues.push(Issue::new(&rules::VENDOR_SCHEMA, "/output_schema", message));
    }
}

const VERBS: &[&str] = &[
    "add",
    "analyze",
    "append",
    "apply",
    "approve",
    "archive",
    "ask",
    "backup",
    "build",
    "calculate",
    "call",
    "cancel",
    "check",
    "clean",
    "cleanup",
    "click",
    "close",
    "compare",
    "convert",
    "copy",
    "count",
    "create",
    "delete",
    "deploy",
    "describe",
    "disable",
    "download",
    "edit",
    "enable",
    "execute",
    "expand",
    "export",
    "extract",
    "fetch",
    "filter",
    "find",
    "forget",
    "format",
    "generate",
    "get",
    "import",
    "insert",
    "install",
    "list",
    "load",
    "log",
    "make",
    "merge",
    "move",
    "navigate",
    "open",
    "parse",
    "print",
    "query",
    "read",
    "recall",
    "remember",
    "remove",
    "rename",
    "render",
    "reset",
    "restart",
    "retrieve",
    "run",
    "save",
    "scan",
    "schedule",
    "search",
    "send",
    "set",
    "show",
    "start",
    "stop",
    "store",
    "summarize",
    "sync",
    "test",
    "transform",
    "translate",
    "update",
    "upload",
    "validate",
    "verify",
    "wait",
    "write",
];

/// What the second source system asks of its decorated functions.
fn claude_sdk(def: &ToolDef, issues: &mut Vec<Issue>) {
    let first = def.name.as_str().split('_').next().unwrap_or_default();
    let verb = def
        .name
        .as_str()
        .split('_')
        .any(|word| VERBS.contains(&word));
    if !VERBS.contains(&first) {
        let hint = if verb {
            "put the verb first"
        } else {
            "begin with what it does: get_, search_, list_ …"
        };
        let message = format!("`{}` does not begin with a verb", def.name);
        issues.push(Issue::new(&rules::VERB_FIRST, "/name", message).fix(hint));
    }
    let properties = def
        .input_schema
        .get("properties")
        .and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let pointer = format!("/input_schema/properties/{}", crate::node::escape(name));
        if property.get("properties").is_some() {
            let message = format!("the parameter `{name}` is an object of its own");
            issues.push(
                Issue::new(&rules::NESTED_PARAMS, &pointer, message)
                    .fix("make its parts parameters"),
            );
        }
        let values = property.get("enum").and_then(Value::as_array);
        let described = |v: &Value| v.as_str().is_none_or(|v| def.description.contains(v));
        if let Some(missing) = values.and_then(|values| values.iter().find(|v| !described(v))) {
            let message = format!("the description does not name {missing}, a value of `{name}`");
            issues.push(Issue::new(&rules::ENUM_IN_DESCRIPTION, pointer, message));
        }
    }
}

fn beamai(def: &ToolDef, issues: &mut Vec<Issue>) {
    if def.tags.is_empty() {
        issues
            .push(Issue::new(&rules::NO_TAG, "", "it has no tag to group it by").fix("add `tags`"));
    }
    let has_parameters = def
        .input_schema
        .get("properties")
        .and_then(Value::as_object)
        .is_some_and(|p| !p.is_empty());
    if has_parameters && def.input_schema.get("required").is_none() {
        let message = "no parameter is required; is that so?";
        issues.push(
            Issue::new(&rules::NO_REQUIRED, "/input_schema", message)
                .fix("add `required`, if only empty"),
        );
    }
}

fn automation_hub(def: &ToolDef, issues: &mut Vec<Issue>) {
    let mut missing = |what: &str| {
        let message = format!("Automation Hub does not register a tool without {what}");
        issues.push(Issue::new(&rules::VENDOR_SCHEMA, "", message).fix(format!("add {what}")));
    };
    if def.risk.is_none() {
        missing("`risk`");
    }
    let known = [
        ExecutorKind::Host,
        ExecutorKind::Docker,
        ExecutorKind::K8sJob,
    ];
    match &def.executor {
        Some(executor) if known.contains(&executor.kind) => {
            if !executor.settings.contains_key("command") {
                missing("a `command`");
            }
        }
        _ => missing("an `executor` of host, docker or k8s_job"),
    }
}

/// Limits on all the tools of a request.
pub(super) fn check_collection(
    defs: &[&ToolDef],
    vendor: &Vendor,
    issues: &mut Vec<(usize, Issue)>,
) {
    if let Some(most) = vendor.max_tools.filter(|most| defs.len() > *most) {
        let message = format!(
            "{} takes at most {most} tools; these are {}",
            vendor.name,
            defs.len()
        );
        issues.push((
            most,
            Issue::new(&rules::VENDOR_COUNT, "", message)
                .fix("send fewer, or use the catalog and search"),
        ));
    }
    if vendor.decoder != Some(Decoder::Anthropic) || defs.is_empty() {
        return;
    }
    let mut optional = 0;
    let mut unions = 0;
    for def in defs {
        walk::subschemas(&def.input_schema, &mut |_, map| {
            let properties = map
                .get("properties")
                .and_then(Value::as_object)
                .map_or(0, serde_json::Map::len);
            let required = map
                .get("required")
                .and_then(Value::as_array)
                .map_or(0, Vec::len);
            optional += properties.saturating_sub(required);
            let union = map.contains_key("anyOf")
                || map.contains_key("oneOf")
                || map.get("type").is_some_and(Value::is_array);
            unions += usize::from(union);
        });
    }
    for (what, have, most) in [
        ("tools", defs.len(), 20),
        ("optional parameters", optional, 24),
        ("unions", unions, 16),
    ] {
        if have > most {
            let message = format!(
                "Anthropic takes at most {most} {what} in one strict request; these have {have}"
            );
            issues.push((0, Issue::new(&rules::VENDOR_STRICT, "", message)));
        }
    }
}
