//! The protocol over a pair of streams: standard input and output, or a socket.
//!
//! A connection is read line by line. Plain calls of tools are answered here, each in a task
//! of its own ([`OnLine`]); every other line goes on to the protocol library, and calls too
//! until the client has said that it is ready. What both have to say is written by one task,
//! line by line: it is never broken off in the middle of one.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::{
    RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server_with_ct,
};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
    DuplexStream, duplex,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::Session;
use super::direct::OnLine;
use super::handler::Handler;
use super::verbatim::unwrap;

/// How much may be on its way to the library.
const ROOM: usize = 64 * 1024;

/// How many lines may wait to be written.
const WAITING: usize = 16;

/// Longer lines are the library's, which has a limit of its own.
const LONGEST: u64 = 1024 * 1024;

/// How long calls may go on when the client has hung up, as long as the library gives its own.
const FAREWELL: Duration = Duration::from_secs(5);

/// How long the last words may take.
const LAST: Duration = Duration::from_secs(2);

impl Session {
    /// Speaks with one client until it hangs up, or the hub closes.
    pub async fn serve(
        self,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        closing: CancellationToken,
    ) -> Result<(), String> {
        let session = Arc::new(self);
        let (out, lines) = mpsc::channel(WAITING);
        let mut writing = AbortOnDropHandle::new(tokio::spawn(write(lines, writer)));
        let (to_library, from_sieve) = duplex(ROOM);
        let (complaints, heard) = duplex(ROOM);
        let transport = Line {
            library: AsyncRwTransport::new_server(from_sieve, complaints),
            out: out.clone(),
        };
        // Calls end with the hub at once, and some time after their client.
        let over = closing.child_token();
        let _over = over.clone().drop_guard();
        let calls = TaskTracker::new();
        let sieve = Sieve {
            session: session.clone(),
            out: out.clone(),
            calls: calls.clone(),
            over: over.clone(),
        };
        let reading = AbortOnDropHandle::new(tokio::spawn(sieve.read(reader, to_library)));
        let complaining = AbortOnDropHandle::new(tokio::spawn(complain(heard, out)));
        // What is handed over is cancelled at the end of the conversation.
        let served = serve_server_with_ct(Handler(session), transport, closing.child_token()).await;
        let served = match served {
            Ok(running) => running
                .waiting()
                .await
                .map(|_| ())
                .map_err(|e| e.to_string()),
            // A client that hangs up before it says anything has asked nothing.
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        };
        drop(reading);
        calls.close();
        let _ = tokio::time::timeout(FAREWELL, calls.wait()).await;
        // What is not over by then is called off, and says so.
        over.cancel();
        let last_words = async {
            calls.wait().await;
            let _ = complaining.await;
            // Nobody is left who could say anything more.
            let _ = (&mut writing).await;
        };
        let _ = tokio::time::timeout(LAST, last_words).await;
        served
    }
}

/// Where lines go to be written, whole.
type Out = mpsc::Sender<Vec<u8>>;

/// Writes lines until nobody has any more, or the client is gone.
async fn write(mut lines: mpsc::Receiver<Vec<u8>>, mut writer: impl AsyncWrite + Unpin) {
    while let Some(line) = lines.recv().await {
        let written = async {
            writer.write_all(&line).await?;
            writer.flush().await
        };
        if written.await.is_err() {
            return;
        }
    }
}

/// Reads a connection.
struct Sieve {
    session: Arc<Session>,
    out: Out,
    calls: TaskTracker,
    over: CancellationToken,
}

impl Sieve {
    async fn read(self, reader: impl AsyncRead + Unpin, mut library: impl AsyncWrite + Unpin) {
        let mut reader = BufReader::new(reader);
        let mut line = Vec::new();
        // Whether what is read next begins a line.
        let mut fresh = true;
        loop {
            line.clear();
            let mut part = (&mut reader).take(LONGEST);
            let read = part.read_until(b'\n', &mut line).await;
            if !read.is_ok_and(|length| length > 0) {
                return;
            }
            let whole = fresh && line.ends_with(b"\n");
            fresh = line.ends_with(b"\n");
            let call = whole.then(|| OnLine::read(&self.session, &line, &self.over));
            match call.flatten() {
                Some(call) => self.answer(call),
                None if library.write_all(&line).await.is_err() => return,
                None => {}
            }
        }
    }

    fn answer(&self, call: OnLine) {
        let (out, over) = (self.out.clone(), self.over.clone());
        self.calls.spawn(async move {
            let Some(line) = call.answer().await else {
                return;
            };
            // Who does not read is waited for as long as there is a conversation.
            let left = async {
                over.cancelled().await;
                tokio::time::sleep(LAST).await;
            };
            tokio::select! {
                biased;
                // A client that is gone is noticed by whoever reads what it says.
                _ = out.send(line) => {}
                () = left => {}
            }
        });
    }
}

/// What the library reads is what the sieve leaves over; what it writes goes out as lines.
struct Line {
    library: AsyncRwTransport<RoleServer, DuplexStream, DuplexStream>,
    out: Out,
}

impl Transport<RoleServer> for Line {
    type Error = io::Error;

    fn send(
        &mut self,
        mut item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        unwrap(&mut item);
        let out = self.out.clone();
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
            out.send(line).await.map_err(gone)
        }
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleServer>>> + Send {
        self.library.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.library.close()
    }
}

/// Gives on what the library has to say about lines that are no messages.
async fn complain(heard: DuplexStream, out: Out) {
    let mut lines = BufReader::new(heard);
    let mut line = Vec::new();
    while lines
        .read_until(b'\n', &mut line)
        .await
        .is_ok_and(|n| n > 0)
    {
        if out.send(std::mem::take(&mut line)).await.is_err() {
            return;
        }
    }
}
