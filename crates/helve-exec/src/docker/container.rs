//! A container at work.
//!
//! Output is read by attaching before the start, so that none is missed and the engine
//! keeps none. The end of the container's first process is the end of all of it.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bollard::container::{AttachContainerResults, LogOutput};
use bollard::errors::Error;
use bollard::models::ContainerState;
use bollard::query_parameters::{
    InspectContainerOptions, KillContainerOptions, WaitContainerOptions,
};
use futures_util::{Stream, StreamExt};
use helve_kernel::ToolError;
use helve_sandbox::Limit;
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::engine::{Engine, cause, is_gone};
use crate::running::{End, Pipes, Running};

/// What of a stream may be on its way between engine and reader.
const BUFFER: usize = 64 * 1024;

/// How long the engine may take to hand over what a container wrote before its end.
const LINGER: Duration = Duration::from_secs(30);

/// How long a container may take to be gone when it was killed.
const GONE: Duration = Duration::from_secs(20);

/// How long the engine may take to pass on a signal.
const ANSWER: Duration = Duration::from_secs(10);

/// What a shell, an init and every engine add to a signal to make an exit code of it.
const SIGNALLED: i64 = 128;
const LAST_SIGNAL: i64 = 64;

/// A container at work.
pub(crate) struct Container {
    engine: Engine,
    name: String,
    /// Taken once; what bollard gives cannot be shared without a lock.
    pipes: Mutex<Option<Pipes>>,
    /// Takes the two streams of output apart.
    flow: AbortOnDropHandle<()>,
    /// Why nobody can tell any more what it does.
    lost: OnceLock<String>,
}

impl Container {
    /// One that is about to be started.
    pub(crate) fn attached(engine: Engine, name: String, attached: AttachContainerResults) -> Self {
        let (out, out_end) = tokio::io::duplex(BUFFER);
        let (err, err_end) = tokio::io::duplex(BUFFER);
        let flow = tokio::spawn(part(attached.output, out_end, err_end));
        Self {
            engine,
            name,
            pipes: Mutex::new(Some((
                Box::new(attached.input),
                Box::new(out),
                Box::new(err),
            ))),
            flow: AbortOnDropHandle::new(flow),
            lost: OnceLock::new(),
        }
    }

    async fn signal(&self, signal: &str) {
        let signal = KillContainerOptions {
            signal: signal.to_owned(),
        };
        // One that has ended cannot be killed; one that cannot be reached is found lost.
        let sent = self.engine.docker.kill_container(&self.name, Some(signal));
        let _ = timeout(ANSWER, sent).await;
    }

    fn is_lost(&self, error: &Error) {
        self.engine.give_up();
        let _ = self.lost.set(cause(error));
    }

    fn unknown(&self, why: &str) -> ToolError {
        ToolError::dependency(format!(
            "the container engine went away in the middle ({why}); whether it took effect is \
             unknown"
        ))
        .with_hint("nothing was changed in files here; what is left of it is removed when the engine is back")
    }
}

#[async_trait]
impl Running for Container {
    fn pipes(&mut self) -> io::Result<Pipes> {
        let none = || io::Error::other("the container has no standard streams");
        let pipes = self.pipes.get_mut().unwrap_or_else(PoisonError::into_inner);
        pipes.take().ok_or_else(none)
    }

    fn missing(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn has_index(&self) -> bool {
        // Asked for with every overlay; one without it is not mounted.
        true
    }

    fn linger(&self) -> Duration {
        LINGER
    }

    async fn ended(&self) {
        loop {
            let options = WaitContainerOptions::default();
            let mut wait = Box::pin(self.engine.docker.wait_container(&self.name, Some(options)));
            match wait.next().await {
                // Any code but 0 comes as an error.
                Some(Ok(_) | Err(Error::DockerContainerWaitError { .. })) => return,
                // Not yet.
                Some(Err(Error::RequestTimeoutError)) => {}
                Some(Err(error)) => return self.is_lost(&error),
                None => {
                    self.engine.give_up();
                    let _ = self.lost.set("it hung up".to_owned());
                    return;
                }
            }
        }
    }

    async fn stop(&self, grace: Duration) {
        self.signal("SIGTERM").await;
        if timeout(grace, self.ended()).await.is_err() {
            self.signal("SIGKILL").await;
            if timeout(GONE, self.ended()).await.is_err() {
                self.engine.give_up();
                let why = "it does not end what it was told to kill".to_owned();
                let _ = self.lost.set(why);
            }
        }
    }

    fn kill(&self) {
        // With its first process, all of a container has ended.
    }

    async fn reap(self: Box<Self>) -> Result<End, ToolError> {
        if let Some(why) = self.lost.get() {
            return Err(self.unknown(why));
        }
        let options = None::<InspectContainerOptions>;
        let found = self.engine.docker.inspect_container(&self.name, options);
        let state = match found.await {
            Ok(found) => found.state.unwrap_or_default(),
            Err(error) if is_gone(&error) => {
                return Err(self.unknown("somebody removed the container"));
            }
            Err(error) => {
                self.engine.give_up();
                return Err(self.unknown(&cause(&error)));
            }
        };
        self.flow.abort();
        let _ = self.flow.await;
        Ok(end(&state))
    }
}

/// How a container ended. A signal comes as a code above 128; no engine tells it from a
/// program that ends with that code.
fn end(state: &ContainerState) -> End {
    let code = state.exit_code.unwrap_or(SIGNALLED + 9);
    let signal = code - SIGNALLED;
    let raw = match (1..=LAST_SIGNAL).contains(&signal) {
        true => signal,
        false => (code & 0xff) << 8,
    };
    End {
        status: ExitStatus::from_raw(i32::try_from(raw).unwrap_or(9)),
        hit: state.oom_killed.unwrap_or(false).then_some(Limit::Memory),
    }
}

/// Takes the two streams of a container apart. What nobody reads any more is dropped: the
/// container must not stand still for it.
async fn part(
    mut output: impl Stream<Item = Result<LogOutput, Error>> + Unpin,
    mut out: DuplexStream,
    mut err: DuplexStream,
) {
    while let Some(Ok(piece)) = output.next().await {
        let _ = match piece {
            LogOutput::StdErr { message } => err.write_all(&message).await,
            LogOutput::StdOut { message } | LogOutput::Console { message } => {
                out.write_all(&message).await
            }
            LogOutput::StdIn { .. } => Ok(()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_signals() {
        for (code, oom, wanted) in [
            (0, false, (Some(0), None)),
            (7, false, (Some(7), None)),
            (75, false, (Some(75), None)),
            (128, false, (Some(128), None)),
            (255, false, (Some(255), None)),
            (137, false, (None, Some(9))),
            (143, false, (None, Some(15))),
            (137, true, (None, Some(9))),
        ] {
            let end = end(&ContainerState {
                exit_code: Some(code),
                oom_killed: Some(oom),
                ..ContainerState::default()
            });
            assert_eq!((end.status.code(), end.status.signal()), wanted, "{code}");
            assert_eq!(end.hit, oom.then_some(Limit::Memory));
        }
    }
}
