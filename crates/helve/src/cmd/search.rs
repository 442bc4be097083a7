//! `helve search`: tools by what they do.

use clap::Args;
use helve_core::catalog::first_sentence;
use serde_json::{Value, json};

use super::tools::risk;
use super::with_hub;
use crate::client::{Client, Target};
use crate::exit::{Done, Exit};
use crate::out;
use crate::table::{Cell, Table};

/// Find tools by what they do, in English or Chinese.
///
/// Each argument is a question of its own: one for each step of a task finds more than the
/// whole task in one. A tool that is named exactly comes first.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What is to be done, in any words.
    #[arg(required = true, value_name = "QUERY")]
    queries: Vec<String>,
    /// Only tools of this group, or of this server.
    #[arg(long)]
    group: Option<String>,
    /// Only tools with this tag.
    #[arg(long)]
    tag: Vec<String>,
    /// Only tools of at most this risk: read, exec_low, exec_high or write.
    #[arg(long)]
    risk: Option<String>,
    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: u64,
    /// Print what was found as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &SearchArgs) -> Done {
    with_hub(&args.target, async |client| find(args, client).await).await
}

async fn find(args: &SearchArgs, client: &Client) -> Done {
    let asked = json!({
        "queries": args.queries,
        "group": args.group,
        "tags": args.tag,
        "risk": args.risk,
        "limit": args.limit,
    });
    let found = client.post("/search", &asked).await?;
    if args.json {
        out::json(&found)?;
        return Ok(Exit::Ok);
    }
    let hits = found["hits"].as_array();
    if let Some(hits) = hits.filter(|hits| !hits.is_empty()) {
        out::show(&table(hits, args).text())?;
    }
    match found["fit"].as_str() {
        Some("nothing") => {
            out::say("nothing fits; try other words, or `helve tools` for all there is");
        }
        Some("weak") => out::say("nothing fits well; these are guesses"),
        _ => {}
    }
    Ok(Exit::Ok)
}

fn table(hits: &[Value], args: &SearchArgs) -> Table {
    let mut table = Table::plain();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for (number, query) in args.queries.iter().enumerate() {
        let of_query = hits
            .iter()
            .filter(|hit| hit["query"].as_u64() == u64::try_from(number).ok());
        if args.queries.len() > 1 {
            table.title(query);
        }
        for hit in of_query {
            let score = hit["score"].as_f64().unwrap_or_default();
            table.row([
                Cell::from(format!("  {}", text(&hit["tool"]))),
                Cell::styled(out::DIM, format!("{score:.2}")),
                risk(&hit["risk"]),
                first_sentence(&text(&hit["description"])).into(),
            ]);
        }
    }
    table
}
