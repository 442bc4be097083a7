//! What the command says of itself.

use crate::run::Folder;

#[test]
fn help_is_as_it_was() {
    let folder = Folder::new();
    let commands = "|check|convert|info|catalog|completions|up|call|tools|register|enable|disable|versions|rollback|\
         remove|runs|logs|cancel|approvals|approve|deny|token|token create|token list|token revoke|policy|\
         policy explain|policy check|audit|audit verify|audit tail|audit export|audit key|audit was|doctor|diff|undo|log|pin|unpin|gc";
    for command in commands.split('|') {
        let args: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let ran = folder.helve(&args).ended(0);
        let name = match command {
            "" => "helve".to_owned(),
            command => command.replace(' ', "_"),
        };
        insta::assert_snapshot!(name, ran.out);
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
