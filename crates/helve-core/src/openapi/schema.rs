//! Schemas of OpenAPI as JSON Schema 2020-12.
//!
//! Keyword by keyword, so that what comes out is sound whatever came in: a keyword that
//! does not hold what it should is left out. References are carried along as `$defs`,
//! each once, so that they may go in circles.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::Reading;
use crate::dialect::Loss;
use crate::schema::{self, Schema};

/// How deep a schema may nest, references apart.
const DEPTH: usize = 48;

/// How many parts the arguments of one operation may have.
pub(super) const ARGUMENTS: usize = 20_000;

/// How many its result may have; a longer one is not carried along anyway.
pub(super) const RESULTS: usize = 4_000;

/// The schemas of one operation.
pub(super) struct Schemas<'r, 'd> {
    pub(super) reading: &'r mut Reading<'d>,
    pub(super) losses: Vec<Loss>,
    /// By reference, the name among the `$defs`.
    names: HashMap<String, String>,
    waiting: Vec<(String, String)>,
    parts: usize,
    most: usize,
}

impl<'r, 'd> Schemas<'r, 'd> {
    pub(super) fn new(reading: &'r mut Reading<'d>, most: usize) -> Self {
        Self {
            reading,
            losses: Vec::new(),
            names: HashMap::new(),
            waiting: Vec::new(),
            parts: 0,
            most,
        }
    }

    /// One schema. `at` is where it will stand, for what it loses.
    pub(super) fn convert(&mut self, schema: &Value, at: &str) -> Result<Value, String> {
        self.at_depth(schema, at, 0)
    }

    /// The schemas that those converted so far refer to.
    pub(super) fn defs(&mut self) -> Result<Map<String, Value>, String> {
        let mut defs = Map::new();
        while let Some((reference, name)) = self.waiting.pop() {
            let target = self.reading.target(&reference)?;
            let at = format!("/$defs/{name}");
            let converted = self.at_depth(target, &at, 0)?;
            defs.insert(name, converted);
        }
        defs.sort_keys();
        Ok(defs)
    }

    fn at_depth(&mut self, schema: &Value, at: &str, depth: usize) -> Result<Value, String> {
        self.parts += 1;
        self.reading.work += 1;
        if depth > DEPTH {
            return Err(format!("a schema nests deeper than {DEPTH} levels"));
        }
        if self.parts > self.most {
            return Err("its schemas are too large".to_owned());
        }
        let map = match schema {
            Value::Object(map) => map,
            Value::Bool(_) => return Ok(schema.clone()),
            _ => return Ok(json!({})),
        };
        let reference = map.get("$ref").and_then(Value::as_str);
        let mut out = Map::new();
        if let Some(reference) = reference {
            let name = self.named(reference)?;
            out.insert("$ref".to_owned(), Value::String(format!("#/$defs/{name}")));
            if self.reading.old {
                // In 3.0 nothing counts beside a reference but these words.
                for key in ["description", "title"] {
                    if let Some(text @ Value::String(_)) = map.get(key) {
                        out.insert(key.to_owned(), text.clone());
                    }
                }
                return Ok(Value::Object(out));
            }
        }
        for (key, value) in map {
            if let Some(kept) = self.keyword(key, value, at, depth)? {
                out.insert(key.clone(), kept);
            }
        }
        self.bounds(map, &mut out);
        if let (Some(example), false) = (map.get("example"), out.contains_key("examples")) {
            out.insert("examples".to_owned(), json!([example]));
        }
        match self.reading.old && map.get("nullable") == Some(&Value::Bool(true)) {
            true => Ok(nullable(out)),
            false => Ok(Value::Object(out)),
        }
    }

    /// The name under which a reference is carried along.
    fn named(&mut self, reference: &str) -> Result<String, String> {
        if let Some(name) = self.names.get(reference) {
            return Ok(name.clone());
        }
        // Looked at now, so that what leads nowhere is told where it stands.
        self.reading.target(reference)?;
        let last = reference.rsplit('/').next().unwrap_or_default();
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let base: String = last.chars().map(plain).take(60).collect();
        let base = if base.is_empty() {
            "schema".to_owned()
        } else {
            base
        };
        let taken = |name: &String| self.names.values().any(|n| n == name);
        let mut name = base.clone();
        let mut number = 2;
        while taken(&name) {
            name = format!("{base}_{number}");
            number += 1;
        }
        self.names.insert(reference.to_owned(), name.clone());
        self.waiting.push((reference.to_owned(), name.clone()));
        Ok(name)
    }

