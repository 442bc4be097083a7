//! The barest server of rmcp: one tool that says what it was told, as a measure of what
//! everything else costs.
//!
//! ```sh
//! cargo run --release -p helve-mcp --example echo_server -- --listen 127.0.0.1:0
//! ```
//!
//! Without `--listen` it speaks over standard input and output.

use std::error::Error;
use std::io::Write as _;
use std::sync::{Arc, LazyLock};

use axum::serve::ListenerExt as _;
use rmcp::model::*;
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::{ErrorData, ServerHandler, ServiceExt as _};
use serde_json::{Value, json};

#[derive(Clone)]
struct Echo;

static TOOL: LazyLock<Tool> = LazyLock::new(|| {
    let schema = json!({
        "type": "object",
        "properties": {"text": {"type": "string", "description": "What to say"}},
        "required": ["text"],
    });
    let schema = schema.as_object().cloned().unwrap_or_default();
    let hints = ToolAnnotations::new().read_only(true).idempotent(true);
    Tool::new("echo", "Says what it was told.", Arc::new(schema)).annotate(hints)
});

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("echo", "1.0.0"))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![TOOL.clone()]))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        (name == TOOL.name).then(|| TOOL.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = request
            .arguments
            .as_ref()
            .and_then(|all| all.get("text"))
            .and_then(Value::as_str);
        let text = text.ok_or_else(|| ErrorData::invalid_params("`text` is missing", None))?;
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let address = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let running = Echo.serve(rmcp::transport::stdio_pipes()).await?;
            running.waiting().await?;
            return Ok(());
        }
        ["--listen", address] => address,
        _ => return Err("usage: echo_server [--listen ADDRESS]".into()),
    };
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true);
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(Echo), sessions, config);
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
