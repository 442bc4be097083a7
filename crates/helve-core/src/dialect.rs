//! Foreign shapes of a definition, a row each.
//!
//! A dialect takes one tool between its own shape and [`ToolDef`]. It says what it
//! could not hold: every conversion returns its [`Loss`]es, and a property test
//! takes random definitions there and back to see that none is missing. What only
//! the dialect knows travels in `metadata.<dialect>` and comes back out of it.

mod anthropic;
mod automation_hub;
mod beamai;
mod bedrock;
mod claude_sdk;
mod detect;
mod draft;
mod gemini;
mod helve;
mod internal;
mod legacy;
mod mcp;
mod openai;
mod openakita;
mod skill;
pub mod strict;

use serde_json::Value;

use crate::def::ToolDef;
use crate::lint::Issue;
use crate::read::Syntax;

pub use detect::{Detected, detect};
pub(crate) use detect::{tools_of, vendor_tool};
pub use draft::Draft;
pub(crate) use draft::Places;

/// A foreign shape of a definition.
pub struct Dialect {
    /// Its name in options and messages.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// What it can be written in, the usual one first.
    pub syntaxes: &'static [Syntax],
    /// The fields of a definition that it holds whole.
    pub holds: &'static [&'static str],
    /// From a definition.
    pub encode: fn(&ToolDef, Strictness) -> Result<Encoded, EncodeError>,
    /// To a definition, from what stands in `source`.
    pub decode: fn(&Source<'_>) -> Result<Draft, Issue>,
    /// What many tools of it look like together.
    pub together: fn(Vec<Value>) -> Value,
    /// Where a tool's file stands in a folder of them, without its ending.
    pub path: fn(&ToolDef) -> String,
}

/// All dialects. The first is Helve's own.
pub const DIALECTS: &[&Dialect] = &[
    &helve::DIALECT,
    &openai::CHAT,
    &openai::RESPONSES,
    &openai::KIMI,
    &anthropic::DIALECT,
    &mcp::DIALECT,
    &gemini::DIALECT,
    &bedrock::DIALECT,
    &claude_sdk::DIALECT,
    &openakita::DIALECT,
    &beamai::DIALECT,
    &automation_hub::DIALECT,
    &internal::DIALECT,
    &skill::DIALECT,
];

/// The dialect of that name.
pub fn find(name: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().find(|d| d.name == name).copied()
}

impl std::fmt::Debug for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Dialect {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Whether schemas are rewritten to what the vendor's constrained decoding takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// The schema goes out as it is.
    #[default]
    Loose,
    /// It is rewritten, where the vendor has such a mode.
    Strict,
}

/// One tool, as it stands in a document.
#[derive(Debug, Clone, Copy)]
pub struct Source<'s> {
    /// The tool.
    pub value: &'s Value,
    /// The group that its place in a folder of tools gives it.
    pub group: Option<&'s str>,
    /// The nearest folder, whatever it is.
    pub folder: Option<&'s str>,
    /// Its key, where tools are given by name.
    pub key: Option<&'s str>,
    /// What the collection says about all its tools.
    pub shared: Option<&'s Value>,
}

impl<'s> Source<'s> {
    /// A tool that stands alone.
    pub fn alone(value: &'s Value) -> Self {
        Self {
            value,
            group: None,
            folder: None,
            key: None,
            shared: None,
        }
    }
}

/// A tool in a dialect, and what did not fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// The tool.
    pub value: Value,
    /// What it lacks.
    pub losses: Vec<Loss>,
}

/// A definition out of a dialect, and what did not fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The definition.
    pub def: ToolDef,
    /// What it lacks.
    pub losses: Vec<Loss>,
    /// Where its parts stood.
    pub(crate) places: draft::Places,
}

/// Something that a conversion could not carry over.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Loss {
    /// A JSON pointer into the definition.
    pub field: String,
    /// What became of it.
    pub kind: LossKind,
    /// Why.
    pub reason: String,
}

/// What became of something that was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LossKind {
    /// It is gone.
    Dropped,
    /// It says something else now.
    Changed,
    /// It is a sentence of the `description` beside it now.
    Folded,
}

impl Loss {
    /// `field` is gone.
    pub fn dropped(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            kind: LossKind::Dropped,
            reason: reason.into(),
        }
    }

    /// `field` says something else now.
    pub fn changed(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            kind: LossKind::Changed,
            ..Self::dropped(field, reason)
        }
    }
}

/// Why a tool cannot be written in a dialect at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The vendor refuses the name.
    #[error("`{dialect}` does not accept the name `{name}`: {rule}")]
    Name {
        /// The dialect.
        dialect: &'static str,
        /// The name.
        name: String,
        /// Its rule.
        rule: &'static str,
    },
    /// The dialect's text cannot hold it.
    #[error("`{dialect}` cannot hold `{pointer}`: {reason}")]
    Text {
        /// The dialect.
        dialect: &'static str,
        /// Where.
        pointer: String,
        /// Why.
        reason: String,
    },
}

/// Writes one tool in a dialect.
pub fn encode(
    def: &ToolDef,
    dialect: &Dialect,
    strictness: Strictness,
) -> Result<Encoded, EncodeError> {
    (dialect.encode)(def, strictness)
}

/// Reads one tool of a dialect.
pub fn decode(source: &Source<'_>, dialect: &Dialect) -> Result<Decoded, Vec<Issue>> {
    let draft = (dialect.decode)(source).map_err(|issue| vec![issue])?;
    draft.finish()
}

fn by_name(def: &ToolDef) -> String {
    def.name.to_string()
}

fn by_group(def: &ToolDef) -> String {
    let name = def.name.as_str();
    match def.name.group() {
        Some(group) => format!("{group}/{}", &name[group.len() + 1..]),
        None => name.to_owned(),
    }
}

fn as_list(tools: Vec<Value>) -> Value {
    Value::Array(tools)
}

#[cfg(test)]
mod tests;
