//! Tokens, from the command line.

use std::io::{BufRead as _, BufReader};

use crate::hub::{both, says, workspace};

#[test]
fn made_used_listed_revoked() {
    both(|folder| {
        let ran = folder
            .helve(&[
                "token",
                "create",
                "ci",
                "--scope",
                "text_*",
                "--max-risk",
                "read",
                "--expires",
                "30d",
                "--save",
            ])
            .ended(0);
        let secret = ran.out.trim();
        assert!(
            secret.starts_with("hlv_") && ran.out.lines().count() == 1,
            "{}",
            ran.out
        );
        assert!(!ran.err.contains(secret));
        says(
            &ran,
            &[
                "agent:ci (for user:ada)",
                "text_*, up to risk read",
                "use it with `--as ci`",
            ],
        );
        assert_eq!(folder.read(".helve/tokens/ci").trim(), secret);

        folder
            .helve(&["call", "text_say", "to=x", "--as", "ci"])
            .ended(0);
        // What is out of reach does not exist.
        says(
            &folder
                .helve(&["call", "mail_send", "to=x", "--as", "ci"])
                .ended(3),
            &["there is no tool"],
        );
        says(
            &folder
                .helve(&["token", "create", "more", "--as", "ci"])
                .ended(5),
            &["has no permission `token:manage`"],
        );

        let ran = folder.helve(&["token", "list"]).ended(0);
        says(&ran, &["terminal", "ci", "agent:ci  "]);
        assert!(!ran.out.contains(secret));
        let tokens = folder.json(&["token", "list", "--json"]);
        let ci = tokens
            .as_array()
            .unwrap()
            .iter()
            .find(|t| t["name"] == "ci")
            .unwrap();
        let id = ci["id"].as_str().unwrap();
        says(
            &folder
                .helve(&["token", "revoke", &id[id.len() - 8..]])
                .ended(0),
            &[id, "is revoked"],
        );
        says(
            &folder.helve(&["tools", "--as", "ci"]).ended(5),
            &["unknown, expired or revoked"],
        );
        assert!(
            !folder
                .helve(&["token", "list"])
                .ended(0)
                .out
                .contains("agent:ci")
        );
        says(
            &folder.helve(&["token", "list", "--all"]).ended(0),
            &["agent:ci", "revoked"],
        );
    });
}

#[test]
fn wrong_words() {
    both(|folder| {
        says(
            &folder
                .helve(&["token", "create", "x", "--permission", "everything"])
                .ended(2),
            &["tool:read"],
        );
        says(
            &folder
                .helve(&["token", "create", "x", "--expires", "soon"])
                .ended(2),
            &["`30d`"],
        );
        says(
            &folder
                .helve(&["token", "create", "x", "--permission", "approval:decide"])
                .ended(3),
            &["only people decide"],
        );
        says(
            &folder
                .helve(&["token", "create", "../x", "--save"])
                .ended(2),
            &["letters, digits"],
        );
        says(
            &folder
                .helve(&["token", "create", "terminal", "--save"])
                .ended(2),
            &["a saved token `terminal` already"],
        );
        says(
            &folder.helve(&["tools", "--as", "nobody"]).ended(3),
            &[
                "no saved token `nobody`",
                "helve token create nobody --save",
            ],
        );
        says(
            &folder.helve(&["token", "revoke", "ffffff"]).ended(3),
            &["no token whose id ends in", "helve token list"],
        );
    });
}

#[test]
fn a_person_may_decide() {
    both(|folder| {
        let made = folder.json(&["token", "create", "bob", "--person", "user:bob", "--json"]);
        assert_eq!(made["kind"], "person");
        assert_eq!(made["owner"], "user:bob");
        let may = made["permissions"].as_array().unwrap();
        assert!(may.iter().any(|p| p == "approval:decide"), "{may:?}");
    });
}

/// Whoever listens elsewhere gets no token that was not meant for them.
#[test]
fn the_token_of_the_terminal_goes_to_its_own_hub_only() {
    let folder = workspace();
    folder.helve(&["tools"]).ended(0);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let ran = folder.helve(&["tools", "--url", &url]).ended(2);
    assert!(ran.err.contains("a token of its own"), "{}", ran.err);
    assert!(listener.accept().is_err(), "somebody called");
}

/// A hub that was killed leaves its address behind, and somebody else may listen there.
#[test]
fn a_hub_that_is_gone_is_shown_no_token() {
    let folder = workspace();
    folder.helve(&["tools"]).ended(0);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let left = serde_json::json!({"url": url, "pid": 1});
    folder.write(".helve/hub.json", left.to_string());
    folder.helve(&["tools"]).ended(0);
    assert!(listener.accept().is_err(), "somebody called");
    assert!(!folder.path().join(".helve/hub.json").exists());
}

/// What a service manager keeps of each start must not be the secret.
#[test]
fn the_token_of_the_agent_is_shown_once() {
    let folder = workspace();
    let started = || {
        let mut child = crate::run::command(folder.path())
            .args(["up", "--listen", "127.0.0.1:0"])
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = String::new();
        for line in lines.map_while(Result::ok) {
            said += &line;
            if line.contains("Ctrl-C stops") {
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        said
    };
    let said = started();
    let secret = crate::server::token(folder.path(), "agent");
    assert!(said.contains(&secret), "{said}");
    let said = started();
    assert!(!said.contains(&secret), "{said}");
    assert!(said.contains(".helve/tokens/agent"), "{said}");
}
