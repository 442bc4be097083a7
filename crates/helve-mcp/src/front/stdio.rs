//! The protocol over a pair of streams: standard input and output, or a socket.
//!
//! A connection is read line by line. Plain calls of tools are answered here, each in a task
//! of its own ([`OnLine`]); every other line goes on to the protocol library, and calls too
//! until the client has said that it is ready. Both write whole lines to the one output.

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
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::Session;
use super::direct::OnLine;
use super::handler::Handler;
use super::verbatim::unwrap;

/// How much may be on its way to the library.
const ROOM: usize = 64 * 1024;

/// Longer lines are the library's, which has a limit of its own.
const LONGEST: u64 = 1024 * 1024;

/// How long calls may go on when the client has hung up, as long as the library gives its own.
const FAREWELL: Duration = Duration::from_secs(5);

impl Session {
    /// Speaks with one client until it hangs up, or the hub closes.
    pub async fn serve(
        self,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        closing: CancellationToken,
    ) -> Result<(), String> {
        let session = Arc::new(self);
        let out = Out(Arc::new(Mutex::new(writer)));
        let (to_library, from_sieve) = duplex(ROOM);
        let (complaints, heard) = duplex(ROOM);
        let transport = Line {
            library: AsyncRwTransport::new_server(from_sieve, complaints),
            out: out.clone(),
        };
        let over = CancellationToken::new();
        let _over = over.clone().drop_guard();
        let sieve = Sieve {
            session: session.clone(),
            out: out.clone(),
            calls: TaskTracker::new(),
            over: over.clone(),
        };
        let calls = sieve.calls.clone();
        let _reading = AbortOnDropHandle::new(tokio::spawn(sieve.read(reader, to_library)));
        let _complaining = AbortOnDropHandle::new(tokio::spawn(complain(heard, out)));
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
        calls.close();
        // What is not over by then is called off.
        let _ = tokio::time::timeout(FAREWELL, calls.wait()).await;
        served
    }
}

/// The one output: whoever writes, writes a whole line.
struct Out<W>(Arc<Mutex<W>>);

impl<W> Clone for Out<W> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<W: AsyncWrite + Unpin> Out<W> {
    async fn line(&self, line: &[u8]) -> io::Result<()> {
        let mut writer = self.0.lock().await;
        writer.write_all(line).await?;
        writer.flush().await
    }
}

/// Reads a connection.
struct Sieve<W> {
    session: Arc<Session>,
    out: Out<W>,
    calls: TaskTracker,
    over: CancellationToken,
}

impl<W: AsyncWrite + Send + Unpin + 'static> Sieve<W> {
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
        let out = self.out.clone();
        self.calls.spawn(async move {
            if let Some(line) = call.answer().await {
                // A client that is gone is noticed by whoever reads what it says.
                let _ = out.line(&line).await;
            }
        });
    }
}

/// What the library reads is what the sieve leaves over; what it writes goes out as lines.
struct Line<W> {
    library: AsyncRwTransport<RoleServer, DuplexStream, DuplexStream>,
    out: Out<W>,
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for Line<W> {
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
            out.line(&line).await
        }
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleServer>>> + Send {
        self.library.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.library.close()
    }
}

/// Writes what the library has to say about lines that are no messages.
async fn complain<W: AsyncWrite + Unpin>(heard: DuplexStream, out: Out<W>) {
    let mut lines = BufReader::new(heard);
    let mut line = Vec::new();
    while lines
        .read_until(b'\n', &mut line)
        .await
        .is_ok_and(|n| n > 0)
    {
        if out.line(&line).await.is_err() {
            return;
        }
        line.clear();
    }
}
