//! `helve approve`: somebody says yes, having seen to what.

use clap::Args;
use serde_json::{Value, json};

use super::{approvals, runs, with_hub};
use crate::client::{Client, Target, escaped};
use crate::exit::{Done, Exit, Failure};
use crate::follow::Until;
use crate::id::{self, Kind};
use crate::shown::{self, Extent, Fields, text};
use crate::table::Cell;
use crate::{changed, follow, out, when};

/// Approve a call: see what would run, say yes, and follow it to its end.
///
/// What would change files has run already, and shows what it would change; that is
/// applied. On a terminal it asks first. Whoever asked for the call cannot approve it, and
/// agents never can.
#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The approval: its id, or the last characters of it; not needed if only one waits.
    id: Option<String>,
    /// Why, for the record.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    /// Do not wait for the run; only with a hub that runs.
    #[arg(long)]
    no_wait: bool,
    /// Print the answer of the run as JSON, and nothing else.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &ApproveArgs) -> Done {
    with_hub(&args.target, async |client| approve(args, client).await).await
}

async fn approve(args: &ApproveArgs, client: &Client) -> Done {
    let approval = meant(client, args.id.as_deref(), args.yes).await?;
    let asks = !args.yes && out::can_ask();
    if asks || !args.json {
        show(client, &approval).await;
    }
    let staged = approval["changes"].is_object();
    if asks && staged {
        let diff = changed::diff(client, &text(&approval["run_id"])).await?;
        out::say(&format!("\n{}", changed::coloured(&diff)));
    }
    // Where nobody can be asked, the id that was given is the answer.
    let tool = text(&approval["tool"]);
    let question = match staged {
        true => format!("Apply what `{tool}` would change?"),
        false => format!("Let `{tool}` run?"),
    };
    if asks && !out::ask(&question) {
        out::say("not approved; it still waits");
        return Ok(Exit::Ok);
    }
    let id = text(&approval["id"]);
    let body = json!({"reason": args.reason});
    let approval = client
        .post(&format!("/approvals/{id}/approve"), &body)
        .await?;
    let run = text(&approval["run_id"]);
    if approval["state"] == "pending" {
        let yes = approval["decisions"].as_array().map_or(0, Vec::len);
        let needed = approval["needed"].as_u64().unwrap_or(1);
        out::say(&format!(
            "approved by {yes} of {needed}; it waits for the others"
        ));
        return given(args, &approval);
    }
    if args.no_wait && !client.is_here() {
        out::say(&format!(
            "approved; `helve logs {run} --follow` shows what comes of it"
        ));
        return given(args, &approval);
    }
    if !args.json {
        out::say(&out::styled(out::DIM, "approved"));
    }
    match client.get(&format!("/runs/{run}")).await {
        // To decide about a run is not yet to see it.
        Err(failure) if failure.exit == Exit::Input => {
            out::say("approved; the run is not yours to see");
            given(args, &approval)
        }
        Err(failure) => Err(failure),
        Ok(_) => {
            // What it would change may have to be decided next.
            let until = if staged { Until::End } else { Until::Staged };
            let answer = follow::run(client, &run, args.json, until).await?;
            if answer["meta"]["state"] != "staged" {
                return follow::show(&answer, args.json);
            }
            match args.json {
                true => out::json(&answer)?,
                false => follow::staged(&answer, &client.get("/me").await?),
            }
            Ok(Exit::Pending)
        }
    }
}

fn given(args: &ApproveArgs, approval: &Value) -> Done {
    if args.json {
        out::json(approval)?;
    }
    Ok(Exit::Ok)
}

