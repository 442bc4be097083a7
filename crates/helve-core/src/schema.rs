//! JSON Schema 2020-12: checked once, compiled once, then asked often.
//!
//! A schema is refused before it is compiled if it is too large, reaches outside
//! itself, or has a pattern whose matching could explode. What passes is compiled
//! with a linear-time pattern engine, so no argument can make a check hang.

mod pattern;
pub mod walk;

use std::sync::LazyLock;

use jsonschema::{Draft, PatternOptions, ValidationOptions, Validator};
use serde_json::Value;

use crate::lint::{Issue, rules};
pub use pattern::explodes;

/// The most bytes of a schema, written without spaces.
pub const MAX_BYTES: usize = 512 * 1024;

/// How deep a schema may nest.
pub const MAX_DEPTH: usize = 64;

/// The name of the draft that every schema is read as.
pub const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

static OPTIONS: LazyLock<ValidationOptions<'static>> = LazyLock::new(|| {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .offline()
        .with_pattern_options(PatternOptions::regex().size_limit(1 << 20))
        .should_validate_formats(true)
});

/// A schema that is sound, and ready to check values.
pub struct Schema {
    validator: Validator,
}

/// One way in which a value does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// A JSON pointer into the value.
    pub pointer: String,
    /// What was expected and what came.
    pub problem: String,
    /// What was expected, without what came.
    pub expected: String,
}

impl Schema {
    /// Checks and compiles. Pointers in the issues begin at the schema.
    pub fn compile(schema: &Value) -> Result<Self, Vec<Issue>> {
        let issues = soundness(schema);
        if !issues.is_empty() {
            return Err(issues);
        }
        // Building checks against the meta-schema and stops at the first error; only
        // a schema that has one is looked at again for all of them.
        match OPTIONS.build(schema) {
            Ok(validator) => Ok(Self { validator }),
            Err(first) => {
                let mut issues = invalid(schema);
                if issues.is_empty() {
                    let pointer = first.instance_path().as_str().to_owned();
                    issues.push(Issue::new(
                        &rules::INVALID_SCHEMA,
                        pointer,
                        first.to_string(),
                    ));
                }
                Err(issues)
            }
        }
    }

    /// Whether the value fits.
    pub fn accepts(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }

    /// All the ways in which the value does not fit.
    pub fn misfits(&self, value: &Value) -> Vec<Misfit> {
        self.validator
            .iter_errors(value)
            .map(|e| Misfit {
                pointer: e.instance_path().as_str().to_owned(),
                problem: e.to_string(),
                expected: e.masked_with("it").to_string(),
            })
            .collect()
    }
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Schema")
    }
}

fn soundness(schema: &Value) -> Vec<Issue> {
    if walk::depth(schema) > MAX_DEPTH {
        let message = format!("the schema nests deeper than {MAX_DEPTH} levels");
        return vec![Issue::new(&rules::SCHEMA_SIZE, "", message).fix("flatten it")];
    }
    let bytes = walk::bytes(schema);
    if bytes > MAX_BYTES {
        let message = format!("the schema has {bytes} bytes, more than {MAX_BYTES}");
        return vec![Issue::new(&rules::SCHEMA_SIZE, "", message).fix("split the tool")];
    }
    if !schema.is_object() {
        let message = format!(
            "a schema must be an object, not {}",
            crate::def::kind_of(schema)
        );
        return vec![Issue::new(&rules::INVALID_SCHEMA, "", message)];
    }
    let mut issues = Vec::new();
    walk::subschemas(schema, &mut |at, sub| {
        for key in ["$ref", "$dynamicRef"] {
            if let Some(target) = sub.get(key).and_then(Value::as_str) {
                issues.extend(reference(schema, &format!("{at}/{key}"), target));
            }
        }
        if let Some(text) = sub.get("pattern").and_then(Value::as_str) {
            issues.extend(unsafe_pattern(&format!("{at}/pattern"), text));
        }
        for text in sub
            .get("patternProperties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let pointer = format!("{at}/patternProperties/{}", crate::node::escape(text.0));
            issues.extend(unsafe_pattern(&pointer, text.0));
        }
    });
    if !issues.is_empty() {
        issues.extend(invalid(schema));
    }
    issues
}

/// All that the meta-schema has to say.
fn invalid(schema: &Value) -> Vec<Issue> {
    let meta = jsonschema::draft202012::meta::validator();
    meta.iter_errors(schema)
        .map(|e| {
            Issue::new(
                &rules::INVALID_SCHEMA,
                e.instance_path().as_str(),
                e.to_string(),
            )
        })
        .collect()
}

fn reference(schema: &Value, pointer: &str, target: &str) -> Option<Issue> {
    let Some(fragment) = target.strip_prefix('#') else {
        let message = format!("`{target}` points outside the schema");
        let issue = Issue::new(&rules::REMOTE_REF, pointer, message);
        return Some(issue.fix("copy the target into `$defs` and point to `#/$defs/…`"));
    };
    let found = match fragment {
        "" => true,
        path if path.starts_with('/') => {
            let path = percent_decoded(path);
            schema.pointer(&path).is_some()
        }
        anchor => {
            let mut found = false;
            walk::subschemas(schema, &mut |_, sub| {
                found |= ["$anchor", "$dynamicAnchor"]
                    .iter()
                    .any(|key| sub.get(*key).and_then(Value::as_str) == Some(anchor));
            });
            found
        }
    };
    (!found).then(|| {
        let message = format!("`{target}` does not exist in the schema");
        Issue::new(&rules::REMOTE_REF, pointer, message)
    })
}

pub(crate) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|h| std::str::from_utf8(h).ok());
        match hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn unsafe_pattern(pointer: &str, text: &str) -> Option<Issue> {
    let (message, fix) = match explodes(text) {
        Ok(false) => return None,
        Ok(true) => (
            format!("the pattern `{text}` can take exponential time to fail"),
            "do not nest repetitions that can match the same text",
        ),
        Err(problem) => (
            format!("the pattern `{text}` cannot be matched in linear time: {problem}"),
            "write it without look-around and back-references",
        ),
    };
    Some(Issue::new(&rules::EXPLODING_PATTERN, pointer, message).fix(fix))
}

#[cfg(test)]
mod tests;
