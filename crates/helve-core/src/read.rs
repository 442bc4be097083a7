//! From text to a [`Node`]: one reader per syntax, one error for all of them.
//!
//! A reader never panics, never recurses past [`MAX_DEPTH`], refuses a key that
//! is given twice, and refuses a number that JSON cannot hold exactly. What a
//! file *means* (which dialect it is in) is decided later, from the node.

mod copies;
pub mod erlang;
pub mod javascript;
mod json;
mod lexer;
pub mod python;
pub mod skill;
mod toml;
mod yaml;

use crate::node::{Entry, Node, Place};

/// The largest text that is read: 32 MiB, some 20,000 definitions.
pub const MAX_BYTES: usize = 32 * 1024 * 1024;

/// How deep a document may nest.
pub const MAX_DEPTH: usize = 128;

/// How many values aliases and names of one text may stand for, all together.
/// Their strings may not have more than [`MAX_BYTES`].
pub const MAX_NODES: usize = 500_000;

/// How the message begins that says that source code holds no tool.
pub(crate) const NO_TOOL: &str = "no tool here";

/// A syntax that definitions are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Syntax {
    /// JSON.
    Json,
    /// TOML.
    Toml,
    /// YAML 1.2.
    Yaml,
    /// Python source: dict literals and `@tool` decorators.
    Python,
    /// Erlang terms, or a module with `tools/0`.
    Erlang,
    /// A JavaScript module that exports a tool object.
    JavaScript,
    /// Markdown with YAML frontmatter: `SKILL.md`.
    Skill,
}

impl Syntax {
    /// All of them.
    pub const ALL: [Syntax; 7] = [
        Syntax::Json,
        Syntax::Toml,
        Syntax::Yaml,
        Syntax::Python,
        Syntax::Erlang,
        Syntax::JavaScript,
        Syntax::Skill,
    ];

    /// The name by which options and messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Syntax::Json => "json",
            Syntax::Toml => "toml",
            Syntax::Yaml => "yaml",
            Syntax::Python => "python",
            Syntax::Erlang => "erlang",
            Syntax::JavaScript => "javascript",
            Syntax::Skill => "skill",
        }
    }

    /// The syntax of a file with this ending, if it is one that can hold tools.
    pub fn of_extension(extension: &str) -> Option<Self> {
        Some(match extension.to_ascii_lowercase().as_str() {
            "json" => Syntax::Json,
            "toml" => Syntax::Toml,
            "yaml" | "yml" => Syntax::Yaml,
            "py" => Syntax::Python,
            "erl" | "hrl" | "config" | "term" | "eterm" => Syntax::Erlang,
            "js" | "cjs" | "mjs" => Syntax::JavaScript,
            "md" => Syntax::Skill,
            _ => return None,
        })
    }

    /// The syntax that `text` looks like, for standard input.
    pub fn guess(text: &str) -> Self {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let line = text.lines().next().unwrap_or_default().trim_end();
        if line == "---" && text.lines().skip(1).any(|l| l.trim_end() == "---") {
            return Syntax::Skill;
        }
        if text.starts_with('%')
            || text.starts_with("#{")
            || text.starts_with("-module")
            || text.contains("#{") && text.contains("=>") && text.contains("<<\"")
        {
            return Syntax::Erlang;
        }
        if text.starts_with('{') || text.starts_with('[') && !toml_header(line) {
            return Syntax::Json;
        }
        if text.contains("module.exports") || text.contains("export default") {
            return Syntax::JavaScript;
        }
        if text.contains("@tool") || python_assignment(text) {
            return Syntax::Python;
        }
        let toml = text.lines().any(|l| {
            toml_header(l.trim_end())
                || l.split_once('=').is_some_and(|(key, _)| {
                    let key = key.trim();
                    !key.is_empty()
                        && key
                            .chars()
                            .all(|c| c.is_ascii_alphanumeric() || "_-.\"".contains(c))
                })
        });
        if toml { Syntax::Toml } else { Syntax::Yaml }
    }
}

fn toml_header(line: &str) -> bool {
    line.strip_prefix('[').is_some_and(|rest| {
        rest.trim_start_matches('[')
            .starts_with(|c: char| c.is_ascii_alphabetic())
            && rest.trim_end_matches(']').len() < rest.len()
            && rest
                .trim_matches(['[', ']'])
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
            && !rest.trim_matches(['[', ']']).is_empty()
    })
}

/// `TOOLS = [{…`: a constant in Python's spelling.
fn literal(name: &str, value: &str) -> bool {
    let constant = name.chars().any(|c| c.is_ascii_uppercase())
        && !name.chars().any(|c| c.is_ascii_lowercase());
    constant && value.trim_start().starts_with(['[', '{'])
}

