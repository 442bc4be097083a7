//! The definition of a tool: what it is, apart from every dialect.
//!
//! [`ToolDef`] has only what is true of the tool; how a vendor writes it is the
//! business of [`crate::dialect`]. Reading is strict: an unknown field, an
//! unknown risk or executor is an error, never a default that opens something.

mod decode;
mod encode;
mod fields;
mod parts;

use std::time::Duration;

use serde_json::{Map, Value};

pub(crate) use decode::kind_of;
pub use fields::{FIELDS, Field, Need};
pub use parts::{
    Access, AllowedPath, Example, Executor, ExecutorKind, Prerequisite, RelatedTool, Retry,
    Reversible, Risk, Step, Workflow,
};

use crate::lint::Issue;
use crate::name::ToolName;

/// How long a tool may run where it does not say.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// A tool, defined once.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDef {
    /// The canonical name, `<group>_<action>`.
    pub name: ToolName,
    /// A name for people.
    pub title: Option<String>,
    /// What it does and when to use it: all that Level 1 shows.
    pub description: String,
    /// JSON Schema 2020-12 of the arguments, an object.
    pub input_schema: Value,
    /// JSON Schema of the result.
    pub output_schema: Option<Value>,
    /// The long description, Markdown.
    pub detail: Option<String>,
    /// When to think of this tool.
    pub triggers: Vec<String>,
    /// What must hold before it is called.
    pub prerequisites: Vec<Prerequisite>,
    /// Calls that work.
    pub examples: Vec<Example>,
    /// What to be careful about.
    pub warnings: Vec<String>,
    /// Tools used beside this one.
    pub related_tools: Vec<RelatedTool>,
    /// The steps of a longer task.
    pub workflow: Option<Workflow>,
    /// The heading under which the catalog shows it.
    pub category: Option<String>,
    /// Free labels.
    pub tags: Vec<String>,
    /// Other names that it answers to.
    pub aliases: Vec<String>,
    /// Anything else; what only one dialect knows is under that dialect's name.
    pub metadata: Map<String, Value>,
    /// How much a call can do. Without it, a tool counts as the most dangerous.
    pub risk: Option<Risk>,
    /// How it runs. A definition alone has none.
    pub executor: Option<Executor>,
    /// What it may read and write; empty means nothing.
    pub allowed_paths: Vec<AllowedPath>,
    /// How long it may run, if not [`DEFAULT_TIMEOUT`].
    pub timeout: Option<Duration>,
    /// What to do after a transient error.
    pub retry: Option<Retry>,
    /// Calling it twice does what calling it once does.
    pub idempotent: bool,
    /// Nothing else may run beside it.
    pub serial: bool,
    /// Its arguments or results are not for every eye.
    pub sensitive: bool,
    /// Its result goes to the user as it is.
    pub return_direct: bool,
    /// Whether what it did can be undone.
    pub reversible: Reversible,
    /// The version of the definition.
    pub version: Option<semver::Version>,
    /// Whether it can be called.
    pub enabled: bool,
}

impl ToolDef {
    /// The smallest definition: a name, a description, no arguments.
    pub fn new(name: ToolName, description: impl Into<String>) -> Self {
        Self {
            name,
            title: None,
            description: description.into(),
            input_schema: empty_schema(),
            output_schema: None,
            detail: None,
            triggers: Vec::new(),
            prerequisites: Vec::new(),
            examples: Vec::new(),
            warnings: Vec::new(),
            related_tools: Vec::new(),
            workflow: None,
            category: None,
            tags: Vec::new(),
            aliases: Vec::new(),
            metadata: Map::new(),
            risk: None,
            executor: None,
            allowed_paths: Vec::new(),
            timeout: None,
            retry: None,
            idempotent: false,
            serial: false,
            sensitive: false,
            return_direct: false,
            reversible: Reversible::Yes,
            version: None,
            enabled: true,
        }
    }

    /// Reads the canonical form. All that is wrong comes back at once.
    pub fn from_value(value: &Value) -> Result<Self, Vec<Issue>> {
        decode::decode(value)
    }

    /// The canonical form: fields in a fixed order, defaults left out.
    pub fn to_value(&self) -> Value {
        encode::encode(self)
    }

    /// How long a call may take.
    pub fn time_limit(&self) -> Duration {
        self.timeout.unwrap_or(DEFAULT_TIMEOUT)
    }

    /// The names of tools that this definition speaks of, with where it does.
    pub fn mentions(&self) -> Vec<(String, &str)> {
        let mut found = Vec::new();
        for (i, related) in self.related_tools.iter().enumerate() {
            found.push((format!("/related_tools/{i}/name"), related.name.as_str()));
        }
        for (i, prerequisite) in self.prerequisites.iter().enumerate() {
            if let Prerequisite::Check {
                check_tool: Some(tool),
                ..
            } = prerequisite
            {
                found.push((format!("/prerequisites/{i}/check_tool"), tool.as_str()));
            }
        }
        for (i, step) in self
            .workflow
            .iter()
            .flat_map(|w| w.steps.iter().enumerate())
        {
            if let Some(tool) = &step.tool {
                found.push((format!("/workflow/steps/{i}/tool"), tool.as_str()));
            }
            for (j, tool) in step.tools.iter().enumerate() {
                found.push((format!("/workflow/steps/{i}/tools/{j}"), tool.as_str()));
            }
        }
        if let Reversible::Compensate(tool) = &self.reversible {
            found.push(("/reversible/compensate".to_owned(), tool.as_str()));
        }
        found
    }
}

/// The schema of a tool that takes no arguments.
pub fn empty_schema() -> Value {
    serde_json::json!({"type": "object", "properties": {}})
}

#[cfg(test)]
mod tests;
