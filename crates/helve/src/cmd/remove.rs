//! `helve remove`: a tool that is no longer there.

use axum::http::Method;
use clap::Args;
use serde_json::Value;

use super::rollback::file_of;
use super::with_hub;
use crate::client::{Client, Target, escaped};
use crate::exit::{Done, Exit, Failure};
use crate::out;

/// Remove a tool; its versions stay on record.
///
/// A tool that comes from a file goes away with its file.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// The tool, by any of its names.
    tool: String,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &RemoveArgs) -> Done {
    with_hub(&args.target, async |client| remove(args, client).await).await
}

async fn remove(args: &RemoveArgs, client: &Client) -> Done {
    let path = format!("/tools/{}", escaped(&args.tool));
    let tool = client.get(&path).await?;
    let text = |value: &Value| out::visible(value.as_str().unwrap_or_default());
    let name = text(&tool["id"]);
    let source = text(&tool["source"]);
    if let Some(file) = file_of(&source) {
        let error = format!("`{name}` comes from `{file}`, and would come back with it");
        let hint = format!("delete the file, or `helve disable {name}`");
        return Err(Failure::input(error).hint(hint));
    }
    client.ask(Method::DELETE, &path, None).await?;
    out::say(&format!("`{name}` is removed"));
    Ok(Exit::Ok)
}
