//! `helve catalog`: the Level 1 list, under a token budget.

use clap::Args;
use helve_core::{catalog, write};

use super::{all_read, defs};
use crate::cli::Sources;
use crate::exit::{Done, Exit, Failure};
use crate::load::{self, Reading};
use crate::out;

/// Show what an agent is told about all tools (Level 1), within a token budget.
///
/// Tools are grouped by category, a line each, with their warnings. What does not
/// fit is cut for all tools alike: to first sentences, to names, to groups.
#[derive(Debug, Args)]
pub(crate) struct CatalogArgs {
    #[command(flatten)]
    sources: Sources,
    /// The most tokens that the list may cost (an estimate that errs on the high side).
    #[arg(long, value_name = "N", default_value_t = 2000)]
    budget: usize,
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &CatalogArgs) -> Done {
    let reading = Reading {
        dialect: args.sources.dialect(),
        lint: false,
        vendor: None,
    };
    let loaded = load::load(&args.sources.paths, reading)?;
    all_read(&loaded)?;
    let made = catalog::catalog(&defs(&loaded.documents), args.budget)
        .map_err(|e| Failure::input(&e).hint(format!("give `--budget {}`", e.least)))?;
    if args.json {
        let value = serde_json::to_value(&made).map_err(Failure::output)?;
        out::data(&write::json_text(&value))?;
    } else {
        out::foreign(&made.text)?;
        let shown = serde_json::to_value(made.detail).map_err(Failure::output)?;
        let shown = shown.as_str().unwrap_or_default();
        out::say(&format!(
            "{}, about {} tokens of {} ({shown})",
            out::count(made.tools, "tool"),
            made.tokens,
            args.budget
        ));
    }
    Ok(Exit::Ok)
}
