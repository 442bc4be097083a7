//! What is told of servers: how they stand, what waits, what they say, what went wrong.

use std::path::PathBuf;
use std::time::Duration;

use helve_kernel::ToolError;
use serde_json::Value;

use super::{Era, Flag};

/// Why something with the servers did not work.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// No server is called that.
    #[error("there is no MCP server named `{name}`{}", near(.nearest))]
    Unknown {
        /// The name.
        name: String,
        /// What there is that is called similarly.
        nearest: Vec<String>,
    },
    /// It cannot be spoken with.
    #[error("the server `{server}` is not available: {why}")]
    Unavailable {
        /// The server.
        server: String,
        /// Why.
        why: String,
        /// It wants somebody to log in.
        wants_login: bool,
    },
    /// Nothing waits there.
    #[error("nothing waits to be looked at for `{tool}` of `{server}`")]
    NothingWaits {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// The kernel refused.
    #[error("{0}")]
    Refused(ToolError),
    /// There is no login at such a server.
    #[error("{0}")]
    Login(String),
    /// What is kept cannot be read or written.
    #[error("`{}` cannot be used: {why}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

fn near(names: &[String]) -> String {
    match names.first() {
        Some(name) => format!("; did you mean `{name}`?"),
        None => String::new(),
    }
}

impl From<UpstreamError> for ToolError {
    fn from(error: UpstreamError) -> Self {
        match error {
            UpstreamError::Refused(error) => error,
            UpstreamError::Unknown { .. } => ToolError::dependency(error.to_string())
                .with_hint("`helve mcp list` shows what there is"),
            UpstreamError::NothingWaits { .. } => ToolError::not_found(error.to_string())
                .with_hint("`helve mcp diff` shows what waits"),
            UpstreamError::Unavailable {
                ref server,
                wants_login: true,
                ..
            } => {
                let hint = format!("`helve mcp login {server}` logs in to it");
                ToolError::dependency(error.to_string()).with_hint(hint)
            }
            other => ToolError::dependency(other.to_string()),
        }
    }
}

/// How a server stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Not started: nobody has needed it.
    Idle,
    /// Being started.
    Starting,
    /// There.
    Running,
    /// It could not be started.
    Failed {
        /// Why.
        why: String,
        /// When it is tried again, if somebody needs it.
        again_in: Option<Duration>,
        /// It wants somebody to log in.
        wants_login: bool,
    },
}

/// How a login that was begun stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginState {
    /// Somebody has still to open the address.
    Waiting,
    /// Somebody has logged in.
    Done,
    /// It did not work; why.
    Failed(String),
}

/// A server, for people and for front doors.
#[derive(Debug, Clone)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// `stdio`, `http` or `sse`.
    pub kind: &'static str,
    /// Where it is.
    pub place: String,
    /// How it stands.
    pub state: State,
    /// In which era it was last spoken with.
    pub era: Option<Era>,
    /// The revision of the protocol.
    pub protocol: Option<String>,
    /// What it can do, word for word.
    pub capabilities: Value,
    /// What it says about itself, for models.
    pub instructions: Option<String>,
    /// Who it says that it is, word for word.
    pub server_info: Value,
    /// Its tools in the registry.
    pub tools: Vec<String>,
    /// Its tools that wait for somebody to look at them, by their names there.
    pub waiting: Vec<String>,
    /// What could not be taken over.
    pub problems: Vec<String>,
    /// The last of what it wrote to its standard error.
    pub tail: String,
    /// There is a login to show to it.
    pub logged_in: bool,
    /// How the last login stands.
    pub login: Option<LoginState>,
}

/// A definition that waits for somebody to look at it.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// The server.
    pub server: String,
    /// The tool, by its name there.
    pub tool: String,
    /// What is registered; nothing where the tool is new.
    pub before: Option<Value>,
    /// What the server says now; nothing where the tool is gone.
    pub after: Option<Value>,
    /// What should be looked at in it.
    pub flags: Vec<Flag>,
    /// A short name for exactly this: what somebody who has looked at it can say they saw.
    pub seen: String,
}

/// Something that a server told, and that belongs to no call.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The server.
    pub server: String,
    /// `notifications/…/list_changed`, `notifications/resources/updated`, `notifications/message`.
    pub method: String,
    /// Its parameters, word for word.
    pub params: Value,
}
