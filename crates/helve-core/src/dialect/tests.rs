//! Every dialect, there and back.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::collection::{Document, Input};
use crate::testing;
use crate::write;

/// Where two values differ, as pointers into the first.
fn differences(a: &Value, b: &Value, at: String, out: &mut Vec<String>) {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            for key in x.keys().chain(y.keys().filter(|k| !x.contains_key(*k))) {
                let here = format!("{at}/{}", crate::node::escape(key));
                let empty = json!({});
                match (x.get(key), y.get(key)) {
                    (Some(v), Some(w)) => differences(v, w, here, out),
                    (Some(Value::Object(v)), None) if !v.is_empty() => {
                        differences(&x[key], &empty, here, out);
                    }
                    _ => out.push(here),
                }
            }
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            for (i, (v, w)) in x.iter().zip(y).enumerate() {
                differences(v, w, format!("{at}/{i}"), out);
            }
        }
        _ if a == b => {}
        _ => out.push(at),
    }
}

/// Whether a loss speaks of what differs at `pointer`.
fn covers(loss: &Loss, pointer: &str) -> bool {
    let inside = |prefix: &str| {
        pointer
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let parent = loss.field.rsplit_once('/').map_or("", |(parent, _)| parent);
    inside(&loss.field)
        || loss.kind == LossKind::Folded && pointer == format!("{parent}/description")
}

/// All differences that no loss speaks of, leaving out what the dialect keeps for itself.
fn unexplained(def: &ToolDef, back: &ToolDef, losses: &[Loss], dialect: &str) -> Vec<String> {
    let mut after = back.to_value();
    if let Some(metadata) = after.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove(dialect);
        if metadata.is_empty() {
            after.as_object_mut().unwrap().shift_remove("metadata");
        }
    }
    let mut found = Vec::new();
    differences(&def.to_value(), &after, String::new(), &mut found);
    found.retain(|pointer| !losses.iter().any(|l| covers(l, pointer)));
    found
}

fn there_and_back(
    def: &ToolDef,
    dialect: &'static Dialect,
    strictness: Strictness,
    syntax: Syntax,
) {
    let encoded = match encode(def, dialect, strictness) {
        Ok(encoded) => encoded,
        Err(EncodeError::Name { .. }) if def.name.as_str().len() < 3 => return,
        Err(e) => panic!("{}: {e}\n{:#}", dialect.name, def.to_value()),
    };
    let text = match syntax {
        Syntax::Skill => None,
        _ => match write::text(vec![encoded.value.clone()], dialect, syntax, true) {
            Ok(text) => Some(text),
            Err(EncodeError::Text { reason, .. }) if reason.contains("TOML") => return,
            Err(e) => panic!("{} as {}: {e}", dialect.name, syntax.name()),
        },
    };
    let files = write::files(encoded.value.clone(), dialect, syntax, "x/SKILL").unwrap();
    let text = text.unwrap_or_else(|| files[0].text.clone());
    let beside: Vec<(String, String)> = files
        .iter()
        .skip(1)
        .map(|f| {
            (
                f.path.strip_prefix("x/").unwrap().to_owned(),
                f.text.clone(),
            )
        })
        .collect();
    let document = Document::read(&Input {
        file: "x",
        bytes: text.as_bytes(),
        syntax,
        dialect: Some(dialect),
        group: None,
        folder: None,
        stem: None,
        beside: &beside,
    });
    assert!(
        document.findings.is_empty(),
        "{}: {:#?}\n{text}",
        dialect.name,
        document.findings
    );
    let [tool] = document.tools.as_slice() else {
        panic!("{}: {} tools\n{text}", dialect.name, document.tools.len());
    };
    let mut losses = encoded.losses.clone();
    losses.extend(tool.losses.clone());
    let silent = unexplained(def, &tool.def, &losses, dialect.name);
    assert!(
        silent.is_empty(),
        "{} as {} lost in silence: {silent:?}\nlosses: {losses:#?}\nbefore: {:#}\nafter: {:#}\ntext: {text}",
        dialect.name,
        syntax.name(),
        def.to_value(),
        tool.def.to_value(),
    );
}

