//! `helve mcp accept`: somebody has looked, and takes it over.

use clap::Args;
use serde_json::{Value, json};

use crate::client::Target;
use crate::cmd::with_hub;
use crate::exit::{Done, Exit, Failure};
use crate::out;
use crate::shown::text;

/// Take over definitions that wait, once you have looked at them with `helve mcp diff`.
#[derive(Debug, Args)]
pub(crate) struct AcceptArgs {
    /// The server.
    #[arg(required_unless_present = "all")]
    server: Option<String>,
    /// Only this tool, by its name there or here.
    tool: Option<String>,
    /// Only if it is still what `helve mcp diff` showed under this word.
    #[arg(long, value_name = "WORD", requires = "tool")]
    seen: Option<String>,
    /// All that wait, of all servers.
    #[arg(long, conflicts_with = "server")]
    all: bool,
    /// Print the names of the tools as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &AcceptArgs) -> Done {
    with_hub(&args.target, async |client| {
        let servers = match &args.server {
            Some(server) => vec![server.clone()],
            None => {
                let page = client.get("/quarantine").await?;
                let items = page["items"].as_array().into_iter().flatten();
                let mut servers: Vec<String> = items.map(|i| text(&i["server"])).collect();
                servers.dedup();
                servers
            }
        };
        let mut done: Vec<Value> = Vec::new();
        for server in servers {
            let mut body = json!({"server": server});
            if let Some(tool) = &args.tool {
                body["tool"] = tool.as_str().into();
            }
            if let Some(seen) = &args.seen {
                body["seen"] = seen.as_str().into();
            }
            let mut answer = client.post("/quarantine/accept", &body).await?;
            if let Value::Array(names) = answer["accepted"].take() {
                done.extend(names);
            }
        }
        if args.json {
            out::json(&Value::Array(done))?;
            return Ok(Exit::Ok);
        }
        if done.is_empty() {
            return Err(Failure::input("nothing waits").hint("`helve mcp diff` shows what does"));
        }
        for name in &done {
            out::say(&format!("`{}` is taken over", out::visible(&text(name))));
        }
        Ok(Exit::Ok)
    })
    .await
}