fn python_assignment(text: &str) -> bool {
    text.lines().any(|l| {
        l.split_once('=').is_some_and(|(name, value)| {
            let name = name.split(':').next().unwrap_or_default().trim_end();
            !name.is_empty()
                && !l.starts_with(char::is_whitespace)
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && (value.trim() == "[" || value.trim() == "{" || literal(name, value))
        })
    })
}

/// Why a text could not be read. `at` is the byte where it was noticed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ReadError {
    /// Byte offset.
    pub at: usize,
    /// What is wrong.
    pub problem: Problem,
}

/// What can be wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The syntax's own rules are broken.
    #[error("{0}")]
    Syntax(String),
    /// It stops in the middle.
    #[error("the text ends in the middle of {0}; it looks truncated")]
    Truncated(&'static str),
    /// One key, two values.
    #[error("the key `{key}` is given twice; the first is on line {first}")]
    DuplicateKey {
        /// The key.
        key: String,
        /// The line on which it stands first.
        first: usize,
    },
    /// Too many brackets.
    #[error("nested too deep: more than {MAX_DEPTH} levels, or 80 in TOML")]
    TooDeep,
    /// Too many bytes.
    #[error("it has more than 32 MiB, the most that is read at once; split it")]
    TooLarge,
    /// Not text.
    #[error("byte {0:#04x} is not valid UTF-8; save the file as UTF-8")]
    NotUtf8(u8),
    /// A number that would change its value.
    #[error("the number `{0}` cannot be held exactly; write it as a string")]
    Number(String),
}

impl Problem {
    pub(crate) fn at(self, at: usize) -> ReadError {
        ReadError { at, problem: self }
    }
}

pub(crate) fn syntax(at: usize, message: impl Into<String>) -> ReadError {
    Problem::Syntax(message.into()).at(at)
}

/// Checks size and encoding; a byte order mark is dropped.
pub fn text(bytes: &[u8]) -> Result<&str, ReadError> {
    if bytes.len() > MAX_BYTES {
        return Err(Problem::TooLarge.at(0));
    }
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let at = e.valid_up_to();
        Problem::NotUtf8(bytes[at]).at(at)
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Reads one text in the given syntax.
pub fn read(text: &str, syntax: Syntax) -> Result<Node, ReadError> {
    match syntax {
        Syntax::Json => json::read(text),
        Syntax::Toml => toml::read(text),
        Syntax::Yaml => yaml::read(text),
        Syntax::Python => python::read(text),
        Syntax::Erlang => erlang::read(text),
        Syntax::JavaScript => javascript::read(text),
        Syntax::Skill => skill::read(text),
    }
}

/// Adds a key to an object, or says where it already stands.
fn push_entry(entries: &mut Vec<Entry>, entry: Entry, text: &str) -> Result<(), ReadError> {
    // Objects are small; those of thousands of keys are sorted out by `MAX_BYTES`
    // only, so the search for a double must not be quadratic for them.
    let double = if entries.len() < 64 {
        entries.iter().find(|e| e.key == entry.key)
    } else {
        None
    };
    if let Some(first) = double {
        return Err(duplicate(&entry, first.at, text));
    }
    entries.push(entry);
    Ok(())
}

/// For objects past the small ones: one sorted pass at their end.
fn refuse_doubles(entries: &[Entry], text: &str) -> Result<(), ReadError> {
    if entries.len() < 64 {
        return Ok(());
    }
    let mut seen = std::collections::HashMap::with_capacity(entries.len());
    for entry in entries {
        if let Some(first) = seen.insert(entry.key.as_str(), entry.at) {
            return Err(duplicate(entry, first, text));
        }
    }
    Ok(())
}

fn duplicate(entry: &Entry, first: usize, text: &str) -> ReadError {
    let key = entry.key.clone();
    let first = Place::of(text, first).line;
    Problem::DuplicateKey { key, first }.at(entry.at)
}

/// A JSON number from its digits, if it can be held exactly.
fn number(digits: &str, at: usize) -> Result<serde_json::Number, ReadError> {
    let refuse = || Problem::Number(digits.to_owned()).at(at);
    if let Ok(n) = digits.parse::<i64>() {
        return Ok(n.into());
    }
    if let Ok(n) = digits.parse::<u64>() {
        return Ok(n.into());
    }
    if !digits.contains(['.', 'e', 'E']) {
        return Err(refuse());
    }
    let float: f64 = digits.parse().map_err(|_| refuse())?;
    serde_json::Number::from_f64(float).ok_or_else(refuse)
}

#[cfg(test)]
mod tests;
