//! A server that is a program of ours: one message a line, through its pipes.
//!
//! The program leads a process group of its own, gets the environment that was configured
//! and nothing else, and ends with the connection: its input is closed, then it is asked to
//! end, then it is killed with all that it started. Should the hub itself be killed, the
//! closed input is what is left to tell it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};
use tokio::process::{Child, ChildStdin, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::tail::Tail;
use super::{Broken, Ear, Link, Message, Origin, Reached, messages, too_large};

/// How long the program may take to end after its input is closed, and after it was asked.
const QUIET: Duration = Duration::from_millis(1500);
const ASKED: Duration = Duration::from_millis(1500);

/// How many messages may wait to be written.
const QUEUE: usize = 64;

/// How many lines in a row may be no messages.
const GARBAGE: usize = 1000;

/// What to start.
pub(crate) struct Program<'s> {
    pub(crate) command: &'s str,
    pub(crate) args: &'s [String],
    pub(crate) env: &'s BTreeMap<String, String>,
    pub(crate) cwd: Option<&'s Path>,
    pub(crate) limit: usize,
}

/// A program that is spoken with.
pub(crate) struct StdioLink {
    lines: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    leader: Pid,
    /// Cancelled when the program is to end, and when it has ended.
    closing: CancellationToken,
    ended: CancellationToken,
    tasks: TaskTracker,
}

