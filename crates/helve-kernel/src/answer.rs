//! What comes of a call: one shape for every front door.

use std::fmt;
use std::sync::Arc;

use helve_changes::{Changeset, Kind, Staged};
use helve_core::args::Coerced;
use serde_json::{Map, Value, json};

use crate::changes::RowChange;
use crate::{ApprovalId, RunId, RunState, ToolError, Wire};

/// What a tool gives back when all goes well.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// The result.
    pub data: Value,
    /// What is to be written into the context, slot by slot.
    pub writes: Vec<(String, Value)>,
    /// Files that the run left, beside its result.
    pub artifacts: Vec<Artifact>,
    /// How the program ended, where there was one.
    pub exit_code: Option<i32>,
    /// The files that it would change.
    pub changes: Option<Captured>,
    /// What whoever called should know about how it ran.
    pub notes: Vec<String>,
    /// The answer of a server elsewhere, word for word.
    pub wire: Option<Arc<Wire>>,
    /// What is shown beside the result, as content of the Model Context Protocol.
    pub content: Vec<Value>,
    /// What the tool says about its result, for `meta`.
    pub about: Map<String, Value>,
}

/// A result, and what the tool says about it in `meta`: how it was found, say.
#[derive(Debug, Clone)]
pub struct Sourced<T> {
    /// The result.
    pub data: T,
    /// What is said about it. A word that `meta` has already stays as it is.
    pub about: Map<String, Value>,
}

/// A result with something to be shown beside it: a picture, a sound.
#[derive(Debug, Clone)]
pub struct Illustrated<T> {
    /// The result.
    pub data: T,
    /// What is shown, as content of the Model Context Protocol. It is for whoever called,
    /// and never kept.
    pub content: Vec<Value>,
}

/// What a run would change, with where its new contents are.
#[derive(Debug, Clone)]
pub struct Captured(pub Arc<Staged>);

impl PartialEq for Captured {
    fn eq(&self, other: &Self) -> bool {
        self.0.changeset == other.0.changeset
    }
}

impl Reply {
    /// A result and nothing else.
    pub fn new(data: impl Into<Value>) -> Self {
        Self {
            data: data.into(),
            ..Self::default()
        }
    }

    /// The same, with a value for a slot of the context.
    #[must_use]
    pub fn write(mut self, slot: impl Into<String>, value: impl Into<Value>) -> Self {
        self.writes.push((slot.into(), value.into()));
        self
    }
}

impl From<Value> for Reply {
    fn from(data: Value) -> Self {
        Self::new(data)
    }
}

/// A file that a run left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its name in the run's folder.
    pub name: String,
    /// How long it is.
    pub bytes: u64,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The result, or why there is none.
    pub result: Result<Value, ToolError>,
    /// What is worth knowing beside it.
    pub meta: Meta,
    /// What is to be written into the context; nothing where the call failed.
    pub writes: Vec<(String, Value)>,
}

/// What is worth knowing beside a result.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Meta {
    /// The run; none where the call was refused before there was one.
    pub run_id: Option<RunId>,
    /// The tool's canonical name, or the name that was asked for.
    pub tool: String,
    /// The version that was called.
    pub version: Option<String>,
    /// Where the run stands.
    pub state: Option<RunState>,
    /// From the call to the answer, in milliseconds.
    pub timing_ms: f64,
    /// The arguments that were repaired.
    pub coerced: Vec<Coerced>,
    /// The approval that it waits or waited for.
    pub approval: Option<ApprovalId>,
    /// The result goes to the user as it is.
    pub return_direct: bool,
    /// How often it was tried, where more than once.
    pub attempts: u32,
    /// How the program ended, where there was one.
    pub exit_code: Option<i32>,
    /// Files that the run left.
    pub artifacts: Vec<Artifact>,
    /// What it changed, or would change.
    pub changes: Option<Summary>,
    /// Nothing was changed: it was only to be seen what would be.
    pub dry_run: bool,
    /// What would be changed, where that was asked for.
    pub diff: Option<String>,
    /// What is worth knowing about how it ran: what this machine does not give.
    pub notes: Vec<String>,
    /// The answer of a server elsewhere, word for word. It is for whoever called, and never
    /// kept.
    pub wire: Option<Arc<Wire>>,
    /// What is shown beside the result, as content of the Model Context Protocol. It is
    /// for whoever called, and never kept.
    pub content: Vec<Value>,
    /// What the tool says about its result.
    pub about: Map<String, Value>,
}

/// How much a run changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// All paths.
    pub paths: u64,
    /// Paths that were not there.
    pub created: u64,
    /// Paths that are gone.
    pub deleted: u64,
    /// Paths that were elsewhere before.
    pub renamed: u64,
    /// All others.
    pub changed: u64,
    /// How many of all are records and not files.
    pub records: u64,
}

