//! `helve diff`: what a run changed, or would change.

use clap::Args;

use super::with_hub;
use crate::changed::{self, Paths};
use crate::client::{Client, Target};
use crate::exit::{Done, Exit};
use crate::id::Kind;
use crate::out;

/// Show what a run changed, or would change if it is approved.
///
/// Characters that hide are written as their numbers. What is too long is named and
/// left out; `--patch` leaves out nothing.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The run: its id, or the last characters of it [default: the last that waits, or that changed something].
    #[arg(value_name = "RUN")]
    id: Option<String>,
    /// Only how much of each path.
    #[arg(long, conflicts_with_all = ["patch", "json"])]
    stat: bool,
    /// Print it byte for byte, for `git apply`.
    #[arg(long, conflicts_with = "json")]
    patch: bool,
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &DiffArgs) -> Done {
    with_hub(&args.target, async |client| show(args, client).await).await
}

async fn show(args: &DiffArgs, client: &Client) -> Done {
    let id = match &args.id {
        Some(id) => Kind::Run.find(client, id).await?,
        None => match changed::last_staged(client).await? {
            Some(id) => id,
            None => changed::last(client).await?,
        },
    };
    let place = format!("/runs/{id}/diff");
    if args.patch {
        let patch = changed::whole(client, &format!("{place}?format=patch")).await?;
        out::bytes(&patch)?;
        return Ok(Exit::Ok);
    }
    if args.json {
        out::json(&client.get(&place).await?)?;
        return Ok(Exit::Ok);
    }
    if args.stat {
        let diff = client.get(&place).await?;
        out::show(&changed::stat(&diff, &Paths::of(&args.target)))?;
        return Ok(Exit::Ok);
    }
    let diff = changed::diff(client, &id).await?;
    out::show(&changed::coloured(&diff))?;
    Ok(Exit::Ok)
}
