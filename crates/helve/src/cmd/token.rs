//! `helve token`: who may come in, and with what.

use std::time::Duration;

use axum::http::Method;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use helve_kernel::Permission;
use serde_json::{Value, json};

use super::{with_hub, with_new_hub};
use crate::client::{Client, Target};
use crate::exit::{Done, Exit, Failure};
use crate::hub::TERMINAL;
use crate::id::{self, Kind};
use crate::shown::{self, Fields, text};
use crate::state::State;
use crate::table::{Cell, Table};
use crate::{out, when, workspace};

/// Make, list and revoke tokens.
#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Create(CreateArgs),
    List(ListArgs),
    Revoke(RevokeArgs),
}

/// Make a token. Its secret is printed to standard output, once, and kept nowhere.
///
/// Without `--permission`, an agent may see and call tools and see its own runs; a
/// person may also decide approvals.
#[derive(Debug, Args)]
struct CreateArgs {
    /// What it is for; an agent is called `agent:<NAME>`.
    name: String,
    /// For a person who is called so, like `user:ada`.
    #[arg(long, value_name = "OWNER", conflicts_with = "agent")]
    person: Option<String>,
    /// For an agent; that is the default.
    #[arg(long)]
    agent: bool,
    /// What it allows; may be given more than once.
    #[arg(long, value_name = "PERMISSION", value_parser = permissions())]
    permission: Vec<String>,
    /// The tools that it reaches, as a pattern like `file_*`; may be given more than once [default: *].
    #[arg(long, value_name = "PATTERN")]
    scope: Vec<String>,
    /// The highest risk that it may call.
    #[arg(long, value_name = "RISK", value_parser = ["read", "exec_low", "exec_high", "write"])]
    max_risk: Option<String>,
    /// How long it counts, like `12h` or `30d` [default: until it is revoked].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    expires: Option<Duration>,
    /// Keep it in `.helve/tokens/<NAME>`, so that commands can use it with `--as <NAME>`.
    #[arg(long)]
    save: bool,
    /// Print the token and its secret as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// List tokens; never their secrets.
#[derive(Debug, Args)]
struct ListArgs {
    /// Also those that are revoked or expired.
    #[arg(long)]
    all: bool,
    /// Print them as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// Revoke a token; what is open with it ends.
#[derive(Debug, Args)]
struct RevokeArgs {
    /// The token: its id, or the last characters of it.
    id: String,
    #[command(flatten)]
    target: Target,
}

fn permissions() -> PossibleValuesParser {
    let words: Vec<&str> = Permission::ALL.iter().map(|p| p.as_str()).collect();
    words.into()
}

fn duration(text: &str) -> Result<Duration, &'static str> {
    crate::config::duration(text).ok_or("write it like `90s`, `30m`, `12h` or `30d`")
}

pub(crate) async fn run(args: &TokenArgs) -> Done {
    match &args.what {
        What::Create(args) => {
            let keep = args.save.then(|| place(&args.name)).transpose()?;
            with_new_hub(&args.target, async |client| {
                create(args, client, keep).await
            })
            .await
        }
        What::List(args) => with_hub(&args.target, async |client| list(args, client).await).await,
        What::Revoke(args) => {
            with_hub(&args.target, async |client| {
                let id = Kind::Token.find(client, &args.id).await?;
                client
                    .ask(Method::DELETE, &format!("/tokens/{id}"), None)
                    .await?;
                out::say(&format!("`{id}` is revoked"));
                Ok(Exit::Ok)
            })
            .await
        }
    }
}

/// Where a token of that name would be kept, if there is room.
fn place(name: &str) -> Result<State, Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        let error = "a token is saved under its name, which then has letters, digits, `.`, `_` and `-` only";
        return Err(Failure::usage(error));
    }
    let state = State::of(&workspace::root());
    let taken = name == TERMINAL || state.token(name).exists();
    match taken {
        true => Err(
            Failure::usage(format!("there is a saved token `{name}` already"))
                .hint("choose another name, or delete its file below `.helve/tokens/` first"),
        ),
        false => Ok(state),
    }
}

async fn create(args: &CreateArgs, client: &Client, keep: Option<State>) -> Done {
    let mut body = json!({"name": args.name});
    let mut permissions = args.permission.clone();
    if let Some(owner) = &args.person {
        body["kind"] = "person".into();
        body["owner"] = owner.as_str().into();
        if permissions.is_empty() {
            let person = Permission::AGENT
                .into_iter()
                .chain([Permission::ApprovalDecide]);
            permissions = person.map(|p| p.as_str().to_owned()).collect();
        }
    }
    if !permissions.is_empty() {
        body["permissions"] = json!(permissions);
    }
    if !args.scope.is_empty() {
        body["scopes"] = json!(args.scope);
    }
    if let Some(risk) = &args.max_risk {
        body["max_risk"] = risk.as_str().into();
    }
    if let Some(time) = args.expires {
        body["expires_in"] = time.as_secs().into();
    }
    let token = client.post("/tokens", &body).await?;
    let secret = token["secret"].as_str().unwrap_or_default();
    if let Some(state) = &keep {
        state.write_token(&args.name, secret)?;
    }
    if args.json {
        out::json(&token)?;
        return Ok(Exit::Ok);
    }
    let mut fields = Fields::default();
    fields
        .add("token", text(&token["id"]))
        .add("owner", shown::caller(&token["owner"], &token["under"]))
        .add("may", words(&token["permissions"]))
        .add(
            "tools",
            format!(
                "{}, up to risk {}",
                words(&token["scopes"]),
                text(&token["max_risk"])
            ),
        )
        .add("until", until(&token));
    out::say(fields.text().trim_end_matches('\n'));
    if keep.is_some() {
        out::say(&format!("  saved: use it with `--as {}`", args.name));
    }
    out::say("\nIts secret is shown here and never again:");
    out::data(&format!("{secret}\n"))?;
    Ok(Exit::Ok)
}

fn words(list: &Value) -> String {
    let words = list.as_array().into_iter().flatten().map(text);
    match words.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "nothing".to_owned(),
        words => words,
    }
}

fn until(token: &Value) -> String {
    match token["expires"].is_null() {
        true => "it is revoked".to_owned(),
        false => when::moment(&token["expires"]),
    }
}

fn is_over(token: &Value) -> bool {
    !token["revoked"].is_null() || when::left(&token["expires"]) == "over"
}

async fn list(args: &ListArgs, client: &Client) -> Done {
    let mut tokens = id::tokens(client).await?;
    tokens.retain(|t| args.all || !is_over(t));
    if args.json {
        out::json(&Value::Array(tokens))?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(&["id", "name", "owner", "until", "tools", "risk", "may"]);
    for token in &tokens {
        let until = match (token["revoked"].is_null(), is_over(token)) {
            (false, _) => Cell::styled(out::ERROR, "revoked"),
            (true, true) => Cell::styled(out::ERROR, "expired"),
            (true, false) if token["expires"].is_null() => Cell::styled(out::DIM, "no end"),
            (true, false) => when::moment(&token["expires"]).into(),
        };
        table.row([
            id::short(&token["id"]).into(),
            Cell::styled(out::STRONG, text(&token["name"])),
            text(&token["owner"]).into(),
            until,
            words(&token["scopes"]).into(),
            text(&token["max_risk"]).into(),
            Cell::styled(out::DIM, words(&token["permissions"])),
        ]);
    }
    out::show(&table.text())?;
    Ok(Exit::Ok)
}
