//! The `helve` command.
//!
//! Reads arguments, calls the library, shows what came of it. Data goes to
//! standard output, talk to standard error; what the exit codes mean is in
//! [`exit`].

mod arguments;
mod changed;
mod cli;
mod client;
mod cmd;
mod config;
mod env;
mod exit;
mod follow;
mod hub;
mod id;
mod load;
mod out;
mod save;
mod secrets;
mod shown;
mod state;
mod table;
mod when;
mod workspace;

use std::process::ExitCode;
use std::time::Duration;

/// Calls are many small allocations on several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use clap::Parser;

/// How long a thread may take to end that nobody waits for.
const LINGER: Duration = Duration::from_millis(500);

/// Runs a command that speaks with one client, or one hub: a single thread, because to hand
/// a message from one to another takes longer than most answers.
fn wait(command: impl Future<Output = exit::Done>) -> exit::Done {
    run(tokio::runtime::Builder::new_current_thread(), command)
}

/// Runs a hub that many speak with.
fn wait_for_many(command: impl Future<Output = exit::Done>) -> exit::Done {
    run(tokio::runtime::Builder::new_multi_thread(), command)
}

fn run(
    mut builder: tokio::runtime::Builder,
    command: impl Future<Output = exit::Done>,
) -> exit::Done {
    let runtime = builder.enable_all().build();
    let runtime = runtime
        .map_err(|e| exit::Failure::output(format!("the runtime cannot be started: {e}")))?;
    let done = runtime.block_on(command);
    // Somebody may still be reading where nothing more comes: standard input of a client that
    // ended us in another way.
    runtime.shutdown_timeout(LINGER);
    done
}

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    cli.color.apply();
    let done = match cli.command {
        cli::Command::Up(args) => wait_for_many(cmd::up::run(&args)),
        cli::Command::Mcp(args) => wait(cmd::mcp::run(&args)),
        cli::Command::Call(args) => wait(cmd::call::run(&args)),
        cli::Command::Tools(args) => wait(cmd::tools::run(&args)),
        cli::Command::Search(args) => wait(cmd::search::run(&args)),
        cli::Command::Register(args) => wait(cmd::register::run(&args)),
        cli::Command::Enable(args) => wait(cmd::enable::run(&args)),
        cli::Command::Disable(args) => wait(cmd::disable::run(&args)),
        cli::Command::Versions(args) => wait(cmd::versions::run(&args)),
        cli::Command::Rollback(args) => wait(cmd::rollback::run(&args)),
        cli::Command::Remove(args) => wait(cmd::remove::run(&args)),
        cli::Command::Runs(args) => wait(cmd::runs::run(&args)),
        cli::Command::Logs(args) => wait(cmd::logs::run(&args)),
        cli::Command::Cancel(args) => wait(cmd::cancel::run(&args)),
        cli::Command::Diff(args) => wait(cmd::diff::run(&args)),
        cli::Command::Undo(args) => wait(cmd::undo::run(&args)),
        cli::Command::Log(args) => wait(cmd::log::run(&args)),
        cli::Command::Pin(args) => wait(cmd::pin::run(&args)),
        cli::Command::Unpin(args) => wait(cmd::unpin::run(&args)),
        cli::Command::Gc(args) => wait(cmd::gc::run(&args)),
        cli::Command::Approvals(args) => wait(cmd::approvals::run(&args)),
        cli::Command::Console(args) => wait(cmd::console::run(&args)),
        cli::Command::Questions(args) => wait(cmd::questions::run(&args)),
        cli::Command::Memory(args) => wait(cmd::memory::run(&args)),
        cli::Command::Chatlog(args) => wait(cmd::chatlog::run(&args)),
        cli::Command::Answer(args) => wait(cmd::answer::run(&args)),
        cli::Command::Approve(args) => wait(cmd::approve::run(&args)),
        cli::Command::Deny(args) => wait(cmd::deny::run(&args)),
        cli::Command::Token(args) => wait(cmd::token::run(&args)),
        cli::Command::Policy(args) => wait(cmd::policy::run(&args)),
        cli::Command::Audit(args) => wait(cmd::audit::run(&args)),
        cli::Command::Doctor(args) => wait(cmd::doctor::run(&args)),
        cli::Command::Check(args) => cmd::check::run(&args),
        cli::Command::Convert(args) => cmd::convert::run(&args),
        cli::Command::Import(args) => wait(cmd::import::run(&args)),
        cli::Command::Info(args) => cmd::info::run(&args),
        cli::Command::New(args) => cmd::new::run(&args),
        cli::Command::Test(args) => wait(cmd::test::run(&args)),
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
