//! A program that was started, and all that it started in turn.
//!
//! The program leads a process group of its own. The group can be signalled as
//! long as its leader is not reaped: until then no other process gets its number.
//! So the end of the leader is watched without reaping it, whoever is left is
//! killed, and only then is it reaped.
//!
//! A process that leaves the group (`setsid`) is out of reach here. It holds no
//! run up, but only a sandbox with its own process numbers ends it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep};

use crate::process::Spec;

/// How often is looked where the system does not tell.
const LOOK: Duration = Duration::from_millis(2);

/// How long to wait for what was killed to be gone.
const GONE: Duration = Duration::from_millis(500);

/// A program at work. Dropped before its end, the whole group is killed.
#[derive(Debug)]
pub(crate) struct Group {
    child: Child,
    leader: Pid,
    reaped: bool,
}

impl Group {
    /// Starts a program.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where programs are started"
    )]
    pub(crate) fn start(spec: &Spec) -> io::Result<Self> {
        // What Helve itself was started with, or opened carelessly, is not for tools.
        close_fds::set_fds_cloexec_threadsafe(3, &[]);
        let child = Command::new(&spec.program)
            .arg0(&spec.name)
            .args(&spec.args)
            .env_clear()
            .envs(spec.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&spec.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let leader = id
            .and_then(Pid::from_raw)
            .ok_or_else(|| io::Error::other("the program has no process id"))?;
        Ok(Self {
            child,
            leader,
            reaped: false,
        })
    }

    /// The ends of its standard streams; there once.
    pub(crate) fn pipes(&mut self) -> Option<(ChildStdin, ChildStdout, ChildStderr)> {
        let child = &mut self.child;
        Some((
            child.stdin.take()?,
            child.stdout.take()?,
            child.stderr.take()?,
        ))
    }

    /// Returns when the program has ended. It is not reaped by that.
    pub(crate) async fn ended(&self) {
        let quietly = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        // Listening comes first, so that no end falls between a look and the wait.
        let mut children = signal(SignalKind::child()).ok();
        while let Ok(None) = waitid(WaitId::Pid(self.leader), quietly) {
            match &mut children {
                Some(children) => drop(children.recv().await),
                None => sleep(LOOK).await,
            }
        }
    }

    /// Another hold on what it says; before [`Group::pipes`].
    pub(crate) fn said(&self) -> io::Result<OwnedFd> {
        let none = || io::Error::other("the program has no standard streams");
        let stderr = self.child.stderr.as_ref().ok_or_else(none)?;
        stderr.as_fd().try_clone_to_owned()
    }

    /// Whether it has not ended.
    pub(crate) fn is_alive(&self) -> bool {
        let quietly = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        matches!(waitid(WaitId::Pid(self.leader), quietly), Ok(None))
    }

    /// Asks all of the group to end, and makes the program end after that time.
    pub(crate) async fn stop(&self, grace: Duration) {
        let _ = kill_process_group(self.leader, Signal::TERM);
        if tokio::time::timeout(grace, self.ended()).await.is_err() {
            self.kill();
            self.ended().await;
        }
    }

    /// Kills all of the group.
    pub(crate) fn kill(&self) {
        if !self.reaped {
            let _ = kill_process_group(self.leader, Signal::KILL);
        }
    }

    /// Kills who is left of the group, and waits until they are gone.
    pub(crate) async fn reap(mut self) -> io::Result<ExitStatus> {
        self.kill();
        let status = self.child.wait().await?;
        self.reaped = true;
        // The signal reaches all at once, but not all die at once.
        let enough = Instant::now() + GONE;
        while at_work(self.leader) && Instant::now() < enough {
            sleep(LOOK).await;
        }
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether anybody of a group is left. Who is dead and only waits for a lazy `init`
/// to reap it does not count; where the system does not tell, it does.
fn at_work(group: Pid) -> bool {
    if test_kill_process_group(group).is_err() {
        return false;
    }
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return true;
    };
    let mut stats = processes.filter_map(|process| {
        let path = process.ok()?.path().join("stat");
        std::fs::read_to_string(path).ok()
    });
    stats.any(|stat| {
        // The name comes before, in parentheses, and may hold anything.
        let fields = stat.rsplit_once(") ").map(|(_, fields)| fields);
        let mut fields = fields.unwrap_or_default().split(' ');
        let (state, of) = (fields.next(), fields.nth(1));
        let ours = of.and_then(|of| of.parse().ok()) == Some(group.as_raw_nonzero().get());
        ours && !matches!(state, Some("Z" | "X"))
    })
}

#[cfg(test)]
mod tests;
