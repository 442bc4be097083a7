//! `helve mcp test`: whether a server answers, and with what.

use clap::Args;
use serde_json::{Value, json};

use super::list::state;
use crate::client::{Client, Target, escaped};
use crate::cmd::with_hub;
use crate::exit::{Done, Exit};
use crate::out;
use crate::shown::{Fields, text};

/// Connect to an MCP server: what it speaks, what it has, how long it takes to answer.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// The server.
    name: String,
    /// Print what was found as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &TestArgs) -> Done {
    with_hub(&args.target, async |client| {
        test(client, &args.name, args.json).await
    })
    .await
}

pub(super) async fn test(client: &Client, name: &str, json: bool) -> Done {
    let path = format!("/upstreams/{}", escaped(name));
    let found = match client.post(&format!("{path}/test"), &json!({})).await {
        Ok(found) => found,
        Err(failure) => {
            // What it wrote last often says more than we can.
            let server = client.get(&path).await.unwrap_or_default();
            let words = text(&server["stderr"]);
            if !json && !words.trim().is_empty() {
                out::say("what it wrote:");
                out::say(out::visible_lines(words.trim_end()).as_str());
            }
            return Err(failure);
        }
    };
    if json {
        out::json(&found)?;
        return Ok(Exit::Ok);
    }
    let (server, looked) = (&found["server"], &found["looked"]);
    let info = &server["server_info"];
    let mut fields = Fields::default();
    fields
        .add("server", text(&server["name"]))
        .add("state", state(server))
        .some(
            "is",
            format!("{} {}", text(&info["name"]), text(&info["version"])).trim(),
        )
        .add(
            "speaks",
            format!("{} ({})", text(&server["protocol"]), text(&server["era"])),
        )
        .add(
            "can",
            words(
                server["capabilities"]
                    .as_object()
                    .map(|c| c.keys().cloned().collect()),
            ),
        )
        .add(
            "answers in",
            format!(
                "{:.1} ms",
                found["round_trip_ms"].as_f64().unwrap_or_default()
            ),
        )
        .add("tools", words(list(&server["tools"])))
        .some(
            "new",
            &list(&looked["registered"]).unwrap_or_default().join(", "),
        )
        .some(
            "gone",
            &list(&looked["gone"]).unwrap_or_default().join(", "),
        );
    out::show(&fields.text())?;
    for problem in list(&looked["problems"]).unwrap_or_default() {
        out::warn(&out::visible(&problem));
    }
    let waiting = list(&looked["waiting"]).unwrap_or_default();
    if !waiting.is_empty() {
        out::warn(&format!(
            "{} until somebody has looked: {}",
            match waiting.len() {
                1 => "a definition waits".to_owned(),
                n => format!("{n} definitions wait"),
            },
            out::visible(&waiting.join(", "))
        ));
        out::say(&format!(
            "\nhint: `helve mcp diff {}` shows what is different, `helve mcp accept {0}` takes it over",
            out::visible(name)
        ));
    }
    Ok(Exit::Ok)
}

fn list(value: &Value) -> Option<Vec<String>> {
    Some(value.as_array()?.iter().map(text).collect())
}

fn words(list: Option<Vec<String>>) -> String {
    match list.unwrap_or_default().join(", ") {
        none if none.is_empty() => "nothing".to_owned(),
        words => words,
    }
}
