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
            json!([{"effect": "deny", "approvals": 2}]),
            "rule 1: `approvals` goes with effect ask only, not with deny",
        ),
        (
            json!([{"effect": "ask", "approvals": 0}]),
            "rule 1: `approvals` cannot be 0; it is a whole number from 1 to 10",
        ),
        (
            json!([{"effect": "ask", "approvals": 11}]),
            "rule 1: `approvals` cannot be 11; it is a whole number from 1 to 10",
        ),
        (
            json!([{"effect": "ask", "approvals": "2"}]),
            "rule 1: `approvals` cannot be \"2\"; it is a whole number from 1 to 10",
        ),
        (
            json!([{"effect": "ask", "match": "file_read"}]),
            "rule 1: `match` is a list of examples, not text",
        ),
        (
            json!([{"effect": "ask"}, {"effect": "ask", "no_match": {"tool": "a"}}]),
            "rule 2: `no_match` is a list of examples, not an object",
        ),
        (
            json!([{"effect": "ask", "match": ["a", 5]}]),
            "rule 1: example 2 of `match`: an example is a call or a tool's name, not a number",
        ),
        (
            json!([{"effect": "ask", "match": [{"tol": "a"}]}]),
            "rule 1: example 1 of `match`: unknown key `tol`; did you mean `tool`?",
        ),
        (
            json!([{"effect": "ask", "match": [{"tool": 5}]}]),
            "rule 1: example 1 of `match`: `tool` must be text, not a number",
        ),
        (
            json!([{"effect": "ask", "match": [{"principal": null}]}]),
            "rule 1: example 1 of `match`: `principal` must be text, not null",
        ),
        (
            json!([{"effect": "ask", "match": [{"risk": "low"}]}]),
            "rule 1: example 1 of `match`: `risk` cannot be \"low\"; it is read, exec_low, exec_high or write",
        ),
        (
            json!([{"effect": "ask", "match": [{"args": []}]}]),
            "rule 1: example 1 of `match`: `args` has a value for each argument by name",
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
fn the_most_approvals_that_a_rule_wants_are_needed() {
    let policy = Policy::from_value(&json!([
        {"effect": "ask", "tool": "app_*", "approvals": 2},
        {"effect": "ask", "risk": "exec_high", "approvals": 3},
        {"effect": "ask"},
        {"effect": "deny", "tool": "app_delete"},
    ]))
    .unwrap();
    let args = Map::new();
    let approvals = |tool, risk| {
        let call = Call {
            tool,
            risk: Some(risk),
            principal: "agent:a",
            args: &args,
        };
        policy.decide(&call).approvals
    };
    assert_eq!(approvals("app_restart", Risk::ExecHigh), 3);
    assert_eq!(approvals("app_restart", Risk::Write), 2);
    assert_eq!(approvals("app_delete", Risk::Write), 2);
    assert_eq!(approvals("file_write", Risk::Write), 1);
}

#[test]
fn arguments_inside_others_have_dotted_names() {
    let policy = Policy::from_value(&json!([{
        "effect": "deny", "args": {"options.path": "/etc/*"},
        "match": [
            {"args": {"options": {"path": "/etc/hosts"}}},
            {"args": {"options": {"path": ["a", "/etc/hosts"]}}},
            {"args": {"options": [{"path": "a"}, {"path": "/etc/hosts"}]}},
            {"args": {"options.path": "/etc/hosts"}},
            {"args": {"options.path": "/etc/hosts", "options": {"path": "a"}}},
            {"args": {"options.path": "a", "options": {"path": "/etc/hosts"}}},
        ],
        "no_match": [
            {"args": {"path": "/etc/hosts"}},
            {"args": {"options": "/etc/hosts"}},
            {"args": {"options": {"path": "a"}}},
            {"args": {"options": {"deep": {"path": "/etc/hosts"}}}},
        ],
    }]));
    assert!(policy.is_ok(), "{policy:?}");
}

#[test]
fn every_rule_says_why_it_did_not_match() {
    let policy = Policy::from_value(&json!([
        {"effect": "allow", "tool": "web_*"},
        {"effect": "ask", "risk": ["read", "exec_low"]},
        {"effect": "deny", "principal": "agent:b"},
        {"effect": "deny", "args": {"path": "/etc/*", "mode": "*"}},
        {"effect": "deny", "args": {"token": "x*"}},
        {"effect": "allow", "tool": "file_*"},
    ]))
    .unwrap();
    let args = Map::from_iter([
        ("path".to_owned(), json!("/etc/hosts")),
        ("token".to_owned(), json!("s3cr3t")),
    ]);
    let call = Call {
        tool: "file_write",
        risk: Some(Risk::Write),
        principal: "agent:a",
        args: &args,
    };
    let explanation = policy.explain(&call);
    assert_eq!(explanation.decision, policy.decide(&call));
    let why_not: Vec<Option<&str>> = explanation
        .rules
        .iter()
        .map(|rule| rule.why_not.as_deref())
        .collect();
    assert_eq!(
        why_not,
        [
            Some("tool `file_write` does not match `web_*`"),
            Some("risk `write` is not `read` or `exec_low`"),
            Some("principal `agent:a` does not match `agent:b`"),
            Some("argument `mode` is absent"),
            Some("argument `token` does not match `x*`"),
            None,
        ]
    );
    assert_eq!(
        explanation.rules[5],
        RuleVerdict {
            number: 6,
            effect: Effect::Allow,
            matched: true,
            why_not: None
        }
    );
    let unknown = policy.explain(&Call { risk: None, ..call });
    assert_eq!(
        unknown.rules[1].why_not.as_deref(),
        Some("risk is not known and counts as `write`, not as `read` or `exec_low`")
    );
}

#[test]
fn a_policy_is_readable_as_a_table() {
    let policy = Policy::from_value(&json!([
        {"effect": "allow", "tool": "file_read"},
        {"effect": "deny", "tool": "file_*", "args": {"path": "/etc/*"}},
        {"effect": "ask", "tool": "app_deploy", "approvals": 2},
        {"effect": "deny", "principal": "agent:guest", "risk": ["write", "exec_high"]},
        {"effect": "allow", "tool": "notes_add", "args": {"path": "notes/*"}},
        {"effect": "ask", "tool": "app_deploy", "args": {"to": "prod"}, "approvals": 3},
    ]))
    .unwrap();
    let table = table(
        &policy,
        &["agent:a", "agent:guest"],
        &[
            ("file_read", Some(Risk::Read)),
            ("file_write", Some(Risk::Write)),
            ("app_deploy", Some(Risk::ExecHigh)),
            ("notes_add", Some(Risk::Write)),
            ("who_knows", None),
            ("code_format", Some(Risk::ExecLow)),
        ],
    );
    assert_eq!(
        table.to_string(),
        "\
tool         risk       agent:a  agent:guest
file_read    read       allow*   allow*
file_write   write      ask*     deny
app_deploy   exec_high  ask(2)*  deny
notes_add    write      ask~     deny
who_knows    ?          ask      deny
code_format  exec_low   allow    allow
"
    );
    let value = table.to_value();
    assert_eq!(value["principals"], json!(["agent:a", "agent:guest"]));
    assert_eq!(
        value["tools"][2],
        json!({
            "tool": "app_deploy",
            "risk": "exec_high",
            "decisions": {
                "agent:a": {"effect": "ask", "rule": 3, "approvals": 2, "stricter": true, "looser": false},
                "agent:guest": {"effect": "deny", "rule": 4, "approvals": 2, "stricter": false, "looser": false},
            },
        })
    );
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

/// One bad item stops a list, and one good item does not let it pass.
#[test]
fn every_item_must_be_allowed_and_one_is_enough_to_deny() {
    let rules = |effect: &str, name: &str| {
        let rule = serde_json::json!([{"effect": effect, "args": {name: "/tmp/*"}}]);
        Policy::from_value(&rule).unwrap()
    };
    let decide = |policy: &Policy, args: serde_json::Value| {
        let Value::Object(args) = args else { panic!() };
        let call = Call {
            tool: "file_write",
            risk: Some(Risk::Write),
            principal: "ann",
            args: &args,
        };
        policy.decide(&call).effect
    };
    let both = serde_json::json!({"path": ["/tmp/a", "/etc/shadow"]});
    let tmp = serde_json::json!({"path": ["/tmp/a", "/tmp/b"]});
    assert_eq!(decide(&rules("allow", "path"), both.clone()), Effect::Ask);
    assert_eq!(decide(&rules("allow", "path"), tmp), Effect::Allow);
    assert_eq!(decide(&rules("deny", "path"), both), Effect::Deny);
    // An argument whose name only looks like a place hides nothing.
    let hidden = serde_json::json!({"o": {"path": "/tmp/a"}, "o.path": "harmless"});
    assert_eq!(
        decide(&rules("deny", "o.path"), hidden.clone()),
        Effect::Deny
    );
    assert_eq!(decide(&rules("allow", "o.path"), hidden), Effect::Ask);
}
