//! `helve pin`: a run that can be undone for good.

use clap::Args;
use serde_json::json;

use super::with_hub;
use crate::client::Target;
use crate::exit::{Done, Exit};
use crate::id::Kind;
use crate::out;

/// Keep what was there before a run, so that it can be undone however old it is.
#[derive(Debug, Args)]
pub(crate) struct PinArgs {
    /// The run: its id, or the last characters of it.
    #[arg(value_name = "RUN")]
    id: String,
    /// Print what the hub says as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &PinArgs) -> Done {
    set(&args.target, &args.id, "pin", args.json).await
}

/// Pins a run, or no longer.
pub(super) async fn set(target: &Target, id: &str, word: &str, json: bool) -> Done {
    with_hub(target, async |client| {
        let id = Kind::Run.find(client, id).await?;
        let told = client
            .post(&format!("/runs/{id}/{word}"), &json!({}))
            .await?;
        if json {
            out::json(&told)?;
            return Ok(Exit::Ok);
        }
        out::say(match (told["pinned"] == true, told["changed"] == true) {
            (true, true) => "pinned: it is kept until `helve unpin`",
            (true, false) => "it was pinned before",
            (false, true) => "unpinned: it is kept as long as any other",
            (false, false) => "it was not pinned",
        });
        Ok(Exit::Ok)
    })
    .await
}
