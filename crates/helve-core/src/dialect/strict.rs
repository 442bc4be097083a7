//! Schemas for constrained decoding: rewritten to the subset that a vendor takes.
//!
//! What the subset cannot say becomes a sentence of the description beside it, so
//! that the model still reads it. Where rewriting would change what the tool
//! takes (free-form objects, lists of anything), the tool stays loose, and the
//! losses say so: a schema that lies is worse than one that is not strict.

mod fold;

use serde_json::{Map, Value, json};

use super::draft::Outline;
use super::{Loss, LossKind, Strictness};
use crate::node::escape;
use crate::schema::walk;

/// Who decodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    /// OpenAI, both shapes.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Kimi.
    Kimi,
}

/// A rewritten schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Rewritten {
    /// The schema.
    pub schema: Value,
    /// What it no longer says.
    pub losses: Vec<Loss>,
}

/// Why a schema has no strict form: where, and what stands in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotStrict {
    /// A pointer into the schema.
    pub pointer: String,
    /// What stands in the way.
    pub reason: String,
}

impl Vendor {
    fn keeps(self, keyword: &str) -> bool {
        const ALL: &[&str] = &[
            "$defs",
            "$ref",
            "additionalProperties",
            "anyOf",
            "definitions",
            "description",
            "enum",
            "items",
            "properties",
            "required",
            "title",
            "type",
        ];
        let own: &[&str] = match self {
            Vendor::OpenAi => &[
                "const",
                "pattern",
                "format",
                "minimum",
                "maximum",
                "exclusiveMinimum",
                "exclusiveMaximum",
                "multipleOf",
                "minItems",
                "maxItems",
            ],
            Vendor::Anthropic => &["const", "default", "format", "minItems"],
            Vendor::Kimi => &[
                "default",
                "minimum",
                "maximum",
                "minLength",
                "maxLength",
                "minItems",
                "maxItems",
            ],
        };
        ALL.contains(&keyword) || own.contains(&keyword)
    }

    /// Whether a kept keyword may have this value.
    fn keeps_value(self, keyword: &str, value: &Value) -> bool {
        match (self, keyword) {
            (_, "format") => {
                let mut formats = vec![
                    "date-time",
                    "time",
                    "date",
                    "duration",
                    "email",
                    "hostname",
                    "ipv4",
                    "ipv6",
                    "uuid",
                ];
                if self == Vendor::Anthropic {
                    formats.push("uri");
                }
                value.as_str().is_some_and(|f| formats.contains(&f))
            }
            (Vendor::Anthropic, "minItems") => value.as_u64().is_some_and(|n| n <= 1),
            _ => true,
        }
    }
}

/// The schema of a tool for a vendor, and whether it is strict.
pub(super) fn parameters(
    outline: &mut Outline,
    vendor: Vendor,
    strictness: Strictness,
) -> (Value, bool) {
    let schema = outline.remove("input_schema").unwrap_or_default();
    if strictness == Strictness::Loose {
        return (schema, false);
    }
    match rewrite(&schema, vendor) {
        Ok(rewritten) => {
            outline
                .losses
                .extend(rewritten.losses.into_iter().map(|l| Loss {
                    field: format!("/input_schema{}", l.field),
                    ..l
                }));
            (rewritten.schema, true)
        }
        Err(e) => {
            let reason = format!("left loose, not strict: {}", e.reason);
            let field = format!("/input_schema{}", e.pointer);
            outline.losses.push(Loss::changed(field, reason));
            (schema, false)
        }
    }
}

