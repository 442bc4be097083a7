//! `helve versions`: what a tool was, and who changed it.

use clap::Args;
use serde_json::Value;

use super::with_hub;
use crate::client::{Client, Target, escaped};
use crate::exit::{Done, Exit};
use crate::table::{Cell, Table};
use crate::{out, when};

/// List the versions of a tool, oldest first.
#[derive(Debug, Args)]
pub(crate) struct VersionsArgs {
    /// The tool, by any of its names.
    tool: String,
    /// Print them as JSON, with their definitions.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &VersionsArgs) -> Done {
    with_hub(&args.target, async |client| list(args, client).await).await
}

async fn list(args: &VersionsArgs, client: &Client) -> Done {
    let path = format!("/tools/{}/versions", escaped(&args.tool));
    let mut page = client.get(&path).await?;
    let versions = page["items"].take();
    if args.json {
        out::json(&versions)?;
        return Ok(Exit::Ok);
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut table = Table::new(&["", "version", "when", "by", "hash", "why"]);
    for version in versions.as_array().into_iter().flatten() {
        let current = version["current"] == true;
        let number = text(&version["version"]);
        table.row([
            if current { "*" } else { " " }.into(),
            match current {
                true => Cell::styled(out::STRONG, number),
                false => number.into(),
            },
            when::moment(&version["at"]).into(),
            text(&version["by"]).into(),
            Cell::styled(
                out::DIM,
                text(&version["hash"]).get(..12).unwrap_or_default(),
            ),
            text(&version["why"]).into(),
        ]);
    }
    out::show(&table.text())?;
    Ok(Exit::Ok)
}
