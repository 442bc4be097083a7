//! `helve test`: the examples of tools, as tests.

mod compare;

use axum::http::Method;
use clap::Args;
use serde_json::{Value, json};

use super::with_hub;
use crate::client::{Client, Target, escaped};
use crate::exit::{Done, Exit, Failure};
use crate::out;

/// Run the examples of tools as tests.
///
/// An example passes when its call succeeds and answers what is `expected`: JSON is compared
/// (of an object, the fields that are named), and text in `backquotes` must occur in the
/// answer. `error: …` means that the call must fail, and say that. Other text is for
/// readers. What would change something is only tried: nothing is changed.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Tools, by any of their names [default: all that come from files and have examples].
    #[arg(value_name = "TOOL")]
    tools: Vec<String>,
    /// Really call what cannot be tried without effect.
    #[arg(long)]
    for_real: bool,
    /// Print what came of each as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// What came of an example.
struct Tried {
    tool: String,
    scenario: String,
    problem: Option<String>,
}

pub(crate) async fn run(args: &TestArgs) -> Done {
    with_hub(&args.target, async |client| test(args, client).await).await
}

async fn test(args: &TestArgs, client: &Client) -> Done {
    for problem in client.problems() {
        out::warn(&out::visible(problem));
    }
    let mut tried = Vec::new();
    for tool in tools(args, client).await? {
        let def = &tool["definition"];
        let name = def["name"].as_str().unwrap_or_default();
        let examples = def["examples"].as_array();
        let examples = examples.map(Vec::as_slice).unwrap_or_default();
        if examples.is_empty() {
            return Err(Failure::input(format!("`{name}` has no examples"))
                .hint("add `examples` with `params` and `expected` to its definition"));
        }
        for (i, example) in examples.iter().enumerate() {
            let scenario = example["scenario"].as_str().map(str::to_owned);
            let scenario = scenario.unwrap_or_else(|| format!("example {}", i + 1));
            let problem = try_one(args, client, def, example).await?;
            let one = Tried {
                tool: name.to_owned(),
                scenario,
                problem,
            };
            if !args.json {
                show(&one);
            }
            tried.push(one);
        }
    }
    let failed = tried.iter().filter(|t| t.problem.is_some()).count();
    if args.json {
        let each = |t: &Tried| json!({"tool": t.tool, "scenario": t.scenario, "passed": t.problem.is_none(), "problem": t.problem});
        out::json(&tried.iter().map(each).collect())?;
    } else {
        let passed = out::count(tried.len() - failed, "example");
        out::say(&format!("{passed} passed, {failed} failed"));
    }
    Ok(match failed {
        0 => Exit::Ok,
        _ => Exit::Findings,
    })
}

/// The tools that are meant, with their definitions.
async fn tools(args: &TestArgs, client: &Client) -> Result<Vec<Value>, Failure> {
    let mut tools = Vec::new();
    for name in &args.tools {
        tools.push(client.get(&format!("/tools/{}", escaped(name))).await?);
    }
    if args.tools.is_empty() {
        tools = client.items("/tools", "cursor", usize::MAX).await?;
        tools.retain(|tool| {
            let source = tool["source"].as_str().unwrap_or_default();
            let ours = !["code", "api", "builtin"].contains(&source) && !source.starts_with("mcp:");
            let examples = tool["definition"]["examples"].as_array();
            ours && examples.is_some_and(|e| !e.is_empty())
        });
    }
    match tools.is_empty() {
        true => Err(
            Failure::input("no tool in the workspace's files has examples")
                .hint("`helve new tool` makes one that has"),
        ),
        false => Ok(tools),
    }
}

/// Why an example does not pass; nothing where it does.
async fn try_one(
    args: &TestArgs,
    client: &Client,
    def: &Value,
    example: &Value,
) -> Result<Option<String>, Failure> {
    let name = def["name"].as_str().unwrap_or_default();
    let path = format!("/tools/{}/runs", escaped(name));
    let body = json!({
        "args": example["params"],
        "wait": "run",
        "dry_run": def["risk"] != "read" && !args.for_real,
    });
    let sent = client.send(Method::POST, &path, Some(&body), &[]).await;
    let answer = match sent {
        Ok(reply) => reply.json().await?,
        // What the hub refuses is what the call comes to.
        Err(failure) if failure.exit == Exit::Refused || failure.exit == Exit::Input => {
            let message = format!("{:#}", failure.error);
            json!({"ok": false, "error": {"message": message, "hint": failure.hint}})
        }
        Err(failure) => return Err(failure),
    };
    Ok(compare::problem(example["expected"].as_str(), &answer))
}

fn show(tried: &Tried) {
    let what = format!(
        "{}: {}",
        out::visible(&tried.tool),
        out::visible(&tried.scenario)
    );
    match &tried.problem {
        None => out::say(&format!("{}    {what}", out::styled(out::FIX, "ok"))),
        Some(problem) => {
            out::say(&format!("{}  {what}", out::styled(out::ERROR, "fail")));
            for line in problem.lines() {
                out::say(&format!("      {}", out::visible(line)));
            }
        }
    }
}
