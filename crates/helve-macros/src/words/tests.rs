use helve_core::def::Risk;
use helve_core::{ToolDef, ToolName, name};
use serde_json::{Value, json};

use super::*;

#[test]
fn names_are_judged_as_in_a_file() {
    let long = "x".repeat(64);
    let longer = "x".repeat(65);
    let names = [
        "file_read",
        "a",
        "a1_",
        long.as_str(),
        longer.as_str(),
        "",
        "1a",
        "_a",
        "File",
        "file-read",
        "fil\u{435}",
        "a b",
    ];
    for n in names {
        assert_eq!(name_problem(n).is_none(), ToolName::new(n).is_ok(), "{n:?}");
    }
}

#[test]
fn groups_and_spellings_are_those_of_a_file() {
    for (group, action) in [
        ("file", "read"),
        ("file", "file_read"),
        ("file", "filer"),
        ("a", "a_"),
    ] {
        assert_eq!(in_group(group, action), name::in_group(group, action));
    }
    for n in [
        "getWeather",
        "web-search",
        "disk.clean",
        "HTTPGet",
        "1a",
        "für",
        "a",
    ] {
        assert_eq!(canonical(n), name::canonical(n), "{n}");
    }
    for n in ["read_file", "mcp__a__b", "a:b/c.d-e", "", "a b", "ä"] {
        assert_eq!(is_foreign(n), name::is_foreign(n), "{n}");
    }
}

#[test]
fn risks_are_those_of_the_definition() {
    let ours: Vec<_> = RISKS.iter().map(|(word, _)| Risk::parse(word)).collect();
    assert_eq!(ours, Risk::ALL.map(Some));
    let variants = RISKS.map(|(_, variant)| variant.to_owned());
    assert_eq!(variants, Risk::ALL.map(|r| format!("{r:?}")));
}

#[test]
fn times_are_judged_as_in_a_file() {
    for text in [
        "30s", "500ms", "1.5 s", "2m", "2min", "1h", "0s", "-1s", "30", "s", "1d", "1e3s", "9000h",
        "", "0.0001ms",
    ] {
        assert_eq!(duration(text), in_file("timeout", &json!(text)), "{text}");
    }
    for number in [0, 1, 30, 31_536_000, 31_536_001] {
        let there = in_file("timeout", &json!(number));
        assert_eq!(seconds(number), there, "{number}");
    }
}

#[test]
fn retries_have_the_limits_of_a_file() {
    let fits = |max: u64, delay: u64| {
        let retry = json!({"max": max, "delay_ms": delay});
        definition("retry", &retry).is_some()
    };
    assert!(fits(MAX_RETRIES, MAX_DELAY_MS));
    assert!(!fits(MAX_RETRIES + 1, 0) && !fits(0, MAX_DELAY_MS + 1));
}

fn in_file(field: &str, value: &Value) -> Option<Duration> {
    definition(field, value).and_then(|d| d.timeout)
}

fn definition(field: &str, value: &Value) -> Option<ToolDef> {
    let mut file = json!({"name": "a", "description": "b", "input_schema": {"type": "object"}});
    file[field] = value.clone();
    ToolDef::from_value(&file).ok()
}

#[test]
fn a_near_word_is_named_and_a_far_one_gets_the_list() {
    let known = ["risk", "retry"];
    assert_eq!(did_you_mean("rsik", &known), "did you mean `risk`?");
    assert_eq!(did_you_mean("colour", &known), "known: `risk`, `retry`");
}
