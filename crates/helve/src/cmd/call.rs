//! `helve call`: one call of one tool.

use std::time::Duration;

use axum::http::Method;
use clap::Args;
use serde_json::{Value, json};

use super::with_new_hub;
use crate::arguments::Arguments;
use crate::client::{Client, Target, escaped};
use crate::exit::{Done, Exit};
use crate::follow;
use crate::{out, shown};

/// Call a tool and show what it writes while it runs.
///
/// Arguments are `name=text` (`count=5` becomes a number where the tool wants one),
/// `name:=JSON`, or all of them with `--args`. Where policy asks for an approval,
/// the call waits for nobody unless `--wait` is given: it says how to decide it.
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The tool, by any of its names.
    tool: String,
    #[command(flatten)]
    arguments: Arguments,
    /// Wait until somebody decides, where an approval is needed; only with a hub that runs.
    #[arg(long)]
    wait: bool,
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
    let body = json!({"args": args.arguments.read()?, "wait": "nothing"});
    with_new_hub(&args.target, async |client| {
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

async fn call(args: &CallArgs, client: &Client, body: &Value) -> Done {
    let path = format!("/tools/{}/runs", escaped(&args.tool));
    let key = args.key.as_deref().map(|key| ("idempotency-key", key));
    let headers: Vec<(&str, &str)> = key.into_iter().collect();
    let answer = client
        .send(Method::POST, &path, Some(body), &headers)
        .await?
        .json()
        .await?;
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
        if args.wait && client.is_here() {
            out::warn(
                "no hub runs, so nobody could decide while this command waits; start `helve up` to \
                 wait for a decision",
            );
        }
        if !args.wait || client.is_here() {
            if args.json {
                out::data(&format!("{answer}\n"))?;
            }
            return Ok(Exit::Pending);
        }
    }
    // What is over may have run earlier, under the same key: its output is shown again.
    let answer = match meta["state"] == "denied" {
        true => answer,
        false => follow::run(client, &run, args.json).await?,
    };
    follow::show(&answer, args.json)
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
