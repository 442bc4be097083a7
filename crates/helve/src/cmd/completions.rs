//! `helve completions`: scripts for shells.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::exit::{Done, Exit};
use crate::out;

/// Print the completion script for a shell.
///
/// For bash: `source <(helve completions bash)`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut crate::cli::Cli::command(),
        "helve",
        &mut script,
    );
    out::data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}
