//! Every way to get out of one's element, tried.

#![allow(clippy::needless_pass_by_value, clippy::unwrap_used)]

use helve_kernel::ErrorKind;
use serde_json::json;

use super::*;

fn filled(command: &[&str], args: Value) -> Result<Vec<String>, String> {
    let template = Template::parse(command.iter().copied()).map_err(|e| e.message)?;
    template
        .fill(args.as_object().unwrap())
        .map_err(|e| e.message)
}

fn refused(command: &[&str], properties: &[&str]) -> ToolError {
    Template::parse(command.iter().copied())
        .and_then(|t| t.check(properties))
        .unwrap_err()
}

#[test]
fn an_argument_stays_one_element() {
    for text in [
        "two words",
        "; rm -rf /",
        "$(id)",
        "`id`",
        "a\nb",
        "it's \"quoted\"",
        "*",
        "~",
        "{y}",
        "{{",
        "",
        "a=b",
        "中 \u{202e}",
    ] {
        let found = filled(&["p", "{x}", "--out={x}", "end"], json!({"x": text}));
        let wanted = vec![text.to_owned(), format!("--out={text}"), "end".to_owned()];
        assert_eq!(found, Ok(wanted));
    }
}

#[test]
fn values_become_text() {
    let args = json!({"s": "a", "n": 1.5, "b": true, "l": ["x", 1], "o": {"k": "v"}, "z": null});
    let table: &[(&[&str], &[&str])] = &[
        (
            &["{s}", "{n}", "{b}", "{l}", "{o}"],
            &["a", "1.5", "true", r#"["x",1]"#, r#"{"k":"v"}"#],
        ),
        (
            &["{{s}}", "a{{{s}}}b", "{s}:{n}"],
            &["{s}", "a{a}b", "a:1.5"],
        ),
        (
            &["a", "{absent}", "b", "--x={absent}", "{s}{absent}"],
            &["a", "b"],
        ),
        (&["{z}", "-{z}"], &[]),
        (&["", "--"], &["", "--"]),
    ];
    for (elements, wanted) in table {
        let command: Vec<&str> = ["p"].iter().chain(*elements).copied().collect();
        assert_eq!(filled(&command, args.clone()).unwrap(), *wanted);
    }
}

#[test]
fn no_argument_poses_as_an_option() {
    let table: &[(&[&str], Value, bool)] = &[
        (&["p", "{x}"], json!({"x": "-rf"}), false),
        (&["p", "{x}"], json!({"x": "--"}), false),
        (&["p", "{x}"], json!({"x": -5}), false),
        (&["p", "{x}/sub"], json!({"x": "-rf"}), false),
        (&["p", "{x}{y}"], json!({"x": "", "y": "-rf"}), false),
        (
            &["p", "{y}", "--", "{x}"],
            json!({"x": "-rf", "y": "-"}),
            false,
        ),
        (&["p", "{y}", "{x}"], json!({"x": "-rf", "y": "--"}), false),
        (&["p", "--", "{x}"], json!({"x": "-rf"}), true),
        (&["p", "--x={x}"], json!({"x": "-rf"}), true),
        (&["p", "x{x}"], json!({"x": "-rf"}), true),
    ];
    for (command, args, fine) in table {
        let found = filled(command, args.clone());
        assert_eq!(found.is_ok(), *fine, "{command:?} {args}: {found:?}");
    }
    let template = Template::parse(["p", "{x}"]).unwrap();
    let error = template
        .fill(json!({"x": "-rf"}).as_object().unwrap())
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Validation);
    assert_eq!(
        error.hint.unwrap(),
        "in the tool's `command`, put `--` before `{x}` or write `--x={x}`"
    );
}

#[test]
fn what_no_command_line_can_hold() {
    let long = "x".repeat(LONGEST + 1);
    for (value, says) in [("a\0b", "NUL"), (long.as_str(), "too long")] {
        let error = filled(&["p", "{x}"], json!({"x": value})).unwrap_err();
        assert!(error.contains(says), "{error}");
        // Where it fills nothing, it does no harm.
        assert_eq!(filled(&["p"], json!({"x": value})), Ok(Vec::new()));
    }
}

#[test]
fn bad_commands_are_refused_before_they_run() {
    let table: &[(&[&str], &str)] = &[
        (&[], "names no program"),
        (&[""], "names no program"),
        (&["{path}"], "`{path}` in `command` has a placeholder"),
        (&["/bin/{path}"], "has a placeholder"),
        (&["p", "{pth}"], "`{pth}`, which is no argument"),
        (&["awk", "{print $1}"], "no argument"),
        (&["find", "{}"], "without a name"),
        (&["p", "{a{path}}"], "without a name"),
        (&["p", "{path"], "nothing closes"),
        (&["p", "path}"], "nothing opens"),
        (&["p", "a\0b"], "NUL"),
        (&["sh", "-c", "echo {path}"], "into code of `sh`"),
        (
            &["/bin/bash", "-euc", "echo '{path}'"],
            "into code of `bash`",
        ),
        (
            &["python3.11", "-c", "print('{path}')"],
            "into code of `python`",
        ),
    ];
    for (command, says) in table {
        let error = refused(command, &["path"]);
        assert_eq!(error.kind, ErrorKind::Validation);
        assert!(error.message.contains(says), "{command:?}: {error}");
    }
    let hint = refused(&["p", "{pth}"], &["path", "out"]).hint;
    assert_eq!(hint.as_deref(), Some("did you mean `{path}`?"));
}

#[test]
fn good_commands_are_not() {
    let table: &[&[&str]] = &[
        &["awk", "{{print $1}}", "{path}"],
        &["sh", "-c", "echo \"$1\"", "sh", "{path}"],
        &["sh", "-c", "{path}"],
        &["sh", "-e", "{path}/run.sh"],
        &["grep", "-e", "^{path}$"],
        &["{{odd}}"],
    ];
    for command in table {
        let template = Template::parse(command.iter().copied()).unwrap();
        assert_eq!(template.check(&["path"]), Ok(()), "{command:?}");
    }
    assert_eq!(Template::parse(["{{odd}}"]).unwrap().program(), "{odd}");
}
