//! What the attribute and the doc comment become.

use super::*;

/// Reads lines
/// of a text file.
///
/// Lines are numbered from 1.
///
/// - Use `code_search` otherwise.
#[tool(
    group = "file",
    title = "Read a file",
    category = "File",
    tags = ["files", "text"],
    aliases = ["read_file", "internal_file_read"],
    risk = "read",
    timeout = "1.5s",
    retry(max = 5, delay_ms = 50),
    idempotent,
    serial,
    sensitive,
    return_direct,
    reversible = "no",
    version = "1.2.3-rc.1",
    triggers = ["someone names a file"],
    prerequisites = [
        "the file exists",
        {condition = "it is text", check_tool = "file_kind", action_if_not_met = "open it"},
        {condition = "it is small"},
    ],
    warnings = ["long files are cut"],
    related = [("file_write", "changes what this reads"), "file_list"],
    example(scenario = "the first lines", params = {"path": "a.md"}, expected = "text"),
    example(params = {"path": "b.md"}),
    output,
)]
async fn read(
    /// The file.
    #[path]
    path: String,
) -> Result<Vec<String>, ToolError> {
    Ok(vec![path])
}

#[test]
fn every_setting_is_in_the_definition() {
    let wanted = json!({
        "name": "file_read",
        "title": "Read a file",
        "description": "Reads lines of a text file.",
        "input_schema": {
            "type": "object",
            "properties": {
                "path": {"description": "The file.", "type": "string", "format": "path"},
            },
            "additionalProperties": false,
            "required": ["path"],
        },
        "output_schema": {"type": "array", "items": {"type": "string"}},
        "detail": "Lines are numbered from 1.\n\n- Use `code_search` otherwise.",
        "triggers": ["someone names a file"],
        "prerequisites": [
            "the file exists",
            {"condition": "it is text", "check_tool": "file_kind", "action_if_not_met": "open it"},
            {"condition": "it is small"},
        ],
        "examples": [
            {"scenario": "the first lines", "params": {"path": "a.md"}, "expected": "text"},
            {"params": {"path": "b.md"}},
        ],
        "warnings": ["long files are cut"],
        "related_tools": [
            {"name": "file_write", "relation": "changes what this reads"},
            {"name": "file_list"},
        ],
        "category": "File",
        "tags": ["files", "text"],
        "aliases": ["read_file", "internal_file_read"],
        "risk": "read",
        "executor": "builtin",
        "timeout": "1500ms",
        "retry": {"max": 5, "delay_ms": 50},
        "idempotent": true,
        "serial": true,
        "sensitive": true,
        "return_direct": true,
        "reversible": "no",
        "version": "1.2.3-rc.1",
    });
    check(&sound::<read>(), &wanted);
}

/// Says little.
#[tool]
async fn plain() {}

#[test]
fn what_is_not_said_is_not_there() {
    let wanted = json!({
        "name": "plain",
        "description": "Says little.",
        "input_schema": {"type": "object", "properties": {}, "additionalProperties": false},
        "executor": "builtin",
    });
    check(&sound::<plain>(), &wanted);
}

#[tool(
    name = "note_undo",
    description = "Undoes.",
    compensate = "note_do",
    retry,
    timeout = 90
)]
async fn named() {}

/// Not shown.
///
/// Shown below.
#[tool(
    group = "note",
    description = "Shown.",
    retry(max = 1),
    reversible = "yes"
)]
async fn note_twice() {}

#[test]
fn short_forms_mean_the_defaults() {
    let wanted = json!({
        "name": "note_undo",
        "description": "Undoes.",
        "input_schema": {"type": "object", "properties": {}, "additionalProperties": false},
        "executor": "builtin",
        "reversible": {"compensate": "note_do"},
        "retry": true,
        "timeout": 90,
    });
    check(&sound::<named>(), &wanted);
    let wanted = json!({
        "name": "note_twice",
        "description": "Shown.",
        "detail": "Shown below.",
        "input_schema": {"type": "object", "properties": {}, "additionalProperties": false},
        "executor": "builtin",
        "retry": 1,
    });
    check(&sound::<note_twice>(), &wanted);
}

/// The same as if it stood in a file.
fn check(def: &ToolDef, file: &Value) {
    assert_eq!(Ok(def), ToolDef::from_value(file).as_ref());
}

#[derive(Serialize, JsonSchema)]
struct Found {
    path: String,
    line: Option<u32>,
}

/// Finds. Use it to find.
#[tool(output)]
async fn plain_output() -> Found {
    let (path, line) = (String::new(), None);
    Found { path, line }
}

#[test]
fn a_result_may_be_null_where_an_argument_is_left_out() {
    let wanted = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "line": {"type": ["integer", "null"], "minimum": 0},
        },
        "required": ["path", "line"],
    });
    assert_eq!(sound::<plain_output>().output_schema, Some(wanted));
    let answer = call::<plain_output>(json!({}));
    assert_eq!(answer, Ok(json!({"path": "", "line": null})));
}
