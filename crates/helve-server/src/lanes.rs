//! Threads that serve connections, each those that it was given.
//!
//! What a connection asks for is done by the thread that reads it, and so is what that
//! starts. Between threads that take work off each other a call goes back and forth, and to
//! wake them costs as much as the call itself.

use std::io;
use std::net::{SocketAddr, TcpStream as Plain};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// More would only open more connections to the servers behind.
const MOST: usize = 8;

/// How long work may take to end that nobody waits for.
const LINGER: Duration = Duration::from_millis(500);

/// A thread for every second processor, because who calls, and the servers behind, are mostly
/// on the same machine; two at least, so that whoever is held up holds up only some. What
/// runs on them ends when they are dropped; they are to outlive all that calls have started.
#[derive(Debug)]
pub struct Lanes(Vec<Lane>);

#[derive(Debug)]
struct Lane {
    runtime: Handle,
    over: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Lanes {
    /// Starts the threads.
    pub fn start() -> io::Result<Self> {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        Self::of((count / 2).clamp(2, MOST))
    }

    fn of(count: usize) -> io::Result<Self> {
        let lanes = (0..count).map(|_| Lane::start());
        lanes.collect::<io::Result<_>>().map(Self)
    }

    /// Serves until `closing`, and then until all requests have their answers.
    pub async fn serve(
        &self,
        mut listener: TcpListener,
        router: Router,
        closing: CancellationToken,
    ) -> io::Result<()> {
        let at = listener.local_addr()?;
        let (mut doors, mut serving) = (Vec::new(), Vec::new());
        for lane in &self.0 {
            // Whoever waits here holds a file, of which there is an end.
            let (door, given) = mpsc::unbounded_channel();
            let served = axum::serve(Given { given, at }, router.clone().into_make_service())
                .with_graceful_shutdown(closing.clone().cancelled_owned());
            serving.push(lane.runtime.spawn(served.into_future()));
            doors.push(door);
        }
        for number in 0.. {
            let (stream, from) = tokio::select! {
                accepted = Listener::accept(&mut listener) => accepted,
                () = closing.cancelled() => break,
            };
            // Without it every answer waits for the other side's acknowledgement.
            let _ = stream.set_nodelay(true);
            if let Ok(stream) = stream.into_std() {
                // One that is gone has stopped serving, which all do together.
                let _ = doors[spread(number, doors.len())].send((stream, from));
            }
        }
        drop(listener);
        let mut ended = Ok(());
        for served in serving {
            let served = served.await.map_err(io::Error::other).flatten();
            ended = ended.and(served);
        }
        ended
    }
}

impl Lane {
    fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let over = CancellationToken::new();
        let ended = over.clone();
        let thread = std::thread::Builder::new()
            .name("lane".to_owned())
            .spawn(move || {
                runtime.block_on(ended.cancelled());
                runtime.shutdown_timeout(LINGER);
            })?;
        Ok(Self {
            runtime: handle,
            over,
            thread: Some(thread),
        })
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.over.cancel();
        if let Some(thread) = self.thread.take() {
            // One that panicked has nothing to say that was not said.
            let _ = thread.join();
        }
    }
}

/// Which of `lanes` has the connection with this number. All get as many, and so they do of
/// every second or third: a client may open one for its calls and one to listen, by turns.
fn spread(number: u64, lanes: usize) -> usize {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let place = u128::from(number.wrapping_mul(GOLDEN)) * lanes as u128;
    (place >> u64::BITS) as usize
}

/// The connections that a lane was given.
struct Given {
    given: mpsc::UnboundedReceiver<(Plain, SocketAddr)>,
    at: SocketAddr,
}

impl Listener for Given {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        while let Some((stream, from)) = self.given.recv().await {
            if let Ok(stream) = TcpStream::from_std(stream) {
                return (stream, from);
            }
        }
        // No more will come; those that are there are served.
        std::future::pending().await
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests;