impl Summary {
    /// Counts a changeset.
    pub fn of(changeset: &Changeset) -> Self {
        let mut summary = Self::default();
        for (_, kind) in changeset.entries() {
            summary.paths += 1;
            *match kind {
                Kind::Created => &mut summary.created,
                Kind::Deleted => &mut summary.deleted,
                Kind::Renamed => &mut summary.renamed,
                _ => &mut summary.changed,
            } += 1;
        }
        summary
    }

    /// The same with records.
    #[must_use]
    pub fn with_rows(mut self, rows: &[RowChange]) -> Self {
        for row in rows {
            self.paths += 1;
            self.records += 1;
            *match (&row.before, &row.after) {
                (None, _) => &mut self.created,
                (_, None) => &mut self.deleted,
                _ => &mut self.changed,
            } += 1;
        }
        self
    }

    fn parts(&self) -> [(&'static str, u64); 4] {
        [
            ("created", self.created),
            ("changed", self.changed),
            ("deleted", self.deleted),
            ("renamed", self.renamed),
        ]
    }

    /// The same as JSON.
    pub fn to_value(&self) -> Value {
        let mut value = json!({"paths": self.paths});
        for (name, count) in self.parts() {
            value[name] = count.into();
        }
        if self.records > 0 {
            value["records"] = self.records.into();
        }
        value
    }

    pub(crate) fn from_value(value: &Value) -> Option<Self> {
        let count = |name: &str| value[name].as_u64();
        Some(Self {
            paths: count("paths")?,
            created: count("created")?,
            deleted: count("deleted")?,
            renamed: count("renamed")?,
            changed: count("changed")?,
            records: count("records").unwrap_or_default(),
        })
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths = if self.paths == 1 { "path" } else { "paths" };
        let parts = self.parts().into_iter().filter(|(_, count)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        write!(f, "{} {paths} ({})", self.paths, parts.join(", "))
    }
}

impl Answer {
    /// Whether the tool did what it was asked.
    pub fn is_ok(&self) -> bool {
        self.result.is_ok()
    }

    /// The one shape: `{ok, data, meta, content}` or `{ok, error, meta, content}`.
    pub fn to_value(&self) -> Value {
        let mut value = self.to_kept();
        value["content"] = content_of(&self.text());
        value
    }

    /// The same as it is kept: without its content, which says again what the rest says.
    pub(crate) fn to_kept(&self) -> Value {
        let mut map = Map::new();
        map.insert("ok".to_owned(), self.is_ok().into());
        match &self.result {
            Ok(data) => map.insert("data".to_owned(), data.clone()),
            Err(error) => map.insert("error".to_owned(), error_value(error)),
        };
        map.insert("meta".to_owned(), self.meta.to_value());
        Value::Object(map)
    }

    /// The answer as a model reads it.
    pub fn text(&self) -> String {
        match &self.result {
            Ok(Value::String(text)) => text.clone(),
            // Not by `Display`, which takes twice as long. Keys are texts, so it can be written.
            Ok(data) => serde_json::to_string(data).unwrap_or_default(),
            Err(error) => match &error.hint {
                Some(hint) => format!("{}: {}. {hint}", error.kind, error.message),
                None => format!("{}: {}", error.kind, error.message),
            },
        }
    }
}

/// A text as content of the one shape.
pub(crate) fn content_of(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// An error in the one shape.
pub fn error_value(error: &ToolError) -> Value {
    json!({
        "type": error.kind.as_str(),
        "message": error.message,
        "hint": error.hint,
        "retryable": error.retryable(),
    })
}

impl Meta {
    /// The `meta` of the one shape.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        if let Some(id) = &self.run_id {
            put("run_id", id.as_str().into());
        }
        put("tool", self.tool.as_str().into());
        if let Some(version) = &self.version {
            put("version", version.as_str().into());
        }
        if let Some(state) = self.state {
            put("state", state.as_str().into());
        }
        put("timing_ms", json!(self.timing_ms));
        if !self.coerced.is_empty() {
            put("coerced", json!(self.coerced));
        }
        if let Some(id) = &self.approval {
            put("approval_id", id.as_str().into());
        }
        if self.return_direct {
            put("return_direct", true.into());
        }
        if self.attempts > 1 {
            put("attempts", self.attempts.into());
        }
        if let Some(code) = self.exit_code {
            put("exit_code", code.into());
        }
        if !self.artifacts.is_empty() {
            let list = self.artifacts.iter();
            let list = list.map(|a| json!({"name": a.name, "bytes": a.bytes}));
            put("artifacts", list.collect());
        }
        if let Some(changes) = &self.changes {
            put("changes", changes.to_value());
        }
        if self.dry_run {
            put("dry_run", true.into());
        }
        if !self.notes.is_empty() {
            put("notes", json!(self.notes));
        }
        if let Some(diff) = &self.diff {
            put("diff", diff.as_str().into());
        }
        for (key, value) in &self.about {
            map.entry(key).or_insert_with(|| value.clone());
        }
        Value::Object(map)
    }
}
