//! `helve audit tail`: the latest of the record.

use std::time::Duration;

use axum::http::Method;
use clap::Args;
use serde_json::Value;

use crate::client::{Client, Target, escaped};
use crate::cmd::with_hub;
use crate::exit::{Done, Exit, Failure};
use crate::id::{self, Kind};
use crate::shown::text;
use crate::table::clipped;
use crate::{out, shown, when};

/// Show the latest entries of the record.
#[derive(Debug, Args)]
pub(crate) struct TailArgs {
    /// How many.
    #[arg(short, default_value_t = 20, value_name = "N")]
    number: usize,
    /// Go on with what comes.
    #[arg(long, short)]
    follow: bool,
    /// About this run, tool, approval or token.
    #[arg(long, value_name = "ID")]
    resource: Option<String>,
    /// By this actor, like `agent:agent`.
    #[arg(long)]
    actor: Option<String>,
    /// Of this event, like `run.started`.
    #[arg(long)]
    event: Option<String>,
    /// Not before: a moment (RFC 3339), or so long ago, like `2h`.
    #[arg(long, value_name = "TIME", value_parser = when::given)]
    since: Option<String>,
    /// Before: a moment (RFC 3339), or so long ago, like `2h`.
    #[arg(long, value_name = "TIME", value_parser = when::given)]
    until: Option<String>,
    /// Print them as JSON, an entry to a line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// How often a hub is asked for more.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) async fn run(args: &TailArgs) -> Done {
    with_hub(&args.target, async |client| tail(args, client).await).await
}

async fn tail(args: &TailArgs, client: &Client) -> Done {
    if args.follow && client.is_here() {
        let error = "no hub runs, so nothing would come";
        return Err(Failure::input(error).hint("start one with `helve up`"));
    }
    let filter = filter(args, client).await?;
    let head = head(client).await?;
    let mut last = head;
    let mut entries = latest(client, &filter, head, args.number).await?;
    loop {
        for entry in &entries {
            last = entry["seq"].as_u64().unwrap_or(last).max(last);
            if !out::still_read(&line(entry, args.json))? {
                return Ok(Exit::Ok);
            }
        }
        if !args.follow {
            return Ok(Exit::Ok);
        }
        tokio::time::sleep(PAUSE).await;
        entries = after(client, &filter, last).await?;
    }
}

async fn filter(args: &TailArgs, client: &Client) -> Result<String, Failure> {
    let resource = match args.resource.as_deref() {
        // The ending of a run's id is what people have at hand.
        Some(id) if id.len() >= 6 && id.bytes().all(|b| b.is_ascii_hexdigit()) => {
            Some(Kind::Run.find(client, id).await?)
        }
        other => other.map(str::to_owned),
    };
    let parts = [
        ("resource_id", resource.as_ref()),
        ("actor", args.actor.as_ref()),
        ("event", args.event.as_ref()),
        ("since", args.since.as_ref()),
        ("until", args.until.as_ref()),
    ];
    let parts = parts
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    Ok(parts
        .map(|(name, value)| format!("&{name}={}", escaped(value)))
        .collect())
}

/// The number of the last entry.
async fn head(client: &Client) -> Result<u64, Failure> {
    let reply = client.send(Method::GET, "/metrics", None, &[]).await?;
    let status = reply.status;
    let bytes = reply.bytes().await?;
    if status != 200 {
        let problem = serde_json::from_slice(&bytes).unwrap_or_default();
        return Err(crate::client::refusal(status, &problem));
    }
    let text = String::from_utf8_lossy(&bytes);
    let count = text
        .lines()
        .find_map(|line| line.strip_prefix("helve_audit_entries "));
    let count = count.and_then(|n| n.trim().parse().ok());
    count.ok_or_else(|| Failure::hub("the hub does not say how long its record is"))
}

/// The last `number` entries that pass. The record is read from its end in windows
/// that grow, so that the latest are there at once, however long it is.
async fn latest(
    client: &Client,
    filter: &str,
    head: u64,
    number: usize,
) -> Result<Vec<Value>, Failure> {
    let mut window = 200u64.max(u64::try_from(number).unwrap_or(u64::MAX));
    loop {
        let start = head.saturating_sub(window);
        let mut found = after(client, filter, start).await?;
        if found.len() >= number || start == 0 {
            let skip = found.len().saturating_sub(number);
            return Ok(found.split_off(skip));
        }
        window = window.saturating_mul(8);
    }
}

async fn after(client: &Client, filter: &str, start: u64) -> Result<Vec<Value>, Failure> {
    let mut all = Vec::new();
    let mut start = start.to_string();
    loop {
        let path = format!("/audit?after={start}&limit=200{filter}");
        let mut page = client.get(&path).await?;
        if let Value::Array(items) = page["items"].take() {
            all.extend(items);
        }
        match page["next"].as_str() {
            Some(next) => start = next.to_owned(),
            None => return Ok(all),
        }
    }
}

fn line(entry: &Value, json: bool) -> String {
    if json {
        return format!("{entry}\n");
    }
    let record = &entry["record"];
    let resource = match text(&record["resource"]) {
        id if ["run_", "apr_", "tok_"].iter().any(|p| id.starts_with(p)) => {
            format!("{}…{}", &id[..4], id::short(&record["resource"]))
        }
        other => other,
    };
    let line = format!(
        "{:>6}  {}  {:<16} {:<16} {resource:<13}",
        entry["seq"].as_u64().unwrap_or_default(),
        when::moment(&record["at"]),
        text(&record["event"]),
        text(&record["actor"]),
    );
    let details = details(&record["details"]);
    let room = out::width().map(|w| w.saturating_sub(line.chars().count() + 2));
    let details = match room {
        Some(room) => clipped(&details, room),
        None => details,
    };
    let line = format!("{line}  {}", out::styled(out::DIM, details));
    format!("{}\n", line.trim_end())
}

/// What a reader looks for first; `--json` has all of it.
const FIRST: &[&str] = &[
    "tool", "args", "state", "verdict", "reason", "message", "decision",
];
const LEFT_OUT: &[&str] = &[
    "approval",
    "before",
    "bound",
    "hash",
    "needed",
    "result_hash",
    "risk",
    "token",
    "under",
    "version",
    "version_hash",
];

fn details(value: &Value) -> String {
    let Some(map) = value.as_object() else {
        return String::new();
    };
    let rank = |key: &str| FIRST.iter().position(|f| *f == key).unwrap_or(FIRST.len());
    let mut pairs: Vec<(&String, &Value)> = map
        .iter()
        .filter(|(key, value)| !LEFT_OUT.contains(&key.as_str()) && !value.is_null())
        .collect();
    pairs.sort_by_key(|(key, _)| rank(key));
    let shown = pairs.iter().map(|(key, value)| match key.as_str() {
        "args" => shown::arguments(value),
        "tool" | "state" | "verdict" => text(value),
        "decision" => format!("({}: {})", text(&value["effect"]), text(&value["reason"])),
        _ => format!("{key}={value}"),
    });
    out::visible(&shown.collect::<Vec<_>>().join(" "))
}
