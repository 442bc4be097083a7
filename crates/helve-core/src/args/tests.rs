//! Arguments that are repaired, and those that are not.

#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "x-aliases": ["file", "src", "ratio"]},
            "limit": {"type": "integer", "minimum": 1, "default": 10},
            "ratio": {"type": "number"},
            "deep": {"type": "object", "properties": {"on": {"type": "boolean", "default": false}, "n": {"type": "integer"}}},
            "names": {"type": "array", "items": {"type": "integer"}},
            "note": {"type": ["string", "null"]},
            "any": {},
        },
        "required": ["path"],
        "additionalProperties": false,
    })
}

fn run(raw: &Value) -> Result<Prepared, ArgsError> {
    let schema = schema();
    let compiled = Schema::compile(&schema).unwrap();
    prepare(raw, &schema, &compiled)
}

fn check(raw: &Value, args: &Value, coerced: &[&str]) {
    let prepared = run(raw).unwrap_or_else(|e| panic!("{raw}: {e}"));
    assert_eq!(&Value::Object(prepared.args), args, "{raw}");
    let repaired: Vec<&str> = prepared
        .coerced
        .iter()
        .map(|c| c.argument.as_str())
        .collect();
    assert_eq!(repaired, coerced, "{raw}");
}

fn refused(raw: &Value) -> String {
    run(raw).expect_err("refused").to_string()
}

#[test]
fn defaults_are_filled_in() {
    check(
        &json!({"path": "a"}),
        &json!({"path": "a", "limit": 10}),
        &[],
    );
    check(
        &json!({"path": "a", "deep": {}}),
        &json!({"path": "a", "deep": {"on": false}, "limit": 10}),
        &[],
    );
}

#[test]
fn harmless_mistakes_are_repaired_and_told() {
    check(
        &json!({"path": "a", "limit": "5"}),
        &json!({"path": "a", "limit": 5}),
        &["/limit"],
    );
    check(
        &json!({"path": "a", "limit": 1, "ratio": "1.5"}),
        &json!({"path": "a", "limit": 1, "ratio": 1.5}),
        &["/ratio"],
    );
    check(
        &json!({"path": "a", "limit": 1, "deep": "{\"on\": \"true\", \"n\": 3}"}),
        &json!({"path": "a", "limit": 1, "deep": {"on": true, "n": 3}}),
        &["/deep", "/deep/on"],
    );
    check(
        &json!({"path": "a", "limit": 1, "names": "[1, \"2\"]"}),
        &json!({"path": "a", "limit": 1, "names": [1, 2]}),
        &["/names", "/names/1"],
    );
    check(
        &json!("{\"path\": \"a\", \"limit\": 2}"),
        &json!({"path": "a", "limit": 2}),
        &[""],
    );
    // Strict modes send null for absent; where null is a value it stays one.
    check(
        &json!({"path": "a", "limit": null, "note": null, "any": null}),
        &json!({"path": "a", "limit": 10, "note": null, "any": null}),
        &["/limit"],
    );
}

#[test]
fn what_could_be_meant_otherwise_stays() {
    // A string where a string is taken is that string, whatever it looks like.
    check(
        &json!({"path": "5", "limit": 1, "note": "[1]", "any": "7"}),
        &json!({"path": "5", "limit": 1, "note": "[1]", "any": "7"}),
        &[],
    );
    assert!(refused(&json!({"path": 5})).starts_with("argument `path`: "));
    assert!(refused(&json!({"path": "a", "limit": "five"})).starts_with("argument `limit`: "));
    assert!(refused(&json!({"path": "a", "limit": "0"})).contains("minimum"));
    assert!(refused(&json!({"path": "a", "limit": "1.5"})).starts_with("argument `limit`: "));
    assert!(refused(&json!({"path": null})).starts_with("argument `path`: "));
    assert!(refused(&json!({"path": "a", "names": "[1, 2"})).starts_with("argument `names`: "));
}

