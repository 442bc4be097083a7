//! `helve convert`.

use serde_json::json;

use crate::run::{Folder, seeds};

const TOOL: &str = r#"{"name": "get_weather", "description": "Tells the weather. Use when asked.", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}}, "required": ["city"]}, "risk": "read", "triggers": ["When it rains"]}"#;

#[test]
fn from_standard_input_to_standard_output() {
    let folder = Folder::new();
    let ran = folder
        .helve_with(&["convert", "--to", "openai", "-"], TOOL.as_bytes())
        .ended(0);
    assert_eq!(
        ran.json(),
        json!({"type": "function", "function": {
            "name": "get_weather", "description": "Tells the weather. Use when asked.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}}, "required": ["city"]},
        }})
    );
    assert_eq!(
        ran.err,
        "read - as helve: it has fields that only Helve knows\n2 lost in 1 tool; `--losses` lists them\n"
    );
}

#[test]
fn losses_are_listed_by_field_and_reason() {
    let folder = Folder::new();
    let ran = folder
        .helve_with(
            &[
                "convert", "--from", "helve", "--to", "openai", "--strict", "--losses", "-",
            ],
            TOOL.as_bytes(),
        )
        .ended(0);
    let wanted = "\
lost on the way to openai:
   folded get_weather /input_schema/properties/days/default: the strict form cannot say it; the description does
  changed get_weather /input_schema/additionalProperties: other keys are no longer accepted
  changed get_weather /input_schema/properties/days: optional is written as required, with null for absent
  changed get_weather /input_schema/required: every property is required
  dropped get_weather /risk: `openai` has no place for it
  dropped get_weather /triggers: `openai` has no place for it
";
    assert_eq!(ran.err, wanted);
    let json = folder
        .helve_with(
            &[
                "convert", "--from", "helve", "--to", "openai", "--json", "-",
            ],
            TOOL.as_bytes(),
        )
        .ended(0)
        .json();
    assert_eq!(
        json["losses"][0],
        json!({"tool": "get_weather", "field": "/risk", "kind": "dropped", "reason": "`openai` has no place for it"})
    );
    assert_eq!(json["tools"].as_array().unwrap().len(), 1);
    let ran = folder
        .helve_with(
            &[
                "convert",
                "--to",
                "openai",
                "--lossless",
                "--out",
                "x.json",
                "-",
            ],
            TOOL.as_bytes(),
        )
        .ended(3);
    assert!(ran.err.contains("nothing was written"));
    assert_eq!(folder.files(), [""; 0]);
}

#[test]
fn a_list_stays_a_list_and_one_stays_one() {
    let folder = Folder::new();
    folder.write("one.json", TOOL).write(
        "list.json",
        format!("[{}]", TOOL.replace("get_weather", "get_news")),
    );
    assert!(
        folder
            .helve(&["convert", "--to", "mcp", "one.json"])
            .ended(0)
            .json()["name"]
            .is_string()
    );
    assert!(
        folder
            .helve(&["convert", "--to", "mcp", "list.json"])
            .ended(0)
            .json()["tools"]
            .is_array()
    );
    assert!(
        folder
            .helve(&["convert", "--to", "anthropic", "."])
            .ended(0)
            .json()
            .is_array()
    );
    let both = folder
        .helve(&["convert", "--to", "gemini", "one.json", "list.json"])
        .ended(0)
        .json();
    assert_eq!(both["functionDeclarations"].as_array().unwrap().len(), 2);
}

