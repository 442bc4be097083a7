//! What the command says of itself.

use crate::run::Folder;

#[test]
fn help_is_as_it_was() {
    let folder = Folder::new();
    for command in ["", "check", "convert", "info", "catalog", "completions"] {
        let args: Vec<&str> = [command, "--help"]
            .into_iter()
            .filter(|a| !a.is_empty())
            .collect();
        let ran = folder.helve(&args).ended(0);
        insta::assert_snapshot!(if command.is_empty() { "helve" } else { command }, ran.out);
    }
}

#[test]
fn completions_for_every_shell() {
    let folder = Folder::new();
    for (shell, has) in [
        ("bash", "_helve"),
        ("zsh", "#compdef helve"),
        ("fish", "complete -c helve"),
        ("elvish", "helve"),
        ("powershell", "helve"),
    ] {
        let ran = folder.helve(&["completions", shell]).ended(0);
        assert!(
            ran.out.contains(has) && ran.out.contains("convert"),
            "{shell}"
        );
    }
}
