//! `helve deny`: somebody says no, and why.

use clap::Args;
use serde_json::json;

use super::{approve, with_hub};
use crate::client::{Client, Target};
use crate::exit::{Done, Exit};
use crate::out;
use crate::shown::text;

/// Refuse a call; whoever asked is told why.
#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    /// The approval: its id, or the last characters of it; not needed if only one waits.
    id: Option<String>,
    /// Why: it is told to whoever asked, and stands on the record.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    /// Print the approval as JSON, and nothing else.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &DenyArgs) -> Done {
    with_hub(&args.target, async |client| deny(args, client).await).await
}

async fn deny(args: &DenyArgs, client: &Client) -> Done {
    let approval = approve::meant(client, args.id.as_deref(), args.yes).await?;
    if args.id.is_none() && !args.yes && out::can_ask() {
        approve::show(client, &approval).await;
        if !out::ask("Refuse it?") {
            out::say("not refused; it still waits");
            return Ok(Exit::Ok);
        }
    }
    let id = text(&approval["id"]);
    let body = json!({"reason": args.reason});
    let approval = client.post(&format!("/approvals/{id}/deny"), &body).await?;
    if args.json {
        out::json(&approval)?;
        return Ok(Exit::Ok);
    }
    let (tool, who) = (text(&approval["tool"]), text(&approval["requester"]));
    out::say(&format!("denied: `{tool}` for {who} will not run"));
    Ok(Exit::Ok)
}
