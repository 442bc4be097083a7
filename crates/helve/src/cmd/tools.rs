//! `helve tools`: what there is to call.

use clap::Args;
use helve_core::catalog::first_sentence;
use serde_json::Value;

use super::with_hub;
use crate::client::{Client, Target, escaped};
use crate::exit::{Done, Exit};
use crate::out;
use crate::table::{Cell, Table};

/// List the tools of the hub.
#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// Only those with this tag.
    #[arg(long)]
    tag: Option<String>,
    /// Only those of this group.
    #[arg(long)]
    group: Option<String>,
    /// Also those that are disabled.
    #[arg(long)]
    all: bool,
    /// Print them as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &ToolsArgs) -> Done {
    with_hub(&args.target, async |client| list(args, client).await).await
}

async fn list(args: &ToolsArgs, client: &Client) -> Done {
    let mut query: Vec<String> = Vec::new();
    query.extend(args.tag.as_ref().map(|t| format!("tag={}", escaped(t))));
    query.extend(args.group.as_ref().map(|g| format!("group={}", escaped(g))));
    query.extend((!args.all).then(|| "enabled=true".to_owned()));
    let path = match query.is_empty() {
        true => "/tools".to_owned(),
        false => format!("/tools?{}", query.join("&")),
    };
    let tools = client.items(&path, "cursor", usize::MAX).await?;
    for problem in client.problems() {
        out::warn(&out::visible(problem));
    }
    if args.json {
        out::json(&Value::Array(tools))?;
        return Ok(Exit::Ok);
    }
    let narrowed = args.tag.is_some() || args.group.is_some();
    match (tools.is_empty(), narrowed) {
        (true, true) => out::say("there is no such tool; `helve tools --all` lists all"),
        (true, false) => out::say(
            "there are no tools yet: put a definition into `tools/<group>/<action>.toml`, or \
             `helve register` one",
        ),
        (false, _) => {
            out::show(&table(&tools).text())?;
            out::say(&out::styled(out::DIM, out::count(tools.len(), "tool")));
        }
    }
    Ok(Exit::Ok)
}

fn table(tools: &[Value]) -> Table {
    let mut table = Table::plain();
    let mut last = None;
    let groups = tools.iter().map(|tool| {
        let id = tool["id"].as_str().unwrap_or_default();
        (id.split_once('_').map_or("other", |(group, _)| group), tool)
    });
    let mut grouped: Vec<(&str, &Value)> = groups.collect();
    grouped.sort_by_key(|(group, _)| *group);
    for (group, tool) in grouped {
        if last != Some(group) {
            table.title(group);
            last = Some(group);
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let definition = &tool["definition"];
        let description = text(&definition["description"]);
        let off = tool["enabled"] == false;
        let name = format!("  {}", text(&tool["id"]));
        table.row([
            match off {
                true => Cell::styled(out::DIM, format!("{name} (disabled)")),
                false => name.into(),
            },
            Cell::styled(out::DIM, text(&tool["version"])),
            risk(&definition["risk"]),
            Cell::styled(out::DIM, text(&tool["source"])),
            first_sentence(&description).into(),
        ]);
    }
    table
}

/// A risk, in a colour that says how much to mind it.
pub(crate) fn risk(value: &Value) -> Cell {
    let word = value.as_str().unwrap_or("?");
    match word {
        "read" | "exec_low" => Cell::styled(out::FIX, word),
        _ => Cell::styled(out::WARNING, word),
    }
}
