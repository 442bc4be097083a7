//! The command line is sound, and the page about it says what it is.

use std::fmt::Write as _;

use clap::CommandFactory as _;

use super::*;

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
}

/// `docs/commands.md` is printed from here; `HELVE_BLESS=1` writes it.
#[test]
fn the_page_of_commands() {
    let mut text = "# Commands\n\nPrinted from the command line itself. Data goes to standard output, talk to standard \
error. Commands that talk to a hub find the one of the workspace: the one that `helve up` runs, or, if none runs, they \
open it for as long as they take.\n"
        .to_owned();
    let mut cli = Cli::command();
    cli.build();
    let global: Vec<String> = cli
        .get_arguments()
        .map(|a| a.get_id().to_string())
        .collect();
    for command in cli.get_subcommands().filter(|c| c.get_name() != "help") {
        section(&mut text, command, "helve", &global);
    }
    text.push_str("\n## Exit codes\n\n| code | says |\n|---|---|\n");
    for (code, says) in exit::codes() {
        let _ = writeln!(text, "| {code} | {says} |");
    }
    text.push_str("\n## Environment\n\n| variable | does |\n|---|---|\n");
    for variable in env::VARIABLES {
        let _ = writeln!(text, "| `{}` | {} |", variable.name, variable.says);
    }
    page("commands.md", &text);
}

fn section(text: &mut String, command: &clap::Command, parent: &str, global: &[String]) {
    let name = format!("{parent} {}", command.get_name());
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let level = if parent == "helve" { "##" } else { "###" };
    let _ = write!(text, "\n{level} `{name}`\n\n{}\n", about.trim());
    let usage = command.clone().render_usage().to_string();
    let _ = write!(
        text,
        "\n```text\n{}\n```\n",
        usage.replace("Usage: ", "").trim()
    );
    let shown: Vec<_> = command
        .get_arguments()
        .filter(|a| !global.contains(&a.get_id().to_string()) && !a.is_hide_set())
        .collect();
    if !shown.is_empty() {
        text.push_str("\n| | |\n|---|---|\n");
    }
    for argument in shown {
        let help = argument.get_help().map(ToString::to_string);
        let mut help = help.unwrap_or_default().replace('|', "\\|");
        let values: Vec<String> = argument
            .get_possible_values()
            .iter()
            .filter(|_| argument.get_action().takes_values())
            .map(|v| format!("`{}`", v.get_name()))
            .collect();
        if !values.is_empty() {
            let _ = write!(help, ". One of {}", values.join(", "));
        }
        let default = argument.get_default_values().iter();
        let default: Vec<_> = default.map(|d| d.to_string_lossy()).collect();
        if !default.is_empty() && argument.get_action().takes_values() {
            let _ = write!(help, ". By default `{}`", default.join(" "));
        }
        let _ = writeln!(
            text,
            "| `{}` | {help} |",
            argument.to_string().replace('|', "\\|")
        );
    }
    for inner in command.get_subcommands().filter(|c| c.get_name() != "help") {
        section(text, inner, &name, global);
    }
}

fn page(name: &str, wanted: &str) {
    let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    #[expect(
        clippy::disallowed_methods,
        reason = "a switch of the test, not of the program"
    )]
    if std::env::var_os("HELVE_BLESS").is_some() {
        std::fs::write(&path, wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, wanted, "run the tests with HELVE_BLESS=1");
}
