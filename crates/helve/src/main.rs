//! The `helve` command.
//!
//! Reads arguments, calls the library, shows what came of it. Data goes to
//! standard output, talk to standard error; what the exit codes mean is in
//! [`exit`].

mod cli;
mod client;
mod cmd;
mod config;
mod env;
mod exit;
mod follow;
mod hub;
mod load;
mod out;
mod save;
mod state;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

/// Runs a command that talks to a hub.
fn wait(command: impl Future<Output = exit::Done>) -> exit::Done {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| exit::Failure::output(format!("the runtime cannot be started: {e}")))?
        .block_on(command)
}

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    cli.color.apply();
    let done = match cli.command {
        cli::Command::Up(args) => wait(cmd::up::run(&args)),
        cli::Command::Call(args) => wait(cmd::call::run(&args)),
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
