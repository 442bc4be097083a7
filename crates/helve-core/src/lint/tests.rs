//! Every rule, on something that keeps it and something that breaks it.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::*;
use crate::ToolDef;
use crate::collection::{Document, Input};
use crate::read::Syntax;

/// A definition that breaks nothing, with `more` put in.
fn def(more: &Value) -> ToolDef {
    let mut value = json!({
        "name": "file_read",
        "description": "Reads a file. Use when its text is needed.",
        "input_schema": {
            "type": "object",
            "properties": {"path": {"type": "string", "description": "Which file"}},
            "required": ["path"],
        },
    });
    for (key, item) in more.as_object().unwrap() {
        value[key] = item.clone();
    }
    ToolDef::from_value(&value).unwrap_or_else(|e| panic!("{e:?}"))
}

fn found(more: &Value, vendor: Option<&str>) -> Vec<String> {
    let context = Context {
        vendor: vendor.map(|v| Vendor::find(v).unwrap()),
        ..Context::default()
    };
    check(&def(more), &context)
        .iter()
        .map(|i| format!("{} {}", i.rule.code, i.pointer))
        .collect()
}

fn table(cases: &[(Value, &[&str])]) {
    for (more, wanted) in cases {
        assert_eq!(found(more, None), *wanted, "{more}");
    }
}

#[test]
fn errors() {
    table(&[
        (json!({}), &[]),
        (
            json!({"executor": {"type": "host", "command": ["ls"]}}),
            &["E111 "],
        ),
        (json!({"executor": "builtin"}), &[]),
        (
            json!({"allowed_paths": ["a", "../b", "", "c/../../d"]}),
            &[
                "E114 /allowed_paths/1",
                "E114 /allowed_paths/2",
                "E114 /allowed_paths/3",
            ],
        ),
        (
            json!({"input_schema": {"type": "objekt", "properties": {}}}),
            &["E121 /input_schema", "E120 /input_schema/type"],
        ),
        (
            json!({"input_schema": {"type": "array"}}),
            &["E121 /input_schema"],
        ),
        (
            json!({"output_schema": {"type": "objekt"}}),
            &["E120 /output_schema/type"],
        ),
        (
            json!({"examples": [{"params": {"path": "a"}}, {"params": {"path": 5}}, {"params": {}}]}),
            &["E130 /examples/1/params/path", "E130 /examples/2/params"],
        ),
        (
            json!({"input_schema": {"type": "object", "properties": {"n": {"type": "integer", "description": "d", "default": "5"}}}}),
            &["E132 /input_schema/properties/n/default"],
        ),
    ]);
}

#[test]
fn no_shell_joins_arguments() {
    let run = |command: Value| {
        found(
            &json!({"risk": "read", "executor": {"type": "host", "command": command}}),
            None,
        )
    };
    let none: [&str; 0] = [];
    assert_eq!(run(json!(["cat", "{path}"])), none);
    assert_eq!(run(json!(["sh", "/app/x.sh", "{path}"])), none);
    assert_eq!(run(json!(["sh", "-c", "echo fixed"])), none);
    assert_eq!(
        run(json!(["cat", "--file={path}"])),
        ["E117 /executor/command/1"]
    );
    assert_eq!(
        run(json!(["sh", "-c", "cat {path}"])),
        ["E117 /executor/command/2"]
    );
    for bad in [
        json!(["/bin/bash", "-c", "{path}"]),
        json!(["bash", "-xc", "{path}"]),
        json!(["python3", "-c", "{path}"]),
        json!(["env", "-S", "{path}"]),
    ] {
        assert_eq!(run(bad.clone()), ["E117 /executor/command/2"], "{bad}");
    }
    assert_eq!(run(json!(["{path}"])), ["E117 /executor/command/0"]);
    assert_eq!(
        run(json!(["env", "bash", "-c", "{path}"])),
        ["E117 /executor/command/3"]
    );
    assert_eq!(
        run(json!(["cat", "{nosuch}"])),
        ["E117 /executor/command/1"]
    );
    assert_eq!(run(json!(["awk", "-f", "x.awk", "{path}"])), none);
    assert_eq!(run(json!(["jq", "{a: .b}", "{path}"])), none);
}

