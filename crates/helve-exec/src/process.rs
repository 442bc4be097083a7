//! One program, from its start to the last of its children.
//!
//! Input is written while output is read, so that neither waits for the other. The
//! program may leave its input unread and close its output early. When it has
//! ended, whoever is left in its group gets a moment to finish, then is killed: a
//! child in the background holds up no run.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use async_trait::async_trait;
use helve_kernel::{Stream, ToolError};
use helve_sandbox::Limit;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::capture::{Capture, KEPT, MOST, Output};
use crate::running::{End, Place, Unstarted};

/// The most that is read at once.
const CHUNK: usize = 32 * 1024;

/// How much of each stream goes into the log.
const LOGGED: usize = 4 * 1024 * 1024;

/// What is still taken from a pipe when nobody should write to it any more: the
/// most that a pipe can hold.
const LEFT: usize = 1024 * 1024;

/// What must usually be left on the disk, in bytes.
pub(crate) const ROOM: u64 = 64 * 1024 * 1024;

/// How often is looked whether it is.
const ROOM_LOOK: Duration = Duration::from_millis(100);

/// What is started.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spec {
    /// The program's real path, or what it is called where it runs.
    pub(crate) program: PathBuf,
    /// What it is told that its name is.
    pub(crate) name: String,
    /// The elements after the name.
    pub(crate) args: Vec<String>,
    /// All variables that it sees; of two with one name, the later.
    pub(crate) env: Vec<(String, String)>,
    /// Where it runs.
    pub(crate) cwd: PathBuf,
    /// What it can read.
    pub(crate) input: Vec<u8>,
    /// How much of its standard output is kept in memory.
    pub(crate) keep: usize,
    /// Where more than that goes.
    pub(crate) artifacts: Option<PathBuf>,
    /// How long it may take to end when it is told to.
    pub(crate) grace: Duration,
    /// Where what it changes is held back.
    pub(crate) stage: Option<PathBuf>,
    /// What must be left on that disk, in bytes.
    pub(crate) room: u64,
}

/// Where output goes as it comes.
#[async_trait]
pub(crate) trait Sink: Send + Sync {
    /// Takes a piece.
    async fn log(&self, stream: Stream, bytes: Vec<u8>);
}

/// What came of a program that ended by itself.
#[derive(Debug)]
pub(crate) struct Finished {
    /// How it ended.
    pub(crate) status: ExitStatus,
    /// What it wrote to standard output.
    pub(crate) stdout: Output,
    /// What it wrote to standard error.
    pub(crate) stderr: Output,
    /// A limit that it ran into.
    pub(crate) hit: Option<Limit>,
    /// What the machine does not give, and was done without.
    pub(crate) missing: Vec<&'static str>,
    /// Whether its overlays kept hard links together.
    pub(crate) index: bool,
}

/// What has happened, for those who wait for it.
#[derive(Debug, Default)]
struct Signals {
    /// The program has ended.
    ended: CancellationToken,
    /// Nobody holds its output any more.
    closed: CancellationToken,
    /// It wrote more than it may.
    endless: CancellationToken,
    /// Everything that still wrote was killed.
    over: CancellationToken,
    /// There is no room any more for what it changes.
    full: CancellationToken,
}