    /// What a keyword becomes; `None` if it is left out.
    fn keyword(
        &mut self,
        key: &str,
        value: &Value,
        at: &str,
        depth: usize,
    ) -> Result<Option<Value>, String> {
        let here = || format!("{at}/{}", crate::node::escape(key));
        let keep = |good: bool| Ok(good.then(|| value.clone()));
        match key {
            "title" | "description" | "contentMediaType" | "contentEncoding" => {
                keep(value.is_string())
            }
            // A path of Helve's is one of this machine; a stranger's is not.
            "format" => keep(value.as_str().is_some_and(|f| f != "path")),
            "pattern" => Ok(self.pattern(value, here())),
            "uniqueItems" | "readOnly" | "writeOnly" | "deprecated" => keep(value.is_boolean()),
            "minimum" | "maximum" => keep(value.is_number()),
            "exclusiveMinimum" | "exclusiveMaximum" => keep(value.is_number()),
            "multipleOf" => keep(value.as_f64().is_some_and(|n| n > 0.0)),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
            | "maxProperties" | "minContains" | "maxContains" => keep(value.as_u64().is_some()),
            "const" | "default" => keep(true),
            "enum" | "examples" => keep(value.as_array().is_some_and(|list| !list.is_empty())),
            "type" => Ok(types(value)),
            "required" => Ok(texts(value)),
            "items"
            | "additionalProperties"
            | "contains"
            | "not"
            | "if"
            | "then"
            | "else"
            | "propertyNames"
            | "unevaluatedProperties"
            | "unevaluatedItems" => match value.is_object() || value.is_boolean() {
                true => self.at_depth(value, &here(), depth + 1).map(Some),
                false => Ok(None),
            },
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                let Some(list) = value.as_array().filter(|list| !list.is_empty()) else {
                    return Ok(None);
                };
                let mut all = Vec::with_capacity(list.len());
                for (i, one) in list.iter().enumerate() {
                    all.push(self.at_depth(one, &format!("{}/{i}", here()), depth + 1)?);
                }
                Ok(Some(Value::Array(all)))
            }
            "properties" | "dependentSchemas" | "patternProperties" => {
                let Some(named) = value.as_object() else {
                    return Ok(None);
                };
                let mut all = Map::new();
                for (name, one) in named {
                    let at = format!("{}/{}", here(), crate::node::escape(name));
                    if key == "patternProperties"
                        && self.pattern(&json!(name), at.clone()).is_none()
                    {
                        continue;
                    }
                    all.insert(name.clone(), self.at_depth(one, &at, depth + 1)?);
                }
                Ok(Some(Value::Object(all)))
            }
            "dependentRequired" => {
                let named = value.as_object().into_iter().flatten();
                let all: Map<String, Value> = named
                    .filter_map(|(name, list)| Some((name.clone(), texts(list)?)))
                    .collect();
                Ok((!all.is_empty()).then_some(Value::Object(all)))
            }
            _ => Ok(None),
        }
    }

    /// In 3.0 an exclusive bound is a flag beside the bound.
    fn bounds(&self, map: &Map<String, Value>, out: &mut Map<String, Value>) {
        for (flag, bound) in [
            ("exclusiveMinimum", "minimum"),
            ("exclusiveMaximum", "maximum"),
        ] {
            if map.get(flag) == Some(&Value::Bool(true))
                && let Some(value) = out.shift_remove(bound)
            {
                out.insert(flag.to_owned(), value);
            }
        }
    }

    fn pattern(&mut self, value: &Value, at: String) -> Option<Value> {
        let pattern = value.as_str()?;
        let usable = match self.reading.patterns.get(pattern) {
            Some(usable) => *usable,
            None => {
                let alone = json!({"type": "string", "pattern": pattern});
                let usable = pattern.len() <= 2000 && Schema::compile(&alone).is_ok();
                self.reading.patterns.insert(pattern.to_owned(), usable);
                usable
            }
        };
        if !usable {
            let reason = "the pattern cannot be matched in linear time, or not at all";
            self.losses.push(Loss::dropped(at, reason));
        }
        usable.then(|| value.clone())
    }
}

/// Whether a schema can be used by itself.
pub(super) fn is_sound(schema: &Value) -> Result<(), String> {
    match Schema::compile(schema) {
        Ok(_) => Ok(()),
        Err(issues) => {
            let issue = issues.first();
            let told = issue.map(|i| format!("`{}` {}", i.pointer, i.message));
            Err(format!(
                "its schema cannot be used: {}",
                told.unwrap_or_default()
            ))
        }
    }
}

/// The most bytes of a schema.
pub(super) const MOST: usize = schema::MAX_BYTES;

const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

fn types(value: &Value) -> Option<Value> {
    let known = |v: &&Value| v.as_str().is_some_and(|t| TYPES.contains(&t));
    match value {
        Value::String(_) => Some(value).filter(known).cloned(),
        Value::Array(list) => {
            let mut all: Vec<Value> = Vec::new();
            for one in list.iter().filter(known) {
                if !all.contains(one) {
                    all.push(one.clone());
                }
            }
            (!all.is_empty()).then_some(Value::Array(all))
        }
        _ => None,
    }
}

fn texts(value: &Value) -> Option<Value> {
    let mut all: Vec<Value> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for one in value.as_array()? {
        if seen.insert(one.as_str()?) {
            all.push(one.clone());
        }
    }
    Some(Value::Array(all))
}

/// The same, or null.
fn nullable(mut schema: Map<String, Value>) -> Value {
    // Not among the values of an `enum`: TOML has no null to write there.
    let listed = schema.contains_key("enum") || schema.contains_key("const");
    if let (Some(kind), false) = (schema.get("type").cloned(), listed) {
        if kind.is_string() {
            schema.insert("type".to_owned(), json!([kind, "null"]));
        }
        return Value::Object(schema);
    }
    let inner = ["allOf", "anyOf", "oneOf", "enum", "not", "$ref", "const"];
    if !inner.iter().any(|key| schema.contains_key(*key)) {
        // Without a type it takes null already.
        return Value::Object(schema);
    }
    let mut out = Map::new();
    for key in ["title", "description", "default", "examples", "deprecated"] {
        if let Some(value) = schema.shift_remove(key) {
            out.insert(key.to_owned(), value);
        }
    }
    out.insert("anyOf".to_owned(), json!([schema, {"type": "null"}]));
    Value::Object(out)
}
