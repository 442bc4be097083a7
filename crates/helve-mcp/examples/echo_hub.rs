//! A hub with one tool of its own, which says what it was told: what the kernel, a token, a
//! policy and the durable record cost beside the bare server of `echo_server`.
//!
//! ```sh
//! cargo run --release -p helve-mcp --example echo_hub -- 127.0.0.1:0 FOLDER
//! ```
//!
//! It prints its address, and a token for an agent.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::routing::any;
use helve_core::def::Risk;
use helve_kernel::{Kernel, NewToken, Principal, Tool, ToolDef, ToolName};
use helve_mcp::front::{HttpOptions, HttpService};
use helve_mcp::{Front, Options};
use helve_server::{Hub, Lanes, Settings};
use helve_store::SqliteStore;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The one that the hub itself has.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn echo() -> Result<Tool, Box<dyn Error>> {
    let mut def = ToolDef::new(
        ToolName::new("echo")?,
        "Says what it was told. Use it to try.",
    );
    def.risk = Some(Risk::Read);
    def.idempotent = true;
    def.input_schema = json!({
        "type": "object",
        "properties": {"text": {"type": "string", "description": "What to say"}},
        "required": ["text"],
    });
    Ok(Tool::of_args(def, |args: Value| async move {
        Ok(args["text"].clone())
    }))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (address, folder) = (words.next(), words.next());
    let (Some(address), Some(folder)) = (address, folder) else {
        return Err("usage: echo_hub ADDRESS FOLDER".into());
    };
    let store = SqliteStore::open(&Path::new(&folder).join("hub.db"))?;
    let kernel = Kernel::builder().store(Arc::new(store)).open().await?;
    kernel.add_tool(echo()?)?;
    let person = Principal::person("ann");
    let made = kernel.create_token(&person, NewToken::agent("bench")).await;
    let (_, secret) = made.map_err(|e| e.message)?;
    let listener = tokio::net::TcpListener::bind(&address).await?;
    let here = listener.local_addr()?;
    let settings = Settings {
        hosts: vec![here.to_string()],
        rate: 1_000_000,
        burst: 1_000_000,
        ..Settings::default()
    };
    let front = Front::new(kernel.clone(), None, Options::default());
    let closing = CancellationToken::new();
    let service = HttpService::new(&front, None, &HttpOptions::default(), closing.clone());
    let service = service.ok_or("there is no such view")?;
    let answer = move |request: Request| {
        let service = service.clone();
        async move { service.handle(request).await }
    };
    let doors = Router::new().route("/mcp", any(answer));
    let mut out = std::io::stdout();
    writeln!(out, "http://{here}/mcp {}", secret.reveal())?;
    out.flush()?;
    let router = Hub::new(kernel, settings).router_with(doors);
    let lanes = Lanes::start()?;
    lanes.serve(listener, router, closing).await?;
    Ok(())
}
