//! `helve disable`: a tool can no longer be called.

use clap::Args;

use super::enable;
use crate::client::Target;
use crate::exit::Done;

/// Keep a tool from being called.
///
/// Calls that wait for an approval will not run either.
#[derive(Debug, Args)]
pub(crate) struct DisableArgs {
    /// The tool, by any of its names.
    tool: String,
    /// Print the tool as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &DisableArgs) -> Done {
    enable::set(&args.target, &args.tool, "disable", args.json).await
}
