//! A run, followed: its output while it comes, then what came of it.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use axum::http::Method;
use futures_util::StreamExt as _;
use serde_json::Value;

use crate::client::{Client, refusal};
use crate::exit::{Done, Exit, Failure};
use crate::{changed, id, out};

/// How far a run is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    End,
    /// Until people have to decide about what it would change, or its end.
    Staged,
}

/// Shows what a run writes, and gives its answer.
pub(crate) async fn run(
    client: &Client,
    run: &str,
    quiet: bool,
    until: Until,
) -> Result<Value, Failure> {
    let spinner = spinner(quiet);
    let mut after = 0;
    let followed = loop {
        let path = format!("/runs/{run}/logs?after={after}");
        let ended = stream(client, &path, &mut after, quiet, &spinner, until).await;
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
    stream(client, &path, &mut after, false, &spinner, Until::End)
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

/// Shows the events of a stream; whether it came as far as it was to be followed.
async fn stream(
    client: &Client,
    path: &str,
    after: &mut u64,
    quiet: bool,
    spinner: &indicatif::ProgressBar,
    until: Until,
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
                "staged" if until == Until::End => {}
                "end" | "so_far" | "staged" => return Ok(true),
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
    ways(&[
        (format!("helve approve {approval}"), "lets it run"),
        (format!("helve deny {approval} --reason …"), "refuses it"),
        (
            format!("helve logs {run} --follow"),
            "shows what comes of it",
        ),
    ]);
    undecided(me);
}

/// Says that somebody must decide about what a run would change, and how.
pub(crate) fn staged(answer: &Value, me: &Value) {
    let meta = &answer["meta"];
    let (run, approval) = (id::short(&meta["run_id"]), id::short(&meta["approval_id"]));
    let (tool, much) = (text(&meta["tool"]), changed::summary(&meta["changes"]));
    out::say(&format!(
        "`{tool}` has changed nothing yet: it would change {much}, and waits for approval {approval}\n"
    ));
    ways(&[
        (format!("helve diff {run}"), "shows what it would change"),
        (format!("helve approve {approval}"), "applies that"),
        (format!("helve deny {approval} --reason …"), "drops it"),
    ]);
    undecided(me);
}

/// Commands below each other, with what they do.
fn ways(commands: &[(String, &str)]) {
    for (command, does) in commands {
        let pad = " ".repeat(36 - command.chars().count().min(34));
        out::say(&format!(
            "  {}{pad}{does}",
            out::styled(out::STRONG, command)
        ));
    }
}

fn undecided(me: &Value) {
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
        if !json {
            effect(&answer["meta"])?;
        }
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

/// What it changed, or would have.
fn effect(meta: &Value) -> Result<(), Failure> {
    let changes = &meta["changes"];
    let much = changed::summary(changes);
    match (meta["dry_run"] == true, changes.is_object()) {
        (true, true) => {
            let diff = meta["diff"].as_str().unwrap_or_default();
            out::show(&changed::coloured(diff))?;
            out::say(&format!("nothing was changed; it would change {much}"));
        }
        (true, false) => out::say("nothing was changed, nor would it be"),
        (false, true) => {
            let run = id::short(&meta["run_id"]);
            out::say(&format!("changed {much}; undo: helve undo {run}"));
        }
        (false, false) => {}
    }
    Ok(())
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
