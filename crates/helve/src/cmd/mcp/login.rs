//! `helve mcp login`: somebody logs in to a server.

use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::time::Instant;

use crate::client::{Target, escaped};
use crate::cmd::with_hub;
use crate::exit::{Done, Exit, Failure};
use crate::out;
use crate::shown::text;

/// Log in to an MCP server over OAuth: prints an address to open, and waits.
///
/// The address can be opened on this machine only: the answer comes back to it.
#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// The server.
    name: String,
    /// Only print the address, and do not wait; a running hub waits by itself.
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    target: Target,
}

/// How long to wait for somebody, and how often to look.
const PATIENCE: Duration = Duration::from_mins(5);
const PAUSE: Duration = Duration::from_millis(500);

pub(crate) async fn run(args: &LoginArgs) -> Done {
    with_hub(&args.target, async |client| {
        let path = format!("/upstreams/{}", escaped(&args.name));
        let begun = client.post(&format!("{path}/login"), &json!({})).await?;
        out::say("open this address to log in:");
        out::data(&format!("{}\n", out::visible(&text(&begun["url"]))))?;
        if args.no_wait {
            return Ok(Exit::Ok);
        }
        let enough = Instant::now() + PATIENCE;
        while Instant::now() < enough {
            let server = client.get(&path).await?;
            if server["login"] == "done" {
                out::say(&format!("logged in to `{}`", out::visible(&args.name)));
                return Ok(Exit::Ok);
            }
            if let Some(why) = server["login"].as_str().filter(|l| *l != "waiting") {
                return Err(Failure::hub(format!(
                    "that did not work: {}",
                    out::visible(why)
                )));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(Failure::hub("nobody logged in in time"))
    })
    .await
}
