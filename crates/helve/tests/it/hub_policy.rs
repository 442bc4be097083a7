//! The rules, from the command line.

use crate::hub::{BARE, says, workspace};
use crate::run::Folder;
use crate::server::{Server, until};

const RULES: &str = r#"
[[policy]]
effect = "deny"
tool = "mail_*"
args = { to = "*@evil.example" }
reason = "not to them"
match = [{ tool = "mail_send", args = { to = "x@evil.example" } }]
no_match = [{ tool = "mail_send", args = { to = "x@good.example" } }]

[[policy]]
effect = "allow"
tool = "mail_send"
principal = "user:*"
"#;

fn with_rules() -> Folder {
    let folder = workspace();
    folder.write("helve.toml", format!("{BARE}{RULES}"));
    folder
}

#[test]
fn a_table_of_who_may_what() {
    let folder = with_rules();
    folder.agent();
    let ran = folder
        .helve(&["policy", "--principal", "agent:other"])
        .ended(0);
    says(
        &ran,
        &[
            "tool       risk       agent:agent  agent:other  user:ada\n",
            "mail_send  exec_high  ask*         ask*         allow*\n",
            "text_say   read       allow        allow        allow\n",
            "*  a rule about arguments may be stricter",
            "2 rules, then the risk decides",
        ],
    );
    assert_eq!(folder.json(&["policy", "--json"])["rules"], 2);
}

#[test]
fn why_it_is_decided_so() {
    let folder = with_rules();
    let ran = folder
        .helve(&["policy", "explain", "mail_send", "to=x@evil.example"])
        .ended(0);
    says(
        &ran,
        &[
            "deny: rule 1: not to them",
            "called by user:ada",
            "rule 1  deny   matches",
            "rule 2  allow  matches",
        ],
    );
    let ran = folder
        .helve(&[
            "policy",
            "explain",
            "mail_send",
            "--principal",
            "agent:x",
            "--args",
            "{}",
        ])
        .ended(0);
    says(
        &ran,
        &["ask: no rule, so the risk decides", "rule 2  allow  no: "],
    );
    folder
        .helve(&["policy", "explain", "mail_send", "--args", "[]"])
        .ended(2);
    folder.helve(&["policy", "explain", "mail_sent"]).ended(3);
    let ran = folder
        .helve(&["call", "mail_send", "to=x@evil.example"])
        .ended(5);
    says(
        &ran,
        &["`mail_send` is denied: not to them", "rule 1 of the policy"],
    );
    assert_eq!(
        folder.helve(&["call", "mail_send", "to=bob"]).ended(0).out,
        "sent to bob\n"
    );
}

#[test]
fn rules_are_held_to_their_examples_without_a_hub() {
    let folder = with_rules();
    says(
        &folder.helve(&["policy", "check"]).ended(0),
        &["ok: 2 rules, 2 examples hold"],
    );
    assert!(
        !folder.path().join(".helve").exists(),
        "nothing is opened for it"
    );
    folder.write(
        "other.toml",
        RULES.replace("x@good.example", "y@evil.example"),
    );
    let ran = folder.helve(&["policy", "check", "other.toml"]).ended(3);
    says(&ran, &["other.toml", "rule 1", "should not match"]);
    folder.helve(&["policy", "check", "none.toml"]).ended(3);
    // A hub does not start with such rules, and no command runs past them.
    folder.write(
        "helve.toml",
        RULES.replace("x@good.example", "y@evil.example"),
    );
    folder.helve(&["call", "text_say", "to=x"]).ended(3);
    folder.helve(&["up", "--listen", "127.0.0.1:0"]).ended(3);
}

#[test]
fn new_rules_count_at_once_and_broken_ones_never() {
    let folder = workspace();
    let server = Server::start(folder.path());
    let effect = |tool: &str| {
        folder.json(&["policy", "explain", tool, "--json"])["effect"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(effect("text_say"), "allow");
    folder.write(
        "helve.toml",
        "[[policy]]\neffect = \"deny\"\ntool = \"text_*\"\n",
    );
    until("the new rule counts", || {
        (effect("text_say") == "deny").then_some(())
    });
    folder.helve(&["call", "text_say", "to=x"]).ended(5);
    // The tool that comes after it shows that the broken file was read.
    folder.write("helve.toml", "[[policy]]\neffect = \"alow\"\n");
    let tool = crate::hub::tool("new", "read", "echo", &serde_json::json!({}));
    folder.write("tools/note/new.json", tool.to_string());
    until("the folder was read", || {
        (folder.helve(&["policy", "explain", "note_new"]).code == 0).then_some(())
    });
    assert_eq!(effect("text_say"), "deny");
    let changes = folder
        .helve(&["audit", "tail", "--event", "policy.changed"])
        .ended(0);
    assert_eq!(changes.out.lines().count(), 1, "{}", changes.out);
    server.stop(folder.path());
}

/// A cloned workspace must not switch off what its user forbids everywhere.
#[test]
fn the_rules_of_the_user_hold_in_every_workspace() {
    let folder = workspace();
    folder.write(
        ".config/helve/config.toml",
        "[[policy]]\neffect = \"deny\"\ntool = \"*\"\nreason = \"not on this machine\"\n",
    );
    folder.write(
        "helve.toml",
        "[[policy]]\neffect = \"allow\"\ntool = \"*\"\n",
    );
    let ran = folder.helve(&["call", "text_say", "to=x"]).ended(5);
    assert!(ran.err.contains("not on this machine"), "{}", ran.err);
}

/// What somebody remembered in the console, here as it is written down.
#[test]
fn remembered_rules_count_and_are_watched() {
    let folder = workspace();
    folder.asked(&["mail_send", "to=bob"]);
    let rules = "[[policy]]\neffect = \"allow\"\ntool = \"mail_send\"\nprincipal = \"agent:*\"\n";
    let call = || {
        folder
            .helve(&["call", "mail_send", "to=bob", "--as", "agent"])
            .code
    };
    // From the next start on, without anybody being asked.
    folder.write(".helve/rules.toml", rules);
    assert_eq!(call(), 0);
    says(&folder.helve(&["policy"]).ended(0), &["1 rule, then"]);
    // And at once where a hub runs, whether the file is new, changed, or replaced.
    let server = Server::start(folder.path());
    assert_eq!(call(), 0);
    for (text, wanted) in [("", 6), (rules, 0), ("# none\n", 6)] {
        folder.write(".helve/rules.toml", text);
        until("the rules are read", || (call() == wanted).then_some(()));
    }
    let other = folder.path().join(".helve/rules.new");
    std::fs::write(&other, rules).unwrap();
    std::fs::rename(&other, folder.path().join(".helve/rules.toml")).unwrap();
    until("the rules are read", || (call() == 0).then_some(()));
    folder.write(".helve/rules.toml", "");
    until("what came in its place is watched", || {
        (call() == 6).then_some(())
    });
    server.stop(folder.path());
    // A broken one lets no hub start.
    folder.write(".helve/rules.toml", "[server]\n");
    let ran = folder.helve(&["call", "text_say", "to=x"]).ended(3);
    says(&ran, &["rules.toml", "only `[[policy]]` belongs here"]);
}
