//! `helve gc`: what need not be kept, let go.

use clap::Args;
use serde_json::json;

use super::with_hub;
use crate::client::Target;
use crate::exit::{Done, Exit};
use crate::out;

/// Let go of what was there before old runs; they can no longer be undone.
///
/// `changes.keep` and `changes.quota` say how much is kept; what is pinned stays. A
/// hub that runs does the same once an hour.
#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// Print what was let go as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &GcArgs) -> Done {
    with_hub(&args.target, async |client| {
        let done = client.post("/changes/collect", &json!({})).await?;
        if args.json {
            out::json(&done)?;
            return Ok(Exit::Ok);
        }
        let runs = done["expired"].as_array().map_or(0, Vec::len);
        let bytes = out::bytes_of(done["bytes"].as_u64().unwrap_or(0));
        out::say(&match (runs, done["bytes"] == 0) {
            (0, true) => "nothing to let go".to_owned(),
            (0, false) => format!("freed {bytes}"),
            (n, _) => format!(
                "freed {bytes}; {} can no longer be undone",
                out::count(n, "run")
            ),
        });
        Ok(Exit::Ok)
    })
    .await
}
