//! What the exit codes mean.

use std::fmt;
use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done.
    Ok,
    /// 1: checked, and errors were found (with `--strict`, warnings too); or the tool failed.
    Findings,
    /// 2: the command line is wrong.
    Usage,
    /// 3: an input cannot be read or converted; nothing was written.
    Input,
    /// 4: the output cannot be written.
    Output,
    /// 5: the hub, its policy or a person said no.
    Refused,
    /// 6: it waits for an approval.
    Pending,
    /// 7: the hub cannot be reached, or fails.
    Hub,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Ok => 0,
            Exit::Findings => 1,
            Exit::Usage => 2,
            Exit::Input => 3,
            Exit::Output => 4,
            Exit::Refused => 5,
            Exit::Pending => 6,
            Exit::Hub => 7,
        })
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    pub exit: Exit,
    pub error: anyhow::Error,
    pub hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, error: impl fmt::Display) -> Self {
        Self {
            exit,
            error: anyhow::anyhow!("{error}"),
            hint: None,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn usage(error: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, error)
    }

    pub(crate) fn input(error: impl fmt::Display) -> Self {
        Self::new(Exit::Input, error)
    }

    pub(crate) fn hub(error: impl fmt::Display) -> Self {
        Self::new(Exit::Hub, error)
    }

    pub(crate) fn output(error: impl fmt::Display) -> Self {
        Self::new(Exit::Output, error)
    }
}

pub(crate) type Done = Result<Exit, Failure>;
