//! A process that has scripts loaded and calls what is in them, one call at a time.
//!
//! It speaks on two descriptors of its own. What a script prints lands elsewhere, in the
//! log, and cannot be taken for an answer.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use helve_kernel::{Report, Reporting, Stream, ToolError};
use helve_sandbox::Limit;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::asks::Asks;
use super::wire::{Described, Frames, Outcome, Said, framed};
use crate::capture::MOST;
use crate::process::{Log, Sink, Spec, filled};
use crate::running::{Input, Output, Place, Running, Unstarted};

/// The protocol that both sides speak.
const PROTOCOL: u32 = 1;

/// How long an interpreter may take to start.
const START: Duration = Duration::from_secs(30);

/// What is remembered of what was printed last, for whoever asks why it ended.
const LAST: usize = 2000;

/// Puts both descriptors aside and lets all that is printed go to standard error.
const ASIDE: &str = r#"exec 3>&1 4<&0 1>&2 0</dev/null; exec "$@""#;

/// A worker.
pub(crate) struct Worker {
    running: Box<dyn Running>,
    input: Input,
    frames: Frames,
    printed: Printed,
    calls: u64,
    /// Since when it does nothing.
    pub(crate) idle: Instant,
    /// What its files were when it was started.
    pub(crate) stamp: Vec<(PathBuf, u64, i64, i64)>,
}

/// What a script prints.
struct Printed {
    pipe: Output,
    /// The same pipe, past the runtime.
    said: OwnedFd,
    open: bool,
    last: VecDeque<u8>,
    total: u64,
}

/// One call.
pub(crate) struct Request<'r> {
    pub(crate) message: Value,
    pub(crate) sink: &'r dyn Sink,
    pub(crate) stop: &'r CancellationToken,
    pub(crate) reporting: &'r Reporting,
    /// Where what it changes is held back, and what must be left there.
    pub(crate) stage: Option<(PathBuf, u64)>,
}

/// Why a worker gave no answer.
#[derive(Debug)]
pub(crate) enum Broken {
    /// Somebody stopped it, or its time was up.
    Stopped,
    /// It ended.
    Ended,
    /// It said what nobody understands.
    Nonsense(io::Error),
    /// It prints without end.
    Endless,
    /// The disk is nearly full.
    Full(u64),
}

impl Worker {
    /// Starts an interpreter with these words, and waits until it is ready.
    pub(crate) async fn start(
        mut spec: Spec,
        words: Vec<String>,
        place: &dyn Place,
    ) -> Result<Self, Unstarted> {
        let interpreter = spec.name;
        spec.name = "sh".to_owned();
        spec.args = ["-c", ASIDE, "-", &interpreter].map(str::to_owned).to_vec();
        spec.args.extend(words);
        let mut running = place.start(&spec).await?;
        let said = running.said().map_err(ToolError::from)?;
        let (input, output, printed) = running.pipes().map_err(ToolError::from)?;
        let mut worker = Self {
            running,
            input,
            frames: Frames::new(output),
            printed: Printed {
                pipe: printed,
                said,
                open: true,
                last: VecDeque::new(),
                total: 0,
            },
            calls: 0,
            idle: Instant::now(),
            stamp: Vec::new(),
        };
        let first = timeout(START, worker.frames.next()).await;
        match first {
            Ok(Ok(Some(Said::Ready { protocol: PROTOCOL }))) => Ok(worker),
            Ok(Ok(Some(other))) => {
                let problem = format!("`{interpreter}` speaks otherwise than expected: {other:?}");
                Err(ToolError::internal(problem).into())
            }
            Ok(Ok(None)) => {
                let error = worker.explain(Broken::Ended).await;
                let problem = format!("`{interpreter}` did not start: {}", error.message);
                let hint = "is it the interpreter that the scripts need? `[scripts]` names another";
                Err(ToolError::dependency(problem).with_hint(hint).into())
            }
            Ok(Err(error)) => Err(worker.explain(Broken::Nonsense(error)).await.into()),
            Err(_) => {
                let seconds = START.as_secs();
                let problem = format!("`{interpreter}` was not ready after {seconds} seconds");
                Err(ToolError::dependency(problem).into())
            }
        }
    }