fn check_all(def: &ToolDef) {
    for dialect in DIALECTS {
        for &syntax in dialect
            .syntaxes
            .iter()
            .filter(|s| **s != Syntax::JavaScript)
        {
            there_and_back(def, dialect, Strictness::Loose, syntax);
        }
        there_and_back(def, dialect, Strictness::Strict, dialect.syntaxes[0]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_disappears_in_silence(def in testing::tool_def()) {
        check_all(&def);
    }

    /// A dialect's own tools come back as they were.
    #[test]
    fn a_dialect_reads_what_it_wrote(def in testing::tool_def()) {
        for dialect in DIALECTS {
            let Ok(encoded) = encode(&def, dialect, Strictness::Loose) else { continue };
            let once = decode(&Source::alone(&encoded.value), dialect).unwrap();
            let again = encode(&once.def, dialect, Strictness::Loose).unwrap();
            prop_assert_eq!(&again.value, &encoded.value, "{}", dialect.name);
        }
    }

    /// What `auto` takes a tool for can hold all that the writer put there.
    #[test]
    fn auto_never_loses_what_was_written(def in testing::tool_def()) {
        for dialect in DIALECTS.iter().filter(|d| d.syntaxes[0] == Syntax::Json) {
            let Ok(encoded) = encode(&def, dialect, Strictness::Loose) else { continue };
            let Some(found) = detect(&encoded.value, Syntax::Json) else {
                panic!("{}: not recognised: {:#}", dialect.name, encoded.value);
            };
            let by_name = decode(&Source::alone(&encoded.value), dialect).unwrap();
            let by_shape = decode(&Source::alone(&encoded.value), found.dialect).unwrap();
            prop_assert_eq!(by_shape.def.name, by_name.def.name, "{} as {}", dialect.name, found.dialect.name);
            prop_assert_eq!(
                by_shape.def.input_schema, by_name.def.input_schema, "{} as {}", dialect.name, found.dialect.name
            );
        }
    }
}

#[test]
fn the_fullest_definition_loses_nothing_in_silence() {
    check_all(&testing::full());
}

/// One tool, foreign on purpose, in every shape that `auto` must tell apart.
#[test]
fn auto_tells_dialects_apart() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let cases = [
        (
            json!({"type": "function", "function": {"name": "x", "parameters": schema}}),
            "openai",
        ),
        (
            json!({"type": "function", "name": "x", "parameters": schema, "strict": true}),
            "openai-responses",
        ),
        (
            json!({"name": "x", "description": "d", "input_schema": schema}),
            "anthropic",
        ),
        (
            json!({"name": "x", "description": "d", "input_schema": schema, "detail": "d"}),
            "openakita",
        ),
        (
            json!({"name": "x", "description": "d", "input_schema": schema, "risk": "read"}),
            "helve",
        ),
        (
            json!({"name": "x", "description": "d", "input_schema": {"a": "str"}}),
            "claude-sdk",
        ),
        (json!({"name": "x", "inputSchema": schema}), "mcp"),
        (
            json!({"name": "x", "inputSchema": schema, "metadata": {"type": "internal"}}),
            "internal",
        ),
        (
            json!({"name": "x", "parametersJsonSchema": schema}),
            "gemini",
        ),
        (
            json!({"name": "x", "parameters": {"type": "OBJECT"}}),
            "gemini",
        ),
        (
            json!({"toolSpec": {"name": "x", "inputSchema": {"json": schema}}}),
            "bedrock",
        ),
        (
            json!({"name": "x", "parameters": {"a": {"type": "string", "required": true}}}),
            "beamai",
        ),
        (
            json!({"id": "x", "name": "X", "risk_level": "read", "executor": "host"}),
            "automation-hub",
        ),
        (json!({"cmd": "true"}), "automation-hub"),
        (json!({"frontmatter": {"name": "x"}, "body": ""}), "skill"),
    ];
    for (tool, wanted) in cases {
        let found = detect(&tool, Syntax::Json).map(|d| d.dialect.name);
        assert_eq!(found, Some(wanted), "{tool}");
    }
    assert!(detect(&json!({"name": "x"}), Syntax::Json).is_none());
    assert!(detect(&json!([1]), Syntax::Json).is_none());
}

/// A foreign tool with keys that only its vendor knows comes back with them.
#[test]
fn what_only_a_vendor_knows_is_carried() {
    let schema = json!({"type": "object", "properties": {}});
    let cases = [
        (
            "anthropic",
            json!({"name": "web-search", "description": "d", "input_schema": schema, "cache_control": {"type": "ephemeral"}}),
        ),
        (
            "mcp",
            json!({"name": "getWeather", "description": "d", "inputSchema": schema, "annotations": {"readOnlyHint": true}, "_meta": {"a/b": 1}, "icons": []}),
        ),
        (
            "openai",
            json!({"type": "function", "function": {"name": "x.y", "description": "d", "parameters": schema, "strict": true}, "extra": 1}),
        ),
        (
            "bedrock",
            json!({"toolSpec": {"name": "a", "description": "d", "inputSchema": {"json": schema}}, "cachePoint": {}}),
        ),
        (
            "openakita",
            json!({"name": "a", "description": "d", "input_schema": schema, "handler": "files"}),
        ),
        (
            "beamai",
            json!({"name": "a", "description": "d", "parameters": {}, "handler": {"$erlang": "fun m:f/2"}, "filters": ["audit"]}),
        ),
    ];
    for (name, tool) in cases {
        let dialect = find(name).unwrap();
        let decoded = decode(&Source::alone(&tool), dialect).unwrap();
        let back = encode(&decoded.def, dialect, Strictness::Loose).unwrap();
        let mut found = Vec::new();
        differences(&tool, &back.value, String::new(), &mut found);
        assert_eq!(found, Vec::<String>::new(), "{name}: {:#}", back.value);
    }
}

/// What only reading can lose is told as well.
#[test]
fn reading_tells_its_losses() {
    let lost = |dialect: &str, tool: Value| {
        let decoded = decode(&Source::alone(&tool), find(dialect).unwrap()).unwrap();
        decoded
            .losses
            .iter()
            .map(|l| l.field.clone())
            .collect::<Vec<_>>()
    };
    let schema = json!({"type": "OBJECT", "properties": {"a": {"nullable": true}}, "propertyOrdering": ["a"]});
    assert_eq!(
        lost(
            "gemini",
            json!({"name": "x_y", "description": "d", "parameters": schema})
        ),
        [
            "/input_schema/propertyOrdering",
            "/input_schema/properties/a/nullable"
        ]
    );
    let skill =
        json!({"frontmatter": {"name": "x-y", "description": "d", "metadata": ["x"]}, "body": ""});
    assert_eq!(lost("skill", skill), ["/metadata"]);
    let tool = json!({"frontmatter": {"name": "x-y", "description": "d"}, "body": "", "references/data.txt": "t"});
    let read = decode(&Source::alone(&tool), find("skill").unwrap()).unwrap();
    let back = encode(&read.def, find("skill").unwrap(), Strictness::Loose).unwrap();
    assert_eq!(back.losses[0].field, "/metadata/skill/references~1data.txt");
}

#[test]
fn a_hint_never_lowers_a_risk() {
    let tool = json!({"name": "x", "description": "d", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}});
    let decoded = decode(&Source::alone(&tool), find("mcp").unwrap()).unwrap();
    assert_eq!(decoded.def.risk, None);
}

