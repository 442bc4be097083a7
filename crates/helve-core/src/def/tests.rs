//! The canonical form, read strictly.

#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::testing;

/// A small definition with `more` in it; what is wrong, as code and pointer.
fn issues(more: &Value) -> Vec<String> {
    let mut value = json!({"name": "file_read", "description": "Reads. Use when.", "input_schema": {"type": "object"}});
    for (key, item) in more.as_object().unwrap() {
        value[key] = item.clone();
    }
    match ToolDef::from_value(&value) {
        Ok(_) => Vec::new(),
        Err(issues) => issues
            .iter()
            .map(|i| format!("{} {}", i.rule.code, i.pointer))
            .collect(),
    }
}

fn check(more: &Value, wanted: &[&str]) {
    assert_eq!(issues(more), wanted, "{more}");
}

#[test]
fn three_fields_are_enough_and_all_are_needed() {
    check(&json!({}), &[]);
    let all = ToolDef::from_value(&json!({})).unwrap_err();
    let messages: Vec<&str> = all.iter().map(|i| i.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`name` is missing",
            "`description` is missing",
            "`input_schema` is missing"
        ]
    );
    assert!(ToolDef::from_value(&json!([])).is_err());
}

#[test]
fn the_canonical_form_comes_back_as_it_was() {
    let def = testing::full();
    assert_eq!(ToolDef::from_value(&def.to_value()).unwrap(), def);
    // Every field of the table is in the fullest definition, so none is forgotten.
    let value = def.to_value();
    for field in FIELDS {
        assert!(value.get(field.name).is_some(), "{}", field.name);
    }
}

#[test]
fn what_is_unknown_is_refused() {
    check(&json!({"risk": "harmless"}), &["E110 /risk"]);
    check(&json!({"executor": "ssh"}), &["E112 /executor"]);
    check(
        &json!({"executor": {"type": "ssh"}}),
        &["E112 /executor/type"],
    );
    check(&json!({"desciption": "x"}), &["E103 /desciption"]);
    check(
        &json!({"examples": [{"params": {}, "param": {}}]}),
        &["E103 /examples/0/param"],
    );
    check(
        &json!({"allowed_paths": [{"path": "a", "access": "execute"}]}),
        &["E102 /allowed_paths/0/access"],
    );
    check(&json!({"reversible": "maybe"}), &["E102 /reversible"]);
    check(
        &json!({"reversible": {"compensate": 1}}),
        &["E102 /reversible"],
    );
    let fix = ToolDef::from_value(&json!({"nmae": "x"}))
        .unwrap_err()
        .last()
        .unwrap()
        .fix
        .clone();
    assert_eq!(fix.as_deref(), Some("did you mean `name`?"));
}

#[test]
fn an_executor_has_its_settings_and_no_others() {
    check(&json!({"executor": "builtin"}), &[]);
    check(&json!({"executor": "host"}), &["E113 /executor"]);
    check(
        &json!({"executor": {"type": "host", "command": ["ls"]}}),
        &[],
    );
    check(
        &json!({"executor": {"type": "host", "command": "ls -l"}}),
        &["E113 /executor/command"],
    );
    check(
        &json!({"executor": {"type": "host", "command": []}}),
        &["E113 /executor/command"],
    );
    check(
        &json!({"executor": {"type": "host", "command": ["ls"], "image": "x"}}),
        &["E113 /executor/image"],
    );
    check(&json!({"executor": {"type": "mcp"}}), &["E113 /executor"]);
    check(
        &json!({"executor": {"type": "http", "url": "http://x", "headers": {"a": 1}}}),
        &["E113 /executor/headers"],
    );
    check(
        &json!({"executor": {"command": ["ls"]}}),
        &["E101 /executor"],
    );
}

#[test]
fn times_and_counts() {
    let timeout = |v: Value| {
        let value = json!({"name": "x", "description": "d", "input_schema": {}, "timeout": v});
        ToolDef::from_value(&value)
            .ok()
            .and_then(|d| d.timeout)
            .map(|t| t.as_millis())
    };
    assert_eq!(timeout(json!(30)), Some(30_000));
    assert_eq!(timeout(json!(0.25)), Some(250));
    assert_eq!(timeout(json!("500ms")), Some(500));
    assert_eq!(timeout(json!("2m")), Some(120_000));
    assert_eq!(timeout(json!("1.5 s")), Some(1500));
    for bad in [
        json!(0),
        json!(-1),
        json!("soon"),
        json!("5"),
        json!(true),
        json!(1e12),
        json!("1 year"),
    ] {
        check(&json!({"timeout": bad}), &["E116 /timeout"]);
    }
    let retry = |v: Value| {
        let value = json!({"name": "x", "description": "d", "input_schema": {}, "retry": v});
        ToolDef::from_value(&value)
            .unwrap()
            .retry
            .map(|r| (r.max, r.delay.as_millis()))
    };
    assert_eq!(retry(json!(true)), Some((2, 200)));
    assert_eq!(retry(json!(false)), None);
    assert_eq!(retry(json!(5)), Some((5, 200)));
    assert_eq!(
        retry(json!({"max_retries": 3, "initial_delay_ms": 10})),
        Some((3, 10))
    );
    for bad in [
        json!(-1),
        json!(1000),
        json!("x"),
        json!({"max": "x"}),
        json!({"delay": 5}),
    ] {
        assert_eq!(issues(&json!({"retry": bad})).len(), 1, "{bad}");
    }
}

#[test]
fn wrong_types_name_their_place() {
    check(&json!({"input_schema": true}), &["E102 /input_schema"]);
    check(&json!({"output_schema": "text"}), &["E102 /output_schema"]);
    check(&json!({"tags": "a"}), &["E102 /tags"]);
    check(&json!({"tags": ["a", 1]}), &["E102 /tags/1"]);
    check(&json!({"prerequisites": [1]}), &["E102 /prerequisites/0"]);
    check(
        &json!({"prerequisites": [{"check_tool": "x"}]}),
        &["E101 /prerequisites/0"],
    );
    check(
        &json!({"workflow": {"steps": [{"tool": "x"}]}}),
        &["E101 /workflow/steps/0"],
    );
    check(&json!({"enabled": "yes"}), &["E102 /enabled"]);
    check(&json!({"version": "1.0"}), &["E115 /version"]);
    check(&json!({"metadata": []}), &["E102 /metadata"]);
    check(&json!({"description": "  "}), &["E101 /description"]);
    check(&json!({"name": "web-search"}), &["E104 /name"]);
    check(&json!({"name": "r\u{435}ad"}), &["E105 /name"]);
    check(
        &json!({"aliases": ["ok-1", "not ok"]}),
        &["E104 /aliases/1"],
    );
    // Null is absent.
    check(&json!({"title": null, "examples": null}), &[]);
}