impl StdioLink {
    /// Starts the program.
    #[expect(
        clippy::disallowed_methods,
        reason = "a server of the operator's configuration, not a tool"
    )]
    pub(crate) fn start(
        program: &Program<'_>,
        ear: Arc<dyn Ear>,
        tail: &Tail,
    ) -> Result<Arc<Self>, Broken> {
        let never = |why: String| Broken::new(why, Reached::No);
        let mut command = Command::new(program.command);
        command
            .args(program.args)
            .env_clear()
            .envs(program.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(cwd) = program.cwd {
            command.current_dir(cwd);
        }
        let mut child = command
            .spawn()
            .map_err(|e| never(format!("`{}` cannot be started: {e}", program.command)))?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let leader = id
            .and_then(Pid::from_raw)
            .ok_or_else(|| never("the program has no process id".to_owned()))?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(never("the program has no pipes".to_owned()));
        };
        let (lines, queue) = mpsc::channel(QUEUE);
        let link = Arc::new(Self {
            lines: Mutex::new(Some(lines)),
            leader,
            closing: CancellationToken::new(),
            ended: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        link.tasks.spawn(write(stdin, queue));
        link.tasks.spawn(keep(stderr, tail.clone()));
        let reading = read(stdout, program.limit, ear.clone(), tail.clone());
        link.tasks.spawn(live(
            child,
            leader,
            reading,
            link.closing.clone(),
            link.ended.clone(),
            ear,
            tail.clone(),
        ));
        link.tasks.close();
        Ok(link)
    }
}

#[async_trait]
impl Link for StdioLink {
    async fn send(&self, message: Message) -> Result<(), Broken> {
        let gone = || Broken::new("the program has ended", Reached::No);
        let lines = self
            .lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let lines = lines.ok_or_else(gone)?;
        let mut line = serde_json::to_vec(&message)
            .map_err(|e| Broken::new(format!("the message cannot be written: {e}"), Reached::No))?;
        line.push(b'\n');
        lines.send(line).await.map_err(|_| gone())
    }

    async fn close(&self) {
        // With the last sender the pipe is closed.
        self.lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        self.closing.cancel();
        self.ended.cancelled().await;
    }
}

impl Drop for StdioLink {
    fn drop(&mut self) {
        if !self.ended.is_cancelled() {
            let _ = kill_process_group(self.leader, Signal::KILL);
        }
    }
}

async fn write(mut stdin: ChildStdin, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(mut line) = queue.recv().await {
        // What waits together goes together.
        while line.len() < 64 * 1024
            && let Ok(more) = queue.try_recv()
        {
            line.extend_from_slice(&more);
        }
        if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

async fn keep(mut stderr: impl AsyncRead + Unpin, tail: Tail) {
    let mut buffer = vec![0; 8192];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        tail.push(&buffer[..count]);
    }
}

/// Reads messages until there are no more; why, where it was not the program's end.
async fn read(
    stdout: impl AsyncRead + Unpin,
    limit: usize,
    ear: Arc<dyn Ear>,
    tail: Tail,
) -> Option<Broken> {
    let mut reader = BufReader::with_capacity(64 * 1024, stdout);
    let mut line = Vec::new();
    let mut garbage = 0;
    loop {
        let Ok(bytes) = reader.fill_buf().await else {
            return None;
        };
        if bytes.is_empty() {
            return None;
        }
        let end = bytes.iter().position(|b| *b == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        if line.len() + part.len() > limit {
            return Some(too_large(limit));
        }
        let used = part.len() + usize::from(end.is_some());
        let whole = match (end, line.is_empty()) {
            (None, _) => {
                line.extend_from_slice(part);
                None
            }
            (Some(_), true) => Some(messages_of(part)),
            (Some(_), false) => {
                line.extend_from_slice(part);
                let read = messages_of(&line);
                line = Vec::new();
                Some(read)
            }
        };
        reader.consume(used);
        match whole {
            None => {}
            Some(Ok(found)) => {
                for message in found {
                    garbage = 0;
                    ear.heard(message, Origin::Shared);
                }
            }
            Some(Err(problem)) => {
                garbage += 1;
                tail.note(&format!(
                    "a line on its standard output is no message: {problem}"
                ));
                if garbage >= GARBAGE {
                    let why = "it writes lines that are no messages, and nothing else";
                    return Some(Broken::new(why, Reached::Maybe));
                }
            }
        }
    }
}

fn messages_of(line: &[u8]) -> Result<Vec<Message>, String> {
    match line.trim_ascii() {
        [] => Ok(Vec::new()),
        line => messages(line),
    }
}

/// Stays with the program until it and all that it started are gone.
async fn live(
    mut child: Child,
    leader: Pid,
    reading: impl Future<Output = Option<Broken>>,
    closing: CancellationToken,
    ended: CancellationToken,
    ear: Arc<dyn Ear>,
    tail: Tail,
) {
    let mut reading = std::pin::pin!(reading);
    let why = tokio::select! {
        why = &mut reading => why,
        () = gone(leader) => {
            // What it wrote last is still in the pipe; who inherited it is killed first.
            let _ = kill_process_group(leader, Signal::KILL);
            timeout(QUIET, &mut reading).await.ok().flatten()
        }
        () = closing.cancelled() => {
            if timeout(QUIET, gone(leader)).await.is_err() {
                let _ = kill_process_group(leader, Signal::TERM);
                let _ = timeout(ASKED, gone(leader)).await;
            }
            None
        }
    };
    // One that closed its output, or broke the rules, is ended like one that is closed.
    if why.is_none() && !closing.is_cancelled() {
        let _ = timeout(QUIET, gone(leader)).await;
    }
    // Not reaped yet, so that the number of the group is nobody else's.
    let _ = kill_process_group(leader, Signal::KILL);
    let status = child.wait().await;
    let broken = why.unwrap_or_else(|| {
        let status = status.map_or_else(|e| e.to_string(), |s| s.to_string());
        let last = tail
            .last_line()
            .map(|l| format!("; its last words: {l}"))
            .unwrap_or_default();
        Broken::new(
            format!("the program has ended ({status}){last}"),
            Reached::Maybe,
        )
    });
    ended.cancel();
    ear.closed(broken);
}

/// Returns when the program has ended. It is not reaped by that.
async fn gone(leader: Pid) {
    let quietly = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let mut children = signal(SignalKind::child()).ok();
    while let Ok(None) = waitid(WaitId::Pid(leader), quietly) {
        match &mut children {
            Some(children) => drop(children.recv().await),
            None => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}
