//! What fits a schema fits its strict form.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::schema::Schema;
use crate::testing;

/// Something that a schema may well take, and by its first choice wherever there
/// is one: not as the unnamed keys of another, which a strict form has no more.
fn sample(schema: &Value) -> Option<Value> {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return Some(values[0].clone());
    }
    if let Some(only) = schema.get("const") {
        return Some(only.clone());
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(choices) = schema.get(key).and_then(Value::as_array) {
            let sample = sample(&choices[0])?;
            let choice = Schema::compile(&choices[0]).ok()?;
            return choice.accepts(&sample).then_some(sample);
        }
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds[0].as_str().unwrap(),
        Some(kind) => kind.as_str().unwrap(),
        None => "string",
    };
    Some(match kind {
        "object" => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let required = schema.get("required").and_then(Value::as_array);
            let needed = |name: &String| required.is_some_and(|r| r.iter().any(|n| n == name));
            let args = properties
                .into_iter()
                .flatten()
                .filter(|(name, _)| needed(name) || name.len() % 2 == 0);
            let args = args.map(|(name, schema)| Some((name.clone(), sample(schema)?)));
            Value::Object(args.collect::<Option<_>>()?)
        }
        "array" => json!([sample(schema.get("items").unwrap_or(&json!({})))?]),
        "integer" => json!(2),
        "number" => json!(2),
        "boolean" => json!(true),
        "null" => Value::Null,
        _ => json!("a"),
    })
}

/// OpenAI's way to leave something out: null for every optional argument.
fn with_nulls(value: &mut Value, schema: &Value) {
    let parts = |key: &str| schema.get(key).and_then(Value::as_array).into_iter();
    // The sample is of the first choice; all parts of `allOf` become one.
    let first = ["anyOf", "oneOf"]
        .iter()
        .filter_map(|key| parts(key).next()?.first());
    for part in first.chain(parts("allOf").flatten()) {
        with_nulls(value, part);
    }
    if let (Value::Object(map), Some(Value::Object(properties))) =
        (&mut *value, schema.get("properties"))
    {
        for (name, property) in properties {
            match map.get_mut(name) {
                Some(inner) => with_nulls(inner, property),
                None => drop(map.insert(name.clone(), Value::Null)),
            }
        }
    }
    if let (Value::Array(items), Some(schema)) = (value, schema.get("items")) {
        items.iter_mut().for_each(|item| with_nulls(item, schema));
    }
}

fn keeps(schema: &Value) {
    let (Some(instance), Ok(original)) = (sample(schema), Schema::compile(schema)) else {
        return;
    };
    if !original.accepts(&instance) {
        return;
    }
    for vendor in [Vendor::OpenAi, Vendor::Anthropic, Vendor::Kimi] {
        let Ok(strict) = rewrite(schema, vendor) else {
            continue;
        };
        let compiled = Schema::compile(&strict.schema)
            .unwrap_or_else(|e| panic!("{vendor:?}: {e:?}\n{:#}", strict.schema));
        let mut instance = instance.clone();
        if vendor == Vendor::OpenAi {
            with_nulls(&mut instance, schema);
        }
        assert!(
            compiled.accepts(&instance),
            "{vendor:?} refuses {instance}\n{schema:#}\n{:#}",
            strict.schema
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_fits_still_fits(def in testing::tool_def()) {
        keeps(&def.input_schema);
    }
}

#[test]
fn what_would_fit_nothing_stays_loose() {
    let object = |property: Value| json!({"type": "object", "properties": {"p": property}});
    let b = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let mut with_ref = object(
        json!({"allOf": [{"$ref": "#/$defs/B"}, {"type": "object", "properties": {"b": {"type": "string"}}}]}),
    );
    with_ref["$defs"] = json!({"B": b});
    let loose = [
        with_ref,
        object(
            json!({"type": "object", "properties": {"kind": {"type": "string"}}, "oneOf": [b, b]}),
        ),
        object(json!({"anyOf": [{"type": "string"}], "oneOf": [{"type": "string"}]})),
        object(
            json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"properties": {"a": {"minLength": 3}}}]}),
        ),
        object(json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]})),
        object(json!({"type": "string", "allOf": [false]})),
    ];
    for schema in loose {
        for vendor in [Vendor::OpenAi, Vendor::Anthropic] {
            assert!(rewrite(&schema, vendor).is_err(), "{vendor:?}: {schema}");
        }
    }
}

#[test]
fn an_optional_choice_takes_null() {
    let schema = json!({"type": "object", "properties": {"p": {"type": "string", "anyOf": [{"type": "string", "format": "date"}, {"type": "string", "format": "time"}]}}});
    let strict = rewrite(&schema, Vendor::OpenAi).unwrap().schema;
    assert!(
        Schema::compile(&strict)
            .unwrap()
            .accepts(&json!({"p": null})),
        "{strict:#}"
    );
}

#[test]
fn a_deep_schema_stays_loose_for_openai() {
    let mut schema = json!({"type": "string"});
    for _ in 0..12 {
        schema = json!({"type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": false});
    }
    assert!(rewrite(&schema, Vendor::OpenAi).is_err());
    assert!(rewrite(&schema, Vendor::Anthropic).is_ok());
}
