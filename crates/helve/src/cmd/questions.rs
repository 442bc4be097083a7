//! `helve questions`: what tools ask people.

use clap::Args;
use serde_json::Value;

use super::with_hub;
use crate::client::{Client, Target};
use crate::exit::{Done, Exit};
use crate::shown::text;
use crate::table::{Cell, Table};
use crate::{id, out, when};

/// List what tools ask people and nobody has answered yet.
#[derive(Debug, Args)]
pub(crate) struct QuestionsArgs {
    /// Print them as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &QuestionsArgs) -> Done {
    with_hub(&args.target, async |client| list(args, client).await).await
}

async fn list(args: &QuestionsArgs, client: &Client) -> Done {
    let found = client.get("/questions").await?;
    let found = found["items"].as_array().cloned().unwrap_or_default();
    if args.json {
        out::json(&Value::Array(found))?;
        return Ok(Exit::Ok);
    }
    if found.is_empty() {
        out::say("nobody is asked anything");
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(&["id", "asked", "left", "by", "question"]);
    for question in &found {
        table.row(vec![
            id::short(&question["id"]).into(),
            when::ago(&question["asked"]).into(),
            when::left(&question["until"]).into(),
            text(&question["owner"]).into(),
            Cell::styled(out::STRONG, text(&question["question"])),
        ]);
    }
    out::show(&table.text())?;
    out::say("\n`helve answer <id> <answer>` answers; without an answer it shows the question");
    Ok(Exit::Ok)
}
