//! How a tool says that it failed.
//!
//! The reader is often a model, so a failure has a kind that a program can act
//! on, a message that names the problem, and where there is one, a hint at the
//! way out. The kinds are those of the one answer shape that every front door gives.

use std::sync::Arc;
use std::{fmt, io};

use crate::Wire;

/// Why a tool did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// What sort of failure.
    pub kind: ErrorKind,
    /// What went wrong: lower case, no final period.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// How the program ended, where there was one.
    pub exit_code: Option<i32>,
    /// The answer of a server elsewhere, word for word.
    pub wire: Option<Arc<Wire>>,
}

/// What sort of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// What was asked for is not there.
    NotFound,
    /// The arguments are wrong.
    Validation,
    /// The caller may not.
    Permission,
    /// A person or a rule said no.
    Denied,
    /// It took too long.
    Timeout,
    /// It may work if tried again.
    Transient,
    /// Something else changed the same thing.
    Conflict,
    /// Something that the tool needs is missing or broken.
    Dependency,
    /// A fault of the tool itself.
    Internal,
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: [ErrorKind; 9] = [
        ErrorKind::NotFound,
        ErrorKind::Validation,
        ErrorKind::Permission,
        ErrorKind::Denied,
        ErrorKind::Timeout,
        ErrorKind::Transient,
        ErrorKind::Conflict,
        ErrorKind::Dependency,
        ErrorKind::Internal,
    ];

    /// The word for it in an answer.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::NotFound => "not_found",
            ErrorKind::Validation => "validation",
            ErrorKind::Permission => "permission",
            ErrorKind::Denied => "denied",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Transient => "transient",
            ErrorKind::Conflict => "conflict",
            ErrorKind::Dependency => "dependency",
            ErrorKind::Internal => "internal",
        }
    }

    /// Whether the same call may succeed later. A timeout does not count: its
    /// effect may have happened.
    pub fn retryable(self) -> bool {
        self == ErrorKind::Transient
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! constructors {
    ($($name:ident $kind:ident $says:literal;)*) => {
        $(
            #[doc = $says]
            pub fn $name(message: impl Into<String>) -> Self {
                Self::new(ErrorKind::$kind, message)
            }
        )*
    };
}

impl ToolError {
    /// A failure of that kind, without a hint.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            exit_code: None,
            wire: None,
        }
    }

    constructors! {
        not_found NotFound "What was asked for is not there.";
        validation Validation "The arguments are wrong.";
        permission Permission "The caller may not.";
        denied Denied "A person or a rule said no.";
        timeout Timeout "It took too long.";
        transient Transient "It may work if tried again.";
        conflict Conflict "Something else changed the same thing.";
        dependency Dependency "Something that the tool needs is missing or broken.";
        internal Internal "A fault of the tool itself.";
    }

    /// The same, with what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, with how the program ended.
    #[must_use]
    pub fn with_exit_code(mut self, code: i32) -> Self {
        self.exit_code = Some(code);
        self
    }

    /// The same, with the answer of a server elsewhere.
    #[must_use]
    pub fn with_wire(mut self, wire: Wire) -> Self {
        self.wire = Some(Arc::new(wire));
        self
    }

    /// Whether the same call may succeed later.
    pub fn retryable(&self) -> bool {
        self.kind.retryable()
    }
}

impl From<io::Error> for ToolError {
    fn from(error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                ErrorKind::Permission
            }
            io::ErrorKind::AlreadyExists => ErrorKind::Conflict,
            io::ErrorKind::TimedOut => ErrorKind::Timeout,
            io::ErrorKind::Interrupted
            | io::ErrorKind::WouldBlock
            | io::ErrorKind::ResourceBusy
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted => ErrorKind::Transient,
            io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown => ErrorKind::Dependency,
            io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidFilename
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::NotADirectory => ErrorKind::Validation,
            _ => ErrorKind::Internal,
        };
        Self::new(kind, told(&error))
    }
}

/// A failure to read or write JSON while the tool works. Bad *arguments* never get
/// this far: they are refused as `validation` before the tool runs.
impl From<serde_json::Error> for ToolError {
    fn from(error: serde_json::Error) -> Self {
        match error.io_error_kind() {
            Some(kind) => Self {
                message: told(&error),
                ..io::Error::from(kind).into()
            },
            None => Self::internal(told(&error)),
        }
    }
}

/// The words of a foreign error in our form: small first letter, no final period.
/// A first word with other capitals in it is a name, and stays.
fn told(error: &dyn fmt::Display) -> String {
    let text = error.to_string();
    let text = text.trim().trim_end_matches('.');
    let first = text.split_whitespace().next().unwrap_or_default();
    let name = first.chars().skip(1).any(char::is_uppercase) || first.len() == 1;
    let mut letters = text.chars();
    match letters.next() {
        Some(c) if !name => c.to_lowercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
