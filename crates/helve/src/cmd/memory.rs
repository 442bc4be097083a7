//! `helve memory`: what is remembered of oneself, looked at and let go.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::with_hub;
use crate::client::{Client, Target, escaped};
use crate::exit::{Done, Exit, Failure};
use crate::shown::text;
use crate::table::{Cell, Table};
use crate::{out, when};

/// See what agents remember of you, find what should not be kept, and let it go.
///
/// These are the tools `memory_list`, `memory_recall`, `memory_check` and `memory_forget`, called as
/// you: under policy, and on the record.
#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List what is remembered, newest first.
    List(ListArgs),
    /// Find what is remembered about something.
    Recall(RecallArgs),
    /// Look for what is said twice, old, or secret.
    Audit(AuditArgs),
    /// Forget one, or those that contain certain words.
    Forget(ForgetArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Only of this kind: preference, fact, opinion, attitude.
    #[arg(long, value_name = "KIND")]
    category: Option<String>,
    /// Also what was replaced.
    #[arg(long)]
    history: bool,
    /// The most of them.
    #[arg(long, default_value_t = 50)]
    limit: u32,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
struct RecallArgs {
    /// What it is about.
    topic: String,
    /// The most of them.
    #[arg(long, default_value_t = 5)]
    limit: u32,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
struct AuditArgs {
    /// After how many days a memory counts as old.
    #[arg(long, value_name = "DAYS", default_value_t = 365)]
    stale: u32,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
struct ForgetArgs {
    /// The memory's id.
    #[arg(
        value_name = "ID",
        required_unless_present = "query",
        conflicts_with = "query"
    )]
    id: Option<String>,
    /// Those that contain these words; only shown unless `--yes` is given.
    #[arg(long, value_name = "WORDS")]
    query: Option<String>,
    /// Forget what the words find, without showing it first.
    #[arg(long, requires = "query")]
    yes: bool,
    /// Let go as well of what an undo would need: it is gone for good, from every file.
    #[arg(long)]
    purge: bool,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &MemoryArgs) -> Done {
    match &args.what {
        What::List(args) => with_hub(&args.target, async |client| list(args, client).await).await,
        What::Recall(args) => {
            with_hub(&args.target, async |client| recall(args, client).await).await
        }
        What::Audit(args) => with_hub(&args.target, async |client| audit(args, client).await).await,
        What::Forget(args) => {
            with_hub(&args.target, async |client| forget(args, client).await).await
        }
    }
}

async fn list(args: &ListArgs, client: &Client) -> Done {
    let category = args.category.as_deref().unwrap_or("any");
    let asked = json!({"category": category, "limit": args.limit, "history": args.history});
    let data = called(client, "memory_list", &asked).await?.data;
    if args.json {
        out::json(&data)?;
        return Ok(Exit::Ok);
    }
    table(&data["memories"])?;
    let (shown, total) = (count(&data["memories"]), &data["total"]);
    if !data["next"].as_str().unwrap_or_default().is_empty() {
        out::say(&format!("{shown} of {total}; `--limit` shows more"));
    }
    Ok(Exit::Ok)
}

async fn recall(args: &RecallArgs, client: &Client) -> Done {
    let asked = json!({"topic": args.topic, "limit": args.limit});
    let data = called(client, "memory_recall", &asked).await?.data;
    if args.json {
        out::json(&data)?;
        return Ok(Exit::Ok);
    }
    table(&data["memories"])?;
    Ok(Exit::Ok)
}

async fn audit(args: &AuditArgs, client: &Client) -> Done {
    let asked = json!({"stale_days": args.stale});
    let data = called(client, "memory_check", &asked).await?.data;
    if args.json {
        out::json(&data)?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(&["problem", "memories", "why"]);
    for finding in data["findings"].as_array().into_iter().flatten() {
        let ids = finding["ids"].as_array().into_iter().flatten().map(text);
        table.row(vec![
            Cell::styled(out::STRONG, text(&finding["problem"])),
            ids.collect::<Vec<_>>().join(" ").into(),
            text(&finding["why"]).into(),
        ]);
    }
    if count(&data["findings"]) > 0 {
        out::show(&table.text())?;
    }
    let looked_at = data["looked_at"].as_u64().unwrap_or(0) as usize;
    out::say(&format!(
        "{} in {}",
        out::count(count(&data["findings"]), "finding"),
        match looked_at {
            1 => "1 memory".to_owned(),
            n => format!("{n} memories"),
        }
    ));
    Ok(Exit::Ok)
}

async fn forget(args: &ForgetArgs, client: &Client) -> Done {
    let asked = match (&args.id, &args.query) {
        (Some(id), _) => json!({"memory_id": id}),
        (None, query) => json!({"query": query, "dry_run": !args.yes}),
    };
    let mut done = called(client, "memory_forget", &asked).await?;
    let gone = done.data["done"] == true;
    let some = count(&done.data["memories"]) > 0;
    if args.purge && gone && some {
        let path = format!("/runs/{}/purge", done.run);
        done.data["purged"] = client.post(&path, &json!({})).await?;
    }
    if args.json {
        out::json(&done.data)?;
        return Ok(Exit::Ok);
    }
    table(&done.data["memories"])?;
    out::say(&match (some, gone, args.purge) {
        (false, _, _) => "nothing contains these words".to_owned(),
        (_, false, _) => "nothing is forgotten yet; `--yes` forgets them".to_owned(),
        (_, true, false) => format!("forgotten; `helve undo {}` brings it back", done.run),
        (_, true, true) => "forgotten for good: nothing of it is kept".to_owned(),
    });
    Ok(Exit::Ok)
}

/// What a call gave.
struct Called {
    run: String,
    data: Value,
}

/// Calls a tool and waits for its end: what it gives is kept nowhere.
async fn called(client: &Client, tool: &str, args: &Value) -> Result<Called, Failure> {
    let path = format!("/tools/{}/runs", escaped(tool));
    let answer = client
        .post(&path, &json!({"args": args, "wait": "run"}))
        .await?;
    if answer["ok"] != true {
        let error = &answer["error"];
        let message = error["message"].as_str().unwrap_or("it did not go well");
        let failure = Failure::hub(out::visible(message));
        return Err(match error["hint"].as_str() {
            Some(hint) => failure.hint(out::visible(hint)),
            None => failure,
        });
    }
    Ok(Called {
        run: text(&answer["meta"]["run_id"]),
        data: answer["data"].clone(),
    })
}

fn count(list: &Value) -> usize {
    list.as_array().map_or(0, Vec::len)
}

fn table(memories: &Value) -> Result<(), Failure> {
    let mut table = Table::new(&["id", "noted", "kind", "memory"]);
    for memory in memories.as_array().into_iter().flatten() {
        table.row(vec![
            text(&memory["id"]).into(),
            when::ago(&memory["created"]).into(),
            text(&memory["category"]).into(),
            Cell::styled(out::STRONG, text(&memory["content"])),
        ]);
    }
    match count(memories) {
        0 => Ok(()),
        _ => out::show(&table.text()),
    }
}
