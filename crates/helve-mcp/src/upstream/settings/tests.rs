use std::collections::BTreeMap;
use std::time::Duration;

use super::{McpJson, Reach};

fn read(text: &str) -> McpJson {
    let variable = |name: &str| match name {
        "TOKEN" => Some("t0k".to_owned()),
        "INNER" => Some("${TOKEN}".to_owned()),
        _ => None,
    };
    let base = BTreeMap::from([("PATH".to_owned(), "/bin".to_owned())]);
    McpJson::read(text, &variable, &base)
}

#[test]
fn a_file_as_people_have_it() {
    let read = read(
        r#"{"mcpServers": {
            "local": {"command": "npx", "args": ["-y", "x", "${TOKEN}", "$TOKEN", "${INNER}"],
                      "env": {"KEY": "${TOKEN}", "OTHER": "${MISSING:-plain}"}, "timeout": 5000},
            "web": {"type": "http", "url": "https://example.com/${TOKEN}", "headers": {"X-A": "${NOT_SET}"}},
            "also-web": {"type": "streamable-http", "url": "https://example.com"},
            "old": {"type": "sse", "url": "https://example.com/sse"},
            "akita": {"transport": "stdio", "command": "x", "trust_level": "trusted"},
            "off": {"command": "x", "disabled": true},
            "odd": {"command": "x", "autoApprove": []},
            "bad": {"args": []},
            "worse": 7
        }}"#,
    );
    let names: Vec<&str> = read.servers.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["local", "web", "also-web", "old", "akita", "odd"]);
    assert_eq!(read.disabled, ["off"]);
    assert_eq!(
        read.problems,
        [
            "`bad`: it has neither `command` nor `url`",
            "`worse`: it is not a table"
        ]
    );
    assert_eq!(
        read.warnings,
        [
            "`web`: `${NOT_SET}` is not set, and stays as it is written",
            "`odd`: `autoApprove` is not known, and does nothing"
        ]
    );
    let Reach::Stdio { args, env, .. } = &read.servers[0].reach else {
        panic!("not stdio");
    };
    assert_eq!(args, &["-y", "x", "t0k", "$TOKEN", "${TOKEN}"]);
    assert_eq!(env["KEY"], "t0k");
    assert_eq!(env["OTHER"], "plain");
    assert_eq!(env["PATH"], "/bin");
    assert_eq!(read.servers[0].rules.timeout, Duration::from_secs(5));
    let Reach::Http { url, headers } = &read.servers[1].reach else {
        panic!("not http");
    };
    assert_eq!(url, "https://example.com/t0k");
    assert_eq!(headers, &[("X-A".to_owned(), "${NOT_SET}".to_owned())]);
    assert!(matches!(read.servers[3].reach, Reach::Sse { .. }));
}

#[test]
fn names_that_would_be_one() {
    let read = read(
        r#"{"mcpServers": {"a-b": {"command": "x"}, "a_b": {"command": "y"}, "ü": {"command": "z"}}}"#,
    );
    assert_eq!(read.servers.len(), 1);
    assert_eq!(read.problems.len(), 2);
    assert!(read.problems[0].contains("would be called like those of `a-b`"));
}

#[test]
fn what_is_shown_has_no_secrets() {
    let read = read(
        r#"{"mcpServers": {"a": {"command": "x", "args": ["--key", "${TOKEN}"]},
        "b": {"url": "https://u:p@example.com/x?key=1"}}}"#,
    );
    assert_eq!(read.servers[0].place, "x --key ${TOKEN}");
    assert_eq!(read.servers[1].place, "https://example.com/x");
}

#[test]
fn garbage_is_a_problem() {
    for text in ["", "[]", "{\"mcpServers\": []}", "{\"mcpServers\": "] {
        assert_eq!(read(text).problems.len(), 1, "{text}");
    }
}
