//! `helve info`: the Level 2 page of one tool.

use clap::Args;
use helve_core::{name, page, write};

use super::{all_read, defs};
use crate::exit::{Done, Exit, Failure};
use crate::load::{self, Reading};
use crate::out;

/// Show all that an agent is told about one tool (Level 2).
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// The tool's name, or one of its aliases.
    tool: String,
    /// Files and folders to look in [default: `tools/` of the workspace].
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &InfoArgs) -> Done {
    let reading = Reading {
        dialect: None,
        lint: false,
        vendor: None,
    };
    let loaded = load::load(&args.paths, reading)?;
    let defs = defs(&loaded.documents);
    let found = defs
        .iter()
        .find(|d| d.name.as_str() == args.tool)
        .or_else(|| defs.iter().find(|d| d.aliases.contains(&args.tool)));
    let Some(def) = found else {
        all_read(&loaded)?;
        let names = defs.iter().flat_map(|d| {
            std::iter::once(d.name.as_str()).chain(d.aliases.iter().map(String::as_str))
        });
        let near = name::nearest(&args.tool, names, 5);
        let failure = Failure::input(format!("there is no tool `{}`", args.tool));
        return Err(match near.is_empty() {
            true => failure.hint(format!(
                "there are {}; `helve catalog` lists them",
                out::count(defs.len(), "tool")
            )),
            false => failure.hint(format!("did you mean {}?", near.join(", "))),
        });
    };
    match args.json {
        true => out::data(&write::json_text(&page::json(def)))?,
        false => out::foreign(&page::markdown(def))?,
    }
    Ok(Exit::Ok)
}
