//! A program at work, wherever it runs, and where it can be started.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use async_trait::async_trait;
use helve_kernel::ToolError;
use helve_sandbox::{Layer, Limit, Limits, Sandbox};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::boxed::{Boxed, Failure};
use crate::environment;
use crate::group::Group;
use crate::process::Spec;

/// Where programs are started.
#[async_trait]
pub(crate) trait Place: Send + Sync {
    /// Starts a program.
    async fn start(&self, spec: &Spec) -> Result<Box<dyn Running>, Unstarted>;
}

/// A program at work. Dropped before its end, it is killed with all that can be reached
/// of what it started.
#[async_trait]
pub(crate) trait Running: Send + Sync {
    /// The ends of its standard streams; there once.
    fn pipes(&mut self) -> io::Result<Pipes>;

    /// Another hold on what it says, by which all that is there can be taken at once.
    /// There before [`Running::pipes`].
    fn said(&self) -> io::Result<OwnedFd> {
        Err(io::Error::other("there is none"))
    }

    /// Whether it has not ended, as far as can be told at once.
    fn is_alive(&self) -> bool {
        true
    }

    /// What was done without.
    fn missing(&self) -> Vec<&'static str>;

    /// Whether overlays keep hard links together.
    fn has_index(&self) -> bool;

    /// How long after the program's end its output may stay open.
    fn linger(&self) -> Duration {
        LINGER
    }

    /// Returns when the program has ended.
    async fn ended(&self);

    /// Asks all of it to end, and makes it end after that time.
    async fn stop(&self, grace: Duration);

    /// Kills all of it.
    fn kill(&self);

    /// How it ended; whoever is left is killed.
    async fn reap(self: Box<Self>) -> Result<End, ToolError>;
}

/// How long after a program's end its children may hold its output open.
const LINGER: Duration = Duration::from_secs(1);

/// Our ends of the standard streams: what it reads, and what it writes.
pub(crate) type Pipes = (Input, Output, Output);
pub(crate) type Input = Box<dyn AsyncWrite + Send + Unpin>;
pub(crate) type Output = Box<dyn AsyncRead + Send + Unpin>;

/// How it ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) status: ExitStatus,
    pub(crate) hit: Option<Limit>,
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

/// This machine, without a sandbox.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain;

#[async_trait]
impl Place for Plain {
    async fn start(&self, spec: &Spec) -> Result<Box<dyn Running>, Unstarted> {
        let group = Group::start(spec).map_err(|e| not_started(spec, &e))?;
        Ok(Box::new(group))
    }
}

/// What a program on this machine may see, change and use.
#[derive(Debug, Clone)]
pub(crate) struct Walls {
    pub(crate) sandbox: Sandbox,
    pub(crate) layers: Vec<Layer>,
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) visible: Vec<PathBuf>,
    pub(crate) network: bool,
    pub(crate) limits: Limits,
}

#[async_trait]
impl Place for Walls {
    async fn start(&self, spec: &Spec) -> Result<Box<dyn Running>, Unstarted> {
        let inside = helve_sandbox::Spec {
            program: spec.program.clone(),
            name: spec.name.clone().into(),
            args: spec.args.iter().map(Into::into).collect(),
            env: pairs(&spec.env),
            cwd: spec.cwd.clone(),
            layers: self.layers.clone(),
            hidden: self.hidden.clone(),
            visible: self.visible.clone(),
            network: self.network,
            limits: self.limits.clone(),
        };
        let boxed = Boxed::start(self.sandbox.clone(), inside).await;
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
        Ok(Box::new(boxed))
    }
}

#[async_trait]
impl Running for Group {
    fn said(&self) -> io::Result<OwnedFd> {
        Group::said(self)
    }

    fn is_alive(&self) -> bool {
        Group::is_alive(self)
    }

    fn pipes(&mut self) -> io::Result<Pipes> {
        let none = || io::Error::other("the program has no standard streams");
        let (stdin, stdout, stderr) = Group::pipes(self).ok_or_else(none)?;
        Ok((Box::new(stdin), Box::new(stdout), Box::new(stderr)))
    }

    fn missing(&self) -> Vec<&'static str> {
        vec!["no sandbox: it can read and write what Helve can"]
    }

    fn has_index(&self) -> bool {
        false
    }

    async fn ended(&self) {
        Group::ended(self).await;
    }

    async fn stop(&self, grace: Duration) {
        Group::stop(self, grace).await;
    }

    fn kill(&self) {
        Group::kill(self);
    }

    async fn reap(self: Box<Self>) -> Result<End, ToolError> {
        let status = Group::reap(*self).await?;
        Ok(End { status, hit: None })
    }
}

#[async_trait]
impl Running for Boxed {
    fn said(&self) -> io::Result<OwnedFd> {
        Boxed::said(self)
    }

    fn is_alive(&self) -> bool {
        Boxed::is_alive(self)
    }

    fn pipes(&mut self) -> io::Result<Pipes> {
        let (stdin, stdout, stderr) = Boxed::pipes(self)?;
        Ok((Box::new(stdin), Box::new(stdout), Box::new(stderr)))
    }

    fn missing(&self) -> Vec<&'static str> {
        Boxed::missing(self)
    }

    fn has_index(&self) -> bool {
        Boxed::has_index(self)
    }

    async fn ended(&self) {
        Boxed::ended(self).await;
    }

    async fn stop(&self, grace: Duration) {
        Boxed::stop(self, grace).await;
    }

    fn kill(&self) {
        Boxed::kill(self);
    }

    async fn reap(self: Box<Self>) -> Result<End, ToolError> {
        let ended = Boxed::reap(*self).await?;
        let (status, hit) = (ended.status, ended.hit);
        Ok(End { status, hit })
    }
}

fn pairs(env: &[(String, String)]) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    let env = environment::settled(env).into_iter();
    env.map(|(name, value)| (name.into(), value.into()))
        .collect()
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