    /// Whether it still runs.
    pub(crate) fn is_alive(&self) -> bool {
        self.running.is_alive()
    }

    pub(crate) fn missing(&self) -> Vec<&'static str> {
        self.running.missing()
    }

    pub(crate) fn has_index(&self) -> bool {
        self.running.has_index()
    }

    pub(crate) fn next_call(&mut self) -> u64 {
        self.calls += 1;
        self.calls
    }

    /// What tools the files have.
    pub(crate) async fn describe(&mut self, files: &[String]) -> Result<Vec<Described>, Broken> {
        let message = json!({"op": "describe", "files": files});
        let mut outgoing = Outgoing(framed(&message).into());
        let nowhere = Nowhere;
        let mut log = Log::of(Stream::Stderr, &nowhere);
        loop {
            let (input, frames, printed) = (&mut self.input, &mut self.frames, &mut self.printed);
            tokio::select! {
                biased;
                said = frames.next() => match said.map_err(Broken::Nonsense)? {
                    Some(Said::Described { files }) => return Ok(files),
                    Some(_) => {}
                    None => return Err(Broken::Ended),
                },
                piece = printed.next() => printed.take(&piece, &mut log).await?,
                () = outgoing.write(input) => {}
            }
        }
    }

    /// Calls a tool, and does what it asks for meanwhile.
    pub(crate) async fn call(
        &mut self,
        request: Request<'_>,
        mut asks: Asks<'_>,
    ) -> Result<Outcome, Broken> {
        // What was printed since the last call is nobody's.
        self.printed.drain(None).await?;
        self.printed.total = 0;
        let mut outgoing = Outgoing(framed(&request.message).into());
        let mut log = Log::of(Stream::Stderr, request.sink);
        let id = self.calls;
        let outcome = loop {
            let (input, frames, printed) = (&mut self.input, &mut self.frames, &mut self.printed);
            tokio::select! {
                biased;
                () = request.stop.cancelled() => break Err(Broken::Stopped),
                said = frames.next() => match said {
                    Ok(Some(Said::Result(outcome))) if outcome.id == id => break Ok(outcome),
                    Ok(Some(Said::Ask(asked))) => asks.begin(asked),
                    Ok(Some(Said::Log { level, text })) => {
                        log.push(format!("{level}: {text}\n").as_bytes()).await;
                    }
                    Ok(Some(Said::Progress { done, total, message })) => {
                        request.reporting.say(report(done, total, message));
                    }
                    // Of a call that was over before.
                    Ok(Some(_)) => {}
                    Ok(None) => break Err(Broken::Ended),
                    Err(error) => break Err(Broken::Nonsense(error)),
                },
                piece = printed.next() => printed.take(&piece, &mut log).await?,
                answer = asks.next() => outgoing.0.extend(framed(&answer)),
                () = outgoing.write(input) => {}
                () = full(request.stage.as_ref()) => {
                    let left = request.stage.as_ref().map_or(0, |(_, room)| *room);
                    break Err(Broken::Full(left));
                }
            }
        };
        asks.end().await;
        // Whatever it printed before it answered is in the pipe.
        self.printed.drain(Some(&mut log)).await?;
        outcome
    }

    /// Ends it, and waits until all that it started is gone.
    pub(crate) async fn end(self) -> Result<(), ToolError> {
        drop(self.input);
        self.running.kill();
        self.running.reap().await.map(drop)
    }

    /// What it means that there is no answer. Ends the worker.
    pub(crate) async fn explain(mut self, broken: Broken) -> ToolError {
        let grace = Duration::from_millis(200);
        if matches!(broken, Broken::Ended) {
            // It closed its side; it may be on its way out.
            let _ = timeout(grace, self.running.ended()).await;
        }
        let _ = self.printed.drain(None).await;
        self.running.kill();
        let last = self.printed.last();
        let end = self.running.reap().await;
        let said = |problem: String| match last.as_str() {
            "" => problem,
            text => format!("{problem}:\n{text}"),
        };
        match broken {
            Broken::Stopped => {
                ToolError::timeout("stopped before it ended; whether it took effect is unknown")
            }
            Broken::Full(room) => {
                let left = room >> 20;
                let problem = format!(
                    "it filled the disk: less than {left} MiB are left for what it changes"
                );
                ToolError::dependency(problem).with_hint("it was stopped, and nothing was changed")
            }
            Broken::Endless => {
                ToolError::internal(format!("its output did not end: more than {MOST} bytes"))
                    .with_hint("let it print less; it was stopped")
            }
            Broken::Nonsense(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                ToolError::internal(format!("its result is too long: {error}"))
                    .with_hint("write what is long to a file, and answer with its path")
            }
            Broken::Nonsense(error) => {
                ToolError::internal(said(format!("it wrote what nobody understands: {error}")))
            }
            Broken::Ended => {
                let hit = end.as_ref().ok().and_then(|end| end.hit);
                let how = match (hit, &end) {
                    (Some(Limit::Memory), _) => "ran out of the memory that it may use".to_owned(),
                    (_, Ok(end)) => format!("ended in the middle of the call ({})", end.status),
                    (_, Err(error)) => {
                        format!("ended in the middle of the call: {}", error.message)
                    }
                };
                ToolError::internal(said(format!("the process of the tool {how}")))
                    .with_hint("the next call starts another; what this one had done is unknown")
            }
        }
    }
}

