//! `helve mcp diff`: what is different about definitions that wait.

use clap::Args;
use helve_kernel::helve_changes::diff;
use serde_json::Value;

use crate::client::{Target, escaped};
use crate::cmd::with_hub;
use crate::exit::{Done, Exit};
use crate::out;
use crate::shown::text;

/// Show definitions of MCP servers that wait: what they were, and what they are now.
///
/// A definition waits when it is not what it was when it was registered, when it hides
/// something, or when the tool is new and `new_tools = "ask"`. Until it is accepted, the tool
/// cannot be called. Characters that cannot be seen are shown as codes.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Only those of this server.
    server: Option<String>,
    /// Only this tool.
    tool: Option<String>,
    /// Print them as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &DiffArgs) -> Done {
    with_hub(&args.target, async |client| {
        let path = match &args.server {
            Some(server) => format!("/quarantine?server={}", escaped(server)),
            None => "/quarantine".to_owned(),
        };
        let mut page = client.get(&path).await?;
        if let Some(items) = page["items"].as_array_mut() {
            items.retain(|i| {
                args.tool
                    .as_ref()
                    .is_none_or(|tool| i["tool"] == tool.as_str())
            });
        }
        if args.json {
            out::json(&page["items"])?;
            return Ok(Exit::Ok);
        }
        let none = Vec::new();
        let items = page["items"].as_array().unwrap_or(&none);
        if items.is_empty() {
            out::say("nothing waits");
            return Ok(Exit::Ok);
        }
        for item in items {
            out::show(&shown(item))?;
            let words = ["server", "tool", "seen"].map(|key| out::visible(&text(&item[key])));
            let [server, tool, seen] = words;
            out::say(&format!(
                "hint: `helve mcp accept {server} {tool} --seen {seen}` takes it over as shown\n"
            ));
        }
        Ok(Exit::Ok)
    })
    .await
}

/// How many lines around a change are shown.
const CONTEXT: u32 = 3;

/// One definition, for people.
fn shown(item: &Value) -> String {
    let what = match (item["before"].is_null(), item["after"].is_null()) {
        (true, _) => "is new",
        (_, true) => "is gone",
        _ => "is not what it was",
    };
    let title = format!(
        "`{}` of `{}` {what}",
        text(&item["tool"]),
        text(&item["server"])
    );
    let mut page = format!("{}\n", out::styled(out::STRONG, out::visible(&title)));
    for flag in item["flags"].as_array().into_iter().flatten() {
        let line = format!("{} {}", text(&flag["pointer"]), text(&flag["says"]));
        page.push_str(&format!(
            "  {} {}\n",
            out::styled(out::WARNING, "!"),
            out::visible(&line)
        ));
    }
    let (before, after) = (pretty(&item["before"]), pretty(&item["after"]));
    for (sign, line) in diff::of_texts(&before, &after, CONTEXT) {
        let line = format!("  {sign} {}", line.trim_end_matches('\n'));
        page.push_str(&match sign {
            '+' => out::styled(out::FIX, line),
            '-' => out::styled(out::ERROR, line),
            _ => line,
        });
        page.push('\n');
    }
    page.push('\n');
    page
}

/// A definition in lines, everything in it visible.
fn pretty(value: &Value) -> String {
    if value.is_null() {
        return String::new();
    }
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.lines()
        .map(|line| format!("{}\n", out::visible_kept(line)))
        .collect()
}
