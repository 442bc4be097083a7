//! The door for MCP clients of an open hub: over HTTP beside the other routes, and over a
//! socket for `helve mcp` in the same workspace.

use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::routing::any;
use helve_mcp::Front;
use helve_mcp::front::{HttpOptions, HttpService};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

use super::Open;
use crate::exit::Failure;
use crate::out;
use crate::state::State;

/// How long a client of the socket may take to say who it is, and in how many bytes.
const GREETING: Duration = Duration::from_secs(5);
const GREETING_BYTES: u64 = 4096;

/// How long to wait after a client could not be taken.
const PAUSE: Duration = Duration::from_millis(100);

/// `/mcp`, and `/mcp/<name>` for every view.
pub(super) fn routes(
    front: &Front,
    views: &[String],
    body_limit: usize,
    closing: &CancellationToken,
) -> Router {
    let options = HttpOptions {
        body_limit,
        ..HttpOptions::default()
    };
    let mut router = Router::new();
    let all = views.iter().map(|name| Some(name.as_str()));
    for view in [None].into_iter().chain(all) {
        let path = view.map_or_else(|| "/mcp".to_owned(), |name| format!("/mcp/{name}"));
        let service = HttpService::new(front, view, &options, closing.child_token());
        if let Some(service) = service {
            let answer = move |request: Request| {
                let service = service.clone();
                async move { service.handle(request).await }
            };
            router = router.route(&path, any(answer));
        }
    }
    router
}

impl Open {
    /// Takes clients on the socket of the workspace until the hub closes.
    pub(super) fn listen(&self) -> Result<(), Failure> {
        let path = self.state.socket();
        // Whoever has the store has the socket; what is there was left behind.
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).map_err(|e| {
            Failure::output(format!("cannot listen on `{}`: {e}", path.display()))
                .hint("is the path of the workspace very long?")
        })?;
        let (front, closing) = (self.front.clone(), self.closing.clone());
        let kernel = self.kernel().clone();
        let clients = self.tasks.clone();
        self.tasks.spawn(async move {
            loop {
                let stream = tokio::select! {
                    () = closing.cancelled() => break,
                    accepted = listener.accept() => match accepted {
                        Ok((stream, _)) => stream,
                        Err(e) => {
                            out::warn(&format!("a client could not be taken: {e}"));
                            // Without descriptors it fails at once, again and again.
                            tokio::time::sleep(PAUSE).await;
                            continue;
                        }
                    },
                };
                let (front, closing) = (front.clone(), closing.clone());
                let kernel = kernel.clone();
                clients.spawn(async move {
                    let (reader, mut writer) = stream.into_split();
                    let mut reader = BufReader::new(reader);
                    let greeting = tokio::time::timeout(GREETING, greeting(&mut reader)).await;
                    let said = greeting.ok().flatten().unwrap_or_default();
                    let who = said["token"].as_str().and_then(|t| kernel.authenticate(t));
                    let view = said["view"].as_str();
                    let session = who.map(|who| front.session(view, who));
                    let (answer, session) = match session {
                        Some(Some(session)) => (json!({"ok": true}), Some(session)),
                        Some(None) => (json!({"error": "there is no such view"}), None),
                        None => (json!({"error": "the token does not count"}), None),
                    };
                    let line = format!("{answer}\n");
                    if writer.write_all(line.as_bytes()).await.is_err() {
                        return;
                    }
                    if let Some(session) = session {
                        // How a conversation ends is the client's affair.
                        let _ = session.serve(reader, writer, closing).await;
                    }
                });
            }
            let _ = std::fs::remove_file(&path);
        });
        Ok(())
    }
}

async fn greeting(reader: &mut (impl tokio::io::AsyncBufRead + Unpin)) -> Option<Value> {
    let mut line = Vec::new();
    let mut limited = reader.take(GREETING_BYTES);
    limited.read_until(b'\n', &mut line).await.ok()?;
    serde_json::from_slice(&line).ok()
}

/// Connects to the hub that runs in a workspace, as the owner of a token.
pub(crate) async fn connect(
    state: &State,
    token: &str,
    view: Option<&str>,
) -> Result<UnixStream, Failure> {
    let gone = |e: std::io::Error| {
        Failure::output(format!("the hub of this workspace does not answer: {e}"))
            .hint("is it just stopping? try again")
    };
    let mut stream = UnixStream::connect(state.socket()).await.map_err(gone)?;
    let line = format!("{}\n", json!({"token": token, "view": view}));
    stream.write_all(line.as_bytes()).await.map_err(gone)?;
    // Byte by byte: what follows the line belongs to the client.
    let mut answer = Vec::new();
    loop {
        let byte = stream.read_u8().await.map_err(gone)?;
        if byte == b'\n' || answer.len() > 1024 {
            break;
        }
        answer.push(byte);
    }
    let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
    match answer["error"].as_str() {
        Some(error) => Err(Failure::input(format!("the hub refuses: {error}"))
            .hint("`helve token create` makes a token; `mcp.views` of helve.toml has the views")),
        None => Ok(stream),
    }
}
