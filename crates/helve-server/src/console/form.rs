//! A form out of a schema, and arguments out of a form.
//!
//! One field for each argument. What a field cannot hold by itself (lists, objects,
//! choices) is written as JSON. A field that is left empty is an argument that is not
//! given; whether that is right is for the kernel to say.

use maud::{Markup, html};
use serde_json::{Map, Value};

use super::text::{line, shown};
use super::{Sent, Visit};
use crate::problem::Problem;

/// What stands before the name of an argument.
const PREFIX: &str = "arg.";

/// How a field takes its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Text,
    Long,
    Number,
    Whole,
    Flag,
    Choice,
    Json,
}

impl Field {
    fn of(name: &str, schema: &Value) -> Self {
        if choices(schema).is_some() {
            return Field::Choice;
        }
        let kinds: Vec<&str> = match &schema["type"] {
            Value::String(kind) => vec![kind],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let kinds: Vec<&str> = kinds.into_iter().filter(|k| *k != "null").collect();
        match kinds.as_slice() {
            ["string"] if is_long(name, schema) => Field::Long,
            ["string"] => Field::Text,
            ["number"] => Field::Number,
            ["integer"] => Field::Whole,
            ["boolean"] => Field::Flag,
            _ => Field::Json,
        }
    }
}

/// Whether a text is likely to have several lines.
fn is_long(name: &str, schema: &Value) -> bool {
    const NAMES: [&str; 12] = [
        "content",
        "contents",
        "text",
        "body",
        "new_string",
        "old_string",
        "prompt",
        "message",
        "sql",
        "script",
        "code",
        "question",
    ];
    let short = schema["maxLength"].as_u64().is_some_and(|most| most <= 200);
    !short && NAMES.contains(&name)
}

/// The values that are allowed, if they are named.
fn choices(schema: &Value) -> Option<&Vec<Value>> {
    schema["enum"]
        .as_array()
        .filter(|values| !values.is_empty())
}

/// The fields for a schema; with what was typed before, where something was. `scope` tells
/// the forms of a page apart.
pub(super) fn fields(visit: &Visit, scope: &str, schema: &Value, typed: Option<&Sent>) -> Markup {
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    let required = schema["required"].as_array();
    let needed = |name: &str| required.is_some_and(|r| r.iter().any(|n| n == name));
    html! {
        @if properties.is_empty() && schema["type"] != "object" {
            (field(visit, scope, "", schema, true, typed))
        }
        @for (name, schema) in properties {
            (field(visit, scope, name, schema, needed(name), typed))
        }
    }
}

fn field(
    visit: &Visit,
    scope: &str,
    name: &str,
    schema: &Value,
    needed: bool,
    typed: Option<&Sent>,
) -> Markup {
    let kind = Field::of(name, schema);
    let field = format!("{PREFIX}{name}");
    let id = format!("{scope}.{name}");
    let about = schema["description"].as_str();
    let hint = about.map(|_| format!("about.{id}"));
    let text = match typed {
        Some(typed) => typed.get(&field).map(str::to_owned),
        None => schema.get("default").map(|value| written(kind, value)),
    };
    let text = text.unwrap_or_default();
    let limits = |key: &str| schema[key].as_number().map(ToString::to_string);
    html! {
        div.field {
            label for=(id) {
                (line(if name.is_empty() { "answer" } else { name }))
                @if needed { span.needed aria-hidden="true" { " *" } }
            }
            @match kind {
                Field::Text => input id=(id) name=(field) type="text" value=(text) required[needed] aria-describedby=[hint.as_ref()];,
                Field::Long => textarea id=(id) name=(field) rows="6" aria-describedby=[hint.as_ref()] { (text) },
                Field::Number => input id=(id) name=(field) type="number" step="any" value=(text) required[needed]
                    min=[limits("minimum")] max=[limits("maximum")] aria-describedby=[hint.as_ref()];,
                Field::Whole => input id=(id) name=(field) type="number" step="1" value=(text) required[needed]
                    min=[limits("minimum")] max=[limits("maximum")] aria-describedby=[hint.as_ref()];,
                Field::Flag => (chosen((&id, &field), hint.as_deref(), &[Value::Bool(true), Value::Bool(false)], &text, needed)),
                Field::Choice => (chosen((&id, &field), hint.as_deref(), choices(schema).map_or(&[][..], Vec::as_slice), &text, needed)),
                Field::Json => textarea.json id=(id) name=(field) rows="3" placeholder="JSON" spellcheck="false" aria-describedby=[hint.as_ref()] { (text) },
            }
            @if let Some(about) = about {
                p.hint id=[hint.as_ref()] { (shown(visit, about, 1000)) }
            }
        }
    }
}

/// A choice; its values are written as JSON, so that a number stays a number. Nothing is
/// chosen before somebody has chosen it.
fn chosen(
    (id, field): (&str, &str),
    hint: Option<&str>,
    values: &[Value],
    chosen: &str,
    needed: bool,
) -> Markup {
    html! {
        select id=(id) name=(field) required[needed] aria-describedby=[hint] {
            option value="" {}
            @for choice in values {
                @let label = choice.as_str().map_or_else(|| choice.to_string(), str::to_owned);
                @let value = choice.to_string();
                option value=(value) selected[value == chosen] { (line(&label)) }
            }
        }
    }
}

fn written(kind: Field, value: &Value) -> String {
    match (kind, value) {
        (_, Value::Null) => String::new(),
        (Field::Text | Field::Long, Value::String(text)) => text.clone(),
        (Field::Json, value) => serde_json::to_string_pretty(value).unwrap_or_default(),
        (_, value) => value.to_string(),
    }
}

/// The arguments that a form says, read by its schema.
pub(super) fn arguments(sent: &Sent, schema: &Value) -> Result<Value, Problem> {
    let mut args = Map::new();
    let named = sent.fields.iter().filter_map(|(name, text)| {
        let name = name.strip_prefix(PREFIX)?;
        Some((name, text.as_str()))
    });
    for (name, text) in named {
        let field = match name {
            "" => schema,
            name => &schema["properties"][name],
        };
        let needed = schema["required"].as_array();
        let needed = needed.is_some_and(|all| all.iter().any(|n| n == name));
        if let Some(value) = value(name, text, field, needed)? {
            if name.is_empty() {
                return Ok(value);
            }
            args.insert(name.to_owned(), value);
        }
    }
    Ok(Value::Object(args))
}

fn value(name: &str, text: &str, schema: &Value, needed: bool) -> Result<Option<Value>, Problem> {
    let wrong = |what: &str| Problem::invalid(format!("`{name}` must be {what}"));
    let kind = Field::of(name, schema);
    // Browsers send the line ends of the network.
    let text = text.replace("\r\n", "\n");
    let trimmed = text.trim();
    match kind {
        // An empty text is meant where one must be given.
        Field::Long | Field::Text if text.is_empty() && !needed => Ok(None),
        Field::Long | Field::Text => Ok(Some(Value::String(text))),
        _ if trimmed.is_empty() => Ok(None),
        Field::Number | Field::Whole => {
            let number: Result<serde_json::Number, _> = trimmed.parse();
            let number = number.map_err(|_| wrong("a number"))?;
            Ok(Some(Value::Number(number)))
        }
        Field::Flag | Field::Choice | Field::Json => {
            let value = serde_json::from_str(trimmed);
            Ok(Some(value.map_err(|e| wrong(&format!("JSON: {e}")))?))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(schema: &Value, fields: &[(&str, &str)]) -> Result<Value, String> {
        let fields = fields
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        let sent = Sent {
            fields: fields.collect(),
        };
        arguments(&sent, schema).map_err(|p| p.detail)
    }

    #[test]
    fn each_field_is_read_by_its_schema() {
        let schema = json!({"type": "object", "properties": {
            "path": {"type": "string"},
            "content": {"type": "string"},
            "n": {"type": ["integer", "null"]},
            "x": {"type": "number"},
            "on": {"type": "boolean"},
            "mode": {"enum": ["a", 1]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "any": {},
            "must": {"type": "string"},
        }, "required": ["must"]});
        for (fields, wanted) in [
            (
                &[("arg.path", "a b"), ("csrf", "x")][..],
                json!({"path": "a b"}),
            ),
            (
                &[("arg.content", "a\r\nb\r\n")],
                json!({"content": "a\nb\n"}),
            ),
            (
                &[("arg.n", " 3 "), ("arg.x", "1e2")],
                json!({"n": 3, "x": 1e2}),
            ),
            (
                &[("arg.on", "true"), ("arg.mode", "1")],
                json!({"on": true, "mode": 1}),
            ),
            (&[("arg.mode", "\"a\"")], json!({"mode": "a"})),
            (
                &[("arg.tags", "[\"x\"]"), ("arg.any", "null")],
                json!({"tags": ["x"], "any": null}),
            ),
            (
                &[
                    ("arg.n", ""),
                    ("arg.path", ""),
                    ("arg.on", ""),
                    ("arg.tags", " "),
                ],
                json!({}),
            ),
            (&[("arg.other", "{}")], json!({"other": {}})),
            (&[("arg.must", "")], json!({"must": ""})),
        ] {
            assert_eq!(read(&schema, fields), Ok(wanted), "{fields:?}");
        }
        for (fields, wanted) in [
            (&[("arg.n", "x")][..], "`n` must be a number"),
            (
                &[("arg.tags", "x")],
                "`tags` must be JSON: expected value at line 1 column 1",
            ),
        ] {
            assert_eq!(read(&schema, fields), Err(wanted.to_owned()));
        }
    }

    #[test]
    fn a_plain_answer_has_one_field() {
        let schema = json!({"type": "string"});
        assert_eq!(read(&schema, &[("arg.", "yes")]), Ok(json!("yes")));
        let schema = json!({"type": "boolean"});
        assert_eq!(read(&schema, &[("arg.", "true")]), Ok(json!(true)));
    }
}
