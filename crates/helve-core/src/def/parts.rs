//! The parts of a definition.

use std::time::Duration;

use serde_json::{Map, Value};

/// How much a call can do. The order is the order of danger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Risk {
    /// Looks, changes nothing.
    Read,
    /// Runs something harmless: a formatter, a test.
    ExecLow,
    /// Runs something that matters: a deployment, a restart.
    ExecHigh,
    /// Changes files or data.
    Write,
}

impl Risk {
    /// All levels.
    pub const ALL: [Risk; 4] = [Risk::Read, Risk::ExecLow, Risk::ExecHigh, Risk::Write];

    /// The word for it in a definition.
    pub fn as_str(self) -> &'static str {
        match self {
            Risk::Read => "read",
            Risk::ExecLow => "exec_low",
            Risk::ExecHigh => "exec_high",
            Risk::Write => "write",
        }
    }

    /// The level of that name; there is none for any other word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|r| r.as_str() == word)
    }
}

/// What must hold before a tool is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prerequisite {
    /// In words.
    Text(String),
    /// With the tool that tells, and what to do otherwise.
    Check {
        /// What must hold.
        condition: String,
        /// The tool that tells whether it does.
        check_tool: Option<String>,
        /// What to do if it does not.
        action_if_not_met: Option<String>,
    },
}

impl Prerequisite {
    /// What must hold, in words.
    pub fn condition(&self) -> &str {
        match self {
            Prerequisite::Text(text) => text,
            Prerequisite::Check { condition, .. } => condition,
        }
    }
}

/// A call that works.
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    /// What the user wants.
    pub scenario: Option<String>,
    /// The arguments.
    pub params: Value,
    /// What comes of it.
    pub expected: Option<String>,
}

/// A tool used beside this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelatedTool {
    /// Its name.
    pub name: String,
    /// How the two belong together.
    pub relation: Option<String>,
}

/// The steps of a longer task.
#[derive(Debug, Clone, PartialEq)]
pub struct Workflow {
    /// What the whole is called.
    pub name: Option<String>,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// One step of a [`Workflow`].
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its number.
    pub step: Option<u64>,
    /// What is done.
    pub action: String,
    /// With which tool.
    pub tool: Option<String>,
    /// Or with which of several.
    pub tools: Vec<String>,
    /// Only if this holds.
    pub condition: Option<String>,
}

/// How a tool runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Executor {
    /// Where.
    pub kind: ExecutorKind,
    /// The settings that this kind knows.
    pub settings: Map<String, Value>,
}

impl Executor {
    /// An executor without settings.
    pub fn of(kind: ExecutorKind) -> Self {
        Self {
            kind,
            settings: Map::new(),
        }
    }
}

/// Where a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExecutorKind {
    /// In Helve itself.
    Builtin,
    /// A program on this machine.
    Host,
    /// A function of a script toolset.
    Script,
    /// A container.
    Docker,
    /// A Kubernetes job.
    K8sJob,
    /// An upstream MCP server.
    Mcp,
    /// An HTTP request.
    Http,
}

/// The type that a setting of an executor must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    Text,
    Flag,
    Number,
    /// A list of words: one argv element each.
    Argv,
    /// Text by name.
    Table,
    Any,
}

impl ExecutorKind {
    /// All kinds.
    pub const ALL: [ExecutorKind; 7] = [
        ExecutorKind::Builtin,
        ExecutorKind::Host,
        ExecutorKind::Script,
        ExecutorKind::Docker,
        ExecutorKind::K8sJob,
        ExecutorKind::Mcp,
        ExecutorKind::Http,
    ];

    /// The word for it in a definition.
    pub fn as_str(self) -> &'static str {
        match self {
            ExecutorKind::Builtin => "builtin",
            ExecutorKind::Host => "host",
            ExecutorKind::Script => "script",
            ExecutorKind::Docker => "docker",
            ExecutorKind::K8sJob => "k8s_job",
            ExecutorKind::Mcp => "mcp",
            ExecutorKind::Http => "http",
        }
    }

    /// The kind of that name; there is none for any other word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.as_str() == word)
    }

    /// The settings that this kind knows; the marked ones it cannot do without.
    pub(crate) fn settings(self) -> &'static [(&'static str, Setting, bool)] {
        use Setting::{Any, Argv, Flag, Number, Table, Text};
        match self {
            ExecutorKind::Builtin => &[],
            ExecutorKind::Host => &[
                ("command", Argv, true),
                ("cwd", Text, false),
                ("env", Table, false),
                ("network", Flag, false),
                ("user", Text, false),
                ("memory", Text, false),
                ("pids", Number, false),
                ("file_size", Text, false),
                ("any_exit", Flag, false),
                ("options", Flag, false),
                ("stage", Flag, false),
            ],
            ExecutorKind::Script => &[
                ("path", Text, true),
                ("function", Text, false),
                ("runtime", Text, false),
                ("cwd", Text, false),
                ("env", Table, false),
                ("network", Flag, false),
                ("memory", Text, false),
                ("pids", Number, false),
            ],
            ExecutorKind::Docker => &[
                ("command", Argv, false),
                ("image", Text, false),
                ("cwd", Text, false),
                ("env", Table, false),
                ("network", Flag, false),
                ("user", Text, false),
                ("memory", Text, false),
                ("cpus", Number, false),
                ("pids", Number, false),
                ("read_only", Flag, false),
                ("any_exit", Flag, false),
                ("options", Flag, false),
                ("stage", Flag, false),
            ],
            ExecutorKind::K8sJob => &[
                ("command", Argv, false),
                ("image", Text, false),
                ("cwd", Text, false),
                ("env", Table, false),
                ("namespace", Text, false),
                ("service_account", Text, false),
                ("memory", Text, false),
                ("cpus", Number, false),
            ],
            ExecutorKind::Mcp => &[("server", Text, true), ("tool", Text, false)],
            ExecutorKind::Http => &[
                ("url", Text, true),
                ("method", Text, false),
                ("path", Text, false),
                ("headers", Table, false),
                ("arguments", Any, false),
                ("body", Any, false),
                ("content_type", Text, false),
                ("auth", Any, false),
                ("max_bytes", Number, false),
            ],
        }
    }
}

/// A path that a tool may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedPath {
    /// Absolute, or from the workspace's root.
    pub path: String,
    /// What it may do there; without it, what its risk allows.
    pub access: Option<Access>,
}

/// What may be done with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Look.
    Read,
    /// Look and change.
    Write,
}

impl Access {
    /// The word for it in a definition.
    pub fn as_str(self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::Write => "write",
        }
    }
}

/// What to do after a transient error: try again, each time twice as late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How often at most.
    pub max: u32,
    /// How long before the first time.
    pub delay: Duration,
}

impl Retry {
    /// What `retry = true` means.
    pub const DEFAULT: Retry = Retry {
        max: 2,
        delay: Duration::from_millis(200),
    };
}

/// Whether what a tool did can be undone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Reversible {
    /// By its changeset.
    #[default]
    Yes,
    /// Not at all; whoever approves it is told.
    No,
    /// By calling another tool.
    Compensate(String),
}
