//! `helve mcp list`: the servers, and how they stand.

use clap::Args;
use serde_json::Value;

use crate::client::Target;
use crate::cmd::with_hub;
use crate::exit::{Done, Exit};
use crate::out;
use crate::shown::text;
use crate::table::{Cell, Table};

/// List the MCP servers of this workspace, and how they stand.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print them as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &ListArgs) -> Done {
    with_hub(&args.target, async |client| {
        let page = client.get("/upstreams").await?;
        if args.json {
            out::json(&page["items"])?;
            return Ok(Exit::Ok);
        }
        for problem in client.problems() {
            out::warn(&out::visible(problem));
        }
        let none = Vec::new();
        let servers = page["items"].as_array().unwrap_or(&none);
        if servers.is_empty() {
            out::say("there are no MCP servers; `helve mcp add` adds one");
            return Ok(Exit::Ok);
        }
        let mut table = Table::new(&["name", "state", "protocol", "tools", "waiting", "where"]);
        for server in servers {
            let count = |key: &str| server[key].as_array().map_or(0, Vec::len);
            let waiting = match count("waiting") {
                0 => Cell::styled(out::DIM, "0"),
                n => Cell::styled(out::WARNING, n.to_string()),
            };
            table.row([
                Cell::styled(out::STRONG, text(&server["name"])),
                state(server),
                text(&server["protocol"]).into(),
                count("tools").to_string().into(),
                waiting,
                Cell::styled(out::DIM, text(&server["place"])),
            ]);
        }
        out::show(&table.text())?;
        Ok(Exit::Ok)
    })
    .await
}

/// How a server stands, in a word.
pub(super) fn state(server: &Value) -> Cell {
    match server["state"].as_str() {
        Some("failed") if server["wants_login"] == true => {
            Cell::styled(out::WARNING, "wants login")
        }
        Some("failed") => Cell::styled(out::ERROR, "failed"),
        Some("running") => Cell::styled(out::FIX, "running"),
        _ => text(&server["state"]).into(),
    }
}
