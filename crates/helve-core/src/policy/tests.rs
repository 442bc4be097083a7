//! Policies as tables.

#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

/// A call as `tool risk key=value …`, by `agent:a`.
fn decide(policy: &Policy, call: &str) -> String {
    let mut words = call.split_whitespace();
    let tool = words.next().unwrap();
    let mut risk = None;
    let mut args = Map::new();
    for word in words {
        match word.split_once('=') {
            Some((key, value)) => drop(args.insert(key.to_owned(), json!(value))),
            None => risk = Some(Risk::parse(word).unwrap()),
        }
    }
    let decision = policy.decide(&Call {
        tool,
        risk,
        principal: "agent:a",
        args: &args,
    });
    match decision.rule {
        Some(rule) => format!("{}: rule {rule}", decision.effect.as_str()),
        None => format!("{}: default", decision.effect.as_str()),
    }
}

fn check(rules: &Value, cases: &[(&str, &str)]) {
    let policy = Policy::from_value(rules).unwrap();
    for (call, wanted) in cases {
        assert_eq!(decide(&policy, call), *wanted, "{call}");
    }
}

#[test]
fn without_rules_the_risk_decides() {
    check(
        &json!([]),
        &[
            ("file_read read", "allow: default"),
            ("code_format exec_low", "allow: default"),
            ("app_deploy exec_high", "ask: default"),
            ("file_write write", "ask: default"),
            ("who_knows", "ask: default"),
        ],
    );
}

#[test]
fn the_strictest_rule_wins_wherever_it_stands() {
    let rules = json!([
        {"effect": "deny", "tool": "file_write", "args": {"path": "/etc/*"}},
        {"effect": "allow", "tool": "file_*"},
        {"effect": "ask", "tool": "file_write"},
        {"effect": "deny", "principal": "agent:b"},
    ]);
    check(
        &rules,
        &[
            ("file_read read path=/etc/hosts", "allow: rule 2"),
            ("file_write write path=notes.md", "ask: rule 3"),
            ("file_write write path=/etc/hosts", "deny: rule 1"),
            ("shell_exec exec_high command=ls", "ask: default"),
        ],
    );
    let policy = Policy::from_value(&rules).unwrap();
    let args = Map::from_iter([("path".to_owned(), json!(["a", "/etc/x"]))]);
    let call = Call {
        tool: "file_write",
        risk: Some(Risk::Write),
        principal: "agent:b",
        args: &args,
    };
    let decision = policy.decide(&call);
    assert_eq!(decision.matched, [1, 2, 3, 4]);
    assert_eq!(decision.to_string(), "deny: rule 1 (it says deny)");
}

#[test]
fn an_unknown_risk_counts_as_the_most_dangerous() {
    check(
        &json!([{"effect": "deny", "risk": "write"}, {"effect": "allow", "risk": ["read", "exec_low"]}]),
        &[
            ("x", "deny: rule 1"),
            ("x read", "allow: rule 2"),
            ("x exec_high", "ask: default"),
        ],
    );
}

#[test]
fn a_rule_is_held_to_its_examples() {
    let rule = json!({
        "effect": "deny", "tool": "file_*", "args": {"path": "/etc/*"},
        "match": [{"tool": "file_read", "args": {"path": "/etc/hosts"}}],
        "no_match": ["file_read", {"tool": "web_get", "args": {"path": "/etc/hosts"}}],
    });
    assert!(Policy::from_value(&json!([rule])).is_ok());
    let mut wrong = rule.clone();
    wrong["no_match"] = json!([{"tool": "file_stat", "args": {"path": "/etc/x"}}]);
    let error = Policy::from_value(&json!([rule, wrong])).unwrap_err();
    assert!(
        matches!(
            error,
            PolicyError::Example {
                rule: 2,
                wanted: false,
                ..
            }
        ),
        "{error}"
    );
    let mut wrong = rule;
    wrong["match"] = json!(["file_read"]);
    assert!(Policy::from_value(&json!([wrong])).is_err());
}

#[test]
fn what_is_unknown_is_refused() {
    let cases = [
        (
            json!([{"efect": "deny"}]),
            "rule 1: unknown key `efect`; did you mean `effect`?",
        ),
        (
            json!([{"effect": "maybe"}]),
            "rule 1: `effect` cannot be `maybe`; it is allow, ask or deny",
        ),
        (
            json!([{}]),
            "rule 1: `effect` is missing; it is allow, ask or deny",
        ),
        (
            json!([{"effect": "ask", "risk": "low"}]),
            "rule 1: `risk` cannot be \"low\"; it is read, exec_low, exec_high or write",
        ),
        (
            json!([{"effect": "ask", "risk": []}]),
            "rule 1: `risk` cannot be []; it is read, exec_low, exec_high or write",
        ),
        (
            json!([{"effect": "ask", "args": {"a": 5}}]),
            "rule 1: `args.a` must be a pattern",
        ),
        (
            json!({}),
            "rule 0: a policy is a list of rules, not an object",
        ),
    ];
    for (rules, wanted) in cases {
        assert_eq!(Policy::from_value(&rules).unwrap_err().to_string(), wanted);
    }
}

#[test]
fn patterns() {
    let cases = [
        ("file_*", "file_read", true),
        ("file_*", "file_", true),
        ("file_*", "afile_read", false),
        ("*", "", true),
        ("a?c", "abc", true),
        ("a?c", "ac", false),
        ("*a*b*", "xxaxxbxx", true),
        ("*a*b*", "ba", false),
        ("", "", true),
        ("", "x", false),
        ("a.c", "abc", false),
        ("中*", "中文", true),
        ("**", "x", true),
    ];
    for (pattern, text, wanted) in cases {
        assert_eq!(
            Pattern::new(pattern).matches(text),
            wanted,
            "{pattern} {text}"
        );
    }
    // Many stars on a long text that just does not fit.
    let stars = format!("{}b", "*a".repeat(50));
    assert!(!Pattern::new(stars).matches(&"a".repeat(5000)));
}