/// Runs a program. Where `stop` is cancelled first, it is ended and that is an error.
pub(crate) async fn run(
    spec: Spec,
    place: &dyn Place,
    sink: &dyn Sink,
    stop: &CancellationToken,
) -> Result<Finished, Unstarted> {
    if stop.is_cancelled() {
        return Err(ToolError::timeout("stopped before it was started").into());
    }
    let mut group = place.start(&spec).await?;
    let (stdin, stdout, stderr) = group.pipes().map_err(ToolError::from)?;
    let (missing, index) = (group.missing(), group.has_index());
    let folder = &spec.artifacts;
    let mut out = Capture::new(Stream::Stdout, spec.keep, folder.clone());
    let mut err = Capture::new(Stream::Stderr, KEPT, folder.clone());
    let signals = Signals::default();

    let flow = async {
        tokio::join!(
            feed(stdin, &spec.input, &signals),
            pump(stdout, Log::of(Stream::Stdout, sink), &mut out, &signals),
            pump(stderr, Log::of(Stream::Stderr, sink), &mut err, &signals),
        );
        signals.closed.cancel();
    };
    let life = async {
        let stopped = tokio::select! {
            biased;
            () = group.ended() => false,
            () = signals.endless.cancelled() => true,
            () = stop.cancelled() => true,
            () = filled(spec.stage.as_deref(), spec.room) => {
                signals.full.cancel();
                true
            }
        };
        if stopped {
            group.stop(spec.grace).await;
        }
        signals.ended.cancel();
        let _ = timeout(group.linger(), signals.closed.cancelled()).await;
        group.kill();
        signals.over.cancel();
        stopped
    };
    let ((), stopped) = tokio::join!(flow, life);

    let End { status, hit } = group.reap().await?;
    let (stdout, stderr) = (out.finish().await, err.finish().await);
    if signals.endless.is_cancelled() {
        let problem = format!("its output did not end: more than {MOST} bytes on one stream");
        return Err(ToolError::internal(problem)
            .with_hint("let the program write less, or into a file; it was stopped")
            .into());
    }
    if signals.full.is_cancelled() {
        let left = spec.room >> 20;
        let problem =
            format!("it filled the disk: less than {left} MiB are left for what it changes");
        return Err(ToolError::dependency(problem)
            .with_hint("it was stopped, and nothing was changed; make room, or let it write less")
            .into());
    }
    if stopped {
        return Err(ToolError::timeout(
            "stopped before it ended; whether it took effect is unknown",
        )
        .into());
    }
    Ok(Finished {
        status,
        stdout,
        stderr,
        hit,
        missing,
        index,
    })
}

/// Writes the input. Who does not read it, does not: that is no error.
async fn feed(mut pipe: impl AsyncWrite + Unpin, input: &[u8], signals: &Signals) {
    let write = async {
        // Not every pipe tells its other end that it is dropped.
        let _ = pipe.write_all(input).await;
        let _ = pipe.shutdown().await;
    };
    tokio::select! {
        () = write => {}
        () = signals.ended.cancelled() => {}
    }
}

/// Returns when the disk that holds what a program changes is nearly full: what else is
/// on it, the record of this run before all, must have room.
pub(crate) async fn filled(stage: Option<&Path>, room: u64) {
    let Some(stage) = stage else {
        return std::future::pending().await;
    };
    loop {
        tokio::time::sleep(ROOM_LOOK).await;
        if let Ok(disk) = rustix::fs::statvfs(stage)
            && disk.f_bavail.saturating_mul(disk.f_frsize) < room
        {
            return;
        }
    }
}

/// Reads a stream to its end, or until nobody should write to it any more.
async fn pump(
    mut pipe: impl AsyncRead + Unpin,
    mut log: Log<'_>,
    capture: &mut Capture,
    signals: &Signals,
) {
    let mut buffer = vec![0; CHUNK];
    let mut left = LEFT;
    while left > 0 {
        let read = tokio::select! {
            biased;
            read = pipe.read(&mut buffer) => read.unwrap_or(0),
            () = signals.over.cancelled() => 0,
        };
        if read == 0 {
            return;
        }
        let bytes = &buffer[..read];
        let taken = capture.push(bytes).await;
        log.push(bytes).await;
        if taken.is_err() {
            signals.endless.cancel();
            return;
        }
        if signals.over.is_cancelled() {
            left = left.saturating_sub(read);
        }
    }
}

/// The log of one stream, up to its limit.
pub(crate) struct Log<'s> {
    stream: Stream,
    sink: &'s dyn Sink,
    room: usize,
    cut: bool,
}

impl<'s> Log<'s> {
    pub(crate) fn of(stream: Stream, sink: &'s dyn Sink) -> Self {
        Self {
            stream,
            sink,
            room: LOGGED,
            cut: false,
        }
    }

    pub(crate) async fn push(&mut self, bytes: &[u8]) {
        let (bytes, rest) = bytes.split_at(bytes.len().min(self.room));
        self.room -= bytes.len();
        if !bytes.is_empty() {
            self.sink.log(self.stream, bytes.to_owned()).await;
        }
        if !rest.is_empty() && !self.cut {
            self.cut = true;
            let stream = self.stream.as_str();
            let notice = format!("\n… the log has no more than {LOGGED} bytes of {stream} …\n");
            self.sink.log(Stream::Stderr, notice.into_bytes()).await;
        }
    }
}

#[cfg(test)]
mod tests;