#[test]
fn truncated_json_is_never_repaired() {
    let message = refused(&json!("{\"path\": \"a\", \"note\": \"once upon"));
    assert!(
        message.starts_with("the arguments are cut off at character 32"),
        "{message}"
    );
    assert!(refused(&json!("{path: 1}")).starts_with("the arguments are not JSON"));
    assert!(refused(&json!("{\"path\": \"a\", \"path\": \"b\"}")).contains("given twice"));
    assert_eq!(
        refused(&json!([1])),
        "the arguments must be an object by name, not a list"
    );
    assert_eq!(
        refused(&json!("[1]")),
        "the arguments must be an object by name, not a list"
    );
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let message = refused(&json!({"limit": "x", "pth": "a"}));
    for part in ["limit", "path", "did you mean `path` for `pth`?"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn hostile_texts_are_refused_or_taken_as_they_are() {
    assert!(refused(&json!("{\"a\":1,\"a\":2}")).contains("given twice"));
    assert!(
        refused(&json!("{\"path\": \"a\", \"deep\": {\"n\":1,\"n\":2}}")).contains("given twice")
    );
    // Also where the text stands inside an argument.
    assert!(
        refused(&json!({"path": "a", "deep": "{\"n\":1,\"n\":2}"}))
            .starts_with("argument `deep`: ")
    );
    let deep = "[".repeat(10_000);
    assert!(refused(&json!(deep)).starts_with("the arguments are not JSON"));
    let objects = "{\"path\":".repeat(10_000);
    assert!(refused(&json!(objects)).starts_with("the arguments are not JSON"));
    assert!(refused(&json!({"path": "a", "names": deep})).starts_with("argument `names`: "));
    for text in [deep.as_str(), "a\u{0}b", "\u{0}", "\u{202e}x\u{feff}"] {
        check(
            &json!({"path": text, "limit": 1}),
            &json!({"path": text, "limit": 1}),
            &[],
        );
        let written = json!({"path": text, "limit": 1}).to_string();
        check(&json!(written), &json!({"path": text, "limit": 1}), &[""]);
    }
    assert!(refused(&json!("{\"path\": \"a\u{0}b\"}")).starts_with("the arguments are not JSON"));
}

#[test]
fn an_argument_that_is_not_known_is_refused() {
    let run = |schema: Value, raw: Value| {
        let compiled = Schema::compile(&schema).unwrap();
        prepare(&raw, &schema, &compiled).map_err(|e| e.to_string())
    };
    let closed = json!({"type": "object", "properties": {"path": {"type": "string"}, "on": {"type": "object", "properties": {"a": {}}}}});
    let cases = [
        (
            json!({"pth": "a"}),
            "argument `pth` is not known; did you mean `path`?",
        ),
        (
            json!({"path": "a", "zzz": null}),
            "argument `zzz` is not known; leave it out",
        ),
        (
            json!({"path": 5, "patch": 1, "q": 2}),
            "argument `path`: 5 is not of type \"string\"; argument `patch` is not known; did you mean `path`?; argument `q` is not known; leave it out",
        ),
    ];
    for (raw, wanted) in cases {
        assert_eq!(run(closed.clone(), raw), Err(wanted.to_owned()));
    }
    // Only at the top: what is inside an argument is the schema's own business.
    assert!(run(closed.clone(), json!({"on": {"b": 1}})).is_ok());
    assert!(run(json!({"type": "object", "properties": {}}), json!({"x": 1})).is_err());
    // A schema without `properties`, or one that can know more, is open.
    assert!(run(json!({"type": "object"}), json!({"x": 1})).is_ok());
    for (key, value) in [
        ("additionalProperties", json!(true)),
        ("additionalProperties", json!({"type": "integer"})),
        ("patternProperties", json!({"^x": {}})),
        ("unevaluatedProperties", json!(true)),
        ("anyOf", json!([{"required": ["x"]}])),
        ("oneOf", json!([{}])),
        ("allOf", json!([{"properties": {"x": {}}}])),
        ("if", json!({"required": ["x"]})),
        ("$ref", json!("#/$defs/more")),
        ("dependentSchemas", json!({"x": {}})),
    ] {
        let mut open = closed.clone();
        open["$defs"] = json!({"more": {"properties": {"x": {}}}});
        open[key] = value;
        assert!(run(open.clone(), json!({"x": 1})).is_ok(), "{open}");
    }
}

#[test]
fn arguments_that_nest_too_deep_are_refused() {
    let schema = json!({"type": "object", "properties": {"x": {"type": "array"}}});
    let compiled = Schema::compile(&schema).unwrap();
    let nested = |levels: usize| (1..levels).fold(json!([]), |inner, _| json!([inner]));
    let fits = |x: Value| prepare(&json!({"x": x}), &schema, &compiled).is_ok();
    assert!(fits(nested(MAX_DEPTH - 1)));
    assert!(!fits(nested(MAX_DEPTH)));
    // Also where a text turns out to be JSON.
    assert!(fits(nested(MAX_DEPTH - 1).to_string().into()));
    assert!(!fits(nested(MAX_DEPTH).to_string().into()));
}

/// Whatever is wrong with it or around it, a secret is not quoted.
#[test]
fn a_secret_is_not_told() {
    let schema = json!({
        "type": "object",
        "properties": {
            "key": {"type": "string", "x-secret": true, "maxLength": 5, "pattern": "^a"},
            "login": {"type": "object", "maxProperties": 1, "properties": {
                "password": {"type": "string", "format": "password"},
            }},
            "all": {"writeOnly": true, "items": {"type": "integer"}},
            "plain": {"type": "integer"},
        },
        "required": ["plain"],
        "maxProperties": 2,
    });
    let compiled = Schema::compile(&schema).unwrap();
    for args in [
        json!({"key": "TOPSECRET"}),
        json!({"key": ["TOPSECRET"]}),
        json!({"key": {"a": "TOPSECRET"}, "plain": 1}),
        json!({"login": {"password": "TOPSECRET", "user": "u"}}),
        json!({"login": {"password": ["TOPSECRET"]}}),
        json!({"all": ["TOPSECRET"], "plain": 1}),
        json!({"key": "TOPSECRET", "plain": 1, "all": []}),
    ] {
        let refused = prepare(&args, &schema, &compiled).unwrap_err().to_string();
        assert!(!refused.contains("TOPSECRET"), "{args}: {refused}");
    }
    let args = json!({"key": "TOPSECRET", "plain": "five"});
    let refused = prepare(&args, &schema, &compiled).unwrap_err().to_string();
    assert!(
        refused.contains("`key`: it is longer than 5 characters"),
        "{refused}"
    );
    assert!(refused.contains("`plain`: \"five\" is not"), "{refused}");
}

#[test]
fn arguments_read_out_of_a_text_are_told() {
    check(
        &json!(r#"{"path": "a", "limit": 1}"#),
        &json!({"path": "a", "limit": 1}),
        &[""],
    );
    check(
        &json!({"path": "a", "limit": 1}),
        &json!({"path": "a", "limit": 1}),
        &[],
    );
}

#[test]
fn an_argument_may_have_another_name() {
    let full = json!({"path": "a", "limit": 10});
    check(&json!({"file": "a"}), &full, &["/path"]);
    check(&json!({"src": "a"}), &full, &["/path"]);
    let told = run(&json!({"src": "a"})).unwrap().coerced[0].repair;
    assert_eq!(told, "given under another name");
    // A name of the schema's own is never taken for another.
    let ratio = json!({"path": "a", "ratio": 1.5, "limit": 10});
    check(&json!({"path": "a", "ratio": 1.5}), &ratio, &[]);
    assert!(refused(&json!({"ratio": 1.5})).contains("path"));
    // Which of two is meant is not guessed.
    for both in [
        json!({"path": "a", "src": "b"}),
        json!({"file": "a", "src": "b"}),
    ] {
        assert!(refused(&both).contains("src"), "{both}");
    }
}
