//! Marks in every place that a schema can have them.

#![allow(clippy::unwrap_used)]

use super::*;

fn pointers(schema: &Value, args: &Value, mark: Mark) -> Vec<String> {
    let found = marked(schema, args.as_object().unwrap(), mark);
    for one in &found {
        assert_eq!(args.pointer(&one.pointer), Some(one.value), "{schema}");
    }
    let once = Marks::of(schema, mark);
    assert_eq!(
        once.find(schema, args.as_object().unwrap()),
        found,
        "{schema}"
    );
    assert!(found.is_empty() || !once.is_empty(), "{schema}");
    found.into_iter().map(|m| m.pointer).collect()
}

fn check(schema: &Value, args: &Value, wanted: &[&str]) {
    assert_eq!(
        pointers(schema, args, Mark::Secret),
        wanted,
        "{schema} of {args}"
    );
}

#[test]
fn three_words_for_a_secret_and_one_for_a_path() {
    let schema = json!({"properties": {
        "a": {"x-secret": true}, "b": {"writeOnly": true}, "c": {"format": "password"},
        "d": {"format": "path"}, "e": {"x-secret": false}, "f": {"x-secret": "true"},
        "g/~": {"format": "path"}, "x-secret": true, "h": {"properties": {"format": {"const": "path"}}},
    }});
    let args = json!({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g/~": 1, "x-secret": 1, "h": {"format": "path"}});
    check(&schema, &args, &["/a", "/b", "/c"]);
    assert_eq!(pointers(&schema, &args, Mark::Path), ["/d", "/g~1~0"]);
}

#[test]
fn marks_are_found_wherever_they_stand() {
    let secret = json!({"x-secret": true});
    let ab = json!({"a": "1", "b": "2"});
    let keyed = json!({"properties": {"a": secret}});
    let cases = [
        (json!({"patternProperties": {"^a": secret}}), &["/a"][..]),
        (
            json!({"patternProperties": {"^a": {}}, "additionalProperties": secret}),
            &["/b"],
        ),
        (
            json!({"properties": {"a": {}}, "additionalProperties": secret}),
            &["/b"],
        ),
        (
            json!({"properties": {"a": {}}, "unevaluatedProperties": secret}),
            &["/b"],
        ),
        (
            json!({"patternProperties": {"(?=a)": secret}}),
            &["/a", "/b"],
        ),
        (json!({"anyOf": [{"type": "string"}, keyed]}), &["/a"]),
        (json!({"oneOf": [{}, {"allOf": [keyed]}]}), &["/a"]),
        (json!({"if": keyed}), &["/a"]),
        (
            json!({"if": {}, "then": keyed, "else": {"properties": {"b": secret}}}),
            &["/a", "/b"],
        ),
        (json!({"dependentSchemas": {"z": keyed}}), &["/a"]),
        (
            json!({"properties": {"a": {"anyOf": [{"type": "integer"}, secret]}}}),
            &["/a"],
        ),
        (json!({"$ref": "#/$defs/x", "$defs": {"x": keyed}}), &["/a"]),
        (
            json!({"$ref": "#/$defs/x%20y", "$defs": {"x y": keyed}}),
            &["/a"],
        ),
        (
            json!({"$ref": "#here", "$defs": {"x": {"$anchor": "here", "properties": {"a": secret}}}}),
            &["/a"],
        ),
        (
            json!({"$ref": "#/$defs/x", "$defs": {"x": {"$id": "y", "$ref": "#/$defs/z", "$defs": {"z": keyed}}}}),
            &["/a"],
        ),
        (json!({"$ref": "#/$defs/gone"}), &[]),
        (json!({"x-secret": true}), &["/a", "/b"]),
        (json!({"$defs": {"x": keyed}}), &[]),
        (json!({"default": keyed, "enum": [keyed]}), &[]),
        (json!(true), &[]),
    ];
    for (schema, wanted) in cases {
        check(&schema, &ab, wanted);
    }
}

#[test]
fn marks_in_lists() {
    let secret = json!({"x-secret": true});
    let args = json!({"l": [["x"], "y", {"k": "z"}]});
    let cases = [
        (json!({"items": secret}), &["/l/0", "/l/1", "/l/2"][..]),
        (json!({"prefixItems": [{}, secret]}), &["/l/1"]),
        (
            json!({"prefixItems": [{}], "items": secret}),
            &["/l/1", "/l/2"],
        ),
        (
            json!({"items": [{}, secret], "additionalItems": {"properties": {"k": secret}}}),
            &["/l/1", "/l/2/k"],
        ),
        (json!({"items": {"properties": {"k": secret}}}), &["/l/2/k"]),
        (json!({"items": {"items": secret}}), &["/l/0/0"]),
        (json!({"contains": secret}), &["/l/0", "/l/1", "/l/2"]),
        // All of it, told once.
        (json!({"x-secret": true, "items": secret}), &["/l"]),
        (
            json!({"items": secret, "anyOf": [{"prefixItems": [{"items": secret}]}]}),
            &["/l/0", "/l/1", "/l/2"],
        ),
    ];
    for (list, wanted) in cases {
        check(&json!({"properties": {"l": list}}), &args, wanted);
    }
}

#[test]
fn recursive_schemas_end_and_find_everything() {
    let tree = json!({
        "$ref": "#/$defs/node",
        "$defs": {"node": {
            "anyOf": [{"$ref": "#/$defs/node"}, {"$ref": "#"}],
            "properties": {
                "token": {"format": "password"},
                "left": {"$ref": "#/$defs/node"},
                "all": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
        }},
    });
    let args = json!({"left": {"left": {"token": "1"}, "token": "2"}, "all": [{"all": [{"token": "3"}]}], "note": "4"});
    check(
        &tree,
        &args,
        &["/left/left/token", "/left/token", "/all/0/all/0/token"],
    );
    check(&json!({"$ref": "#"}), &args, &[]);
    // A hundred levels of arguments, and a long way of references.
    let mut deep = json!({"token": "x"});
    for _ in 0..100 {
        deep = json!({ "left": deep });
    }
    let wanted = format!("{}/token", "/left".repeat(100));
    check(&tree, &deep, &[&wanted]);
    let mut defs: Map<String, Value> = (0..20_000)
        .map(|i| {
            (
                format!("d{i}"),
                json!({"$ref": format!("#/$defs/d{}", i + 1)}),
            )
        })
        .collect();
    defs.insert("d20000".to_owned(), json!({"x-secret": true}));
    let long = json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs});
    check(&long, &json!({"a": 1, "b": 2}), &["/a"]);
}

#[test]
fn the_texts_of_a_marked_value() {
    let schema = json!({"x-secret": true});
    let args = json!({"a": {"k": "x", "n": [1, "y", null, true]}, "b": 2.5});
    let found = marked(&schema, args.as_object().unwrap(), Mark::Secret);
    let texts: Vec<String> = found.iter().flat_map(Marked::texts).collect();
    assert_eq!(texts, ["x", "1", "y", "2.5"]);
}

#[test]
fn plain_marks_are_found_once() {
    let path = json!({"format": "path"});
    let cases = [
        (
            json!({"properties": {"a": path, "b": {"type": "string"}}}),
            Some(vec!["a"]),
        ),
        (json!({"properties": {"a": {}}}), Some(vec![])),
        (
            json!({"properties": {"a": path, "b": {"items": path}}}),
            None,
        ),
        (
            json!({"properties": {"a": path, "b": {"$ref": "#/properties/a"}}}),
            None,
        ),
        (
            json!({"properties": {"a": path}, "additionalProperties": path}),
            None,
        ),
        (json!({"anyOf": [{"properties": {"a": path}}]}), None),
        (json!({"format": "path", "properties": {"a": {}}}), None),
        (
            json!({"$defs": {"p": path}, "properties": {"a": path}}),
            None,
        ),
    ];
    for (schema, wanted) in cases {
        let wanted = wanted.map(|names| names.into_iter().map(str::to_owned).collect());
        assert_eq!(plain(&schema, Mark::Path), wanted, "{schema}");
    }
}