/// Rewrites a tool's schema for a vendor.
pub fn rewrite(schema: &Value, vendor: Vendor) -> Result<Rewritten, NotStrict> {
    let mut rewriter = Rewriter {
        vendor,
        losses: Vec::new(),
    };
    for key in ["anyOf", "oneOf", "allOf", "not", "if", "$ref"] {
        if schema.get(key).is_some() {
            return Err(NotStrict {
                pointer: format!("/{key}"),
                reason: format!("the whole must be a plain object, without `{key}`"),
            });
        }
    }
    let schema = rewriter.schema(schema, "")?;
    if vendor == Vendor::OpenAi {
        for (what, have, most) in crate::lint::openai_sizes(&schema) {
            if have > most {
                return Err(NotStrict {
                    pointer: String::new(),
                    reason: format!("at most {most} {what} are taken; it has {have}"),
                });
            }
        }
    }
    Ok(Rewritten {
        schema,
        losses: rewriter.losses,
    })
}

/// Keywords that choose between whole schemas.
const CHOICES: &[&str] = &[
    "$ref",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "additionalProperties",
];

struct Rewriter {
    vendor: Vendor,
    losses: Vec<Loss>,
}

impl Rewriter {
    fn schema(&mut self, schema: &Value, at: &str) -> Result<Value, NotStrict> {
        let refuse = |reason: &str| NotStrict {
            pointer: at.to_owned(),
            reason: reason.to_owned(),
        };
        let Value::Object(map) = schema else {
            return Err(refuse(
                "a schema of `true` or `false` says nothing to decode by",
            ));
        };
        let map = self.merged(map, at)?;
        let shapeless = !["type", "enum", "const", "anyOf", "oneOf", "$ref"]
            .iter()
            .any(|key| map.contains_key(*key));
        let half = ["required", "additionalProperties", "items"]
            .iter()
            .any(|k| map.contains_key(*k));
        let object = map.contains_key("properties");
        if shapeless && !object && (self.vendor != Vendor::Anthropic || half) {
            return Err(refuse("a value of any type cannot be decoded strictly"));
        }
        // A closed object beside a choice of closed objects is one that nothing fits.
        let choices = ["anyOf", "oneOf", "$ref"]
            .iter()
            .filter(|k| map.contains_key(**k))
            .count();
        if choices > 1 || choices == 1 && (has_type(&map, "object") || object) {
            return Err(refuse(
                "a choice beside other demands cannot be written strictly",
            ));
        }
        let mut out = Map::new();
        let mut folded = Vec::new();
        for (key, value) in &map {
            self.keyword(&map, key, value, at, &mut out, &mut folded)?;
        }
        self.object(&map, at, &mut out)?;
        self.array(&map, at)?;
        self.describe(&mut out, &folded);
        self.values(&mut out, at);
        self.separate(&mut out, at);
        Ok(Value::Object(out))
    }

    /// `allOf` put into one, where its parts do not contradict each other.
    fn merged(
        &mut self,
        map: &Map<String, Value>,
        at: &str,
    ) -> Result<Map<String, Value>, NotStrict> {
        let Some(Value::Array(parts)) = map.get("allOf") else {
            return Ok(map.clone());
        };
        let refuse = |reason: String| NotStrict {
            pointer: format!("{at}/allOf"),
            reason,
        };
        let mut whole = map.clone();
        whole.shift_remove("allOf");
        let alone = parts.len() == 1 && whole.keys().all(|k| k == "description" || k == "title");
        for part in parts {
            let Value::Object(part) = part else {
                return Err(refuse(
                    "a part of `allOf` is no schema that could be put in".to_owned(),
                ));
            };
            for (key, value) in part {
                if CHOICES.contains(&key.as_str()) && !alone {
                    return Err(refuse(format!(
                        "`{key}` inside `allOf` cannot be put together with the rest"
                    )));
                }
                match (whole.get_mut(key), value) {
                    (None, _) => drop(whole.insert(key.clone(), value.clone())),
                    (Some(have), _) if have == value => {}
                    (Some(Value::Object(have)), Value::Object(more)) if key == "properties" => {
                        for (name, schema) in more {
                            let before = have.entry(name.clone()).or_insert_with(|| schema.clone());
                            if before != schema {
                                return Err(refuse(format!(
                                    "the parts of `allOf` disagree about `{name}`"
                                )));
                            }
                        }
                    }
                    (Some(Value::Array(have)), Value::Array(more)) if key == "required" => {
                        have.extend(more.iter().cloned());
                        have.dedup();
                    }
                    _ => {
                        return Err(refuse(format!(
                            "the parts of `allOf` disagree about `{key}`"
                        )));
                    }
                }
            }
        }
        self.losses
            .push(Loss::changed(at, "`allOf` is written as one schema"));
        Ok(whole)
    }

