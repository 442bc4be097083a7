//! A program at work, in a sandbox or without one.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use helve_kernel::ToolError;
use helve_sandbox::{Layer, Limit, Limits, Sandbox};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::boxed::{Boxed, Failure};
use crate::group::Group;
use crate::process::Spec;

/// What a program may see, change and use.
#[derive(Debug, Clone)]
pub(crate) struct Walls {
    pub(crate) sandbox: Sandbox,
    pub(crate) layers: Vec<Layer>,
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) visible: Vec<PathBuf>,
    pub(crate) network: bool,
    pub(crate) limits: Limits,
}

/// A program at work.
#[derive(Debug)]
pub(crate) enum Running {
    Plain(Group),
    Boxed(Box<Boxed>),
}

/// Why a program was not started.
#[derive(Debug)]
pub(crate) enum Unstarted {
    /// It cannot be run.
    Program(ToolError),
    /// The machine does not give what its sandbox needs.
    Sandbox(ToolError),
}

impl Unstarted {
    pub(crate) fn error(self) -> ToolError {
        match self {
            Self::Program(error) | Self::Sandbox(error) => error,
        }
    }
}

impl From<ToolError> for Unstarted {
    fn from(error: ToolError) -> Self {
        Self::Program(error)
    }
}

/// How it ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) status: ExitStatus,
    pub(crate) hit: Option<Limit>,
}

type Input = Box<dyn AsyncWrite + Send + Unpin>;
type Output = Box<dyn AsyncRead + Send + Unpin>;

impl Running {
    pub(crate) async fn start(spec: &Spec, walls: Option<&Walls>) -> Result<Self, Unstarted> {
        let Some(walls) = walls else {
            let group = Group::start(spec).map_err(|e| not_started(spec, &e))?;
            return Ok(Self::Plain(group));
        };
        let inside = helve_sandbox::Spec {
            program: spec.program.clone(),
            name: spec.name.clone().into(),
            args: spec.args.iter().map(Into::into).collect(),
            env: pairs(&spec.env),
            cwd: spec.cwd.clone(),
            layers: walls.layers.clone(),
            hidden: walls.hidden.clone(),
            visible: walls.visible.clone(),
            network: walls.network,
            limits: walls.limits.clone(),
        };
        let boxed = Boxed::start(walls.sandbox.clone(), inside).await;
        let boxed = boxed.map_err(|failure| match failure {
            Failure::Io(error) => Unstarted::Program(not_started(spec, &error)),
            Failure::Sandbox(helve_sandbox::Error::Program { source, .. }) => {
                Unstarted::Program(not_started(spec, &source))
            }
            Failure::Sandbox(error) => Unstarted::Sandbox(
                ToolError::dependency(format!("not run: {error}"))
                    .with_hint("`helve doctor` tells what this machine gives to sandboxes"),
            ),
        })?;
        Ok(Self::Boxed(Box::new(boxed)))
    }

    /// The ends of its standard streams; there once.
    pub(crate) fn pipes(&mut self) -> io::Result<(Input, Output, Output)> {
        match self {
            Self::Plain(group) => {
                let none = || io::Error::other("the program has no standard streams");
                let (stdin, stdout, stderr) = group.pipes().ok_or_else(none)?;
                Ok((Box::new(stdin), Box::new(stdout), Box::new(stderr)))
            }
            Self::Boxed(boxed) => {
                let (stdin, stdout, stderr) = boxed.pipes()?;
                Ok((Box::new(stdin), Box::new(stdout), Box::new(stderr)))
            }
        }
    }

    /// What was done without.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        match self {
            Self::Plain(_) => vec!["no sandbox: it can read and write what Helve can"],
            Self::Boxed(boxed) => boxed.missing(),
        }
    }

    /// Whether overlays keep hard links together.
    pub(crate) fn has_index(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Boxed(boxed) => boxed.has_index(),
        }
    }

    pub(crate) async fn ended(&self) {
        match self {
            Self::Plain(group) => group.ended().await,
            Self::Boxed(boxed) => boxed.ended().await,
        }
    }

    pub(crate) async fn stop(&self, grace: Duration) {
        match self {
            Self::Plain(group) => group.stop(grace).await,
            Self::Boxed(boxed) => boxed.stop(grace).await,
        }
    }

    pub(crate) fn kill(&self) {
        match self {
            Self::Plain(group) => group.kill(),
            Self::Boxed(boxed) => boxed.kill(),
        }
    }

    pub(crate) async fn reap(self) -> io::Result<End> {
        match self {
            Self::Plain(group) => {
                let status = group.reap().await?;
                Ok(End { status, hit: None })
            }
            Self::Boxed(boxed) => {
                let ended = boxed.reap().await?;
                let (status, hit) = (ended.status, ended.hit);
                Ok(End { status, hit })
            }
        }
    }
}

fn pairs(env: &[(String, String)]) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    // Of two with one name, the later.
    let mut pairs: Vec<(std::ffi::OsString, std::ffi::OsString)> = Vec::new();
    for (name, value) in env {
        pairs.retain(|(known, _)| known != name.as_str());
        pairs.push((name.into(), value.into()));
    }
    pairs
}

fn not_started(spec: &Spec, error: &io::Error) -> ToolError {
    let problem = format!("`{}` could not be started: {error}", spec.program.display());
    match error.kind() {
        io::ErrorKind::ArgumentListTooLong => ToolError::validation(problem)
            .with_hint("the arguments are too long together for a command line"),
        io::ErrorKind::WouldBlock
        | io::ErrorKind::OutOfMemory
        | io::ErrorKind::ExecutableFileBusy
        | io::ErrorKind::ResourceBusy => ToolError::transient(problem),
        _ => ToolError::dependency(problem)
            .with_hint("a script needs the interpreter that its first line names, a binary one of this machine's kind"),
    }
}
