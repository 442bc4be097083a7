//! `helve call`: one call of one tool.

use std::time::Duration;

use axum::http::Method;
use clap::Args;
use serde_json::{Value, json};

use super::with_new_hub;
use crate::arguments::Arguments;
use crate::client::{Client, Target, escaped};
use crate::exit::{Done, Exit};
use crate::follow::{self, Until};
use crate::{out, shown};

/// Call a tool and show what it writes while it runs.
///
/// Arguments are `name=text` (`count=5` becomes a number where the tool wants one),
/// `name:=JSON`, or all of them with `--args`. Where policy asks for an approval,
/// the call waits for nobody unless `--wait` is given: it says how to decide it. What
/// changes files is held back until then, and `helve diff` shows it.
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The tool, by any of its names.
    tool: String,
    #[command(flatten)]
    arguments: Arguments,
    /// Wait until somebody decides, where an approval is needed; only with a hub that runs.
    #[arg(long)]
    wait: bool,
    /// Only show what it would change.
    #[arg(long)]
    dry_run: bool,
    /// Run programs only in a sandbox, or not at all; for a hub that the command opens for itself.
    #[arg(long)]
    require_sandbox: bool,
    /// The same call under the same key runs once.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Print the whole answer as JSON, and nothing else.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &CallArgs) -> Done {
    let body = json!({
        "args": args.arguments.read()?,
        "wait": "nothing",
        "dry_run": args.dry_run,
    });
    let target = args.target.with_walls(args.require_sandbox.into());
    with_new_hub(&target, async |client| {
        if args.require_sandbox && !client.is_here() {
            out::warn("a hub runs, and `--require-sandbox` is for `helve up` to say");
        }
        let done = call(args, client, &body).await;
        if done.as_ref().is_err_and(|e| e.exit == Exit::Input) {
            // The tool may be in a file that could not be loaded.
            client
                .problems()
                .iter()
                .for_each(|p| out::warn(&out::visible(p)));
        }
        done
    })
    .await
}

/// Whether what a tool gives is kept nowhere, so that it can only be had at once.
async fn is_sensitive(client: &Client, tool: &str) -> bool {
    let found = client.get(&format!("/tools/{}", escaped(tool))).await;
    found.is_ok_and(|entry| entry["definition"]["sensitive"] == true)
}

async fn call(args: &CallArgs, client: &Client, body: &Value) -> Done {
    let mut body = body.clone();
    if is_sensitive(client, &args.tool).await {
        body["wait"] = "run".into();
    }
    let path = format!("/tools/{}/runs", escaped(&args.tool));
    let key = args.key.as_deref().map(|key| ("idempotency-key", key));
    let headers: Vec<(&str, &str)> = key.into_iter().collect();
    let answer = client
        .send(Method::POST, &path, Some(&body), &headers)
        .await?
        .json()
        .await?;
    if answer["meta"]["state"] == "succeeded" && body["wait"] == "run" {
        return follow::show(&answer, args.json);
    }
    let meta = &answer["meta"];
    let run = meta["run_id"].as_str().unwrap_or_default().to_owned();
    let pending = meta["state"] == "pending_approval";
    if pending {
        let id = meta["approval_id"].as_str().unwrap_or_default();
        if !args.json {
            let me = client.get("/me").await?;
            follow::pending(&args.tool, id, &run, &me);
            forgotten(client, id).await;
        }
        if client.is_here() {
            told(client, id).await;
        }
        if !waits(args, client) {
            return undecided(args, &answer);
        }
    }
    // What is over may have run earlier, under the same key: its output is shown again.
    let answer = match meta["state"] == "denied" {
        true => answer,
        false => follow::run(client, &run, args.json, Until::Staged).await?,
    };
    if answer["meta"]["state"] != "staged" {
        return follow::show(&answer, args.json);
    }
    if !args.json {
        follow::staged(&answer, &client.get("/me").await?);
    }
    if client.is_here() {
        let id = answer["meta"]["approval_id"].as_str().unwrap_or_default();
        told(client, id).await;
    }
    if !waits(args, client) {
        return undecided(args, &answer);
    }
    // What it wrote has been shown, and it writes no more.
    let answer = follow::run(client, &run, true, Until::End).await?;
    follow::show(&answer, args.json)
}

/// Whether to wait for a decision; where nobody could take one, that is said.
fn waits(args: &CallArgs, client: &Client) -> bool {
    if args.wait && client.is_here() {
        out::warn(
            "no hub runs, so nobody could decide while this command waits; start `helve up` to \
             wait for a decision",
        );
    }
    args.wait && !client.is_here()
}

fn undecided(args: &CallArgs, answer: &Value) -> Done {
    if args.json {
        out::data(&format!("{answer}\n"))?;
    }
    Ok(Exit::Pending)
}

/// Waits until people were told of an approval, or could not be: a hub that ends with
/// this command would end in the middle of it.
async fn told(client: &Client, approval: &str) {
    let path = format!("/approvals/{approval}");
    for _ in 0..PATIENCE {
        let kept = client.get(&path).await.unwrap_or_default();
        if kept["notice"]["state"] != "waiting" {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// How often, and how many times, the hub is asked whether people were told: longer
/// than it tries.
const PAUSE: Duration = Duration::from_millis(50);
const PATIENCE: u32 = 800;

/// Says so where a hub that ends with this command takes with it what the call needs.
async fn forgotten(client: &Client, approval: &str) {
    let kept = client.get(&format!("/approvals/{approval}")).await;
    let args = kept.unwrap_or_default()["args"].take();
    let mut args = args.as_object().into_iter().flatten();
    if client.is_here() && args.any(|(_, value)| shown::secret(value)) {
        out::warn(
            "no hub runs that could remember the secrets of this call, so it will not run even if \
             it is approved; start `helve up` first, and call again",
        );
    }
}
