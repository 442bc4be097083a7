//! `helve mcp add`: another server.

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::file::File;
use super::test;
use crate::client::Target;
use crate::cmd::with_new_hub;
use crate::exit::{Done, Exit, Failure};
use crate::{out, workspace};

/// Add an MCP server to `.mcp.json`, and look at what it has.
///
/// `helve mcp add files -- npx -y @modelcontextprotocol/server-filesystem .` starts a
/// program; `helve mcp add tracker https://example.com/mcp` is reached over HTTP. Values can
/// hold `${NAME}`, which stands for a variable of the environment: so no secret needs to be
/// in the file.
#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// What it is called; its tools are `<NAME>_<tool>`.
    name: String,
    /// Its address, or after `--` the program that is to be started.
    #[arg(value_name = "URL | -- COMMAND", required = true, num_args = 1.., trailing_var_arg = true)]
    what: Vec<String>,
    /// How it is spoken with [default: `stdio` for a program, `http` for an address].
    #[arg(long, value_enum, value_name = "HOW")]
    transport: Option<Transport>,
    /// A variable of the program's environment; may be given more than once.
    #[arg(long, short, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// A header of every request; may be given more than once.
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// Replace a server of that name.
    #[arg(long)]
    force: bool,
    /// Only write the file, and do not start anything.
    #[arg(long)]
    no_test: bool,
    /// Print what was found as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    /// A program, through its pipes.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events, as it was in 2024.
    Sse,
}

pub(crate) async fn run(args: &AddArgs) -> Done {
    if args.target.is_elsewhere() {
        let failure = Failure::usage("the servers of another hub are in its own `.mcp.json`");
        return Err(failure.hint("run this where that hub runs"));
    }
    let entry = entry(args)?;
    let text = json!({"mcpServers": {args.name.as_str(): entry}}).to_string();
    let read =
        helve_mcp::upstream::McpJson::read(&text, &|_| Some(String::new()), &Default::default());
    if let Some(problem) = read.problems.first() {
        return Err(Failure::usage(out::visible(problem)));
    }
    let mut file = File::read(&workspace::root())?;
    let servers = file.servers()?;
    if servers.contains_key(&args.name) && !args.force {
        let failure = Failure::usage(format!(
            "there is a server `{}` already",
            out::visible(&args.name)
        ));
        return Err(failure.hint("`--force` replaces it; `helve mcp list` shows all"));
    }
    servers.insert(args.name.clone(), entry);
    file.write()?;
    out::say(&format!("`{}` is in `.mcp.json`", out::visible(&args.name)));
    with_new_hub(&args.target, async |client| {
        super::reload(client).await?;
        match args.no_test {
            true => Ok(Exit::Ok),
            false => test::test(client, &args.name, args.json).await,
        }
    })
    .await
}

fn entry(args: &AddArgs) -> Result<Value, Failure> {
    let first = args.what.first().map(String::as_str).unwrap_or_default();
    let is_url = first.starts_with("http://") || first.starts_with("https://");
    let transport = args.transport.unwrap_or(match is_url {
        true => Transport::Http,
        false => Transport::Stdio,
    });
    let mut entry = Map::new();
    let mut put = |key: &str, value: Value| entry.insert(key.to_owned(), value);
    match transport {
        Transport::Stdio => {
            if !args.header.is_empty() {
                return Err(Failure::usage("`--header` is for a server with an address"));
            }
            put("command", first.into());
            put("args", json!(args.what[1..]));
            if !args.env.is_empty() {
                put("env", Value::Object(pairs(&args.env, '=', "NAME=VALUE")?));
            }
        }
        Transport::Http | Transport::Sse => {
            if !is_url || args.what.len() > 1 {
                return Err(Failure::usage(
                    "an address begins with http:// or https://, and is all there is",
                ));
            }
            if !args.env.is_empty() {
                return Err(Failure::usage("`--env` is for a program"));
            }
            let kind = if transport == Transport::Sse {
                "sse"
            } else {
                "http"
            };
            put("type", kind.into());
            put("url", first.into());
            if !args.header.is_empty() {
                put(
                    "headers",
                    Value::Object(pairs(&args.header, ':', "NAME: VALUE")?),
                );
            }
        }
    }
    Ok(Value::Object(entry))
}

fn pairs(given: &[String], between: char, form: &str) -> Result<Map<String, Value>, Failure> {
    let pair = |text: &String| {
        let (name, value) = text
            .split_once(between)
            .filter(|(name, _)| !name.trim().is_empty())?;
        Some((name.trim().to_owned(), value.trim_start().into()))
    };
    let wrong = || Failure::usage(format!("write it like `{form}`"));
    given
        .iter()
        .map(|text| pair(text).ok_or_else(wrong))
        .collect()
}
