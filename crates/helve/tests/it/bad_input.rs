//! Input that nobody should have to survive: a clear error, never a panic, never
//! half an output.

use crate::run::Folder;

/// Converting and checking both refuse; nothing is written; the code is named.
fn check(name: &str, bytes: impl AsRef<[u8]>, code: &str, place: &str) {
    let folder = Folder::new();
    folder.write(name, bytes);
    let ran = folder
        .helve(&["convert", "--to", "openai", "--out", "out.json", name])
        .ended(3);
    assert!(
        ran.err.contains(&format!("error[{code}]")),
        "{name}: {}",
        ran.err
    );
    assert!(
        ran.err.contains(&format!("{name}{place}")),
        "{name}: {}",
        ran.err
    );
    assert_eq!(folder.files(), [name], "no part of an output is left");
    let ran = folder.helve(&["check", name]).ended(1);
    assert!(
        ran.out.contains(&format!("error[{code}]")),
        "{name}: {}",
        ran.out
    );
    assert!(!ran.err.contains("panicked"));
}

#[test]
fn truncated() {
    check(
        "t.json",
        r#"{"name": "a_b", "description": "d", "input_schema": {"type": "obj"#,
        "E001",
        ":1:66",
    );
    check(
        "t.py",
        "TOOLS = [{'name': 'a', 'description': 'd', ",
        "E001",
        ":1:",
    );
    check("t.erl", "#{name => <<\"a\">>, ", "E001", ":1:");
}

#[test]
fn duplicate_keys() {
    check(
        "t.json",
        "{\"name\": \"a\",\n\"name\": \"b\"}",
        "E002",
        ":2:1",
    );
    check("t.yaml", "name: a\nname: b\n", "E002", ":2:1");
}

#[test]
fn wrong_types() {
    check(
        "t.json",
        r#"{"name": 5, "description": [], "input_schema": {}}"#,
        "E102",
        ":1:2",
    );
    check("t.json", "[1, 2]", "E006", ":1:2");
}

#[test]
fn fifty_megabytes() {
    let mut text = String::from("{\"name\": \"");
    text.push_str(&"a".repeat(50 * 1024 * 1024));
    text.push_str("\"}");
    check("t.json", text, "E003", "\n");
}

#[test]
fn a_thousand_levels() {
    let schema = format!("{}{{}}{}", "{\"not\": ".repeat(1000), "}".repeat(1000));
    let text = format!("{{\"name\": \"a_b\", \"description\": \"d\", \"input_schema\": {schema}}}");
    check("t.json", text, "E004", ":1:");
}

#[test]
fn invalid_utf8() {
    check("t.json", b"{\"name\":\n \"\xc3\x28\"}", "E005", ":2:3");
}

#[test]
fn a_look_alike() {
    let tool = "{\"name\": \"re\u{430}d_file\", \"description\": \"d\", \"input_schema\": {\"type\": \"object\"}, \"risk\": \"read\"}";
    check("t.json", tool, "E105", ":1:2");
}

#[test]
fn an_unknown_dialect() {
    let folder = Folder::new();
    folder.write("t.json", "{}");
    let ran = folder
        .helve(&["convert", "--from", "anthropik", "--to", "mcp", "t.json"])
        .ended(2);
    assert!(ran.err.contains("anthropic"), "{}", ran.err);
    let ran = folder.helve(&["check", "notes.txt"]).ended(3);
    assert!(ran.err.contains("cannot be read"), "{}", ran.err);
    folder.write("notes.txt", "x");
    let ran = folder.helve(&["check", "notes.txt"]).ended(3);
    assert!(ran.err.contains("hint: use one of json"), "{}", ran.err);
}

#[test]
fn what_is_shown_cannot_move_the_cursor() {
    let folder = Folder::new();
    folder.write("t.json", "{\"name\": \"a\u{1b}[2J\\u001b[31m\", \"description\": \"d\", \"input_schema\": {\"type\": \"object\"}, \"risk\": \"read\"}");
    let ran = folder.helve(&["check", "t.json"]);
    assert!(!ran.out.contains('\u{1b}'), "{}", ran.out);
    let bidi = "{\"name\": \"a_b\", \"description\": \"x \u{202e} y\", \"input_schema\": {\"type\": \"object\"}, \"risk\": \"read\"}";
    folder.write("b.json", bidi);
    let ran = folder.helve(&["check", "b.json"]).ended(0);
    assert!(
        ran.out.contains("U+202E") && !ran.out.contains('\u{202e}'),
        "{}",
        ran.out
    );
}
