//! `helve logs`: what a run writes.

use std::io::Write as _;

use axum::http::Method;
use clap::Args;
use futures_util::StreamExt as _;
use serde_json::Value;

use super::with_hub;
use crate::client::{Client, Target, escaped, refusal};
use crate::exit::{Done, Exit, Failure};
use crate::follow::Until;
use crate::id::Kind;
use crate::shown::text;
use crate::{follow, out, when};

/// Show what a run wrote.
///
/// With `--follow`, what it writes while it runs, until it is over; the exit code is
/// then that of the call.
#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// The run: its id, or the last characters of it.
    #[arg(value_name = "RUN")]
    id: String,
    /// Wait for more until the run is over, and for a decision before it begins.
    #[arg(long, short)]
    follow: bool,
    /// Print a file that the run left, byte for byte.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["follow", "json"])]
    artifact: Option<String>,
    /// Print the pieces of output as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &LogsArgs) -> Done {
    with_hub(&args.target, async |client| {
        let id = Kind::Run.find(client, &args.id).await?;
        match (&args.artifact, args.follow) {
            (Some(name), _) => artifact(client, &id, name).await,
            (None, true) => followed(args, client, &id).await,
            (None, false) => so_far(args, client, &id).await,
        }
    })
    .await
}

async fn followed(args: &LogsArgs, client: &Client, id: &str) -> Done {
    let run = client.get(&format!("/runs/{id}")).await?;
    let waits = ["pending_approval", "staged"]
        .iter()
        .any(|s| run["state"] == *s);
    if client.is_here() && waits {
        let error = "the run waits for an approval, and no hub runs that could go on with it";
        return Err(Failure::input(error).hint("start one with `helve up`, or `helve approve` it"));
    }
    let answer = follow::run(client, id, args.json, Until::End).await?;
    follow::show(&answer, args.json)
}

async fn so_far(args: &LogsArgs, client: &Client, id: &str) -> Done {
    if args.json {
        let path = format!("/runs/{id}/logs");
        let chunks = client.items(&path, "after", usize::MAX).await?;
        out::json(&Value::Array(chunks))?;
        return Ok(Exit::Ok);
    }
    follow::logs(client, id).await?;
    let run = client.get(&format!("/runs/{id}")).await?;
    let mut said = text(&run["state"]);
    if let Some(code) = run["exit_code"].as_i64().filter(|c| *c != 0) {
        said.push_str(&format!(", exit code {code}"));
    }
    let took = when::took(&run["started"], &run["ended"]);
    if !took.is_empty() {
        said.push_str(&format!(", after {took}"));
    }
    if let Some(message) = run["answer"]["error"]["message"].as_str() {
        said.push_str(&format!(": {}", out::visible(message)));
    }
    out::say(&out::styled(out::DIM, said));
    Ok(Exit::Ok)
}

async fn artifact(client: &Client, id: &str, name: &str) -> Done {
    let path = format!("/runs/{id}/artifacts/{}", escaped(name));
    let mut reply = client.send(Method::GET, &path, None, &[]).await?;
    if reply.status != 200 {
        let status = reply.status;
        let problem = serde_json::from_slice(&reply.bytes().await?).unwrap_or_default();
        return Err(refusal(status, &problem));
    }
    let mut stdout = std::io::stdout().lock();
    while let Some(part) = reply.body.next().await {
        let part = part.map_err(|e| Failure::hub(format!("the artifact was cut off: {e}")))?;
        match stdout.write_all(&part).and_then(|()| stdout.flush()) {
            // A reader that has gone has all it wants.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => break,
            written => written.map_err(|e| Failure::output(format!("cannot be written: {e}")))?,
        }
    }
    Ok(Exit::Ok)
}
