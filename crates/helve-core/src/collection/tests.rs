//! Documents of many tools, good and bad together.

#![allow(clippy::unwrap_used)]

use super::*;

fn read(text: &str, syntax: Syntax) -> Document {
    Document::read(&Input::alone("f", text.as_bytes(), syntax))
}

fn names(document: &Document) -> Vec<&str> {
    document.tools.iter().map(|t| t.def.name.as_str()).collect()
}

#[test]
fn one_bad_tool_does_not_hide_the_others() {
    let document = read(
        r#"[
  {"name": "a_b", "description": "d", "input_schema": {"type": "object"}},
  {"name": "Bad Name", "description": "d", "input_schema": {"type": "object"}, "risk": "none"},
  {"description": "d", "input_schema": {"type": "object"}},
  {"what": 1},
  {"name": "c_d", "description": "d", "input_schema": {"type": "object"}}
]"#,
        Syntax::Json,
    );
    assert_eq!(names(&document), ["a_b", "c_d"]);
    let found: Vec<(usize, &str, &str)> = document
        .findings
        .iter()
        .map(|f| (f.place.unwrap().line, f.code, f.pointer.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (3, "E104", "/1/name"),
            (3, "E110", "/1/risk"),
            (4, "E101", "/2"),
            (5, "E006", "/3")
        ]
    );
}

#[test]
fn collections_come_in_many_wrappers() {
    let tool = r#"{"name": "a_b", "description": "d", "inputSchema": {"type": "object"}}"#;
    let spec = r#"{"toolSpec": {"name": "a_b", "description": "d", "inputSchema": {"json": {"type": "object"}}}}"#;
    let texts = [
        tool.to_owned(),
        format!("[{tool}]"),
        format!("{{\"tools\": [{tool}]}}"),
        format!("{{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {{\"tools\": [{tool}], \"nextCursor\": null}}}}"),
        format!("{{\"toolConfig\": {{\"tools\": [{spec}]}}}}"),
        r#"{"functionDeclarations": [{"name": "a_b", "description": "d", "parametersJsonSchema": {"type": "object"}}]}"#.to_owned(),
        r#"[{"functionDeclarations": [{"name": "a_b", "description": "d", "parametersJsonSchema": {"type": "object"}}]}]"#.to_owned(),
        r#"{"a_b": {"cmd": "true"}}"#.to_owned(),
        r#"{"scripts": [{"id": "a_b", "command": "true"}]}"#.to_owned(),
        r#"{"scripts": {"a_b": {"cmd": "true"}}}"#.to_owned(),
        r#"[{"id": "a.b", "command": ["true"]}]"#.to_owned(),
    ];
    for text in texts {
        let document = read(&text, Syntax::Json);
        assert_eq!(document.findings, [], "{text}");
        assert_eq!(names(&document), ["a_b"], "{text}");
    }
}

#[test]
fn a_module_gives_its_tags_to_tools_without() {
    let text = "-module(m).\ntool_info() -> #{tags => [<<\"x\">>, <<\"y\">>]}.\ntools() -> [#{name => <<\"a_b\">>, description => <<\"d\">>}, #{name => <<\"c_d\">>, description => <<\"d\">>, tag => <<\"z\">>}].\n";
    let document = read(text, Syntax::Erlang);
    assert_eq!(document.findings, []);
    let tags: Vec<&[String]> = document
        .tools
        .iter()
        .map(|t| t.def.tags.as_slice())
        .collect();
    assert_eq!(
        tags,
        [&["x".to_owned(), "y".to_owned()][..], &["z".to_owned()][..]]
    );
}

#[test]
fn findings_point_into_the_foreign_shape() {
    let mut document = read(
        "{\n \"type\": \"function\",\n \"function\": {\n  \"name\": \"a_b\",\n  \"description\": \"Use it.\",\n  \"parameters\": {\n   \"type\": \"object\",\n   \"properties\": {\n    \"x\": {\"type\": \"strin\"}\n   }\n  }\n }\n}",
        Syntax::Json,
    );
    document.lint(None);
    let found: Vec<(usize, &str, &str)> = document
        .findings
        .iter()
        .map(|f| (f.place.unwrap().line, f.code, f.pointer.as_str()))
        .collect();
    assert!(
        found.contains(&(9, "E120", "/function/parameters/properties/x/type")),
        "{found:?}"
    );
    let mut hub = read(
        "{\"id\": \"a_b\",\n \"name\": \"A\", \"description\": \"Use it.\",\n \"risk_level\": \"write\",\n \"executor\": \"host\",\n \"command\": [\"sh\",\n \"-c\", \"{x}\"],\n \"args_schema\": {\"type\": \"object\", \"properties\": {\"x\": {\"type\": \"string\", \"description\": \"d\"}}, \"required\": [\"x\"]}}",
        Syntax::Json,
    );
    hub.lint(None);
    let found: Vec<(usize, &str, &str)> = hub
        .findings
        .iter()
        .map(|f| (f.place.unwrap().line, f.code, f.pointer.as_str()))
        .collect();
    assert!(found.contains(&(6, "E117", "/command/2")), "{found:?}");
}

#[test]
fn a_vendors_own_tool_is_passed_over_and_told() {
    let text = r#"[{"cachePoint": {"type": "default"}}, {"type": "web_search_20250305", "name": "web_search"}, {"type": "code_interpreter"},
        {"name": "a_b", "description": "d", "input_schema": {"type": "object"}}]"#;
    let document = read(text, Syntax::Json);
    assert_eq!(names(&document), ["a_b"]);
    let codes: Vec<&str> = document.findings.iter().map(|f| f.code).collect();
    assert_eq!(codes, ["W233", "W233", "W233"]);
}

#[test]
fn a_page_of_a_longer_list_says_so() {
    let text = r#"{"tools": [{"name": "a_b", "description": "d", "inputSchema": {"type": "object"}}], "nextCursor": "c"}"#;
    let document = read(text, Syntax::Json);
    assert_eq!(document.findings[0].code, "W234");
}

#[test]
fn nothing_is_no_tool() {
    assert_eq!(read("[]", Syntax::Json).findings[0].code, "E006");
    assert_eq!(read("{}", Syntax::Json).findings[0].code, "E006");
    assert_eq!(read("5", Syntax::Json).findings[0].code, "E006");
}

#[test]
fn a_name_taken_in_another_file_names_that_file() {
    let tool = r#"{"name": "a_b", "description": "Use it.", "inputSchema": {"type": "object"}}"#;
    let mut one = read(tool, Syntax::Json);
    one.file = "one.json".to_owned();
    let mut both = [one, read(tool, Syntax::Json)];
    lint_together(&mut both, &[], None);
    assert_eq!(
        both[1].findings[0].message,
        "`a_b` is taken: `a_b` has it in one.json"
    );
}
