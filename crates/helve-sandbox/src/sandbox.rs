//! Starting a program in a sandbox.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::cgroup::Group;
use crate::error::Error;
use crate::init;
use crate::machine::Machine;
use crate::message::{Failure, Message, Step};
use crate::op::Op;
use crate::plan::{Ends, Plan};
use crate::spec::Spec;
use crate::started::{Started, receive};
use crate::sys::{self, Cloned};

/// What this machine gives to sandboxes, found once. Clones share it.
#[derive(Debug, Clone)]
pub struct Sandbox {
    machine: Arc<Machine>,
}

impl Sandbox {
    /// Looks what this machine gives. What is missing shows when a program is
    /// started, or in [`crate::abilities`].
    pub fn probe() -> Self {
        Self {
            machine: Arc::new(Machine::probe()),
        }
    }

    /// Whether overlays are mounted as root, who keeps their books in attributes that
    /// nobody else can see.
    pub fn is_privileged(&self) -> bool {
        self.machine.privileged
    }

    /// Starts a program. Returns when it is the program that runs, or why it does not.
    ///
    /// Any thread may call this, and end before the program does.
    ///
    /// The first process of the sandbox begins as a copy of this one, so that a start
    /// takes longer the more memory this process has written: about 5 ms for 100 MB.
    pub fn start(&self, spec: &Spec) -> Result<Started, Error> {
        self.start_as(spec, namespaces(spec, &self.machine), |_| {})
    }

    /// The same, after something was changed in the plan: by tests, which take walls
    /// away to see that the others hold.
    fn start_as(
        &self,
        spec: &Spec,
        namespaces: i32,
        change: impl FnOnce(&mut Plan),
    ) -> Result<Started, Error> {
        let machine = &*self.machine;
        let group = match &machine.groups {
            Some(groups) => {
                let group = groups.borrow(&spec.limits);
                Some(group.map_err(|e| Error::setup("making a control group", e))?)
            }
            None => None,
        };
        let (stdin, program_stdin) = pipe(Ours::Write)?;
        let (stdout, program_stdout) = pipe(Ours::Read)?;
        let (stderr, program_stderr) = pipe(Ours::Read)?;
        let (control, init_control) = pipe(Ours::Write)?;
        let (status, init_status) = pipe(Ours::Read)?;
        let ends = Ends {
            stdin: program_stdin,
            stdout: program_stdout,
            stderr: program_stderr,
            control: init_control,
            status: init_status,
        };
        let entrances = group.as_ref().map(Group::entrances);
        let mut plan = Plan::new(spec, machine, ends, entrances.unwrap_or_default())?;
        change(&mut plan);

        let pidfd = launch(&plan, namespaces).map_err(|e| Error::setup("making namespaces", e))?;
        let mut started = Started {
            stdin: Some(stdin),
            stdout: Some(stdout),
            stderr: Some(stderr),
            pidfd,
            control,
            status,
            group,
            notes: 0,
            ended: None,
        };
        // The ends of the program: with them here, no pipe would ever be at its end.
        let ops = plan.into_ops();
        match receive(started.status.as_fd()) {
            Some(Message::Started { notes }) => {
                started.notes = notes;
                Ok(started)
            }
            Some(Message::Failed(failure)) => Err(explain(spec, &ops, failure)),
            Some(Message::Ended { .. }) | None => Err(Error::Vanished),
        }
    }
}

/// Which namespaces a program gets.
fn namespaces(spec: &Spec, machine: &Machine) -> i32 {
    let mut flags =
        libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
    if !spec.network && machine.nowhere.is_none() {
        flags |= libc::CLONE_NEWNET;
    }
    if !machine.privileged {
        flags |= libc::CLONE_NEWUSER;
    }
    flags
}

/// Makes the first process, and returns its pidfd.
fn launch(plan: &Plan, namespaces: i32) -> rustix::io::Result<OwnedFd> {
    // A handler of the hub must not run in the copy: it would write to the hub's pipes.
    let before = sys::block_signals(init::ALL);
    // SAFETY: the child goes to `init::run`, which never returns and keeps to raw
    // system calls on what the plan has.
    let cloned = match unsafe { sys::fork(namespaces) } {
        Ok(Cloned::Child) => init::run(plan),
        Ok(Cloned::Parent(pidfd)) => Ok(pidfd),
        Err(errno) => Err(errno),
    };
    sys::block_signals(before);
    cloned
}

/// Which end of a pipe is the hub's.
#[derive(Clone, Copy)]
enum Ours {
    Read,
    Write,
}

/// A pipe: our end, and the other.
fn pipe(ours: Ours) -> Result<(OwnedFd, OwnedFd), Error> {
    let made = pipe_with(PipeFlags::CLOEXEC).and_then(|(read, write)| {
        // The numbers of the standard streams are taken by the program's own.
        let high = |fd: OwnedFd| match fd.as_raw_fd() {
            0..=2 => fcntl_dupfd_cloexec(&fd, 3),
            _ => Ok(fd),
        };
        Ok((high(read)?, high(write)?))
    });
    let (read, write) = made.map_err(|e| Error::setup("making a pipe", e))?;
    Ok(match ours {
        Ours::Read => (read, write),
        Ours::Write => (write, read),
    })
}

/// A failure of the first process, for people.
fn explain(spec: &Spec, ops: &[Op], failure: Failure) -> Error {
    let source = failure.errno.into();
    match failure.step {
        Step::Exec => Error::Program {
            path: spec.program.clone(),
            source,
        },
        Step::Cwd => Error::Cwd {
            path: spec.cwd.clone(),
            source,
        },
        Step::Mount => {
            let what = ops.get(failure.index).map(Op::what);
            Error::setup(what.unwrap_or_default(), failure.errno)
        }
        step => Error::setup(step.what(), failure.errno),
    }
}

#[cfg(test)]
mod tests;