impl Printed {
    /// The next that was printed; what is empty is the end of it.
    async fn next(&mut self) -> Vec<u8> {
        if !self.open {
            return std::future::pending().await;
        }
        let mut piece = Vec::with_capacity(8 * 1024);
        if self.pipe.read_buf(&mut piece).await.is_err() {
            piece.clear();
        }
        piece
    }

    async fn take(&mut self, piece: &[u8], log: &mut Log<'_>) -> Result<(), Broken> {
        if piece.is_empty() {
            self.open = false;
            return Ok(());
        }
        self.remember(piece)?;
        log.push(piece).await;
        Ok(())
    }

    fn remember(&mut self, piece: &[u8]) -> Result<(), Broken> {
        self.total += piece.len() as u64;
        self.last.extend(piece);
        self.last.drain(..self.last.len().saturating_sub(LAST));
        match self.total > MOST {
            true => Err(Broken::Endless),
            false => Ok(()),
        }
    }

    /// Takes all that is there, without waiting for more.
    async fn drain(&mut self, mut log: Option<&mut Log<'_>>) -> Result<(), Broken> {
        let mut buffer = [0; 8 * 1024];
        // The runtime may not have heard of it yet.
        while let Ok(count @ 1..) = rustix::io::read(&self.said, &mut buffer) {
            let piece = &buffer[..count];
            self.remember(piece)?;
            if let Some(log) = &mut log {
                log.push(piece).await;
            }
        }
        Ok(())
    }

    fn last(&self) -> String {
        let bytes: Vec<u8> = self.last.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }
}

/// What is still to be written. It goes out while answers come in, so that neither side
/// waits for the other.
struct Outgoing(VecDeque<u8>);

impl Outgoing {
    /// Writes some of it. Waits for ever where there is nothing, or nobody to read it.
    async fn write(&mut self, pipe: &mut Input) {
        if self.0.is_empty() {
            return std::future::pending().await;
        }
        match pipe.write(self.0.make_contiguous()).await {
            Ok(count @ 1..) => drop(self.0.drain(..count)),
            // That it ended shows where answers are read.
            Ok(0) | Err(_) => std::future::pending().await,
        }
    }
}

/// For what nobody wants to read.
pub(crate) struct Nowhere;

#[async_trait::async_trait]
impl Sink for Nowhere {
    async fn log(&self, _: Stream, _: Vec<u8>) {}
}

async fn full(stage: Option<&(PathBuf, u64)>) {
    match stage {
        Some((stage, room)) => filled(Some(stage), *room).await,
        None => std::future::pending().await,
    }
}

fn report(done: f64, total: Option<f64>, message: Option<String>) -> Report {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "past the ends it stays at them"
    )]
    let whole = |number: f64| number as u64;
    Report {
        done: whole(done),
        total: total.map(whole),
        message: message.unwrap_or_default(),
    }
}
