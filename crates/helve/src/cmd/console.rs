//! `helve console`: a link into the console of a running hub.

use clap::Args;
use reqwest::Method;

use super::with_hub;
use crate::client::{Client, Target};
use crate::exit::{Done, Exit, Failure};
use crate::out;

/// Print a link that signs you in to the console: the inbox, runs, tools, the record.
///
/// It works once, for ten minutes, and for whoever has it: do not pass it on.
#[derive(Debug, Args)]
pub(crate) struct ConsoleArgs {
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &ConsoleArgs) -> Done {
    with_hub(&args.target, async |client| link(args, client).await).await
}

async fn link(args: &ConsoleArgs, client: &Client) -> Done {
    if client.is_here() {
        return Err(Failure::input("no hub runs in this workspace")
            .hint("`helve up` runs one, and prints a link itself"));
    }
    let made = client.ask(Method::POST, "/console/links", None).await?;
    let path = made["path"].as_str().unwrap_or_default();
    let url = format!("{}{path}", client.place().trim_end_matches('/'));
    match args.json {
        true => out::json(&serde_json::json!({"url": url}))?,
        false => out::show(&format!("{url}\n"))?,
    }
    Ok(Exit::Ok)
}