#[test]
fn unknown_words_are_refused() {
    let tool = json!({"id": "x", "name": "X", "description": "d", "risk_level": "harmless", "executor": "ssh"});
    let issues = decode(&Source::alone(&tool), find("automation-hub").unwrap()).unwrap_err();
    let codes: Vec<(&str, &str)> = issues
        .iter()
        .map(|i| (i.rule.code, i.pointer.as_str()))
        .collect();
    assert_eq!(codes, [("E110", "/risk_level"), ("E112", "/executor")]);
}

#[test]
fn a_manifest_command_is_taken_apart_or_refused() {
    let hub = find("automation-hub").unwrap();
    let command = |cmd: &str| {
        let tool = json!({"cmd": cmd});
        let source = Source {
            key: Some("x"),
            ..Source::alone(&tool)
        };
        decode(&source, hub).map(|d| d.def.executor.unwrap().settings["command"].clone())
    };
    assert_eq!(
        command("python /app/run.py --all").unwrap(),
        json!(["python", "/app/run.py", "--all"])
    );
    assert_eq!(
        command(r#"echo 'a b' "c \" d" e\ f"#).unwrap(),
        json!(["echo", "a b", "c \" d", "e f"])
    );
    for bad in [
        "a | b",
        "a; b",
        "a && b",
        "echo $HOME",
        "ls *",
        "a > b",
        "echo `id`",
        "'open",
        "",
        "a \"$x\"",
    ] {
        let issues = command(bad).unwrap_err();
        assert_eq!(issues[0].rule.code, "E117", "{bad}");
    }
}
