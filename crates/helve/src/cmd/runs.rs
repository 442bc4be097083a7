//! `helve runs`: what was called, and what came of it.

use clap::Args;
use clap::builder::PossibleValuesParser;
use helve_kernel::RunState;
use serde_json::Value;

use super::with_hub;
use crate::client::{Client, Target, escaped};
use crate::exit::{Done, Exit};
use crate::id::{self, Kind};
use crate::shown::{self, Extent, Fields, text};
use crate::table::{Cell, Table};
use crate::{out, when};

/// List runs, newest first, or show one in full.
#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// The run to show: its id, or the last characters of it.
    #[arg(value_name = "ID", conflicts_with_all = ["tool", "state"])]
    id: Option<String>,
    /// Only runs of this tool.
    #[arg(long)]
    tool: Option<String>,
    /// Only runs in this state.
    #[arg(long, value_parser = states())]
    state: Option<String>,
    /// How many.
    #[arg(short, default_value_t = 20, value_name = "N")]
    number: usize,
    /// Print them as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

fn states() -> PossibleValuesParser {
    let words: Vec<&str> = RunState::ALL.iter().map(|s| s.as_str()).collect();
    words.into()
}

pub(crate) async fn run(args: &RunsArgs) -> Done {
    with_hub(&args.target, async |client| match &args.id {
        Some(id) => one(client, id, args.json).await,
        None => list(args, client).await,
    })
    .await
}

async fn list(args: &RunsArgs, client: &Client) -> Done {
    let mut query: Vec<String> = Vec::new();
    query.extend(args.tool.as_ref().map(|t| format!("tool={}", escaped(t))));
    query.extend(args.state.as_ref().map(|s| format!("state={s}")));
    let path = format!("/runs?{}", query.join("&"));
    let runs = match args.number {
        0 => Vec::new(),
        most => client.items(&path, "cursor", most).await?,
    };
    if args.json {
        out::json(&Value::Array(runs))?;
        return Ok(Exit::Ok);
    }
    if runs.is_empty() {
        out::say("no runs; `helve call <tool>` makes one");
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(&["id", "when", "state", "took", "tool", "by", "arguments"]);
    for run in &runs {
        table.row([
            id::short(&run["id"]).into(),
            when::ago(&run["created"]).into(),
            shown::state(&run["state"]),
            when::took(&run["started"], &run["ended"]).into(),
            Cell::styled(out::STRONG, text(&run["tool"])),
            text(&run["owner"]).into(),
            Cell::styled(out::DIM, shown::arguments(&run["args"])),
        ]);
    }
    out::show(&table.text())?;
    Ok(Exit::Ok)
}

async fn one(client: &Client, id: &str, json: bool) -> Done {
    let id = Kind::Run.find(client, id).await?;
    let run = client.get(&format!("/runs/{id}")).await?;
    let approval = match run["approval_id"].as_str() {
        Some(approval) => Some(client.get(&format!("/approvals/{approval}")).await),
        None => None,
    };
    if json {
        out::json(&run)?;
        return Ok(Exit::Ok);
    }
    let tool = out::styled(out::STRONG, text(&run["tool"]));
    out::show(&format!("{tool} {}\n", text(&run["version"])))?;
    let mut fields = Fields::default();
    fields
        .add("run", text(&run["id"]))
        .add("state", shown::state(&run["state"]))
        .add("by", shown::caller(&run["owner"], &run["under"]))
        .some("agent", &text(&run["agent"]))
        .arguments(&run["args"], Extent::Whole)
        .add("asked", when::moment(&run["created"]))
        .some("began", &when::moment(&run["started"]))
        .some("ended", &ended(&run));
    match approval {
        Some(Ok(approval)) => decisions(&mut fields, &approval),
        // Not everybody who sees the run sees what people said about it.
        Some(Err(_)) => drop(fields.add("approval", text(&run["approval_id"]))),
        None => {}
    }
    changes(&mut fields, &run["changes"]);
    out::show(&fields.text())?;
    answer(&run["answer"])?;
    Ok(Exit::Ok)
}

/// How much it changed, and whether that can be taken back.
fn changes(fields: &mut Fields, changes: &Value) {
    if changes.is_null() {
        return;
    }
    let paths = usize::try_from(changes["paths"].as_u64().unwrap_or(0)).unwrap_or(usize::MAX);
    let paths = out::count(paths, "path");
    let pinned = if changes["pinned"] == true {
        ", pinned"
    } else {
        ""
    };
    let state = match changes["state"].as_str() {
        Some("staged") => "held back until somebody decides",
        Some("dropped") => "never applied",
        Some("undone") => "undone",
        Some("expired") => "too old to be undone",
        Some("committing") => "being applied",
        _ => "applied",
    };
    fields.add("changes", format!("{paths}, {state}{pinned}"));
}

fn ended(run: &Value) -> String {
    let at = when::moment(&run["ended"]);
    let mut notes = Vec::new();
    let took = when::took(&run["started"], &run["ended"]);
    notes.extend((!took.is_empty()).then(|| format!("after {took}")));
    notes.extend(run["exit_code"].as_i64().map(|c| format!("exit code {c}")));
    match (at.is_empty(), notes.is_empty()) {
        (true, _) => String::new(),
        (false, true) => at,
        (false, false) => format!("{at}  ({})", notes.join(", ")),
    }
}

/// What people said.
pub(super) fn decisions(fields: &mut Fields, approval: &Value) {
    fields.add("approval", text(&approval["id"]));
    fields.add("", format!("asked because: {}", text(&approval["reason"])));
    for decision in approval["decisions"].as_array().into_iter().flatten() {
        let verdict = match decision["verdict"] == "approve" {
            true => "approved",
            false => "denied",
        };
        let (by, at) = (text(&decision["by"]), when::moment(&decision["at"]));
        let why = decision["reason"].as_str();
        let why = why.map(|r| format!(": {}", out::visible(r)));
        fields.add(
            "",
            format!("{verdict} by {by}, {at}{}", why.unwrap_or_default()),
        );
    }
    if approval["notice"]["state"] == "failed" {
        let why = text(&approval["notice"]["why"]);
        fields.add(
            "",
            Cell::styled(out::WARNING, format!("nobody could be told: {why}")),
        );
    }
}

/// What came of it.
fn answer(answer: &Value) -> Result<(), crate::exit::Failure> {
    if answer.is_null() {
        return Ok(());
    }
    let section = |name: &str, text: &str| {
        if text.is_empty() {
            return Ok(());
        }
        out::show(&format!("\n{}\n", out::styled(out::DIM, name)))?;
        out::foreign(&format!("{}\n", text.trim_end_matches('\n')))
    };
    let data = &answer["data"];
    match (data["stdout"].as_str(), data["stderr"].as_str()) {
        (Some(stdout), stderr) => {
            section("standard output", stdout)?;
            section("standard error", stderr.unwrap_or_default())?;
        }
        _ if data.is_null() => {}
        _ => section("result", &helve_core::write::json_text(data))?,
    }
    if let Some(message) = answer["error"]["message"].as_str() {
        let hint = answer["error"]["hint"].as_str();
        let hint = hint.map(|h| format!("\nhint: {h}")).unwrap_or_default();
        section("error", &out::visible_lines(&format!("{message}{hint}")))?;
    }
    for artifact in answer["meta"]["artifacts"].as_array().into_iter().flatten() {
        let run = id::short(&answer["meta"]["run_id"]);
        let name = text(&artifact["name"]);
        out::say(&format!(
            "`helve logs {run} --artifact {name}` prints all of it"
        ));
    }
    Ok(())
}
