//! The arguments of a call, made ready: read, repaired where that is harmless,
//! filled with defaults, and held against the schema.
//!
//! Models make mistakes that cannot be misread: `"5"` for 5, a list inside a
//! string, null for something left out. Those are repaired, and each repair is
//! told ([`Prepared::coerced`]). Nothing else is: truncated JSON in particular is
//! refused and says so, because guessing its end is how loops begin. An argument that
//! the schema does not know is refused, too, unless the schema says that it is open:
//! dropping it would do something else than was asked.
//!
//! A property may say by which other names callers know it (`x-aliases`): an argument of
//! that name is taken for it, and that is told as a repair.

use serde_json::{Map, Value};

use crate::marked::{Mark, Marked, marked, marks};
use crate::name::nearest;
use crate::node::escape;
use crate::read::{self, Problem, Syntax};
use crate::schema::{Misfit, Schema, walk};
use crate::secret::redact;

/// Arguments that fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// The arguments, defaults filled in.
    pub args: Map<String, Value>,
    /// What was repaired.
    pub coerced: Vec<Coerced>,
}

/// One repair.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Coerced {
    /// A JSON pointer to the argument; empty for all of them together.
    pub argument: String,
    /// What was done.
    pub repair: &'static str,
}

/// The repair of a text that should have been the JSON in it.
const OUT_OF_TEXT: &str = "JSON read out of a string";

/// Why arguments were refused; one sentence for each that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgsError {
    /// They were given as text that is no JSON.
    #[error("the arguments are not JSON: {0}")]
    NotJson(String),
    /// The text stops in the middle.
    #[error(
        "the arguments are cut off at character {at}: {problem}; send them again, whole or in smaller parts"
    )]
    Truncated {
        /// How many characters came.
        at: usize,
        /// What is open.
        problem: String,
    },
    /// They are no object.
    #[error("the arguments must be an object by name, not {0}")]
    NotAnObject(&'static str),
    /// They nest too deep to be kept.
    #[error("the arguments nest {0} levels deep, more than the {MAX_DEPTH} that are taken")]
    TooDeep(usize),
    /// They do not fit the schema.
    #[error("{}", .0.join("; "))]
    Misfit(Vec<String>),
}

/// How deep arguments and results may nest: whatever keeps them can read them back.
pub const MAX_DEPTH: usize = 64;

/// Makes arguments ready for a tool whose schema is `schema`, compiled as `compiled`.
pub fn prepare(raw: &Value, schema: &Value, compiled: &Schema) -> Result<Prepared, ArgsError> {
    let mut coerced = Vec::new();
    let mut args = object(raw, &mut coerced)?;
    repair(&mut args, schema, "", &mut coerced);
    fill(&mut args, schema);
    let depth = 1 + args.values().map(walk::depth).max().unwrap_or(0);
    if depth > MAX_DEPTH {
        return Err(ArgsError::TooDeep(depth));
    }
    let known: Vec<&str> = properties(schema).map(|(name, _)| name).collect();
    let extra = match is_closed(schema) {
        true => extra(&args, &known),
        false => Vec::new(),
    };
    let whole = Value::Object(args);
    if extra.is_empty() && compiled.accepts(&whole) {
        let Value::Object(args) = whole else {
            return Err(ArgsError::NotAnObject("nothing"));
        };
        return Ok(Prepared { args, coerced });
    }
    let secrets = Secrets::of(schema, &whole);
    let problems = compiled.misfits(&whole).into_iter().map(|m| {
        let said = secrets.told(&m);
        let problem = match m.pointer.as_str() {
            "" => said,
            pointer => format!("argument `{}`: {said}", pointer.trim_start_matches('/')),
        };
        with_nearest(problem, &whole, &known)
    });
    Err(ArgsError::Misfit(problems.chain(extra).collect()))
}

/// What an error must not quote.
struct Secrets {
    pointers: Vec<String>,
    texts: Vec<String>,
}

impl Secrets {
    fn of(schema: &Value, args: &Value) -> Self {
        let found = match args {
            Value::Object(args) if marks(schema, Mark::Secret) => {
                marked(schema, args, Mark::Secret)
            }
            _ => Vec::new(),
        };
        Self {
            texts: found.iter().flat_map(Marked::texts).collect(),
            pointers: found.into_iter().map(|m| m.pointer).collect(),
        }
    }

    /// What is wrong: with the value, unless it is secret, is in a secret, or has one in it.
    fn told(&self, misfit: &Misfit) -> String {
        let within = |inner: &str, outer: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let at = misfit.pointer.as_str();
        let hidden = self.pointers.iter().any(|s| within(s, at) || within(at, s));
        match hidden {
            // A name or a schema may say it, too.
            true => redact(&misfit.expected, &self.texts).into_owned(),
            false => misfit.problem.clone(),
        }
    }
}

/// Keywords with which a schema may know more arguments than its `properties`.
const OPENING: &[&str] = &[
    "$dynamicRef",
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "dependentSchemas",
    "if",
    "oneOf",
    "patternProperties",
    "unevaluatedProperties",
];

/// Whether the `properties` of a schema are all that it knows.
fn is_closed(schema: &Value) -> bool {
    let has = |key: &str| schema.get(key).is_some();
    has("properties") && !OPENING.iter().any(|key| has(key))
}

/// A sentence for each argument that is not known.
fn extra(args: &Map<String, Value>, known: &[&str]) -> Vec<String> {
    let unknown = args.keys().filter(|name| !known.contains(&name.as_str()));
    unknown
        .map(|name| {
            let near = nearest(name, known.iter().copied(), 1);
            match near.first() {
                Some(near) => format!("argument `{name}` is not known; did you mean `{near}`?"),
                None => format!("argument `{name}` is not known; leave it out"),
            }
        })
        .collect()
}