    fn keyword(
        &mut self,
        map: &Map<String, Value>,
        key: &str,
        value: &Value,
        at: &str,
        out: &mut Map<String, Value>,
        folded: &mut Vec<String>,
    ) -> Result<(), NotStrict> {
        let here = format!("{at}/{}", escape(key));
        match key {
            "oneOf" => {
                let list = self.list(value, &here)?;
                self.losses.push(Loss::changed(&here, "written as `anyOf`"));
                self.losses
                    .push(Loss::changed(format!("{at}/anyOf"), "was `oneOf`"));
                out.insert("anyOf".to_owned(), list);
            }
            "const" if self.vendor == Vendor::Kimi => {
                self.losses
                    .push(Loss::changed(&here, "written as an `enum` of one"));
                self.losses
                    .push(Loss::changed(format!("{at}/enum"), "was `const`"));
                out.insert("enum".to_owned(), json!([value]));
            }
            "$schema" | "$id" | "$comment" | "$anchor" | "$vocabulary" => {
                self.losses
                    .push(Loss::dropped(&here, "the strict form has no place for it"));
            }
            "additionalProperties" | "required" => {}
            "$defs" | "definitions" if !at.is_empty() => {
                return Err(NotStrict {
                    pointer: here,
                    reason: format!("`{key}` may stand at the root only"),
                });
            }
            _ if self.vendor.keeps(key) && self.vendor.keeps_value(key, value) => {
                let value = match value {
                    Value::Object(named) if walk::NAMED.contains(&key) => {
                        let mut schemas = Map::new();
                        for (name, schema) in named {
                            let at = format!("{here}/{}", escape(name));
                            schemas.insert(name.clone(), self.schema(schema, &at)?);
                        }
                        Value::Object(schemas)
                    }
                    Value::Array(_) if walk::LIST.contains(&key) => self.list(value, &here)?,
                    _ if key == "items" => self.schema(value, &here)?,
                    _ => value.clone(),
                };
                out.insert(key.to_owned(), value);
            }
            _ => match fold::sentence(key, value, map) {
                Some(sentence) => {
                    self.losses.push(Loss {
                        field: here,
                        kind: LossKind::Folded,
                        reason: "the strict form cannot say it; the description does".to_owned(),
                    });
                    folded.push(sentence);
                }
                None => self
                    .losses
                    .push(Loss::dropped(&here, "the strict form cannot say it")),
            },
        }
        Ok(())
    }

    fn list(&mut self, value: &Value, at: &str) -> Result<Value, NotStrict> {
        let mut out = Vec::new();
        for (i, schema) in value.as_array().into_iter().flatten().enumerate() {
            out.push(self.schema(schema, &format!("{at}/{i}"))?);
        }
        Ok(Value::Array(out))
    }

