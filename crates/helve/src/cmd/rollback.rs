//! `helve rollback`: an old version, current again.

use clap::Args;
use serde_json::json;

use super::with_hub;
use crate::client::{Client, Target, escaped};
use crate::exit::{Done, Exit};
use crate::out;

/// Make an old version of a tool current again.
#[derive(Debug, Args)]
pub(crate) struct RollbackArgs {
    /// The tool, by any of its names.
    tool: String,
    /// The version; `helve versions` lists them.
    version: String,
    /// Why, for the record.
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Print the tool as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &RollbackArgs) -> Done {
    with_hub(&args.target, async |client| roll_back(args, client).await).await
}

async fn roll_back(args: &RollbackArgs, client: &Client) -> Done {
    let path = format!("/tools/{}/rollback", escaped(&args.tool));
    let body = json!({"version": args.version, "why": args.why});
    let tool = client.post(&path, &body).await?;
    let text = |key: &str| out::visible(tool[key].as_str().unwrap_or_default());
    if let Some(file) = file_of(&text("source")) {
        out::warn(&format!(
            "`{file}` still says otherwise, and counts when it is read again; change it as well"
        ));
    }
    if args.json {
        out::json(&tool)?;
        return Ok(Exit::Ok);
    }
    out::say(&format!("`{}` is {} again", text("id"), text("version")));
    Ok(Exit::Ok)
}

/// The file that a tool comes from, if it comes from one.
pub(super) fn file_of(source: &str) -> Option<&str> {
    (!["api", "builtin", "code", ""].contains(&source)).then_some(source)
}
