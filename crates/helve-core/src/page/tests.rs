//! The page of one tool.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::testing;

#[test]
fn a_full_page() {
    let page = markdown(&testing::full());
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../testdata/golden");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("page", page));
}

#[test]
fn both_forms_say_the_same_and_nothing_about_running() {
    let def = testing::full();
    let page = markdown(&def);
    let fields = json(&def);
    let fields = fields.as_object().unwrap();
    for hidden in UNSHOWN {
        assert!(!fields.contains_key(*hidden));
    }
    assert!(
        !page.contains("busybox") && !page.contains("backups"),
        "{page}"
    );
    for text in [
        "When asked",
        "Overwrites",
        "undoes",
        "It is readable",
        "check with `file_read`",
        "by calling `notes_restore`",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn a_tool_without_parameters_says_so() {
    let def = ToolDef::new(
        crate::ToolName::new("clock_now").unwrap(),
        "Tells the time.",
    );
    assert_eq!(
        markdown(&def),
        "# clock_now\n\nTells the time.\n\n## Parameters\n\nNone.\n"
    );
}

#[test]
fn a_table_is_not_broken_by_what_is_in_it() {
    let mut def = testing::full();
    def.input_schema = serde_json::json!({"type": "object", "properties": {"a|b": {"type": "string", "description": "x | y\nz"}}});
    assert!(
        markdown(&def).contains("| `a\\|b` | string | no |  | x \\| y z |\n"),
        "{}",
        markdown(&def)
    );
}
