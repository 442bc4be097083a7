//! `helve cancel`: a run, called off.

use clap::Args;
use serde_json::json;

use super::with_hub;
use crate::client::Target;
use crate::exit::{Done, Exit};
use crate::id::Kind;
use crate::out;
use crate::shown::text;

/// Call a run off: one that waits will not run, one that runs is stopped.
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The run: its id, or the last characters of it.
    #[arg(value_name = "RUN")]
    id: String,
    /// Print what the hub says as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &CancelArgs) -> Done {
    with_hub(&args.target, async |client| {
        let id = Kind::Run.find(client, &args.id).await?;
        let answer = client
            .post(&format!("/runs/{id}/cancel"), &json!({}))
            .await?;
        if args.json {
            out::json(&answer)?;
            return Ok(Exit::Ok);
        }
        match answer["state"].as_str() {
            Some("running") => out::say("it is being stopped"),
            _ => out::say(&format!("it is {}", text(&answer["state"]))),
        }
        Ok(Exit::Ok)
    })
    .await
}
