//! `helve chatlog`: chats that were exported, taken in and looked at.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::with_new_hub;
use crate::client::{Client, Target};
use crate::exit::{Done, Exit, Failure};
use crate::shown::text;
use crate::table::{Cell, Table};
use crate::{follow, id, out};

/// Take in chats that were exported, and see what is there.
///
/// Agents search them with the tools `chatlog_*`. What program wrote an export is told by its
/// content: WeChat (chatlog, MemoTrace, PyWxDump, WeFlow), ChatLab, Telegram, WhatsApp, Discord, Slack,
/// QQ, and tables or lines of JSON.
#[derive(Debug, Args)]
pub(crate) struct ChatlogArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Import(ImportArgs),
    Stats(StatsArgs),
}

/// Take in exports: files, zips or folders in the workspace.
///
/// Each is taken whole or not at all; what is there already is not taken twice. `helve undo` takes
/// an import back.
#[derive(Debug, Args)]
struct ImportArgs {
    /// The exports.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The zone of times that have none, like `Asia/Shanghai` [default: `chatlog.timezone`].
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
    /// The order of day, month and year, where a file leaves it open.
    #[arg(long, value_name = "ORDER", value_parser = ["year_month_day", "day_month_year", "month_day_year"])]
    dates: Option<String>,
    /// The name of the chat, where a file has none.
    #[arg(long, value_name = "NAME")]
    chat: Option<String>,
    /// The name of whoever exported it, where a file only says "me".
    #[arg(long, value_name = "NAME")]
    me: Option<String>,
    /// Which column or key is what, for a table that is nobody's format: `text=body`, `time=ts`,
    /// `sender=who`; as often as needed.
    #[arg(long = "column", value_name = "WHAT=NAME")]
    columns: Vec<String>,
    /// Take a file that ends in the middle of a message up to there.
    #[arg(long)]
    accept_cut: bool,
    /// Print what each brought as JSON, one line each.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// Tell what chats there are.
#[derive(Debug, Args)]
struct StatsArgs {
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &ChatlogArgs) -> Done {
    match &args.what {
        What::Import(args) => {
            with_new_hub(&args.target, async |client| import(args, client).await).await
        }
        What::Stats(args) => {
            with_new_hub(&args.target, async |client| stats(args, client).await).await
        }
    }
}

async fn import(args: &ImportArgs, client: &Client) -> Done {
    let mut columns = serde_json::Map::new();
    for column in &args.columns {
        let (what, name) = column.split_once('=').ok_or_else(|| {
            Failure::input(format!("`--column {column}` has no `=`"))
                .hint("write it like `--column text=body`")
        })?;
        columns.insert(what.to_owned(), name.into());
    }
    let mut worst = Exit::Ok;
    for path in &args.paths {
        let mut asked = json!({
            "path": absolute(path)?,
            "accept_cut": args.accept_cut,
            "mapping": columns,
        });
        let options = [
            ("timezone", &args.timezone),
            ("dates", &args.dates),
            ("chat", &args.chat),
            ("me", &args.me),
        ];
        for (name, value) in options {
            if let Some(value) = value {
                asked[name] = value.as_str().into();
            }
        }
        match import_one(client, path, &asked, args.json).await {
            Ok(Exit::Ok) => {}
            Ok(other) => worst = other,
            // The others may be fine.
            Err(failure) if args.paths.len() > 1 => {
                out::failure(&failure);
                worst = failure.exit;
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(worst)
}

/// The hub may have another folder than this command.
fn absolute(path: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(path).map_err(Failure::input)?;
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::input(format!("`{}` is no text", path.display())))
}

async fn import_one(client: &Client, path: &Path, asked: &Value, json: bool) -> Done {
    let body = json!({"args": asked, "wait": "nothing"});
    let begun = client.post("/tools/chatlog_import/runs", &body).await?;
    let run = text(&begun["meta"]["run_id"]);
    if run.is_empty() {
        return Err(refused(&begun));
    }
    let answer = watch(client, &run).await?;
    match answer["meta"]["state"].as_str() {
        Some("pending_approval") => {
            let approval = text(&answer["meta"]["approval_id"]);
            follow::pending("chatlog_import", &approval, &run, &client.get("/me").await?);
            return Ok(Exit::Pending);
        }
        Some("staged") => {
            follow::staged(&answer, &client.get("/me").await?);
            return Ok(Exit::Pending);
        }
        _ => {}
    }
    if answer["ok"] != true {
        return Err(refused(&answer));
    }
    let data = &answer["data"];
    if json {
        out::data(&format!("{data}\n"))?;
        return Ok(Exit::Ok);
    }
    let path = out::visible(&path.display().to_string());
    for sample in data["malformed_samples"].as_array().into_iter().flatten() {
        out::warn(&format!(
            "{path}:{}: {}",
            sample["line"],
            text(&sample["why"])
        ));
    }
    let number = |name: &str| data[name].as_u64().unwrap_or_default() as usize;
    let malformed = match number("malformed") {
        0 => String::new(),
        n => format!(", {} could not be read", out::count(n, "line")),
    };
    out::say(&match data["already"] == true {
        true => format!("{path}: it is here already; nothing was changed"),
        false => format!(
            "{path}: {} ({}), {} new{malformed}; `helve undo {}` takes it back",
            out::count(number("messages"), "message"),
            text(&data["format"]),
            number("new"),
            id::short(&answer["meta"]["run_id"]),
        ),
    });
    Ok(Exit::Ok)
}

fn refused(answer: &Value) -> Failure {
    let error = &answer["error"];
    let message = error["message"].as_str().unwrap_or("it did not go well");
    let failure = Failure::input(out::visible(message));
    match error["hint"].as_str() {
        Some(hint) => failure.hint(out::visible(hint)),
        None => failure,
    }
}

/// How often a run is looked at.
const PAUSE: Duration = Duration::from_millis(100);

/// Shows how far a run has come until it is over, or waits for people.
async fn watch(client: &Client, run: &str) -> Result<Value, Failure> {
    let bar = bar();
    loop {
        let kept = client.get(&format!("/runs/{run}")).await?;
        let state = kept["state"].as_str().unwrap_or_default();
        if matches!(state, "pending_approval" | "staged") || !kept["ended"].is_null() {
            bar.finish_and_clear();
            let mut answer = kept["answer"].clone();
            if answer.is_null() {
                answer = json!({"meta": {"state": state, "run_id": run, "approval_id": kept["approval_id"]}});
            }
            return Ok(answer);
        }
        let progress = &kept["progress"];
        if let Some(total) = progress["total"].as_u64() {
            bar.set_length(total);
        }
        bar.set_position(progress["done"].as_u64().unwrap_or_default());
        bar.set_message(text(&progress["message"]));
        tokio::time::sleep(PAUSE).await;
    }
}

fn bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    let template = "{elapsed:>4} [{bar:30}] {percent:>3}% {msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

async fn stats(args: &StatsArgs, client: &Client) -> Done {
    let body = json!({"args": {}, "wait": "run"});
    let answer = client.post("/tools/chatlog_stats/runs", &body).await?;
    if answer["ok"] != true {
        return Err(refused(&answer));
    }
    let data = &answer["data"];
    if args.json {
        out::json(data)?;
        return Ok(Exit::Ok);
    }
    if data["total_messages"] == 0 {
        out::say("no chats yet; `helve chatlog import <path>` takes one in");
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(&["chat", "messages", "from", "to"]);
    let day = |value: &Value| text(value).chars().take(10).collect::<String>();
    for chat in data["chats"].as_array().into_iter().flatten() {
        table.row(vec![
            Cell::styled(out::STRONG, text(&chat["name"])),
            chat["messages"].to_string().into(),
            day(&chat["first"]).into(),
            day(&chat["last"]).into(),
        ]);
    }
    out::show(&table.text())?;
    let senders = data["senders"].as_array().map_or(0, Vec::len);
    out::say(&format!(
        "{} by {} in {}",
        out::count(
            data["total_messages"].as_u64().unwrap_or(0) as usize,
            "message"
        ),
        out::count(senders, "sender"),
        out::count(data["chats"].as_array().map_or(0, Vec::len), "chat"),
    ));
    Ok(Exit::Ok)
}
