//! `helve audit was`: whether a secret on the record is a certain value.

use clap::Args;
use helve_core::secret::hmac_of;
use serde_json::{Value, json};

use crate::client::{Client, Target};
use crate::cmd::with_hub;
use crate::exit::{Done, Exit, Failure};
use crate::id::Kind;
use crate::state::State;
use crate::{out, shown, workspace};

/// Say whether a secret argument of a run was a certain value.
///
/// The record has secrets as keyed hashes: nobody can read them, but whoever has the
/// workspace's key can ask. Exit code 0 is yes, 1 is no.
#[derive(Debug, Args)]
pub(crate) struct WasArgs {
    /// The run: its id, or the last characters of it.
    #[arg(value_name = "RUN")]
    id: String,
    /// The argument, like `password`, or `login.password` within another.
    argument: String,
    /// The value, or `-` to read it from standard input, where no other user sees it.
    value: String,
    /// Print what came of it as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(super) async fn run(args: &WasArgs) -> Done {
    if args.target.is_elsewhere() {
        let error = "the key of a hub elsewhere is not here";
        return Err(Failure::usage(error).hint("ask in the workspace of that hub"));
    }
    let value = match args.value.as_str() {
        "-" => {
            let text = std::io::read_to_string(std::io::stdin())
                .map_err(|e| Failure::input(format!("standard input cannot be read: {e}")))?;
            text.strip_suffix('\n').unwrap_or(&text).to_owned()
        }
        value => value.to_owned(),
    };
    with_hub(&args.target, async |client| was(args, client, &value).await).await
}

async fn was(args: &WasArgs, client: &Client, value: &str) -> Done {
    let run = Kind::Run.find(client, &args.id).await?;
    let path = format!("/audit?resource_id={run}");
    let entries = client.items(&path, "after", usize::MAX).await?;
    let mut kept = entries.iter().map(|e| &e["record"]["details"]["args"]);
    let recorded = kept
        .find(|args| args.is_object())
        .ok_or_else(|| Failure::input("the record has no arguments of that run"))?;
    let name = out::visible(&args.argument);
    let mut steps = args.argument.split('.');
    let found = steps.try_fold(recorded, |at, step| at.get(step));
    // A name may have dots of its own.
    let found = recorded.get(&args.argument).or(found);
    let Some(found) = found else {
        let names = recorded
            .as_object()
            .into_iter()
            .flatten()
            .map(|(k, _)| k.as_str());
        let names = out::visible(&names.collect::<Vec<_>>().join(", "));
        let failure = Failure::input(format!("the run had no argument `{name}`"));
        return Err(failure.hint(format!("it had {names}")));
    };
    if !shown::secret(found) {
        let error = format!("`{name}` is not secret: it stands on the record as it was");
        return Err(Failure::input(error).hint(format!("`helve runs {run}` shows it")));
    }
    let key = State::of(&workspace::root()).key("secrets")?;
    let same = readings(value)
        .iter()
        .any(|value| found["hmac"] == hmac_of(&key, value).as_str());
    match args.json {
        true => out::json(&json!({"run": run, "argument": args.argument, "was": same}))?,
        false if same => out::show("yes, it was this value\n")?,
        false => out::show("no, it was another value\n")?,
    }
    Ok(if same { Exit::Ok } else { Exit::Findings })
}

/// The text, and what it is as JSON: a number is recorded as one.
fn readings(text: &str) -> Vec<Value> {
    let mut readings = vec![Value::from(text)];
    readings.extend(serde_json::from_str::<Value>(text).ok());
    readings
}