    /// Objects are closed, and for OpenAI every property is required.
    fn object(
        &mut self,
        map: &Map<String, Value>,
        at: &str,
        out: &mut Map<String, Value>,
    ) -> Result<(), NotStrict> {
        if !has_type(map, "object") && !map.contains_key("properties") {
            for key in ["required", "additionalProperties"] {
                if map.contains_key(key) {
                    let reason = "it says nothing about what is not an object";
                    self.losses
                        .push(Loss::dropped(format!("{at}/{key}"), reason));
                }
            }
            return Ok(());
        }
        let refuse = |reason: &str| {
            Err(NotStrict {
                pointer: at.to_owned(),
                reason: reason.to_owned(),
            })
        };
        let root = at.is_empty();
        let extra = map.get("additionalProperties");
        let closed = extra == Some(&json!(false));
        let empty = map
            .get("properties")
            .and_then(Value::as_object)
            .is_none_or(Map::is_empty);
        match extra {
            Some(Value::Object(schema)) if self.vendor == Vendor::Kimi => {
                let pointer = format!("{at}/additionalProperties");
                let schema = self.schema(&Value::Object(schema.clone()), &pointer)?;
                out.insert("additionalProperties".to_owned(), schema);
            }
            Some(Value::Object(_)) => return refuse("an object with keys of the caller's choice"),
            _ if self.vendor == Vendor::Kimi => {
                if let Some(extra) = extra {
                    out.insert("additionalProperties".to_owned(), extra.clone());
                }
            }
            _ if empty && !closed && !root => return refuse("an object with any keys at all"),
            _ => {
                if !closed {
                    let reason = "other keys are no longer accepted";
                    self.losses
                        .push(Loss::changed(format!("{at}/additionalProperties"), reason));
                }
                out.insert("additionalProperties".to_owned(), json!(false));
            }
        }
        if !out.contains_key("properties") && self.vendor != Vendor::Kimi {
            self.losses.push(Loss::changed(
                format!("{at}/properties"),
                "written out, empty",
            ));
            out.insert("properties".to_owned(), json!({}));
        }
        self.required(map, at, out);
        Ok(())
    }

    fn required(&mut self, map: &Map<String, Value>, at: &str, out: &mut Map<String, Value>) {
        let given: Vec<String> = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|v| v.as_str().map(str::to_owned))
            .collect();
        let Some(Value::Object(properties)) = out.get_mut("properties") else {
            if map.contains_key("required") {
                let reason = "names that are no property are left out";
                self.losses
                    .push(Loss::dropped(format!("{at}/required"), reason));
            }
            return;
        };
        let names: Vec<String> = properties.keys().cloned().collect();
        if self.vendor == Vendor::OpenAi {
            for name in names.iter().filter(|n| !given.contains(n)) {
                let pointer = format!("{at}/properties/{}", escape(name));
                let reason = "optional is written as required, with null for absent";
                self.losses.push(Loss::changed(&pointer, reason));
                if let Some(schema) = properties.get_mut(name) {
                    *schema = nullable(schema.take());
                }
            }
            if map.get("required") != Some(&json!(names)) {
                self.losses.push(Loss::changed(
                    format!("{at}/required"),
                    "every property is required",
                ));
            }
            out.insert("required".to_owned(), json!(names));
            return;
        }
        let known: Vec<&String> = given.iter().filter(|n| names.contains(n)).collect();
        if known.len() < given.len() {
            let reason = "names that are no property are left out";
            self.losses
                .push(Loss::changed(format!("{at}/required"), reason));
        }
        if map.contains_key("required") {
            out.insert("required".to_owned(), json!(known));
        }
    }

    fn array(&mut self, map: &Map<String, Value>, at: &str) -> Result<(), NotStrict> {
        let untyped = has_type(map, "array") && !map.contains_key("items");
        if untyped && self.vendor == Vendor::OpenAi {
            return Err(NotStrict {
                pointer: at.to_owned(),
                reason: "a list of anything; give its `items` a type".to_owned(),
            });
        }
        Ok(())
    }

    fn describe(&mut self, out: &mut Map<String, Value>, folded: &[String]) {
        if folded.is_empty() {
            return;
        }
        let text = out
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let text = text.trim_end();
        let stop = if text.is_empty() || text.ends_with(['.', '!', '?', '。', ':', '：']) {
            ""
        } else {
            "."
        };
        let space = if text.is_empty() { "" } else { " " };
        let text = format!("{text}{stop}{space}{}", folded.join(" "));
        out.insert("description".to_owned(), json!(text));
    }

    /// For OpenAI a list of values says its types; for Kimi it has only one.
    fn values(&mut self, out: &mut Map<String, Value>, at: &str) {
        let values = match (out.get("enum"), out.get("const")) {
            (Some(Value::Array(values)), _) => values.clone(),
            (_, Some(only)) => vec![only.clone()],
            _ => return,
        };
        let mut kinds: Vec<(&str, Vec<Value>)> = Vec::new();
        for value in values {
            let kind = json_type(&value);
            match kinds.iter_mut().find(|(k, _)| *k == kind) {
                Some((_, same)) => same.push(value),
                None => kinds.push((kind, vec![value])),
            }
        }
        if self.vendor == Vendor::OpenAi && !out.contains_key("type") {
            let names: Vec<&str> = kinds.iter().map(|(kind, _)| *kind).collect();
            let kind = if let [one] = names.as_slice() {
                json!(one)
            } else {
                json!(names)
            };
            out.insert("type".to_owned(), kind);
            self.losses.push(Loss::changed(
                format!("{at}/type"),
                "the type of its values, written out",
            ));
        }
        if self.vendor == Vendor::Kimi && kinds.len() > 1 {
            out.shift_remove("enum");
            let choices = kinds
                .into_iter()
                .map(|(kind, values)| json!({"type": kind, "enum": values}));
            out.insert("anyOf".to_owned(), choices.collect());
            self.losses.push(Loss::changed(
                at,
                "values of several types are an `anyOf` of lists of one",
            ));
        }
    }

    /// `$ref` stands alone, and for Kimi no `type` stands beside `anyOf`.
    fn separate(&mut self, out: &mut Map<String, Value>, at: &str) {
        if out.contains_key("$ref") && out.len() > 1 && self.vendor != Vendor::Anthropic {
            let target = out.shift_remove("$ref").unwrap_or_default();
            out.shift_remove("type");
            out.insert("anyOf".to_owned(), json!([{"$ref": target}]));
            self.losses.push(Loss::changed(
                at,
                "a `$ref` stands alone, inside an `anyOf`",
            ));
        }
        if self.vendor == Vendor::Kimi
            && out.contains_key("anyOf")
            && out.shift_remove("type").is_some()
        {
            self.losses.push(Loss::dropped(
                format!("{at}/type"),
                "`anyOf` says it already",
            ));
        }
    }
}

