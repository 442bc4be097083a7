//! `helve undo`: what runs changed, taken back.

use clap::Args;
use serde_json::{Value, json};

use super::with_hub;
use crate::changed::{self, Paths};
use crate::client::{Client, Target};
use crate::exit::{Done, Exit, Failure};
use crate::id::{self, Kind};
use crate::out;
use crate::shown::text;
use crate::table::{Cell, Table};

/// Take back what runs changed: all of it, or nothing.
///
/// An undo is a run of its own, on the record, and can be undone in turn. Where
/// somebody has changed a file since, nothing is done unless `--force` is given.
#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// The runs: their ids, or the last characters of them [default: the last that changed something].
    #[arg(value_name = "RUN")]
    ids: Vec<String>,
    /// This run and all that were committed after it.
    #[arg(long, value_name = "RUN")]
    since: Option<String>,
    /// Only this path and what is beneath it; as often as needed.
    #[arg(long = "path", value_name = "PATH")]
    paths: Vec<String>,
    /// Take back also what somebody has changed since.
    #[arg(long)]
    force: bool,
    /// Only show what it would change.
    #[arg(long)]
    dry_run: bool,
    /// Print the whole answer as JSON, and nothing else.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &UndoArgs) -> Done {
    with_hub(&args.target, async |client| undo(args, client).await).await
}

async fn undo(args: &UndoArgs, client: &Client) -> Done {
    let paths = Paths::of(&args.target);
    let mut runs = Vec::new();
    for id in &args.ids {
        runs.push(Kind::Run.find(client, id).await?);
    }
    let since = match &args.since {
        Some(id) => Some(Kind::Run.find(client, id).await?),
        None => None,
    };
    if runs.is_empty() && since.is_none() {
        runs.push(changed::last(client).await?);
    }
    let only: Vec<String> = args.paths.iter().map(|p| paths.meant(p)).collect();
    let body = json!({
        "runs": runs,
        "since": since,
        "paths": only,
        "force": args.force,
        "dry_run": args.dry_run,
    });
    let answer = client.post("/undo", &body).await.map_err(each_on_a_line)?;
    if args.json {
        out::data(&format!("{answer}\n"))?;
        return Ok(Exit::Ok);
    }
    told(args, client, &answer, &paths).await
}

async fn told(args: &UndoArgs, client: &Client, answer: &Value, paths: &Paths) -> Done {
    let (data, meta) = (&answer["data"], &answer["meta"]);
    let changes = &meta["changes"];
    let run = text(&meta["run_id"]);
    if args.dry_run {
        let diff = meta["diff"].as_str().unwrap_or_default();
        out::show(&changed::coloured(diff))?;
    }
    let mut table = Table::plain();
    if !args.dry_run && changes.is_object() {
        let diff = client.get(&format!("/runs/{run}/diff")).await?;
        for change in diff["changes"].as_array().into_iter().flatten() {
            let what = restored(change);
            table.row([
                Cell::styled(out::FIX, what),
                paths.shown(&change["path"]).into(),
            ]);
        }
    }
    for (word, says) in [("already", "already so"), ("kept", "kept")] {
        for path in data[word].as_array().into_iter().flatten() {
            table.row([Cell::styled(out::DIM, says), paths.shown(path).into()]);
        }
    }
    out::show(&table.whole())?;
    let undone = data["undone"].as_array().map_or(0, Vec::len);
    let runs = out::count(undone, "run");
    let much = match changes.is_object() {
        true => changed::summary(changes),
        false => "no path".to_owned(),
    };
    out::say(&match (args.dry_run, changes.is_object()) {
        (true, _) => format!("nothing was changed; to undo {runs} would change {much}"),
        (false, true) => format!(
            "undid {runs}: {much}; to put it back: helve undo {}",
            id::short(&meta["run_id"])
        ),
        (false, false) => format!("undid {runs}: nothing was left to take back"),
    });
    Ok(Exit::Ok)
}

/// What an undo did to a path: the opposite of what the run did.
fn restored(change: &Value) -> &'static str {
    match change["kind"].as_str() {
        Some("created") => "put back",
        Some("deleted") => "removed",
        Some("renamed") => "moved back",
        _ => "restored",
    }
}

/// A conflict names its files one after the other; people look at them one by one.
fn each_on_a_line(failure: Failure) -> Failure {
    let told = failure.error.to_string();
    match told.split_once(": `") {
        Some((what, files)) if what == CONFLICT => Failure {
            error: anyhow::anyhow!("{what}\n  `{}", files.replace(", `", "\n  `")),
            ..failure
        },
        _ => failure,
    }
}

const CONFLICT: &str = "changed by somebody else";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_on_each_line() {
        let told = |error: &str| each_on_a_line(Failure::input(error)).error.to_string();
        assert_eq!(
            told("changed by somebody else: `/a` was changed since, `/b` is gone, and 3 more"),
            "changed by somebody else\n  `/a` was changed since\n  `/b` is gone, and 3 more"
        );
        assert_eq!(told("there is no `x`"), "there is no `x`");
    }
}
