//! `helve check`.

use serde_json::json;

use crate::run::{Folder, seeds};

const GOOD: &str = r#"
name = "read"
description = "Reads a file. Use when its text is needed."
risk = "read"

[executor]
type = "host"
command = ["cat", "{path}"]

[input_schema]
type = "object"
required = ["path"]

[input_schema.properties.path]
type = "string"
description = "Which file"
"#;

#[test]
fn a_good_workspace_has_no_findings() {
    let folder = Folder::new();
    folder.write("tools/file/read.toml", GOOD);
    let ran = folder.helve(&["check"]).ended(0);
    assert_eq!(
        (ran.out.as_str(), ran.err.as_str()),
        ("", "no findings in 1 tool, 1 file\n")
    );
    // From below, the workspace is found by its mark.
    folder.write("helve.toml", "").write("deep/er/x", "");
    let ran = folder.helve(&["check", "--json"]).ended(0);
    assert_eq!(ran.json()["tools"], 1);
    let json = folder
        .helve(&["info", "file_read", "--json"])
        .ended(0)
        .json();
    assert_eq!(json["name"], "file_read");
}

#[test]
fn a_finding_has_a_code_a_place_and_a_fix() {
    let folder = Folder::new();
    folder.write(
        "tools/file/read.toml",
        GOOD.replace("risk = \"read\"", "risk = \"reed\""),
    );
    let ran = folder.helve(&["check"]).ended(1);
    let wanted = "\
error[E110]: `risk` cannot be `reed`
  --> tools/file/read.toml:4:1 read /risk
  |
4 | risk = \"reed\"
   = fix: did you mean `read`? known are read, exec_low, exec_high, write

";
    assert_eq!(ran.out, wanted);
    let json = folder.helve(&["check", "--json"]).ended(1).json();
    let finding = json!({
        "file": "tools/file/read.toml", "place": {"line": 4, "column": 1}, "pointer": "/risk", "tool": "read",
        "code": "E110", "rule": "unknown-risk", "severity": "error", "message": "`risk` cannot be `reed`",
        "fix": "did you mean `read`? known are read, exec_low, exec_high, write", "fixable": false,
    });
    assert_eq!(
        json,
        json!({"tools": 0, "files": 1, "dialects": {"tools/file/read.toml": []}, "errors": 1, "warnings": 0, "findings": [finding]})
    );
}

#[test]
fn warnings_fail_only_when_strict() {
    let folder = Folder::new();
    folder.write(
        "tools/file/read.toml",
        GOOD.replace(" Use when its text is needed.", ""),
    );
    folder.helve(&["check"]).ended(0);
    let strict = folder.helve(&["check", "--strict", "--quiet"]).ended(1);
    assert!(strict.out.starts_with("error[W203]"), "{}", strict.out);
    let quiet = folder.helve(&["check", "--quiet"]).ended(0);
    assert_eq!(quiet.out, "");
}

#[test]
fn mentions_may_be_known_from_elsewhere() {
    let folder = Folder::new();
    folder.write(
        "tools/file/read.toml",
        format!("related_tools = [\"web_fetch\"]\n{GOOD}"),
    );
    folder.helve(&["check"]).ended(1);
    folder
        .helve(&["check", "--known", "web_fetch,other"])
        .ended(0);
}

#[test]
fn a_target_has_rules_of_its_own() {
    let folder = Folder::new();
    folder.write("t.json", r#"[{"name": "ls", "description": "Lists. Use when asked.", "input_schema": {"type": "object", "properties": {"p": {"type": "string", "pattern": "^a$", "description": "d"}}, "required": ["p"]}}]"#);
    folder.helve(&["check", "t.json"]).ended(0);
    let json = folder
        .helve(&["check", "t.json", "--for", "kimi", "--json"])
        .ended(1)
        .json();
    let codes: Vec<&str> = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["V301", "W221", "V304"]);
    let unknown = folder.helve(&["check", "t.json", "--for", "kiwi"]).ended(2);
    assert!(unknown.err.contains("kimi"), "{}", unknown.err);
}

