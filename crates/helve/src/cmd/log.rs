//! `helve log`: which run changed which path.

use clap::Args;
use serde_json::Value;

use super::with_hub;
use crate::changed::Paths;
use crate::client::{Client, Target, escaped};
use crate::exit::{Done, Exit};
use crate::shown::text;
use crate::table::{Cell, Table};
use crate::{id, out, when};

/// Show which runs changed which paths, the last first.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Only this path and what is beneath it.
    #[arg(value_name = "PATH")]
    path: Option<String>,
    /// How many lines.
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
    limit: usize,
    /// Print them as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &LogArgs) -> Done {
    with_hub(&args.target, async |client| list(args, client).await).await
}

async fn list(args: &LogArgs, client: &Client) -> Done {
    let paths = Paths::of(&args.target);
    let place = match &args.path {
        Some(path) => format!("/changes?path={}", escaped(&paths.meant(path))),
        None => "/changes".to_owned(),
    };
    let found = match args.limit {
        0 => Vec::new(),
        most => client.items(&place, "cursor", most).await?,
    };
    if args.json {
        out::json(&Value::Array(found))?;
        return Ok(Exit::Ok);
    }
    if found.is_empty() {
        out::say(match args.path {
            Some(_) => "no run has changed it",
            None => "no run has changed anything",
        });
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(&["when", "run", "by", "tool", "change", "path"]);
    for line in &found {
        let undone = line["state"] == "undone";
        let kind = text(&line["kind"]);
        table.row([
            when::moment(&line["at"]).into(),
            id::short(&line["run"]).into(),
            text(&line["owner"]).into(),
            Cell::styled(out::STRONG, text(&line["tool"])),
            match undone {
                true => Cell::styled(out::DIM, format!("{kind}, undone")),
                false => kind.into(),
            },
            paths.shown(&line["path"]).into(),
        ]);
    }
    out::show(&table.text())?;
    Ok(Exit::Ok)
}
