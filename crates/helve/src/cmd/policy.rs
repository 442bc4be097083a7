//! `helve policy`: who may call what, and why.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::with_hub;
use crate::arguments::Arguments;
use crate::client::{Client, Target, escaped};
use crate::config::Config;
use crate::exit::{Done, Exit, Failure};
use crate::shown::text;
use crate::table::{Cell, Table};
use crate::{out, workspace};

/// Show who may call what: every tool, for every owner of a token.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    what: Option<What>,
    /// A principal beside the owners of tokens, like `user:ada`.
    #[arg(long)]
    principal: Option<String>,
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Subcommand)]
enum What {
    Explain(ExplainArgs),
    Check(CheckArgs),
}

/// Say which rule would decide a call, and why the others would not. Nothing runs.
#[derive(Debug, Args)]
struct ExplainArgs {
    /// The tool, by any of its names.
    tool: String,
    #[command(flatten)]
    arguments: Arguments,
    /// Who calls [default: whoever asks].
    #[arg(long)]
    principal: Option<String>,
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// Read the rules and hold each to its examples. No hub is needed.
#[derive(Debug, Args)]
struct CheckArgs {
    /// The file [default: `helve.toml` of the workspace, over the user's own].
    file: Option<PathBuf>,
    /// Print what came of it as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &PolicyArgs) -> Done {
    match &args.what {
        None => with_hub(&args.target, async |client| table(args, client).await).await,
        Some(What::Explain(args)) => {
            let call = args.arguments.read_object()?;
            with_hub(&args.target, async |client| {
                explain(args, client, call).await
            })
            .await
        }
        Some(What::Check(args)) => check(args),
    }
}

async fn table(args: &PolicyArgs, client: &Client) -> Done {
    let path = match &args.principal {
        Some(principal) => format!("/policy?principal={}", escaped(principal)),
        None => "/policy".to_owned(),
    };
    let policy = client.get(&path).await?;
    if args.json {
        out::json(&policy)?;
        return Ok(Exit::Ok);
    }
    let shown = &policy["table"];
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let principals: Vec<String> = list(&shown["principals"]).iter().map(text).collect();
    let mut head = vec!["tool", "risk"];
    head.extend(principals.iter().map(String::as_str));
    let mut table = Table::new(&head);
    let tools = list(&shown["tools"]);
    let mut marks = (false, false);
    for tool in &tools {
        let mut row = vec![
            Cell::styled(out::STRONG, text(&tool["tool"])),
            tool["risk"].as_str().unwrap_or("?").into(),
        ];
        for principal in list(&shown["principals"]) {
            let decision = &tool["decisions"][principal.as_str().unwrap_or_default()];
            marks.0 |= decision["stricter"] == true;
            marks.1 |= decision["looser"] == true;
            row.push(cell(decision));
        }
        table.row(row);
    }
    match tools.is_empty() {
        true => out::say("there are no tools yet"),
        false => out::show(&table.whole())?,
    }
    let rules = usize::try_from(policy["rules"].as_u64().unwrap_or(0)).unwrap_or(0);
    legend(rules, marks);
    Ok(Exit::Ok)
}

fn legend(rules: usize, (stricter, looser): (bool, bool)) {
    out::say("");
    if stricter {
        out::say("  *  a rule about arguments may be stricter");
    }
    if looser {
        out::say("  ~  a rule about arguments may let it through");
    }
    let rules = match rules {
        0 => "no rules: the risk decides".to_owned(),
        n => format!("{}, then the risk decides", out::count(n, "rule")),
    };
    out::say(&out::styled(
        out::DIM,
        format!("{rules}; `helve policy explain <tool>` says why"),
    ));
}

fn cell(decision: &Value) -> Cell {
    let mut word = decision["effect"].as_str().unwrap_or("?").to_owned();
    let style = effect(&word);
    if word == "ask" && decision["approvals"].as_u64() > Some(1) {
        word.push_str(&format!("({})", decision["approvals"]));
    }
    for (key, mark) in [("stricter", '*'), ("looser", '~')] {
        if decision[key] == true {
            word.push(mark);
        }
    }
    Cell::styled(style, word)
}

fn effect(word: &str) -> anstyle::Style {
    match word {
        "allow" => out::FIX,
        "ask" => out::WARNING,
        _ => out::ERROR,
    }
}

async fn explain(args: &ExplainArgs, client: &Client, call: Value) -> Done {
    let mut body = json!({"tool": args.tool, "args": call});
    if let Some(principal) = &args.principal {
        body["principal"] = principal.as_str().into();
    }
    let explained = client.post("/policy/explain", &body).await?;
    if args.json {
        out::json(&explained)?;
        return Ok(Exit::Ok);
    }
    let word = text(&explained["effect"]);
    let by = match explained["rule"].as_u64() {
        Some(rule) => format!("rule {rule}"),
        None => "no rule, so the risk decides".to_owned(),
    };
    let people = match explained["approvals"].as_u64() {
        Some(n) if n > 1 && word == "ask" => format!(", {n} people must agree"),
        _ => String::new(),
    };
    out::show(&format!(
        "{}: {by}: {}{people}\n",
        out::styled(effect(&word), &word),
        text(&explained["reason"])
    ))?;
    out::show(&out::styled(
        out::DIM,
        format!(
            "  `{}` ({}), called by {}\n",
            text(&explained["tool"]),
            explained["risk"].as_str().unwrap_or("no risk given"),
            text(&explained["principal"])
        ),
    ))?;
    let mut table = Table::plain();
    for rule in explained["rules"].as_array().into_iter().flatten() {
        let matched = rule["matched"] == true;
        let word = text(&rule["effect"]);
        table.row([
            format!("  rule {}", rule["number"]).into(),
            Cell::styled(effect(&word), word),
            match matched {
                true => "matches".into(),
                false => Cell::styled(out::DIM, format!("no: {}", text(&rule["why_not"]))),
            },
        ]);
    }
    out::show(&table.whole())?;
    Ok(Exit::Ok)
}

fn check(args: &CheckArgs) -> Done {
    let config = match &args.file {
        Some(file) => Config::of_file(file)?,
        None => Config::load(&workspace::known()?)?,
    };
    let policy = config.policy().map_err(Failure::input)?;
    let rules = policy.rules().len();
    let examples = examples(&config);
    if args.json {
        out::json(&json!({"rules": rules, "examples": examples}))?;
        return Ok(Exit::Ok);
    }
    let rules = out::count(rules, "rule");
    out::say(&format!(
        "{}: {rules}, {} hold",
        out::styled(out::FIX, "ok"),
        out::count(examples, "example")
    ));
    Ok(Exit::Ok)
}

/// How many examples the rules have.
pub(super) fn examples(config: &Config) -> usize {
    let lists = config
        .policy
        .iter()
        .flat_map(|rule| [&rule["match"], &rule["no_match"]]);
    lists.filter_map(Value::as_array).map(Vec::len).sum()
}