#[test]
fn folders_are_written_tool_by_tool() {
    let folder = Folder::new();
    let seeds = seeds();
    let input = seeds.join("openakita/browser.py");
    folder
        .helve(&[
            "convert",
            "--to",
            "helve",
            "--format",
            "toml",
            "--out",
            "out/",
            input.to_str().unwrap(),
        ])
        .ended(0);
    assert_eq!(
        folder.files(),
        [
            "out/browser/click.toml",
            "out/browser/navigate.toml",
            "out/browser/open.toml",
            "out/browser/status.toml",
            "out/browser/type.toml",
            "out/desktop/screenshot.toml"
        ]
    );
    // What was written is what is read: the same tools, with nothing wrong.
    let json = folder.helve(&["check", "--json", "out"]).ended(0).json();
    assert_eq!((&json["tools"], &json["errors"]), (&json!(6), &json!(0)));
    folder
        .helve(&["convert", "--to", "skill", "--out", "skills/", "out"])
        .ended(0);
    assert!(
        folder
            .files()
            .contains(&"skills/browser-navigate/references/related-tools.md".to_owned())
    );
    let back = folder
        .helve(&["convert", "--to", "openakita", "skills", "--json"])
        .ended(0)
        .json();
    assert_eq!(back["tools"].as_array().unwrap().len(), 6);
}

#[test]
fn folder_and_file_give_group_and_action() {
    let folder = Folder::new();
    let input = seeds().join("internal");
    let json = folder
        .helve(&["convert", "--to", "mcp", input.to_str().unwrap()])
        .ended(0)
        .json();
    let mut names: Vec<&str> = json["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "code_search",
            "file_copy",
            "file_delete",
            "file_list",
            "file_mkdir",
            "file_move",
            "file_read",
            "file_write",
            "system_execute",
            "team_position"
        ]
    );
    let one = input.join("file/read.json");
    let json = folder
        .helve(&["convert", "--to", "mcp", one.to_str().unwrap()])
        .ended(0)
        .json();
    assert_eq!(json["name"], "file_read");
    let js = seeds().join("internal-js");
    let json = folder
        .helve(&["convert", "--to", "mcp", js.to_str().unwrap()])
        .ended(0)
        .json();
    assert_eq!(json["tools"][0]["name"], "file_read");
}

#[test]
fn the_ending_of_the_output_picks_the_syntax() {
    let folder = Folder::new();
    folder.write("t.json", TOOL);
    for (to, out, begins) in [
        ("helve", "t.toml", "name = \"get_weather\""),
        ("helve", "t.yaml", "name: get_weather"),
        ("beamai", "t.erl", "#{\n    name => <<\"get_weather\">>"),
        ("claude-sdk", "t.py", "from typing import"),
    ] {
        folder
            .helve(&["convert", "--to", to, "--out", out, "t.json"])
            .ended(0);
        assert!(folder.read(out).starts_with(begins), "{}", folder.read(out));
    }
    let ran = folder
        .helve(&["convert", "--to", "openai", "--format", "erlang", "t.json"])
        .ended(2);
    assert!(ran.err.contains("use --format json"), "{}", ran.err);
}

#[test]
fn every_example_of_the_documents_converts_to_every_dialect() {
    let folder = Folder::new();
    let mut inputs = Vec::new();
    for seed in std::fs::read_dir(seeds()).unwrap() {
        for entry in std::fs::read_dir(seed.unwrap().path()).unwrap() {
            inputs.push(entry.unwrap().path());
        }
    }
    inputs.sort();
    assert_eq!(inputs.len(), 36);
    for dialect in helve_core::dialect::DIALECTS {
        for input in &inputs {
            let ran = folder
                .helve(&[
                    "convert",
                    "--json",
                    "--to",
                    dialect.name,
                    input.to_str().unwrap(),
                ])
                .ended(0);
            assert!(
                !ran.json()["tools"].as_array().unwrap().is_empty(),
                "{}",
                input.display()
            );
        }
    }
}

