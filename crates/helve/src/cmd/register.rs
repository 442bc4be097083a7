//! `helve register`: definitions into the hub.

use axum::http::Method;
use clap::Args;
use serde_json::{Value, json};

use super::{all_read, with_new_hub};
use crate::cli::dialect_or_auto;
use crate::client::{Client, Target, escaped};
use crate::exit::{Done, Exit, Failure};
use crate::load::{self, Loaded, Reading};
use crate::out;

/// Register tools from a file, in any syntax and dialect.
///
/// Files in `tools/` of the workspace register themselves; this is for all others.
#[derive(Debug, Args)]
pub(crate) struct RegisterArgs {
    /// The file, or `-` for standard input.
    #[arg(value_name = "FILE")]
    file: String,
    /// The dialect of the file; `auto` tells by its shape.
    #[arg(long, value_name = "DIALECT", default_value = "auto", value_parser = dialect_or_auto())]
    from: String,
    /// Put a new version in the place of a tool that is there.
    #[arg(long)]
    replace: bool,
    /// Why, for the record.
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Print what came of each as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &RegisterArgs) -> Done {
    let reading = Reading {
        dialect: helve_core::dialect::find(&args.from),
        lint: false,
        vendor: None,
    };
    let loaded = load::load(std::slice::from_ref(&args.file), reading)?;
    all_read(&loaded)?;
    with_new_hub(&args.target, async |client| {
        register(args, client, &loaded).await
    })
    .await
}

async fn register(args: &RegisterArgs, client: &Client, loaded: &Loaded) -> Done {
    let mut told = Vec::new();
    let mut exit = Exit::Ok;
    for def in super::defs(&loaded.documents) {
        let name = def.name.as_str();
        match send(args, client, name, &def.to_value()).await? {
            Ok(outcome) => {
                if !args.json {
                    tell(name, &outcome);
                }
                told.push(outcome);
            }
            Err(failure) => {
                if !args.json {
                    out::failure(&failure);
                }
                exit = failure.exit;
                let error = format!("{:#}", failure.error);
                told.push(json!({"name": name, "error": error, "hint": failure.hint}));
            }
        }
    }
    if args.json {
        out::json(&Value::Array(told))?;
    }
    Ok(exit)
}

/// What the hub says to one definition. That it does not answer is another matter.
async fn send(
    args: &RegisterArgs,
    client: &Client,
    name: &str,
    definition: &Value,
) -> Result<Result<Value, Failure>, Failure> {
    let why = args.why.as_deref();
    let why = why.map(|why| format!("?why={}", escaped(why)));
    let why = why.unwrap_or_default();
    let (method, path) = match args.replace {
        true => (Method::PUT, format!("/tools/{}{why}", escaped(name))),
        false => (Method::POST, format!("/tools{why}")),
    };
    let reply = client.send(method, &path, Some(definition), &[]).await?;
    Ok(reply.json().await.map_err(|failure| Failure {
        exit: match failure.exit {
            // A program that is missing is a fault of the definition, not of the hub.
            Exit::Hub => Exit::Input,
            exit => exit,
        },
        error: failure.error.context(format!("`{name}` is not registered")),
        ..failure
    }))
}

fn tell(name: &str, outcome: &Value) {
    let tool = &outcome["tool"];
    let version = out::visible(tool["version"].as_str().unwrap_or_default());
    let what = match outcome["changed"] == true {
        true => format!("{} {version}", out::styled(out::FIX, "registered")),
        false => format!("unchanged, still {version}"),
    };
    out::say(&format!("{}: {what}", out::styled(out::STRONG, name)));
    for warning in outcome["warnings"].as_array().into_iter().flatten() {
        out::warn(&out::visible(warning.as_str().unwrap_or_default()));
    }
}
