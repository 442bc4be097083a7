//! `helve approvals`: what waits for people.

use clap::Args;
use clap::builder::PossibleValuesParser;
use helve_kernel::ApprovalState;
use serde_json::Value;

use super::with_hub;
use crate::client::{Client, Target};
use crate::exit::{Done, Exit};
use crate::shown::{self, text};
use crate::table::{Cell, Table};
use crate::{changed, id, out, when};

/// List approvals: those that wait for a decision, or others.
#[derive(Debug, Args)]
pub(crate) struct ApprovalsArgs {
    /// Those in this state, or `all`.
    #[arg(long, default_value = "pending", value_parser = states())]
    state: String,
    /// How many, newest first.
    #[arg(short, default_value_t = 50, value_name = "N")]
    number: usize,
    /// Print them as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

fn states() -> PossibleValuesParser {
    let words = ApprovalState::ALL.iter().map(|s| s.as_str());
    words.chain(["all"]).collect::<Vec<_>>().into()
}

pub(crate) async fn run(args: &ApprovalsArgs) -> Done {
    with_hub(&args.target, async |client| list(args, client).await).await
}

async fn list(args: &ApprovalsArgs, client: &Client) -> Done {
    let path = match args.state.as_str() {
        "all" => "/approvals".to_owned(),
        state => format!("/approvals?state={state}"),
    };
    let found = match args.number {
        0 => Vec::new(),
        most => client.items(&path, "cursor", most).await?,
    };
    if args.json {
        out::json(&Value::Array(found))?;
        return Ok(Exit::Ok);
    }
    let pending = args.state == "pending";
    if found.is_empty() {
        match pending {
            true => out::say("nothing waits for a decision"),
            false => out::say("no such approvals"),
        }
        return Ok(Exit::Ok);
    }
    out::show(&table(&found, pending).text())?;
    for approval in found.iter().filter(|a| a["notice"]["state"] == "failed") {
        let (id, why) = (id::short(&approval["id"]), text(&approval["notice"]["why"]));
        out::warn(&format!("nobody could be told of {id}: {why}"));
    }
    if pending {
        out::say(
            "\n`helve approve <id>` shows what would run and asks; `helve deny <id> --reason …` refuses",
        );
    }
    Ok(Exit::Ok)
}

/// Approvals as a table; those that wait with the time that is left.
pub(super) fn table(found: &[Value], pending: bool) -> Table {
    let fourth = if pending { "left" } else { "state" };
    let staged = found.iter().any(|a| a["changes"].is_object());
    let mut head = vec!["id", "asked", fourth, "tool", "by", "arguments"];
    if staged {
        head.insert(5, "would change");
    }
    let mut table = Table::new(&head);
    for approval in found {
        let mut row: Vec<Cell> = vec![
            id::short(&approval["id"]).into(),
            when::ago(&approval["created"]).into(),
            match pending {
                true => when::left(&approval["expires"]).into(),
                false => shown::state(&approval["state"]),
            },
            Cell::styled(out::STRONG, text(&approval["tool"])),
            text(&approval["requester"]).into(),
            shown::arguments(&approval["args"]).into(),
        ];
        if staged {
            let changes = &approval["changes"];
            let much = changes.is_object().then(|| changed::summary(changes));
            row.insert(5, Cell::styled(out::WARNING, much.unwrap_or_default()));
        }
        table.row(row);
    }
    table
}
