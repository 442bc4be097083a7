//! The command line: one enum drives parser, help and completions.

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::{cmd, env, exit};

/// A tool hub for AI agents: define a tool once, call it from everywhere.
#[derive(Debug, Parser)]
#[command(
    name = "helve",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
#[command(after_help = exit_codes(), after_long_help = exit_codes_and_environment())]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub color: Color,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Up(cmd::up::UpArgs),
    Console(cmd::console::ConsoleArgs),
    Mcp(cmd::mcp::McpArgs),
    Call(cmd::call::CallArgs),
    Tools(cmd::tools::ToolsArgs),
    New(cmd::new::NewArgs),
    Test(cmd::test::TestArgs),
    Search(cmd::search::SearchArgs),
    Register(cmd::register::RegisterArgs),
    Enable(cmd::enable::EnableArgs),
    Disable(cmd::disable::DisableArgs),
    Versions(cmd::versions::VersionsArgs),
    Rollback(cmd::rollback::RollbackArgs),
    Remove(cmd::remove::RemoveArgs),
    Runs(cmd::runs::RunsArgs),
    Logs(cmd::logs::LogsArgs),
    Cancel(cmd::cancel::CancelArgs),
    Diff(cmd::diff::DiffArgs),
    Undo(cmd::undo::UndoArgs),
    Log(cmd::log::LogArgs),
    Pin(cmd::pin::PinArgs),
    Unpin(cmd::unpin::UnpinArgs),
    Gc(cmd::gc::GcArgs),
    Approvals(cmd::approvals::ApprovalsArgs),
    Approve(cmd::approve::ApproveArgs),
    Deny(cmd::deny::DenyArgs),
    Questions(cmd::questions::QuestionsArgs),
    Answer(cmd::answer::AnswerArgs),
    Memory(cmd::memory::MemoryArgs),
    Chatlog(cmd::chatlog::ChatlogArgs),
    Token(cmd::token::TokenArgs),
    Policy(cmd::policy::PolicyArgs),
    Audit(cmd::audit::AuditArgs),
    Doctor(cmd::doctor::DoctorArgs),
    Check(cmd::check::CheckArgs),
    Convert(cmd::convert::ConvertArgs),
    Import(cmd::import::ImportArgs),
    Info(cmd::info::InfoArgs),
    Catalog(cmd::catalog::CatalogArgs),
    Completions(cmd::completions::CompletionsArgs),
}

fn exit_codes() -> String {
    let codes = exit::codes().map(|(code, says)| format!("{code} {says}"));
    format!("Exit codes: {}", codes.collect::<Vec<_>>().join(" · "))
}

fn exit_codes_and_environment() -> String {
    let mut text = "Exit codes:\n".to_owned();
    for (code, says) in exit::codes() {
        text.push_str(&format!("  {code}  {says}\n"));
    }
    text.push_str("\nEnvironment:\n");
    let width = env::VARIABLES
        .iter()
        .map(|v| v.name.len())
        .max()
        .unwrap_or(0);
    for variable in env::VARIABLES {
        let (name, says) = (variable.name, variable.says.replace('`', "'"));
        text.push_str(&format!("  {name:<width$}  {says}\n"));
    }
    text.trim_end().to_owned()
}

/// Whether to colour.
#[derive(Debug, Args)]
pub(crate) struct Color {
    /// When to colour the output.
    #[arg(long, global = true, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    color: When,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

impl Color {
    pub(crate) fn apply(&self) {
        match self.color {
            When::Auto => anstream::ColorChoice::Auto,
            When::Always => anstream::ColorChoice::Always,
            When::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

/// Where the tools are.
#[derive(Debug, Args)]
pub(crate) struct Sources {
    /// Files and folders with tools, `-` for standard input [default: `tools/` of the workspace].
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// The dialect of the input; `auto` tells by shape and says what it took.
    #[arg(long, value_name = "DIALECT", default_value = "auto", value_parser = dialect_or_auto())]
    pub from: String,
}

fn names(auto: bool) -> Vec<&'static str> {
    let dialects = helve_core::dialect::DIALECTS.iter().map(|d| d.name);
    auto.then_some("auto").into_iter().chain(dialects).collect()
}

pub(crate) fn dialect() -> clap::builder::PossibleValuesParser {
    names(false).into()
}

pub(crate) fn dialect_or_auto() -> clap::builder::PossibleValuesParser {
    names(true).into()
}

pub(crate) fn vendor() -> clap::builder::PossibleValuesParser {
    let names: Vec<&'static str> = helve_core::lint::VENDORS.iter().map(|v| v.name).collect();
    names.into()
}

impl Sources {
    pub(crate) fn dialect(&self) -> Option<&'static helve_core::dialect::Dialect> {
        helve_core::dialect::find(&self.from)
    }
}

#[cfg(test)]
mod tests;
