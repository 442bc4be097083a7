//! A program at work in its sandbox, as the runtime sees it.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use helve_sandbox::{Ended, Error, Sandbox, Spec, Started};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::timeout;

/// A program in its sandbox. Dropped before its end, it is killed with all that it
/// started.
#[derive(Debug)]
pub(crate) struct Boxed {
    started: Started,
    over: AsyncFd<OwnedFd>,
}

impl Boxed {
    /// Starts a program.
    pub(crate) async fn start(sandbox: Sandbox, spec: Spec) -> Result<Self, Failure> {
        // It takes some milliseconds of system calls.
        let started = tokio::task::spawn_blocking(move || sandbox.start(&spec)).await;
        let started = started.map_err(io::Error::other)??;
        let pidfd = started.pidfd().try_clone_to_owned()?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe; an `OwnedFd` is what it asks for"
        )]
        let over = AsyncFd::with_interest(pidfd, Interest::READABLE)?;
        Ok(Self { started, over })
    }

    /// The ends of its standard streams; there once.
    pub(crate) fn pipes(&mut self) -> io::Result<(Sender, Receiver, Receiver)> {
        let none = || io::Error::other("the program has no standard streams");
        let started = &mut self.started;
        Ok((
            Sender::from_owned_fd(started.stdin.take().ok_or_else(none)?)?,
            Receiver::from_owned_fd(started.stdout.take().ok_or_else(none)?)?,
            Receiver::from_owned_fd(started.stderr.take().ok_or_else(none)?)?,
        ))
    }

    /// Another hold on what it says; before [`Boxed::pipes`].
    pub(crate) fn said(&self) -> io::Result<OwnedFd> {
        let none = || io::Error::other("the program has no standard streams");
        self.started.stderr.as_ref().ok_or_else(none)?.try_clone()
    }

    /// What this machine does not give, and was done without.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        self.started.missing()
    }

    /// Whether overlays keep hard links together.
    pub(crate) fn has_index(&self) -> bool {
        self.started.has_index()
    }

    /// Returns when the program and all that it started are gone.
    pub(crate) async fn ended(&self) {
        // An error here leaves the wait to `reap`, which blocks a thread of its own.
        let _ = self.over.readable().await;
    }

    /// Whether it has not ended.
    pub(crate) fn is_alive(&self) -> bool {
        let mut over = [PollFd::new(self.over.get_ref(), PollFlags::IN)];
        let now = Timespec::default();
        matches!(poll(&mut over, Some(&now)), Ok(0))
    }

    /// Asks all of it to end, and makes it end after that time.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.started.terminate();
        if timeout(grace, self.ended()).await.is_err() {
            self.kill();
            self.ended().await;
        }
    }

    /// Kills all of it.
    pub(crate) fn kill(&self) {
        self.started.kill();
    }

    /// How the program ended.
    pub(crate) async fn reap(self) -> io::Result<Ended> {
        self.kill();
        let mut started = self.started;
        let ended = tokio::task::spawn_blocking(move || started.wait());
        ended.await.map_err(io::Error::other)?
    }
}

/// Why a program was not started in its sandbox.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What the sandbox says.
    Sandbox(Error),
    /// What the runtime says.
    Io(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Sandbox(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
