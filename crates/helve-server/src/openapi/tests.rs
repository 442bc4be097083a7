//! The description is sound, and names only what there is.

use helve_core::schema::Schema;
use serde_json::{Value, json};

use super::*;

/// All references in a value.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
            map.values().for_each(|v| references(v, found));
        }
        Value::Array(items) => items.iter().for_each(|v| references(v, found)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let document = document();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 50);
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

#[test]
fn every_schema_compiles() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for name in schemas.keys() {
        let whole = json!({
            "$ref": format!("#/components/schemas/{name}"),
            "components": {"schemas": schemas},
        });
        assert!(Schema::compile(&whole).is_ok(), "{name}");
    }
}

#[test]
fn operations_have_names_of_their_own() {
    let mut names: Vec<&str> = ROUTES.iter().map(|r| r.id).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
}
