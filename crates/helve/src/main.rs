//! The `helve` command.
//!
//! Reads arguments, calls the library, shows what came of it. Data goes to
//! standard output, talk to standard error; what the exit codes mean is in
//! [`exit`].

mod cli;
mod cmd;
mod exit;
mod load;
mod out;
mod save;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    cli.color.apply();
    let done = match cli.command {
        cli::Command::Check(args) => cmd::check::run(&args),
        cli::Command::Convert(args) => cmd::convert::run(&args),
        cli::Command::Info(args) => cmd::info::run(&args),
        cli::Command::Catalog(args) => cmd::catalog::run(&args),
        cli::Command::Completions(args) => cmd::completions::run(&args),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(failure) => {
            out::failure(&failure);
            failure.exit.into()
        }
    }
}