#[test]
fn quality() {
    let long = "x ".repeat(101);
    table(&[
        (
            json!({"description": format!("Use {long}")}),
            &["W201 /description", "W215 /description"],
        ),
        (
            json!({"description": format!("Use {}", "读".repeat(196))}),
            &[],
        ),
        (
            json!({"description": format!("Use {}", "读".repeat(197))}),
            &["W201 /description"],
        ),
        (json!({"detail": "d".repeat(2001)}), &["W202 /detail"]),
        (json!({"detail": "d".repeat(2000)}), &[]),
        (
            json!({"description": "Reads a file."}),
            &["W203 /description"],
        ),
        (
            json!({"description": "Reads a file.", "triggers": ["When asked"]}),
            &[],
        ),
        (json!({"description": "读取文件，需要内容时使用。"}), &[]),
        (
            json!({"description": "这个工具可以帮你打开网页，需要时使用"}),
            &["W204 /description"],
        ),
        (
            json!({"description": "I read files when asked."}),
            &["W204 /description"],
        ),
        (
            json!({"input_schema": {"type": "object", "properties": {"a": {"description": "d"}}, "required": ["a"]}}),
            &["W205 /input_schema/properties/a"],
        ),
        (
            json!({"input_schema": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}),
            &["W206 /input_schema/properties/a"],
        ),
        (
            json!({"input_schema": {"type": "object", "properties": {"a": {"type": "string", "description": "d"}}}}),
            &["W207 /input_schema/properties/a"],
        ),
        (
            json!({"input_schema": {"type": "object", "properties": {}, "required": ["b"]}}),
            &["W209 /input_schema/required"],
        ),
        (
            json!({"input_schema": {"type": "object", "properties": {"command": {"type": "string", "description": "d"}}, "required": ["command"]}}),
            &["W222 /input_schema/properties/command"],
        ),
        (
            json!({"input_schema": {"type": "object", "properties": {"command": {"type": "string", "description": "d", "enum": ["ls"]}}, "required": ["command"]}}),
            &[],
        ),
        (
            json!({"input_schema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {}}}),
            &["W226 /input_schema/$schema"],
        ),
        (
            json!({"risk": "write", "executor": {"type": "host", "command": ["x"]}}),
            &["W223 "],
        ),
        (
            json!({"risk": "write", "executor": {"type": "host", "command": ["x"]}, "allowed_paths": ["a"]}),
            &[],
        ),
        (
            json!({"risk": "read", "executor": {"type": "host", "command": ["x"], "env": {"API_TOKEN": "abc"}}}),
            &["W224 /executor/env/API_TOKEN"],
        ),
        (
            json!({"risk": "read", "executor": {"type": "host", "command": ["x"], "env": {"API_TOKEN": "env:API_TOKEN", "TZ": "UTC"}}}),
            &[],
        ),
        (json!({"title": "a\u{202e}b"}), &["W225 /title"]),
        (json!({"tags": ["a", "a"]}), &["W216 /tags"]),
    ]);
}

#[test]
fn naming() {
    table(&[
        (json!({"name": "run"}), &["W220 /name"]),
        (json!({"name": "bn"}), &["W221 /name"]),
        (json!({"name": "rm"}), &["W221 /name"]),
        (json!({"name": "grep"}), &[]),
    ]);
    let context = Context {
        stem: Some("write"),
        group: Some("file"),
        dialect: "helve",
        vendor: None,
    };
    let issues = check(&def(&json!({})), &context);
    assert_eq!(issues[0].rule.code, "W227");
    let context = Context {
        stem: Some("read"),
        ..context
    };
    assert_eq!(check(&def(&json!({})), &context), []);
}

#[test]
fn vendors() {
    let param = |schema: Value| json!({"input_schema": {"type": "object", "properties": {"a": schema}, "required": ["a"]}});
    let cases: &[(&str, Value, &[&str])] = &[
        ("kimi", json!({"name": "ls"}), &["W221 /name", "V301 /name"]),
        ("kimi", json!({}), &[]),
        (
            "kimi",
            param(json!({"type": "string", "description": "d", "pattern": "^a$"})),
            &["V304 /input_schema/properties/a/pattern"],
        ),
        (
            "kimi",
            param(json!({"type": "string", "description": "d", "anyOf": [{"type": "string"}]})),
            &["V304 /input_schema/properties/a/type"],
        ),
        (
            "kimi",
            param(json!({"enum": [1, "a"], "description": "d"})),
            &["V304 /input_schema/properties/a/enum"],
        ),
        (
            "openai",
            param(json!({"type": "array", "description": "d"})),
            &["V305 /input_schema/properties/a"],
        ),
        ("openai", json!({}), &[]),
        (
            "anthropic",
            param(json!({"type": "object", "description": "d"})),
            &["V305 /input_schema/properties/a"],
        ),
        (
            "skill",
            json!({"description": format!("Use {}", "x".repeat(1100))}),
            &["W201 /description", "V302 /description"],
        ),
        (
            "mcp",
            json!({"output_schema": {"type": "string"}}),
            &["V304 /output_schema"],
        ),
        ("claude-sdk", json!({}), &["W228 /name"]),
        ("claude-sdk", json!({"name": "read_file"}), &[]),
        (
            "claude-sdk",
            param(json!({"enum": ["fast"], "type": "string", "description": "d"})),
            &["W228 /name", "W230 /input_schema/properties/a"],
        ),
        ("beamai", json!({}), &["W231 "]),
        ("beamai", json!({"tags": ["t"]}), &[]),
        ("automation-hub", json!({}), &["V304 ", "V304 "]),
        (
            "automation-hub",
            json!({"risk": "read", "executor": {"type": "host", "command": ["x"]}}),
            &[],
        ),
    ];
    for (vendor, more, wanted) in cases {
        assert_eq!(found(more, Some(vendor)), *wanted, "{vendor}: {more}");
    }
}

fn together(defs: &[ToolDef], vendor: Option<&str>) -> Vec<String> {
    let refs: Vec<&ToolDef> = defs.iter().collect();
    let vendor = vendor.map(|v| Vendor::find(v).unwrap());
    check_collection(&refs, &["elsewhere"], vendor)
        .iter()
        .map(|(i, issue)| format!("{i} {} {}", issue.rule.code, issue.pointer))
        .collect()
}

#[test]
fn names_are_taken_once() {
    let a = def(&json!({}));
    let b = def(&json!({"name": "file_write", "aliases": ["file_read"]}));
    assert_eq!(together(&[a.clone(), a.clone()], None), ["1 E106 /name"]);
    assert_eq!(together(&[a.clone(), b], None), ["1 E106 /aliases/0"]);
    assert_eq!(together(&[a], None), [""; 0]);
}

#[test]
fn tools_that_are_spoken_of_exist() {
    let a = def(&json!({
        "related_tools": ["file_read", "elsewhere", "nowhere"],
        "prerequisites": [{"condition": "c", "check_tool": "gone"}],
        "workflow": {"steps": [{"action": "a", "tool": "file_read"}, {"action": "b", "tools": ["lost"]}]},
        "reversible": {"compensate": "missing"},
    }));
    assert_eq!(
        together(&[a], None),
        [
            "0 E131 /related_tools/2/name",
            "0 E131 /prerequisites/0/check_tool",
            "0 E131 /workflow/steps/1/tools/0",
            "0 E131 /reversible/compensate",
        ]
    );
}

#[test]
fn a_category_has_one_prefix() {
    let tool = |name: &str, category: &str| def(&json!({"name": name, "category": category}));
    assert_eq!(
        together(&[tool("open_page", "Browser")], None),
        ["0 W208 /name"]
    );
    assert_eq!(together(&[tool("browser_open", "Browser")], None), [""; 0]);
    let memory = [
        tool("add_memory", "Memory"),
        tool("search_memory", "Memory"),
        tool("get_memory_stats", "Memory"),
    ];
    assert_eq!(together(&memory, None), [""; 0]);
    let git = [
        tool("git_log", "git"),
        tool("git_diff", "git"),
        tool("git_show", "git"),
        tool("log_git", "git"),
    ];
    assert_eq!(together(&git, None), ["3 W208 /name"]);
}

#[test]
fn a_request_has_its_limits() {
    let many: Vec<ToolDef> = (0..129)
        .map(|i| def(&json!({"name": format!("tool_number_{i}")})))
        .collect();
    assert_eq!(together(&many, Some("openai")), ["128 V303 "]);
    assert_eq!(together(&many[..128], Some("openai")), [""; 0]);
    assert_eq!(together(&many, Some("gemini")), [""; 0]);
    assert_eq!(together(&many[..21], Some("anthropic")), ["0 V305 "]);
}

#[test]
fn rules_are_told_apart() {
    let mut codes: Vec<&str> = rules::RULES.iter().map(|r| r.code).collect();
    let mut sorted = codes.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), codes.len());
    codes.sort_by_key(|c| (c.starts_with('V'), c.starts_with('W'), *c));
    assert_eq!(
        codes,
        rules::RULES.iter().map(|r| r.code).collect::<Vec<_>>()
    );
    assert_eq!(rules::find("e130"), Some(&rules::EXAMPLE_MISFIT));
    assert_eq!(rules::find("no-when"), Some(&rules::NO_WHEN));
}

