//! A run, followed: its output while it comes, then what came of it.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use axum::http::Method;
use futures_util::StreamExt as _;
use serde_json::Value;

use crate::client::{Client, refusal};
use crate::exit::{Done, Exit, Failure};
use crate::{id, out};

/// Shows what a run writes until it is over, and gives its answer.
pub(crate) async fn run(client: &Client, run: &str, quiet: bool) -> Result<Value, Failure> {
    let spinner = spinner(quiet);
    let mut after = 0;
    let followed = loop {
        let ended = events(client, run, &mut after, quiet, &spinner).await;
        // A stream may be cut without the run being over: ask again from where it was.
        match ended {
            Ok(false) => {}
            Ok(true) => break Ok(()),
            Err(e) => break Err(e),
        }
    };
    spinner.finish_and_clear();
    followed?;
    let kept = client.get(&format!("/runs/{run}")).await?;
    Ok(kept["answer"].clone())
}

/// Only shows what a run has written so far.
pub(crate) async fn logs(client: &Client, run: &str) -> Result<(), Failure> {
    let path = format!("/runs/{run}/logs?follow=false");
    let spinner = indicatif::ProgressBar::hidden();
    let mut after = 0;
    stream(client, &path, &mut after, false, &spinner)
        .await
        .map(drop)
}

fn spinner(quiet: bool) -> indicatif::ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return indicatif::ProgressBar::hidden();
    }
    let spinner = indicatif::ProgressBar::new_spinner();
    if let Ok(style) = indicatif::ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

async fn events(
    client: &Client,
    run: &str,
    after: &mut u64,
    quiet: bool,
    spinner: &indicatif::ProgressBar,
) -> Result<bool, Failure> {
    let path = format!("/runs/{run}/logs?after={after}");
    stream(client, &path, after, quiet, spinner).await
}

/// Shows the events of a stream; whether it ended with the run's end.
async fn stream(
    client: &Client,
    path: &str,
    after: &mut u64,
    quiet: bool,
    spinner: &indicatif::ProgressBar,
) -> Result<bool, Failure> {
    let accept = [("accept", "text/event-stream")];
    let mut reply = client.send(Method::GET, path, None, &accept).await?;
    if reply.status != 200 {
        let status = reply.status;
        let problem = serde_json::from_slice(&reply.bytes().await?).unwrap_or_default();
        return Err(refusal(status, &problem));
    }
    let mut events = Events::default();
    while let Some(Ok(bytes)) = reply.body.next().await {
        for (name, data) in events.read(&bytes) {
            let value: Value = serde_json::from_str(&data).unwrap_or_default();
            match name.as_str() {
                "stdout" | "stderr" => {
                    *after = value["seq"].as_u64().unwrap_or(*after);
                    if !quiet {
                        let text = value["text"].as_str().unwrap_or_default();
                        spinner.suspend(|| written(&name, text))?;
                    }
                }
                "end" | "so_far" => return Ok(true),
                _ => {
                    let why = value["detail"]
                        .as_str()
                        .unwrap_or("the hub ended the stream");
                    return Err(Failure::hub(why));
                }
            }
        }
    }
    Ok(false)
}

fn written(stream: &str, text: &str) -> Result<(), Failure> {
    match stream {
        "stdout" => out::foreign(text),
        _ => {
            let shown = match std::io::stderr().is_terminal() {
                true => out::visible_lines(text),
                false => text.to_owned(),
            };
            // Nobody is left to tell if this fails.
            let _ = std::io::stderr().lock().write_all(shown.as_bytes());
            Ok(())
        }
    }
}

/// Server-sent events, out of bytes as they come.
#[derive(Debug, Default)]
struct Events {
    rest: Vec<u8>,
}

impl Events {
    /// The events that are whole now: name and data.
    fn read(&mut self, bytes: &[u8]) -> Vec<(String, String)> {
        self.rest.extend_from_slice(bytes);
        let mut found = Vec::new();
        while let Some(end) = self.rest.windows(2).position(|w| w == b"\n\n") {
            let block: Vec<u8> = self.rest.drain(..end + 2).collect();
            let block = String::from_utf8_lossy(&block).into_owned();
            let (mut name, mut data) = (String::new(), Vec::new());
            for line in block.lines() {
                if let Some(value) = line.strip_prefix("event:") {
                    name = value.trim().to_owned();
                } else if let Some(value) = line.strip_prefix("data:") {
                    data.push(value.strip_prefix(' ').unwrap_or(value).to_owned());
                }
            }
            if !data.is_empty() {
                found.push((name, data.join("\n")));
            }
        }
        found
    }
}