/// Arguments come as an object, as its JSON text, or not at all.
fn object(raw: &Value, coerced: &mut Vec<Coerced>) -> Result<Map<String, Value>, ArgsError> {
    match raw {
        Value::Object(map) => Ok(map.clone()),
        Value::Null => Ok(Map::new()),
        Value::String(text) if text.trim().is_empty() => Ok(Map::new()),
        Value::String(text) => match read::read(text, Syntax::Json) {
            Ok(node) => match node.to_value() {
                Value::Object(map) => {
                    coerced.push(Coerced {
                        argument: String::new(),
                        repair: OUT_OF_TEXT,
                    });
                    Ok(map)
                }
                other => Err(ArgsError::NotAnObject(crate::def::kind_of(&other))),
            },
            Err(e) => Err(match &e.problem {
                Problem::Truncated(_) => ArgsError::Truncated {
                    at: text.chars().count(),
                    problem: e.problem.to_string(),
                },
                problem => ArgsError::NotJson(problem.to_string()),
            }),
        },
        other => Err(ArgsError::NotAnObject(crate::def::kind_of(other))),
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.as_str(), schema))
}

/// Gives arguments the names that the schema has for them. Where both names came, neither
/// is guessed at: the other one stays, and is refused as unknown.
fn rename(args: &mut Map<String, Value>, schema: &Value, at: &str, coerced: &mut Vec<Coerced>) {
    let known = |name: &str| properties(schema).any(|(known, _)| known == name);
    for (name, property) in properties(schema) {
        let aliases = property.get("x-aliases").and_then(Value::as_array);
        let aliases = aliases.into_iter().flatten().filter_map(Value::as_str);
        let mut given = aliases.filter(|alias| args.contains_key(*alias) && !known(alias));
        let (Some(alias), None) = (given.next(), given.next()) else {
            continue;
        };
        if !args.contains_key(name)
            && let Some(value) = args.shift_remove(alias)
        {
            args.insert(name.to_owned(), value);
            coerced.push(Coerced {
                argument: format!("{at}/{}", escape(name)),
                repair: "given under another name",
            });
        }
    }
}

fn repair(args: &mut Map<String, Value>, schema: &Value, at: &str, coerced: &mut Vec<Coerced>) {
    rename(args, schema, at, coerced);
    let required = schema.get("required").and_then(Value::as_array);
    let required = |name: &str| required.is_some_and(|r| r.iter().any(|n| n == name));
    for (name, property) in properties(schema) {
        let here = format!("{at}/{}", escape(name));
        // Strict modes send null for what is left out.
        if args.get(name) == Some(&Value::Null) && !required(name) && !takes(property, "null") {
            args.shift_remove(name);
            coerced.push(Coerced {
                argument: here,
                repair: "null taken for absent",
            });
            continue;
        }
        if let Some(value) = args.get_mut(name) {
            repair_value(value, property, &here, coerced);
        }
    }
}

fn repair_value(value: &mut Value, schema: &Value, at: &str, coerced: &mut Vec<Coerced>) {
    if let Value::String(text) = value
        && !takes(schema, "string")
        && let Some((better, repair)) = from_text(text, schema)
    {
        *value = better;
        coerced.push(Coerced {
            argument: at.to_owned(),
            repair,
        });
    }
    match value {
        Value::Object(map) => repair(map, schema, at, coerced),
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for (i, item) in items.iter_mut().enumerate() {
                    repair_value(item, schema, &format!("{at}/{i}"), coerced);
                }
            }
        }
        _ => {}
    }
}

/// Whether a schema may take a value of that type. One that does not say may.
fn takes(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|k| k == kind),
        _ => true,
    }
}

/// What a text can only mean where no text is taken.
fn from_text(text: &str, schema: &Value) -> Option<(Value, &'static str)> {
    let text = text.trim();
    let value = read::read(text, Syntax::Json).ok()?.to_value();
    let fits = match &value {
        Value::Number(n) if !n.is_f64() => takes(schema, "integer") || takes(schema, "number"),
        Value::Number(_) => takes(schema, "number"),
        Value::Bool(_) => takes(schema, "boolean"),
        Value::Array(_) => takes(schema, "array"),
        Value::Object(_) => takes(schema, "object"),
        Value::Null | Value::String(_) => false,
    };
    let repair = match &value {
        Value::Array(_) | Value::Object(_) => OUT_OF_TEXT,
        _ => "a string read as what it says",
    };
    fits.then_some((value, repair))
}

fn fill(args: &mut Map<String, Value>, schema: &Value) {
    for (name, property) in properties(schema) {
        match args.get_mut(name) {
            Some(Value::Object(nested)) => fill(nested, property),
            Some(_) => {}
            None => {
                if let Some(default) = property.get("default") {
                    args.insert(name.to_owned(), default.clone());
                }
            }
        }
    }
}

/// A name that is near an unexpected one helps more than the refusal.
fn with_nearest(problem: String, args: &Value, known: &[&str]) -> String {
    let unexpected = problem.contains("unexpected") || problem.contains("Additional properties");
    if !unexpected {
        return problem;
    }
    let near = args
        .as_object()
        .into_iter()
        .flatten()
        .find_map(|(name, _)| {
            let unknown = !known.contains(&name.as_str());
            let near = nearest(name, known.iter().copied(), 1);
            near.first()
                .filter(|_| unknown)
                .map(|near| format!("`{near}` for `{name}`"))
        });
    match near {
        Some(near) => format!("{problem}; did you mean {near}?"),
        None => problem,
    }
}

#[cfg(test)]
mod tests;
