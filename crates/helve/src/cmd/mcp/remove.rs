//! `helve mcp remove`: a server less.

use clap::Args;

use super::file::File;
use crate::client::Target;
use crate::cmd::with_new_hub;
use crate::exit::{Done, Exit, Failure};
use crate::{out, workspace};

/// Take an MCP server out of `.mcp.json`; its tools go with it.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// The server.
    name: String,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &RemoveArgs) -> Done {
    if args.target.is_elsewhere() {
        let failure = Failure::usage("the servers of another hub are in its own `.mcp.json`");
        return Err(failure.hint("run this where that hub runs"));
    }
    let mut file = File::read(&workspace::root())?;
    let servers = file.servers()?;
    if servers.shift_remove(&args.name).is_none() {
        let known: Vec<&str> = servers.keys().map(String::as_str).collect();
        let near = helve_core::name::nearest(&args.name, known, 1);
        let failure = Failure::input(format!(
            "there is no server `{}` in `.mcp.json`",
            out::visible(&args.name)
        ));
        return Err(match near.first() {
            Some(near) => failure.hint(format!("did you mean `{}`?", out::visible(near))),
            None => failure.hint("`helve mcp list` shows what there is"),
        });
    }
    file.write()?;
    with_new_hub(&args.target, async |client| {
        super::reload(client).await?;
        out::say(&format!(
            "`{}` is gone, and its tools with it",
            out::visible(&args.name)
        ));
        Ok(Exit::Ok)
    })
    .await
}
