//! `helve call`: one call of one tool.

use axum::http::Method;
use clap::Args;
use serde_json::{Map, Value, json};

use crate::client::{Client, Target, escaped};
use crate::exit::{Done, Exit, Failure};
use crate::follow;
use crate::out;

/// Call a tool and show what it writes while it runs.
///
/// Arguments are `name=text` (`count=5` becomes a number where the tool wants one),
/// `name:=JSON`, or all of them with `--args`. Where policy asks for an approval,
/// the call waits for nobody unless `--wait` is given: it says how to decide it.
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The tool, by any of its names.
    tool: String,
    /// Arguments: `name=text` or `name:=JSON`.
    #[arg(value_name = "NAME=VALUE")]
    values: Vec<String>,
    /// All arguments as a JSON object, or `-` to read it from standard input.
    #[arg(long, value_name = "JSON", conflicts_with = "values")]
    args: Option<String>,
    /// Wait until somebody decides, where an approval is needed.
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
    let body = json!({"args": arguments(args)?, "wait": "nothing"});
    let client = Client::open(&args.target).await?;
    let done = call(args, &client, &body).await;
    client.close().await?;
    done
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
            follow::pending(&args.tool, id, &run);
        }
        if !args.wait {
            if args.json {
                out::data(&format!("{answer}\n"))?;
            }
            return Ok(Exit::Pending);
        }
    }
    let over = matches!(
        meta["state"].as_str(),
        Some("denied" | "failed" | "succeeded")
    );
    let quiet = args.json;
    let answer = match over {
        true => answer,
        false => follow::run(client, &run, quiet).await?,
    };
    follow::show(&answer, args.json)
}

/// The arguments, as they were given in one of three ways.
fn arguments(args: &CallArgs) -> Result<Value, Failure> {
    if let Some(text) = &args.args {
        let text = match text.as_str() {
            "-" => std::io::read_to_string(std::io::stdin())
                .map_err(|e| Failure::input(format!("standard input cannot be read: {e}")))?,
            text => text.to_owned(),
        };
        // The hub reads it: it tells cut-off text from wrong text.
        return Ok(Value::String(text));
    }
    let mut map = Map::new();
    for item in &args.values {
        let wrong = || {
            Failure::usage(format!("`{}` is no argument", out::visible(item)))
                .hint("write `name=text` or `name:=JSON`")
        };
        let (name, value) = item.split_once('=').ok_or_else(wrong)?;
        let (name, value) = match name.strip_suffix(':') {
            Some(name) => {
                let value = serde_json::from_str(value).map_err(|e| {
                    Failure::usage(format!(
                        "the value of `{}` is not JSON: {e}",
                        out::visible(name)
                    ))
                })?;
                (name, value)
            }
            None => (name, Value::String(value.to_owned())),
        };
        if name.is_empty() {
            return Err(wrong());
        }
        if map.insert(name.to_owned(), value).is_some() {
            return Err(Failure::usage(format!(
                "`{}` is given twice",
                out::visible(name)
            )));
        }
    }
    Ok(Value::Object(map))
}
