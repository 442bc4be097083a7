//! What the exit codes mean.

use std::fmt;
use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done.
    Ok,
    /// 1: checked, and errors were found (with `--strict`, warnings too).
    Findings,
    /// 2: the command line is wrong.
    Usage,
    /// 3: an input cannot be read or converted; nothing was written.
    Input,
    /// 4: the output cannot be written.
    Output,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Ok => 0,
            Exit::Findings => 1,
            Exit::Usage => 2,
            Exit::Input => 3,
            Exit::Output => 4,
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

    pub(crate) fn output(error: impl fmt::Display) -> Self {
        Self::new(Exit::Output, error)
    }
}

pub(crate) type Done = Result<Exit, Failure>;