#[test]
fn mending_migrates_the_old_style() {
    let folder = Folder::new();
    let legacy = std::fs::read_to_string(seeds().join("openakita/legacy.py")).unwrap();
    folder.write("legacy.py", &legacy);
    let ran = folder
        .helve(&["check", "--fix", "legacy.py", "--json"])
        .ended(0);
    assert_eq!(ran.err.matches("fixed[").count(), 10, "{}", ran.err);
    let left: Vec<String> = ran.json()["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["code"].as_str().unwrap().to_owned())
        .collect();
    assert!(!left.iter().any(|c| c.starts_with("W21")), "{left:?}");
    let json = folder
        .helve(&["info", "run_shell", "legacy.py", "--json"])
        .ended(0)
        .json();
    assert_eq!(json["description"], "Run a command in the system shell.");
    assert_eq!(
        json["triggers"][0],
        "When you need to build or test a project"
    );
    assert_eq!(
        json["warnings"],
        json!(["A destructive command cannot be taken back"])
    );
    assert_eq!(json["examples"][1]["params"]["timeout"], 300);
    // The module around the tools is untouched.
    let new = folder.read("legacy.py");
    assert_eq!(
        new.lines().take(8).collect::<Vec<_>>(),
        legacy.lines().take(8).collect::<Vec<_>>()
    );
    let again = folder.helve(&["check", "--fix", "legacy.py"]).ended(0);
    assert!(!again.err.contains("fixed["));
    assert_eq!(folder.read("legacy.py"), new);
}

#[test]
fn nothing_to_check_is_not_success() {
    let folder = Folder::new();
    folder.write("empty/readme.txt", "x");
    let ran = folder.helve(&["check", "empty"]).ended(3);
    assert!(
        ran.err.contains("there are no tools in empty"),
        "{}",
        ran.err
    );
    let ran = folder
        .helve_with(&["check", "--fix", "-"], GOOD.as_bytes())
        .ended(2);
    assert!(
        ran.err.contains("standard input cannot be mended"),
        "{}",
        ran.err
    );
}

/// What `--fix` must leave alone.
#[test]
fn mending_never_guesses() {
    let folder = Folder::new();
    let schema = "'input_schema': {'type': 'object', 'properties': {}}";
    let python = format!(
        "DESC = 'Reads. When you need to: (1) See.'\nREAD = {{'name': 'file_read', 'description': DESC, {schema}}}\nTOOLS = [READ]\n"
    );
    folder.write("r.py", &python);
    let ran = folder.helve(&["check", "--fix", "r.py"]).ended(0);
    assert!(
        ran.err
            .contains("not fixed: r.py: `file_read` takes values from elsewhere"),
        "{}",
        ran.err
    );
    assert_eq!(folder.read("r.py"), python);
    let texts = [
        "Shows mail. IMPORTANT messages come first, when asked.",
        "Shows mail when asked. IMPORTANT! Slow.",
        "When you need to search e.g. Paris, use this.",
    ];
    for text in texts {
        let toml = GOOD.replace("Reads a file. Use when its text is needed.", text);
        folder.write("t.toml", &toml);
        folder.helve(&["check", "--fix", "t.toml"]).ended(0);
        assert_eq!(folder.read("t.toml"), toml);
    }
    let toml = GOOD.replace("\"Reads a file. Use when its text is needed.\"", "\"\"\"Shows mail, when asked.\n\nIMPORTANT: not twice, e.g. Now\n\nReturns:\n- one\n- two\"\"\"");
    folder.write("t.toml", &toml);
    folder.helve(&["check", "--fix", "t.toml"]).ended(0);
    let json = folder
        .helve(&["info", "read", "t.toml", "--json"])
        .ended(0)
        .json();
    assert_eq!(json["warnings"], json!(["not twice, e.g. Now"]));
    assert_eq!(
        json["description"],
        "Shows mail, when asked.\n\nReturns:\n- one\n- two"
    );
    // Line ends stay what they were.
    let crlf = GOOD
        .replace(
            "Use when its text is needed.",
            "When you need to: (1) See it.",
        )
        .replace('\n', "\r\n");
    folder.write("t.toml", &crlf);
    let ran = folder.helve(&["check", "--fix", "t.toml"]).ended(0);
    assert!(ran.err.contains("fixed[W211]"), "{}", ran.err);
    let new = folder.read("t.toml");
    assert_eq!(new.matches('\n').count(), new.matches("\r\n").count());
}

#[test]
fn rules_are_explained() {
    let folder = Folder::new();
    let one = folder.helve(&["check", "--explain", "E124"]).ended(0);
    assert!(
        one.out.starts_with("E124  exploding-pattern"),
        "{}",
        one.out
    );
    let all = folder.helve(&["check", "--explain"]).ended(0);
    assert!(all.out.lines().count() > 50);
    let none = folder.helve(&["check", "--explain", "E99"]).ended(2);
    assert!(none.err.contains("hint: near are"), "{}", none.err);
}

/// As many definitions as a large hub has, in a folder.
#[test]
fn ten_thousand_definitions_are_all_checked() {
    let folder = Folder::new();
    for i in 0..10_000 {
        let (group, action) = (i / 100, i % 100);
        let tool = GOOD.replace("name = \"read\"", &format!("name = \"action{action}\""));
        folder.write(&format!("tools/group{group}/action{action}.toml"), tool);
    }
    folder.write(
        "tools/group7/action7.toml",
        GOOD.replace("name = \"read\"", "name = \"action8\""),
    );
    let json = folder.helve(&["check", "--json"]).ended(1).json();
    assert_eq!(json["tools"], 10_000);
    let codes: Vec<&str> = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["W227", "E106"]);
}
