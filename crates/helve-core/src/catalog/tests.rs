//! Catalogs under budgets.

#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn tools() -> Vec<ToolDef> {
    let tool = |name: &str, category: Option<&str>, description: &str, warnings: &[&str]| {
        let mut value = json!({"name": name, "description": description, "input_schema": {"type": "object"}, "warnings": warnings});
        if let Some(category) = category {
            value["category"] = json!(category);
        }
        ToolDef::from_value(&value).unwrap()
    };
    let mut off = tool("file_off", None, "Never shown.", &[]);
    off.enabled = false;
    vec![
        tool(
            "file_write",
            None,
            "Writes a file, v1.2 or later. Use to save\nwhat was made.",
            &["Overwrites"],
        ),
        tool(
            "file_read",
            None,
            "Reads a file. Use when its text is needed.",
            &[],
        ),
        tool(
            "browser_open",
            Some("Browser"),
            "Opens the browser. 需要时使用。",
            &["Check first", "Slow"],
        ),
        tool("grep", None, "Finds text. Use it often.", &[]),
        off,
    ]
}

fn at(budget: usize) -> Result<Catalog, TooSmall> {
    let tools = tools();
    catalog(&tools.iter().collect::<Vec<_>>(), budget)
}

#[test]
fn tools_are_grouped_and_warnings_shown() {
    let made = at(1000).unwrap();
    assert_eq!((made.detail, made.tools), (Detail::Full, 4));
    let wanted = "\
## Browser
- browser_open: Opens the browser. 需要时使用。 ⚠ Check first ⚠ Slow

## file
- file_read: Reads a file. Use when its text is needed.
- file_write: Writes a file, v1.2 or later. Use to save what was made. ⚠ Overwrites

## other
- grep: Finds text. Use it often.
";
    assert_eq!(made.text, wanted);
    assert_eq!(made.tokens, estimate(wanted));
}

#[test]
fn less_is_shown_where_the_budget_is_small() {
    let full = at(1000).unwrap().tokens;
    let short = at(full - 1).unwrap();
    assert_eq!(short.detail, Detail::Short);
    assert!(
        short
            .text
            .contains("- file_write: Writes a file, v1.2 or later. ⚠ Overwrites\n"),
        "{}",
        short.text
    );
    let names = at(short.tokens - 1).unwrap();
    assert_eq!(names.detail, Detail::Names);
    assert_eq!(
        names.text,
        "- Browser: browser_open\n- file: file_read, file_write\n- other: grep\n"
    );
    let groups = at(names.tokens - 1).unwrap();
    assert_eq!(
        groups.text,
        "- Browser: 1 tool\n- file: 2 tools\n- other: 1 tool\n"
    );
    let none = at(groups.tokens - 1).unwrap_err();
    assert_eq!((none.least, none.tools), (groups.tokens, 4));
}

#[test]
fn no_budget_is_ever_passed() {
    for budget in 0..200 {
        if let Ok(made) = at(budget) {
            assert!(made.tokens <= budget);
            assert_eq!(made.tokens, estimate(&made.text));
        }
    }
}

#[test]
fn no_tools_no_catalog() {
    assert_eq!(catalog(&[], 0).unwrap().text, "");
}

#[test]
fn sentences() {
    assert_eq!(first_sentence("One. Two."), "One.");
    assert_eq!(
        first_sentence("Version 1.2 of it. Two"),
        "Version 1.2 of it."
    );
    assert_eq!(first_sentence("一句。第二句。"), "一句。");
    assert_eq!(first_sentence("no end"), "no end");
}