#[test]
fn what_nobody_could_use_is_not_converted() {
    let folder = Folder::new();
    let tool = |name: &str, schema: &str| {
        format!("{{\"name\": \"{name}\", \"description\": \"d\", \"inputSchema\": {schema}}}")
    };
    for (schema, code) in [
        (r#"{"type": "strng"}"#, "E120"),
        (r#"{"type": "array"}"#, "E121"),
        (
            r#"{"type": "object", "$ref": "https://example.org/x"}"#,
            "E122",
        ),
        (
            r#"{"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}}"#,
            "E124",
        ),
    ] {
        folder.write("t.json", tool("a_b", schema));
        let ran = folder
            .helve(&["convert", "--to", "openai", "t.json", "-o", "o.json"])
            .ended(3);
        assert!(ran.err.contains(code), "{}", ran.err);
    }
    // Two spellings that become one name.
    folder.write(
        "t.json",
        format!(
            "[{}, {}]",
            tool("get-sum", "{\"type\": \"object\"}"),
            tool("get_sum", "{\"type\": \"object\"}")
        ),
    );
    let ran = folder
        .helve(&["convert", "--to", "openai", "t.json", "-o", "o.json"])
        .ended(3);
    assert!(ran.err.contains("E106"), "{}", ran.err);
    folder.write("t.js", "const schema = {}\nmodule.exports = { name: 'x', description: 'd', inputSchema: schema, handler() {} }");
    let ran = folder
        .helve(&["convert", "--to", "openai", "t.js", "-o", "o.json"])
        .ended(3);
    assert!(ran.err.contains("this is code"), "{}", ran.err);
    assert_eq!(folder.files(), ["t.js", "t.json"]);
}

#[cfg(unix)]
#[test]
fn a_file_is_replaced_as_what_it_was() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new();
    folder.write("t.json", TOOL).write("real.json", "old");
    std::fs::set_permissions(
        folder.path().join("real.json"),
        std::fs::Permissions::from_mode(0o600),
    )
    .unwrap();
    symlink("real.json", folder.path().join("link.json")).unwrap();
    folder
        .helve(&["convert", "--to", "mcp", "t.json", "-o", "link.json"])
        .ended(0);
    assert!(folder.path().join("link.json").is_symlink());
    assert!(folder.read("real.json").contains("get_weather"));
    let mode = std::fs::metadata(folder.path().join("real.json"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let full = folder
        .helve(&["convert", "--to", "mcp", "t.json", "-o", "/dev/full"])
        .ended(4);
    assert!(full.err.contains("cannot be written"), "{}", full.err);
    assert!(!std::fs::symlink_metadata("/dev/full").unwrap().is_file());
}

#[test]
fn a_report_is_told_beside_a_file() {
    let folder = Folder::new();
    folder.write("t.json", TOOL);
    let json = folder
        .helve(&[
            "convert", "--json", "--to", "openai", "t.json", "-o", "o.json",
        ])
        .ended(0)
        .json();
    assert_eq!(
        (
            json["out"].as_str(),
            json["losses"].as_array().unwrap().len()
        ),
        (Some("o.json"), 2)
    );
    let ran = folder
        .helve(&["convert", "--to", "openai", "t.json", "-o", "o.toml"])
        .ended(2);
    assert!(ran.err.contains("cannot be written as toml"), "{}", ran.err);
}

#[test]
fn what_cannot_be_done_is_said_before_anything_is_written() {
    let folder = Folder::new();
    folder
        .write("t.json", TOOL)
        .write("short.json", TOOL.replace("get_weather", "ls"));
    let cases: &[(&[&str], i32, &str)] = &[
        (&["convert", "--to", "opanai", "t.json"], 2, "openai"),
        (
            &["convert", "--to", "mcp", "--strict", "t.json"],
            2,
            "has no strict mode",
        ),
        (
            &["convert", "--to", "kimi", "--out", "o.json", "short.json"],
            3,
            "does not accept the name `ls`",
        ),
        (
            &["convert", "--to", "mcp", "missing.json"],
            3,
            "cannot be read",
        ),
        (
            &["convert", "--to", "mcp", "--from", "bedrock", "t.json"],
            3,
            "error[E102]",
        ),
        (
            &["convert", "--to", "mcp", "--out", "t.json/x.json", "t.json"],
            4,
            "cannot be written",
        ),
    ];
    let before = folder.files();
    for (args, code, message) in cases {
        let ran = folder.helve(args).ended(*code);
        assert!(ran.err.contains(message), "{args:?}: {}", ran.err);
    }
    assert_eq!(folder.files(), before);
}
