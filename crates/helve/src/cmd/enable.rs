//! `helve enable`: a tool can be called again.

use clap::Args;
use serde_json::{Value, json};

use super::with_hub;
use crate::client::{Target, escaped};
use crate::exit::{Done, Exit};
use crate::out;

/// Let a tool be called.
#[derive(Debug, Args)]
pub(crate) struct EnableArgs {
    /// The tool, by any of its names.
    tool: String,
    /// Print the tool as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &EnableArgs) -> Done {
    set(&args.target, &args.tool, "enable", args.json).await
}

/// Turns a tool on or off.
pub(super) async fn set(target: &Target, tool: &str, word: &str, json: bool) -> Done {
    with_hub(target, async |client| {
        let path = format!("/tools/{}/{word}", escaped(tool));
        let kept = client.post(&path, &json!({})).await?;
        if json {
            out::json(&kept)?;
            return Ok(Exit::Ok);
        }
        out::say(&format!("`{}` is {word}d", name(&kept)));
        Ok(Exit::Ok)
    })
    .await
}

fn name(tool: &Value) -> String {
    out::visible(tool["id"].as_str().unwrap_or_default())
}