// --- mending ---

#[test]
fn the_old_style_is_moved_word_for_word() {
    let mut tool = def(&json!({
        "description": "Open another tab. When you need to: (1) Keep the page, (2) Compare v1.2 pages. PREREQUISITE: A browser must be up. IMPORTANT: Mind the memory. IMPORTANT: Close it later.",
        "detail": "Opens.\n\n**Examples**:\n- One: `{\"path\": \"a\"}`\n- Two:`{\"path\": \"b\"}`\n\n**Notes**:\n- n",
    }));
    let applied = fix::mend(&mut tool);
    assert!(applied.iter().all(|a| a.safe), "{applied:?}");
    let value = tool.to_value();
    assert_eq!(value["description"], "Open another tab.");
    assert_eq!(
        value["triggers"],
        json!([
            "When you need to keep the page",
            "When you need to compare v1.2 pages"
        ])
    );
    assert_eq!(value["prerequisites"], json!(["A browser must be up"]));
    assert_eq!(
        value["warnings"],
        json!(["Mind the memory", "Close it later"])
    );
    assert_eq!(
        value["examples"],
        json!([{"scenario": "One", "params": {"path": "a"}}, {"scenario": "Two", "params": {"path": "b"}}])
    );
    assert_eq!(value["detail"], "Opens.\n\n**Notes**:\n- n");
    assert_eq!(fix::mend(&mut tool), [], "mending twice is mending once");
}

