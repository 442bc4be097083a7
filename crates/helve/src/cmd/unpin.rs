//! `helve unpin`: a run that is kept no longer than others.

use clap::Args;

use super::pin;
use crate::client::Target;
use crate::exit::Done;

/// Keep what was there before a run only as long as that of any other.
#[derive(Debug, Args)]
pub(crate) struct UnpinArgs {
    /// The run: its id, or the last characters of it.
    #[arg(value_name = "RUN")]
    id: String,
    /// Print what the hub says as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &UnpinArgs) -> Done {
    pin::set(&args.target, &args.id, "unpin", args.json).await
}
