//! Schemas that are refused, and patterns that explode.

#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn codes(schema: &Value) -> Vec<(String, String)> {
    match Schema::compile(schema) {
        Ok(_) => Vec::new(),
        Err(issues) => issues
            .into_iter()
            .map(|i| (i.rule.code.to_owned(), i.pointer))
            .collect(),
    }
}

#[test]
fn unsound_schemas_are_refused() {
    let cases = [
        (json!({"type": "object"}), None),
        (json!({"type": "objekt"}), Some(("E120", "/type"))),
        (
            json!({"properties": {"a": {"type": 5}}}),
            Some(("E120", "/properties/a/type")),
        ),
        (json!({"required": "a"}), Some(("E120", "/required"))),
        (json!("object"), Some(("E120", ""))),
        (
            json!({"$ref": "https://example.com/s.json"}),
            Some(("E122", "/$ref")),
        ),
        (
            json!({"properties": {"a": {"$ref": "other.json#/x"}}}),
            Some(("E122", "/properties/a/$ref")),
        ),
        (
            json!({"$ref": "file:///etc/passwd"}),
            Some(("E122", "/$ref")),
        ),
        (json!({"$ref": "#/$defs/x"}), Some(("E122", "/$ref"))),
        (json!({"$defs": {"x": {}}, "$ref": "#/$defs/x"}), None),
        (json!({"$defs": {"a b": {}}, "$ref": "#/$defs/a%20b"}), None),
        (
            json!({"$defs": {"x": {"$anchor": "here"}}, "$ref": "#here"}),
            None,
        ),
        (json!({"$ref": "#"}), None),
        (json!({"pattern": "(a+)+$"}), Some(("E124", "/pattern"))),
        (
            json!({"patternProperties": {"(a|a)*b": {}}}),
            Some(("E124", "/patternProperties/(a|a)*b")),
        ),
        (json!({"pattern": "(?=a)b"}), Some(("E124", "/pattern"))),
        (json!({"pattern": "(a)\\1"}), Some(("E124", "/pattern"))),
        // A property may be called like a keyword.
        (
            json!({"properties": {"pattern": {"type": "string"}, "$ref": {"type": "string"}}}),
            None,
        ),
        (
            json!({"enum": [{"$ref": "http://x"}], "default": {"pattern": "(a+)+"}}),
            None,
        ),
    ];
    for (schema, wanted) in cases {
        let found = codes(&schema);
        let wanted: Vec<(String, String)> = wanted
            .into_iter()
            .map(|(c, p)| (c.to_owned(), p.to_owned()))
            .collect();
        assert_eq!(found, wanted, "{schema}");
    }
}

#[test]
fn large_and_deep_schemas_are_refused() {
    let mut deep = json!({"type": "string"});
    for _ in 0..40 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    assert_eq!(codes(&deep), [("E123".to_owned(), String::new())]);
    let large = json!({"type": "string", "description": "x".repeat(MAX_BYTES)});
    assert_eq!(codes(&large), [("E123".to_owned(), String::new())]);
}

#[test]
fn patterns() {
    let explode = [
        "(a+)+",
        "^(a+)+$",
        "(a*)*",
        "(a|a)*",
        "(a|ab|b)*",
        "(a?b?)*c",
        "([a-z]+-?)+",
        r"(\w+\s?)+$",
        "(.*)*x",
        "(a|aa)+$",
        r"(\d+|[0-9a-f]+)*z",
        "((a{1,20})+)+",
        "(x+x+)+y",
        "(?x)(a+) +",
        "a+{2,}",
    ];
    for pattern in explode {
        assert_eq!(explodes(pattern), Ok(true), "{pattern}");
    }
    let fine = [
        "",
        "^a+$",
        "a*b*",
        "^[a-z][a-z0-9_]*$",
        r"^\d{4}-\d{2}-\d{2}$",
        r"^(\d{1,3}\.){3}\d{1,3}$",
        "([a-z]+-)*[a-z]+",
        "(ab|cd)*",
        r"^[\w.+-]+@[\w-]+\.[\w.]+$",
        "(a|b)*",
        "a{1000}",
        "^.*foo.*bar.*$",
        "(?:(?:a)b)+",
        "[^/]+(/[^/]+)*",
    ];
    for pattern in fine {
        assert_eq!(explodes(pattern), Ok(false), "{pattern}");
    }
    for not_linear in ["(?=a)", "(?!a)b", r"(a)\1", "(", "["] {
        assert!(explodes(not_linear).is_err(), "{not_linear}");
    }
}

#[test]
fn a_huge_counted_pattern_does_not_compile() {
    let found = codes(&json!({"type": "string", "pattern": "((a{1000}){1000}){1000}"}));
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn misfits_name_the_place() {
    let schema = Schema::compile(&json!({
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1}, "day": {"type": "string", "format": "date"}},
        "required": ["n"],
    }))
    .unwrap();
    assert!(schema.accepts(&json!({"n": 1})));
    assert!(!schema.accepts(&json!({"n": 1, "day": "soon"})));
    let misfits = schema.misfits(&json!({"n": "x"}));
    assert_eq!(misfits.len(), 1);
    assert_eq!(misfits[0].pointer, "/n");
    assert_eq!(schema.misfits(&json!({}))[0].pointer, "");
}