/// The approval that was meant: the one that is named, or the only one that waits.
pub(super) async fn meant(client: &Client, id: Option<&str>, yes: bool) -> Result<Value, Failure> {
    if let Some(id) = id {
        let id = Kind::Approval.find(client, id).await?;
        return client.get(&format!("/approvals/{id}")).await;
    }
    let mut waiting = client
        .items("/approvals?state=pending", "cursor", 50)
        .await?;
    match (waiting.pop(), waiting.is_empty()) {
        (None, _) => Err(Failure::input("nothing waits for a decision")),
        (Some(only), true) if yes || out::can_ask() => Ok(only),
        (Some(only), true) => {
            let id = text(&only["id"]);
            Err(Failure::usage("without a terminal, say which one")
                .hint(format!("one waits: `{id}`; name it, or give `--yes`")))
        }
        (Some(last), false) => {
            waiting.push(last);
            out::show(&approvals::table(&waiting, true).text())?;
            let error = format!("{} wait; say which one", waiting.len());
            Err(Failure::usage(error).hint("give the id, or the last characters of it"))
        }
    }
}

/// All that somebody should know before they decide.
pub(super) async fn show(client: &Client, approval: &Value) {
    let tool = text(&approval["tool"]);
    let found = client.get(&format!("/tools/{}", escaped(&tool))).await;
    // A tool that is gone, or not theirs to see, is still asked about.
    let current = found.unwrap_or_default();
    let definition = &current["definition"];
    out::say(&format!(
        "{} {}",
        out::styled(out::STRONG, &tool),
        text(&approval["version"])
    ));
    let mut fields = Fields::default();
    let age = when::ago(&approval["created"]);
    fields
        .some("does", &text(&definition["description"]))
        .some("runs", &command(&definition["executor"]["command"]))
        .arguments(&approval["args"], Extent::Screen)
        .add(
            "asked by",
            format!(
                "{}, {age}",
                shown::caller(&approval["requester"], &approval["under"])
            ),
        );
    if approval["changes"].is_object() {
        let (much, run) = (
            changed::summary(&approval["changes"]),
            id::short(&approval["run_id"]),
        );
        fields.add(
            "would change",
            format!("{much}; `helve diff {run}` shows it"),
        );
    }
    runs::decisions(&mut fields, approval);
    fields.add(
        "decide by",
        format!(
            "{} ({} left)",
            when::moment(&approval["expires"]),
            when::left(&approval["expires"])
        ),
    );
    if approval["needed"].as_u64() > Some(1) {
        fields.add("needs", format!("{} people", approval["needed"]));
    }
    for warning in warnings(approval, &current) {
        fields.add("warning", Cell::styled(out::WARNING, warning));
    }
    out::say(fields.text().trim_end_matches('\n'));
    if shown::is_long(&approval["args"]) {
        let run = id::short(&approval["run_id"]);
        out::say(&format!("`helve runs {run}` shows the arguments in full"));
    }
}

/// What speaks against it, by what the tool says of itself.
fn warnings(approval: &Value, current: &Value) -> Vec<String> {
    let definition = &current["definition"];
    let mut found = Vec::new();
    match &definition["reversible"] {
        Value::String(word) if word == "no" => found.push("it cannot be undone".to_owned()),
        Value::Object(by) => found.push(format!(
            "it can only be made good by `{}`",
            text(by.get("compensate").unwrap_or(&Value::Null))
        )),
        _ => {}
    }
    if current["version"].is_string() && current["version"] != approval["version"] {
        found.push(format!(
            "the tool is version {} now; what was asked for cannot run any more",
            text(&current["version"])
        ));
    }
    let own = definition["warnings"].as_array().into_iter().flatten();
    found.extend(own.map(text));
    found
}

/// A command line, each element as one word.
fn command(value: &Value) -> String {
    let plain = |word: &str| {
        let known = |c: char| c.is_ascii_alphanumeric() || "-_./={}:,+@%".contains(c);
        !word.is_empty() && word.chars().all(known)
    };
    let words = value.as_array().into_iter().flatten();
    let shown = words.map(|word| match word.as_str() {
        Some(word) if plain(word) => word.to_owned(),
        _ => word.to_string(),
    });
    out::visible(&shown.collect::<Vec<_>>().join(" "))
}