fn has_type(map: &Map<String, Value>, wanted: &str) -> bool {
    match map.get("type") {
        Some(Value::String(kind)) => kind == wanted,
        Some(Value::Array(kinds)) => kinds.iter().any(|k| k == wanted),
        _ => false,
    }
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The same schema, with null allowed.
fn nullable(schema: Value) -> Value {
    let Value::Object(mut map) = schema else {
        return schema;
    };
    let has = |key: &str| map.contains_key(key);
    let plain = has("type") && !["anyOf", "const", "$ref"].into_iter().any(has);
    let choice = has("anyOf") && !["type", "enum", "const", "$ref"].into_iter().any(has);
    let null = json!("null");
    if plain {
        let mut kinds = match map.get("type") {
            Some(Value::Array(kinds)) => kinds.clone(),
            Some(kind) => vec![kind.clone()],
            None => Vec::new(),
        };
        if !kinds.contains(&null) {
            kinds.push(null);
        }
        let kinds = if let [one] = kinds.as_slice() {
            one.clone()
        } else {
            Value::Array(kinds)
        };
        map.insert("type".to_owned(), kinds);
        if let Some(Value::Array(values)) = map.get_mut("enum")
            && !values.contains(&Value::Null)
        {
            values.push(Value::Null);
        }
        return Value::Object(map);
    }
    if choice {
        if let Some(Value::Array(choices)) = map.get_mut("anyOf") {
            choices.push(json!({"type": "null"}));
        }
        return Value::Object(map);
    }
    let description = map.shift_remove("description");
    let mut outer = Map::new();
    outer.insert("anyOf".to_owned(), json!([map, {"type": "null"}]));
    outer.extend(description.map(|d| ("description".to_owned(), d)));
    Value::Object(outer)
}

#[cfg(test)]
mod tests;
