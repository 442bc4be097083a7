//! The server that the conformance suite wants to meet: every tool, resource and
//! prompt that its scenarios name, in both eras of the protocol.
//!
//! It is plain rmcp, without Helve. Run directly, it shows what the library can
//! reach; behind a hub, whatever fails then was lost on the way.
//!
//! ```sh
//! cargo run -p helve-mcp --example conformance_server -- --listen 127.0.0.1:0
//! ```
//!
//! Without `--listen` it speaks over standard input and output. With `--page N`
//! its list of tools comes in pages.

mod asking;
mod catalog;
mod changes;
mod prompts;
mod resources;
mod rounds;
mod server;
mod tasks;
mod tools;

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use axum::serve::ListenerExt as _;
use rmcp::ServiceExt as _;
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

use server::{Fixture, Shared};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut listen = None;
    let mut page = None;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match (word.as_str(), words.next()) {
            ("--listen", Some(address)) => listen = Some(address),
            ("--page", Some(size)) => page = Some(size.parse()?),
            _ => return Err("usage: conformance_server [--listen ADDRESS] [--page SIZE]".into()),
        }
    }
    match listen {
        Some(address) => serve_http(&address, page).await,
        None => {
            let fixture = Fixture::new(Arc::new(Shared::new(None, page)));
            let running = fixture.serve(rmcp::transport::stdio_pipes()).await?;
            running.waiting().await?;
            Ok(())
        }
    }
}

async fn serve_http(address: &str, page: Option<usize>) -> Result<(), Box<dyn Error>> {
    let sessions = Arc::new(LocalSessionManager::default());
    let shared = Arc::new(Shared::new(Some(Arc::clone(&sessions)), page));
    let service = StreamableHttpService::new(
        move || Ok(Fixture::new(Arc::clone(&shared))),
        sessions,
        StreamableHttpServerConfig::default().with_allowed_origins([
            "http://localhost:*",
            "http://127.0.0.1:*",
            "http://[::1]:*",
        ]),
    );
    let listener = tokio::net::TcpListener::bind(address).await?;
    let mut out = std::io::stdout();
    writeln!(out, "http://{}/mcp", listener.local_addr()?)?;
    out.flush()?;
    // Without it a small answer waits for the acknowledgement of the one before.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, axum::Router::new().route_service("/mcp", service)).await?;
    Ok(())
}