#[test]
fn what_would_be_a_guess_stays() {
    let keep = |more: Value| {
        let before = def(&more);
        let mut after = before.clone();
        let applied = fix::mend(&mut after);
        assert_eq!(after, before, "{applied:?}");
        applied
    };
    // The field is taken already.
    keep(json!({"description": "Opens. When you need to: (1) Go.", "triggers": ["Other"]}));
    // Nothing would be left of the description.
    keep(json!({"description": "When you need to: (1) Go, (2) Stop."}));
    // In the middle of a sentence it is no mark.
    keep(json!({"description": "Marks mail as IMPORTANT when asked."}));
    // An example that does not fit, or is not JSON.
    for code in ["{\"path\": 5}", "read a", "{\"path\": \"a\""] {
        let applied = keep(json!({"detail": format!("D.\n\n## Examples\n\n- Bad: `{code}`\n")}));
        assert_eq!(applied.len(), 1);
        assert!(!applied[0].safe);
    }
}

fn document(text: &str, syntax: Syntax) -> Document {
    Document::read(&Input::alone("f", text.as_bytes(), syntax))
}

#[test]
fn a_mended_file_keeps_what_is_around_it() {
    let text = "# Tools of mine\nimport os\n\nTOOLS = [\n    {\"name\": \"a_b\", \"description\": \"Opens. When you need to: (1) Go.\", \"input_schema\": {\"type\": \"object\", \"properties\": {}}},\n    # The next one is fine\n    {\"name\": \"c_d\", \"description\": \"Use it.\", \"input_schema\": {\"type\": \"object\", \"properties\": {}}},\n]\n\nprint(os)\n";
    let rewrite = fix::rewrite(&document(text, Syntax::Python));
    let new = rewrite.text.unwrap();
    assert!(
        new.starts_with(
            "# Tools of mine\nimport os\n\nTOOLS = [\n    {\n        \"name\": \"a_b\",\n"
        ),
        "{new}"
    );
    assert!(
        new.contains(
            "    # The next one is fine\n    {\"name\": \"c_d\", \"description\": \"Use it.\""
        ),
        "{new}"
    );
    assert!(new.ends_with("]\n\nprint(os)\n"), "{new}");
    let again = document(&new, Syntax::Python);
    assert_eq!(again.tools.len(), 2);
    assert_eq!(again.tools[0].def.triggers, ["When you need to go"]);
    assert!(fix::rewrite(&again).text.is_none());
}

#[test]
fn a_comment_is_never_lost() {
    let toml = "name = \"a_b\"\n# mine\ndescription = \"Opens. When you need to: (1) Go.\"\n[input_schema]\ntype = \"object\"\n";
    let rewrite = fix::rewrite(&document(toml, Syntax::Toml));
    assert!(rewrite.text.is_none());
    assert!(
        rewrite.refused[0].contains("comments"),
        "{:?}",
        rewrite.refused
    );
    for tight in ["\"# mine", "\"#mine"] {
        let toml = toml
            .replace("# mine\n", "")
            .replacen("\"a_b\"", &format!("\"a_b{tight}"), 1);
        assert!(
            fix::rewrite(&document(&toml, Syntax::Toml)).text.is_none(),
            "{toml}"
        );
    }
    let plain = toml.replace("# mine\n", "");
    let new = fix::rewrite(&document(&plain, Syntax::Toml)).text.unwrap();
    assert_eq!(
        document(&new, Syntax::Toml).tools[0].def.triggers,
        ["When you need to go"]
    );
}

#[test]
fn a_dialect_without_the_fields_is_left_alone() {
    let json = r#"{"type": "function", "function": {"name": "a_b", "description": "Opens. When you need to: (1) Go.", "parameters": {"type": "object", "properties": {}}}}"#;
    let rewrite = fix::rewrite(&document(json, Syntax::Json));
    assert!(rewrite.text.is_none());
    assert_eq!(
        rewrite.refused,
        ["`a_b`: `openai` has no fields to move it to"]
    );
}