/// Says that somebody must decide, and how.
pub(crate) fn pending(tool: &str, approval: &str, run: &str, me: &Value) {
    let tool = out::visible(tool);
    let (approval, run) = (Value::from(approval), Value::from(run));
    let (approval, run) = (id::short(&approval), id::short(&run));
    out::say(&format!(
        "`{tool}` has not run: it waits for approval {approval}\n"
    ));
    for (command, does) in [
        (format!("helve approve {approval}"), "lets it run"),
        (format!("helve deny {approval} --reason …"), "refuses it"),
        (
            format!("helve logs {run} --follow"),
            "shows what comes of it",
        ),
    ] {
        let pad = " ".repeat(36 - command.chars().count().min(34));
        out::say(&format!(
            "  {}{pad}{does}",
            out::styled(out::STRONG, command)
        ));
    }
    if me["kind"] == "person" {
        let me = text(&me["owner"]);
        out::say(&format!(
            "\nWhoever asks cannot decide: somebody other than `{me}` must. A rule in helve.toml with \
             `effect = \"allow\"` and `principal = \"{me}\"` lets your own calls run."
        ));
    }
}

/// What came of a run. What it wrote has been shown already.
pub(crate) fn show(answer: &Value, json: bool) -> Done {
    let ok = answer["ok"] == true;
    if json {
        out::data(&format!("{answer}\n"))?;
    } else if ok {
        result(&answer["data"])?;
    }
    let notes = answer["meta"]["coerced"].as_array();
    for note in notes.into_iter().flatten().filter(|_| !json) {
        let (argument, repair) = (text(&note["argument"]), text(&note["repair"]));
        out::say(&format!("note: argument `{argument}`: {repair}"));
    }
    for artifact in answer["meta"]["artifacts"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|_| !json)
    {
        let (run, name) = (text(&answer["meta"]["run_id"]), text(&artifact["name"]));
        out::say(&format!(
            "note: the whole output is kept: `helve logs {run} --artifact {name}`"
        ));
    }
    if ok {
        return Ok(Exit::Ok);
    }
    let error = &answer["error"];
    let exit = match text(&error["type"]).as_str() {
        "permission" | "denied" => Exit::Refused,
        _ => Exit::Findings,
    };
    if json {
        return Ok(exit);
    }
    let failure = Failure::new(exit, out::visible_lines(&text(&error["message"])));
    Err(match error["hint"].as_str() {
        Some(hint) => failure.hint(out::visible_lines(hint)),
        None => failure,
    })
}

/// A result, unless it is what a program wrote, which was shown as it came.
fn result(data: &Value) -> Result<(), Failure> {
    let program = data.get("exit_code").is_some() && data.get("stdout").is_some();
    match data {
        _ if program => Ok(()),
        Value::Null => Ok(()),
        Value::String(text) => out::foreign(&format!("{}\n", text.trim_end_matches('\n'))),
        data => {
            let shown = serde_json::to_string_pretty(data).unwrap_or_default();
            out::foreign(&format!("{shown}\n"))
        }
    }
}

fn text(value: &Value) -> String {
    out::visible(value.as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_whole_however_they_are_cut() {
        let text = "event: stdout\nid: 1\ndata: {\"a\":1}\n\n: ping\n\nevent: end\ndata: {}\n\n";
        let wanted = [
            ("stdout".to_owned(), "{\"a\":1}".to_owned()),
            ("end".to_owned(), "{}".to_owned()),
        ];
        for size in 1..text.len() {
            let mut events = Events::default();
            let found: Vec<_> = text
                .as_bytes()
                .chunks(size)
                .flat_map(|part| events.read(part))
                .collect();
            assert_eq!(found, wanted, "in parts of {size}");
        }
    }
}
