//! What runs changed, as a person sees it: how much, which paths, which lines.

use std::path::Path;

use anstyle::{AnsiColor, Style};
use axum::http::Method;
use helve_kernel::UNDO;
use serde_json::Value;

use crate::client::{Client, Target};
use crate::exit::Failure;
use crate::shown::text;
use crate::table::{Cell, Table};
use crate::{out, workspace};

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const PLACE: Style = AnsiColor::Cyan.on_default();

/// `3 paths (2 created, 1 changed)`.
pub(crate) fn summary(changes: &Value) -> String {
    let count = |name: &str| changes[name].as_u64().unwrap_or(0);
    let paths = usize::try_from(count("paths")).unwrap_or(usize::MAX);
    let parts = ["created", "changed", "deleted", "renamed"].into_iter();
    let parts: Vec<String> = parts
        .filter(|name| count(name) > 0)
        .map(|name| format!("{} {name}", count(name)))
        .collect();
    match parts.is_empty() {
        true => out::count(paths, "path"),
        false => format!("{} ({})", out::count(paths, "path"), parts.join(", ")),
    }
}

/// The diff of a run for people: nothing in it is hidden.
pub(crate) async fn diff(client: &Client, run: &str) -> Result<String, Failure> {
    let bytes = whole(client, &format!("/runs/{run}/diff?format=text")).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// An answer that is not JSON.
pub(crate) async fn whole(client: &Client, path: &str) -> Result<Vec<u8>, Failure> {
    let reply = client.send(Method::GET, path, None, &[]).await?;
    match reply.status {
        200 => reply.bytes().await,
        _ => match reply.json().await {
            Err(refused) => Err(refused),
            Ok(_) => Err(Failure::hub("the hub gave no diff")),
        },
    }
}

/// A diff with its lines in colours.
pub(crate) fn coloured(diff: &str) -> String {
    let mut text = String::new();
    let mut head = true;
    for line in diff.lines() {
        head = match line {
            _ if line.starts_with("diff --git ") => true,
            _ if line.starts_with("@@ ") => false,
            _ => head,
        };
        // No diff of ours has anything in it that moves the cursor; an older hub's may.
        let line = out::visible_kept(line);
        let style = match line.bytes().next() {
            _ if line.starts_with("@@ ") => PLACE,
            Some(b'+') if !head => ADDED,
            Some(b'-') if !head => REMOVED,
            _ if line.starts_with("diff --git ") => out::STRONG,
            _ => Style::new(),
        };
        match style == Style::new() {
            true => text.push_str(&line),
            false => text.push_str(&out::styled(style, line)),
        }
        text.push('\n');
    }
    text
}

/// Paths as they are told: from the workspace, where they are beneath it and it is here.
pub(crate) struct Paths(Option<String>);

impl Paths {
    pub(crate) fn of(target: &Target) -> Self {
        let here = (!target.is_elsewhere()).then(workspace::root);
        Self(here.and_then(|root| Some(format!("{}/", root.to_str()?))))
    }

    pub(crate) fn shown(&self, path: &Value) -> String {
        let path = text(path);
        let beneath = self.0.as_deref().and_then(|root| path.strip_prefix(root));
        beneath.map(str::to_owned).unwrap_or(path)
    }

    /// A path of the command line as the hub understands it: there it does not begin
    /// where the command does.
    pub(crate) fn meant(&self, given: &str) -> String {
        match self.0 {
            Some(_) => workspace::absolute(Path::new(given))
                .to_string_lossy()
                .into_owned(),
            None => given.to_owned(),
        }
    }
}

/// How much of each path changed, a line for each.
pub(crate) fn stat(diff: &Value, paths: &Paths) -> String {
    let mut table = Table::plain();
    for change in diff["changes"].as_array().into_iter().flatten() {
        table.row([
            Cell::styled(out::DIM, format!("  {}", text(&change["kind"]))),
            Cell::from(paths.shown(&change["path"])),
            Cell::from(lines(change)),
        ]);
    }
    table.whole()
}

/// `+3 -1`, where lines were compared.
fn lines(change: &Value) -> String {
    if change["binary"] == true {
        return "binary".to_owned();
    }
    if let Some(why) = change["left_out"].as_str() {
        return format!("left out: {}", out::visible(why));
    }
    let hunks = change["hunks"].as_array().into_iter().flatten();
    let signs = hunks.flat_map(|hunk| hunk["lines"].as_array().into_iter().flatten());
    let (mut added, mut removed) = (0, 0);
    for line in signs {
        match line["sign"].as_str() {
            Some("added") => added += 1,
            Some("removed") => removed += 1,
            _ => {}
        }
    }
    match (added, removed) {
        (0, 0) => String::new(),
        (added, removed) => format!("+{added} -{removed}"),
    }
}

/// The last run whose changes wait for approval.
pub(crate) async fn last_staged(client: &Client) -> Result<Option<String>, Failure> {
    let page = client.get("/runs?state=staged&limit=1").await?;
    Ok(page["items"][0]["id"].as_str().map(str::to_owned))
}

/// The last run that changed something and was not undone; undos apart, so that one after
/// the other goes further back.
pub(crate) async fn last(client: &Client) -> Result<String, Failure> {
    let page = client.get("/changes?limit=200").await?;
    let items = page["items"].as_array().into_iter().flatten();
    let mut counts = items.filter(|i| i["state"] == "succeeded" && i["tool"] != UNDO);
    let run = counts.next().and_then(|i| i["run"].as_str());
    run.map(str::to_owned).ok_or_else(|| {
        Failure::input("no run has changed anything lately that was not undone")
            .hint("`helve log` tells what was changed by which run")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn how_much_in_words() {
        for (changes, wanted) in [
            (
                json!({"paths": 1, "created": 1, "changed": 0}),
                "1 path (1 created)",
            ),
            (
                json!({"paths": 4, "deleted": 1, "created": 2, "renamed": 1}),
                "4 paths (2 created, 1 deleted, 1 renamed)",
            ),
            (json!({"paths": 2}), "2 paths"),
        ] {
            assert_eq!(summary(&changes), wanted);
        }
    }

    #[test]
    fn lines_are_coloured_and_names_are_not() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\u{1b}[2J\n+\tb\n c\n";
        let shown = coloured(diff);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1], "--- a/x");
        assert_eq!(lines[4], out::styled(REMOVED, "-a\\u{1b}[2J"));
        assert_eq!(lines[5], out::styled(ADDED, "+\tb"));
        assert_eq!(lines[6], " c");
    }

    #[test]
    fn a_line_for_each_path() {
        let line = |sign: &str| json!({"sign": sign, "text": "x\n"});
        let diff = json!({"changes": [
            {"kind": "changed", "path": "/w/a", "hunks": [
                {"lines": [line("same"), line("added"), line("added"), line("removed")]},
            ]},
            {"kind": "created", "path": "/v/b", "binary": true},
            {"kind": "deleted", "path": "/w/long", "left_out": "too large"},
        ]});
        let text = stat(&diff, &Paths(Some("/w/".to_owned())));
        assert_eq!(
            anstream::adapter::strip_str(&text).to_string(),
            "  changed  a     +2 -1\n  created  /v/b  binary\n  deleted  long  left out: too large\n"
        );
    }
}
