//! From values to text: one writer per syntax.
//!
//! What a syntax cannot hold is an error that says where, never a silent change.

pub mod erlang;
pub mod python;
mod skill;

use serde_json::{Value, json};

pub(crate) use skill::is_file as is_skill_file;

use crate::dialect::{Dialect, EncodeError};
use crate::read::Syntax;

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path, from where it was asked for; empty for the text itself.
    pub path: String,
    /// What it holds.
    pub text: String,
}

/// Writes tools of a dialect as one text. A skill of several files has none.
pub fn text(
    tools: Vec<Value>,
    dialect: &Dialect,
    syntax: Syntax,
    alone: bool,
) -> Result<String, EncodeError> {
    let one = || -> Value {
        match (alone, <[Value; 1]>::try_from(tools.clone())) {
            (true, Ok([tool])) => tool,
            (_, _) => (dialect.together)(tools.clone()),
        }
    };
    match syntax {
        Syntax::Json => Ok(json_text(&one())),
        Syntax::Yaml => yaml_text(&one(), dialect.name),
        Syntax::Toml => {
            let value = match one() {
                Value::Array(tools) => json!({"tools": tools}),
                other => other,
            };
            toml_text(&value, dialect.name)
        }
        Syntax::Python if dialect.name == "claude-sdk" => Ok(python::decorators(&tools)),
        Syntax::Python => Ok(python::assigned("TOOLS", &Value::Array(tools))),
        Syntax::Erlang => erlang::terms(&tools),
        Syntax::Skill => skill::single(&tools),
        Syntax::JavaScript => Err(EncodeError::Text {
            dialect: dialect.name,
            pointer: String::new(),
            reason: "a JavaScript module needs a handler, which no definition has".to_owned(),
        }),
    }
}

/// The files of one tool: its own, and for a skill what stands beside it.
pub fn files(
    tool: Value,
    dialect: &Dialect,
    syntax: Syntax,
    stem: &str,
) -> Result<Vec<File>, EncodeError> {
    if syntax == Syntax::Skill {
        return skill::files(&tool, stem);
    }
    let path = format!("{stem}.{}", extension(syntax));
    let text = text(vec![tool], dialect, syntax, true)?;
    Ok(vec![File { path, text }])
}

/// The usual ending of a file.
pub fn extension(syntax: Syntax) -> &'static str {
    match syntax {
        Syntax::Json => "json",
        Syntax::Toml => "toml",
        Syntax::Yaml => "yaml",
        Syntax::Python => "py",
        Syntax::Erlang => "erl",
        Syntax::JavaScript => "js",
        Syntax::Skill => "md",
    }
}

/// Pretty JSON with a line break at its end.
pub fn json_text(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

fn yaml_text(value: &Value, dialect: &'static str) -> Result<String, EncodeError> {
    serde_saphyr::to_string(value).map_err(|e| EncodeError::Text {
        dialect,
        pointer: String::new(),
        reason: format!("YAML: {e}"),
    })
}

fn toml_text(value: &Value, dialect: &'static str) -> Result<String, EncodeError> {
    if let Some(pointer) = null_in(value, String::new()) {
        return Err(EncodeError::Text {
            dialect,
            pointer,
            reason: "TOML has no null; write YAML or JSON".to_owned(),
        });
    }
    toml::to_string_pretty(value).map_err(|e| EncodeError::Text {
        dialect,
        pointer: String::new(),
        reason: format!("TOML: {e}"),
    })
}

fn null_in(value: &Value, at: String) -> Option<String> {
    match value {
        Value::Null => Some(at),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(i, v)| null_in(v, format!("{at}/{i}"))),
        Value::Object(map) => map
            .iter()
            .find_map(|(k, v)| null_in(v, format!("{at}/{}", crate::node::escape(k)))),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
