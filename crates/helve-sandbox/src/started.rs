//! A program at work in its sandbox, and how it ended.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Signal, WaitId, WaitIdOptions, WaitIdStatus, pidfd_send_signal, waitid};

use crate::cgroup::Group;
use crate::init::TERMINATE;
use crate::message::{LENGTH, Message, notes};
use crate::spec::Limit;

/// A program that was started. Dropped before its end, it is killed with all that it
/// started, and waited for.
#[derive(Debug)]
pub struct Started {
    /// What the program reads.
    pub stdin: Option<OwnedFd>,
    /// What it writes.
    pub stdout: Option<OwnedFd>,
    /// What it says.
    pub stderr: Option<OwnedFd>,
    pub(crate) pidfd: OwnedFd,
    pub(crate) control: OwnedFd,
    pub(crate) status: OwnedFd,
    pub(crate) group: Option<Group>,
    pub(crate) notes: i32,
    pub(crate) ended: Option<Ended>,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// As if it had been run without a sandbox.
    pub status: ExitStatus,
    /// A limit that it ran into, where that can be known.
    pub hit: Option<Limit>,
}

impl Started {
    /// Becomes readable when the program and all that it started are gone.
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// What this machine does not give, and was done without.
    pub fn missing(&self) -> Vec<&'static str> {
        [
            (notes::NO_PROC, "no `/proc` of its own: it is empty"),
            (
                notes::NO_INDEX,
                "overlays without `index` and `metacopy`: hard links break, a change of mode copies the file",
            ),
            (
                notes::NO_REDIRECT,
                "overlays without `redirect_dir`: folders cannot be renamed in place",
            ),
        ]
        .into_iter()
        .filter_map(|(note, text)| (self.notes & note != 0).then_some(text))
        .collect()
    }

    /// Whether overlays keep hard links together, by an index in their work folder.
    pub fn has_index(&self) -> bool {
        self.notes & notes::NO_INDEX == 0
    }

    /// Asks the program and all that it started to end (`SIGTERM`).
    pub fn terminate(&self) {
        // Who is gone needs no asking, and one that does not listen gets killed.
        let _ = rustix::io::write(&self.control, &[TERMINATE]);
    }

    /// Kills the program and all that it started.
    pub fn kill(&self) {
        if self.ended.is_none() {
            let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
        }
    }

    /// Waits until all is over, and says how the program ended. Blocks unless
    /// [`Started::pidfd`] is readable.
    pub fn wait(&mut self) -> io::Result<Ended> {
        if let Some(ended) = &self.ended {
            return Ok(ended.clone());
        }
        let first = WaitId::PidFd(self.pidfd.as_fd());
        let first =
            retry_on_intr(|| waitid(first.clone(), WaitIdOptions::EXITED))?.ok_or(Errno::CHILD)?;
        let (status, told) = match receive(self.status.as_fd()) {
            Some(Message::Ended { status }) => (ExitStatus::from_raw(status), true),
            _ => (killed(&first), false),
        };
        let hit = self.hit(status, told);
        let ended = Ended { status, hit };
        self.ended = Some(ended.clone());
        Ok(ended)
    }

    fn hit(&mut self, status: ExitStatus, told: bool) -> Option<Limit> {
        let counted = self.group.take().and_then(Group::finish);
        match status.signal() {
            Some(libc::SIGXFSZ) if told => Some(Limit::FileSize),
            Some(libc::SIGXCPU) if told => Some(Limit::CpuTime),
            _ => counted,
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.kill();
        let _ = self.wait();
    }
}

/// What the first process said next; `None` when it said nothing and is gone.
pub(crate) fn receive(pipe: BorrowedFd<'_>) -> Option<Message> {
    let mut bytes = [0; LENGTH];
    // Written at once, so read at once.
    let count = retry_on_intr(|| rustix::io::read(pipe, &mut bytes)).ok()?;
    (count == LENGTH)
        .then(|| Message::from_bytes(bytes))
        .flatten()
}

/// The end of a program that was killed together with the process that would have
/// told of it.
fn killed(first: &WaitIdStatus) -> ExitStatus {
    ExitStatus::from_raw(first.terminating_signal().unwrap_or(libc::SIGKILL))
}
