//! Hubs that are not there, or refuse: a clear word, a hint, an exit code.

use crate::hub::{says, workspace};
use crate::run::command;
use crate::server::Server;

#[test]
fn one_hub_to_a_workspace() {
    let folder = workspace();
    let server = Server::start(folder.path());
    let ran = folder.helve(&["up", "--listen", "127.0.0.1:0"]).ended(3);
    says(
        &ran,
        &[
            "a hub runs in this workspace already, at http://127.0.0.1:",
            "hint: ",
        ],
    );
    // Even if its address is lost, its store is locked.
    let hub = folder.path().join(".helve/hub.json");
    let kept = std::fs::read(&hub).unwrap();
    std::fs::remove_file(&hub).unwrap();
    std::thread::scope(|scope| {
        for args in [&["up", "--listen", "127.0.0.1:0"][..], &["tools"]] {
            scope.spawn(|| {
                let ran = folder.helve(args).ended(3);
                says(
                    &ran,
                    &[
                        "waiting for another helve",
                        "another helve has this store open",
                        "is `helve up` running in this workspace?",
                    ],
                );
            });
        }
    });
    std::fs::write(&hub, kept).unwrap();
    let ran = folder.helve(&["up", "--listen", &server.address]).ended(3);
    says(&ran, &["already"]);
    server.stop(folder.path());
}

#[test]
fn commands_without_a_hub_take_turns() {
    let folder = workspace();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let ran = folder.helve(&["call", "text_say", "to=bob"]).ended(0);
                assert_eq!(ran.out, "hello bob\n");
            });
        }
    });
    folder.helve(&["audit", "verify"]).ended(0);
}

#[test]
fn looking_makes_no_workspace() {
    let folder = crate::run::Folder::new();
    let id = "0123456789";
    for args in [
        &["tools"][..],
        &["runs"],
        &["logs", id],
        &["approvals"],
        &["approve", id],
        &["token", "list"],
        &["policy"],
        &["policy", "check"],
        &["audit", "tail"],
        &["audit", "export"],
        &["audit", "verify"],
        &["audit", "key"],
    ] {
        let ran = folder.helve(args).ended(3);
        says(&ran, &["is no workspace", "hint: ", "`helve up`"]);
    }
    folder.helve(&["doctor"]).ended(0);
    assert!(folder.files().is_empty(), "{:?}", folder.files());
    assert!(!folder.path().join(".helve").exists());
    folder.helve(&["token", "create", "x"]).ended(0);
    folder.helve(&["tools"]).ended(0);
}

#[test]
fn every_command_says_that_nobody_answers() {
    let folder = workspace();
    let id = "0123456789";
    for args in [
        &["tools"][..],
        &["call", "text_say"],
        &["enable", "x"],
        &["disable", "x"],
        &["versions", "x"],
        &["rollback", "x", "1.0.0"],
        &["remove", "x"],
        &["runs"],
        &["runs", id],
        &["logs", id],
        &["cancel", id],
        &["approvals"],
        &["approve", id],
        &["deny", id, "--reason", "x"],
        &["token", "create", "x"],
        &["token", "list"],
        &["token", "revoke", id],
        &["policy"],
        &["policy", "explain", "x"],
        &["audit", "verify"],
        &["audit", "export"],
        &["audit", "tail"],
    ] {
        let output = command(folder.path())
            .args(args)
            .env("HELVE_URL", "http://127.0.0.1:1")
            .env("HELVE_TOKEN", "hlv_x")
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(7), "{args:?}: {said}");
        assert!(
            said.contains(
                "error: the hub at http://127.0.0.1:1 cannot be reached: nobody answers there"
            ),
            "{args:?}: {said}"
        );
        assert!(
            said.contains("hint: start one with `helve up`"),
            "{args:?}: {said}"
        );
    }
    assert!(
        !folder.path().join(".helve").exists(),
        "nothing is made here for a hub elsewhere"
    );
}

#[test]
fn a_hub_elsewhere_wants_a_token_that_counts() {
    let folder = workspace();
    let server = Server::start(folder.path());
    let url = format!("http://{}", server.address);
    let elsewhere = crate::run::Folder::new();
    let ran = elsewhere.helve(&["tools", "--url", &url]).ended(2);
    says(&ran, &["a hub elsewhere needs a token", "HELVE_TOKEN"]);
    let with = |token: &str, args: &[&str]| {
        let mut all = command(elsewhere.path());
        let output = all
            .args(args)
            .args(["--url", &url])
            .env("HELVE_TOKEN", token)
            .output()
            .unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, said) = with("hlv_0000", &["tools"]);
    assert_eq!(code, 5, "{said}");
    assert!(said.contains("unknown, expired or revoked"), "{said}");
    let token = crate::server::token(folder.path(), "terminal");
    let (code, said) = with(&token, &["call", "text_say", "to=x"]);
    assert_eq!((code, said.as_str()), (0, "hello x\n"));
    let (code, said) = with(&token, &["audit", "verify"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("nothing in it is signed"), "{said}");
    let (code, said) = with(&token, &["doctor"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("ok    hub"), "{said}");
    let agent = crate::server::token(folder.path(), "agent");
    let (code, said) = with(&agent, &["audit", "tail"]);
    assert_eq!(code, 5, "{said}");
    assert!(said.contains("has no permission `audit:read`"), "{said}");
    server.stop(folder.path());
}

#[test]
fn what_is_wrong_is_named() {
    let folder = workspace();
    let check = |args: &[&str], code: i32, wanted: &[&str]| {
        says(&folder.helve(args).ended(code), wanted);
    };
    let form = [
        "cannot listen on `nonsense`",
        "hint: write it as ADDRESS:PORT",
    ];
    check(&["up", "--listen", "nonsense"], 2, &form);
    check(&["call", "zzzzzzzzzz"], 3, &["hint: `helve tools` shows"]);
    check(&["approve", "zzz"], 2, &["is not the id of any approval"]);
    check(
        &["token", "create", "a/b", "--save"],
        2,
        &["letters, digits"],
    );
    folder.write("helve.toml", "tools = [\"tools\", \"nowhere\"]\n");
    let missing = "`tools` names `nowhere`, which is no folder";
    check(&["doctor"], 0, &["warn  tools", missing]);
    folder.write("helve.toml", "[server]\nrate = \"many\"\n");
    check(&["tools"], 3, &["`server.rate`: invalid type"]);
}
