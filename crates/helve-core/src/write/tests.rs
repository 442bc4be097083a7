//! Writers: what each syntax looks like, and what it cannot hold.

#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::dialect::find;

#[test]
fn toml_has_no_null() {
    let tool = json!({"name": "a", "input_schema": {"properties": {"x": {"enum": ["a", null]}}}});
    let error = text(vec![tool], find("helve").unwrap(), Syntax::Toml, true).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`helve` cannot hold `/input_schema/properties/x/enum/1`: TOML has no null; write YAML or JSON"
    );
}

#[test]
fn several_tools_in_toml_are_tables() {
    let tools = vec![json!({"name": "a"}), json!({"name": "b"})];
    let toml = text(tools, find("helve").unwrap(), Syntax::Toml, false).unwrap();
    assert_eq!(toml, "[[tools]]\nname = \"a\"\n\n[[tools]]\nname = \"b\"\n");
}

#[test]
fn python_strings_are_what_they_were() {
    assert_eq!(python::quote("a\"b\\c\n\t\r"), r#""a\"b\\c\n\t\r""#);
    assert_eq!(
        python::quote("\u{0}\u{1b}\u{200b}\u{e0001}é中"),
        "\"\\x00\\x1b\\u200b\u{e0001}é中\""
    );
    assert_eq!(
        python::inline(&json!({"a": [true, null, 1.5]})),
        r#"{"a": [True, None, 1.5]}"#
    );
}

#[test]
fn a_function_is_never_called_like_a_keyword() {
    let tool = |name: &str| json!({"name": name, "description": "d", "input_schema": {}});
    let code = text(
        vec![tool("class"), tool("tool")],
        find("claude-sdk").unwrap(),
        Syntax::Python,
        false,
    )
    .unwrap();
    assert!(
        code.contains("async def class_(") && code.contains("async def tool_("),
        "{code}"
    );
    assert!(code.contains("tools = [class_, tool_]"), "{code}");
}

#[test]
fn erlang_terms() {
    let tool = json!({
        "name": "a", "description": "中\"\\\n", "end": 1, "Key": 1.0,
        "parameters": {"x y": {"type": "string", "default": 1e300, "required": true}},
        "handler": {"$erlang": "fun m:f/2"},
    });
    let wanted = "#{
    name => <<\"a\">>,
    description => <<\"中\\\"\\\\\\n\"/utf8>>,
    'end' => 1,
    'Key' => 1.0,
    parameters => #{
        <<\"x y\">> => #{
            type => string,
            default => 1.0e+300,
            required => true
        }
    },
    handler => fun m:f/2
}.
";
    assert_eq!(erlang::terms(&[tool]).unwrap(), wanted);
}

/// A definition is data: what it calls a handler is not written as code unless it is one.
#[test]
fn code_that_is_no_handler_is_refused() {
    for source in [
        "os:cmd(\"id\")",
        "fun m:f/2, evil => os:cmd(\"id\")",
        "x",
        "",
        "fun() -> ok end. evil().",
    ] {
        let tool = json!({"name": "a", "handler": {"$erlang": source}});
        assert!(erlang::terms(&[tool]).is_err(), "{source}");
    }
    for source in [
        "fun m:f/2",
        "{m, f}",
        "{m, f, [<<\"x\">>]}",
        "fun(A) -> case A of _ -> ok end end",
    ] {
        let tool = json!({"name": "a", "handler": {"$erlang": source}});
        assert!(erlang::terms(&[tool]).is_ok(), "{source}");
    }
}

#[test]
fn a_skill_never_writes_outside_its_folder() {
    let skill = json!({
        "frontmatter": {"name": "x"}, "body": "b",
        "../evil.md": "e", "/etc/evil.md": "e", "a/../../evil.md": "e", "run.sh": "e", "references/ok.md": "o",
    });
    let files = files(skill, find("skill").unwrap(), Syntax::Skill, "x/SKILL").unwrap();
    let paths: Vec<&str> = files.iter().map(|f| f.path.as_str()).collect();
    assert_eq!(paths, ["x/SKILL.md", "x/references/ok.md"]);
}
