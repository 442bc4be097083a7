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

impl Exit {
    /// All of them, by their numbers.
    pub(crate) const ALL: [Exit; 8] = [
        Exit::Ok,
        Exit::Findings,
        Exit::Usage,
        Exit::Input,
        Exit::Output,
        Exit::Refused,
        Exit::Pending,
        Exit::Hub,
    ];

    fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Findings => 1,
            Exit::Usage => 2,
            Exit::Input => 3,
            Exit::Output => 4,
            Exit::Refused => 5,
            Exit::Pending => 6,
            Exit::Hub => 7,
        }
    }

    fn says(self) -> &'static str {
        match self {
            Exit::Ok => "done",
            Exit::Findings => "errors were found, or the tool failed",
            Exit::Usage => "wrong usage",
            Exit::Input => "an input cannot be read or converted, or is not there",
            Exit::Output => "the output cannot be written",
            Exit::Refused => "refused by the hub, its policy or a person",
            Exit::Pending => "waits for an approval",
            Exit::Hub => "the hub cannot be reached or fails",
        }
    }
}

/// Every code, and what it says.
pub(crate) fn codes() -> impl Iterator<Item = (u8, &'static str)> {
    Exit::ALL.into_iter().map(|exit| (exit.code(), exit.says()))
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
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
