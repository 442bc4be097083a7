//! People asked, from the command line.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::Value;

use crate::hub::{SECRET, both, says, workspace};
use crate::server::{PATIENCE, Server, until};

#[test]
fn asked_by_an_agent_decided_by_a_person() {
    both(|folder| {
        folder.agent();
        let ran = folder
            .helve(&["call", "mail_send", "to=bob", "--as", "agent"])
            .ended(6);
        says(
            &ran,
            &[
                "has not run: it waits for approval",
                "helve approve ",
                "helve deny ",
            ],
        );
        assert!(ran.out.is_empty(), "it is talk, not data");
        let ran = folder.helve(&["approvals"]).ended(0);
        says(
            &ran,
            &["59m   mail_send  agent:agent  to=\"bob\"", "to=\"bob\""],
        );
        let pending = folder.json(&["approvals", "--json"]);
        let id = pending[0]["id"].as_str().unwrap();

        let ran = folder.helve(&["approve", "--as", "agent", id]).ended(5);
        says(&ran, &["agents never decide"]);
        let ran = folder
            .helve(&["approve", &id[id.len() - 6..], "--reason", "fine"])
            .ended(0);
        says(
            &ran,
            &[
                "mail_send 1.0.0",
                "to = \"bob\"",
                "it cannot be undone",
                "asked because: it runs something that matters",
            ],
        );
        assert_eq!(ran.out, "sent to bob\n");
        says(
            &folder.helve(&["approve", id]).ended(3),
            &["not open any more: spent"],
        );
        says(
            &folder.helve(&["approvals"]).ended(0),
            &["nothing waits for a decision"],
        );
        says(
            &folder.helve(&["approvals", "--state", "all"]).ended(0),
            &["spent"],
        );
        let run = pending[0]["run_id"].as_str().unwrap();
        says(
            &folder.helve(&["runs", run]).ended(0),
            &["approved by user:ada", ": fine"],
        );
    });
}

#[test]
fn whoever_asked_does_not_decide() {
    both(|folder| {
        let ran = folder.helve(&["call", "mail_send", "to=bob"]).ended(6);
        says(
            &ran,
            &["Whoever asks cannot decide: somebody other than `user:ada` must"],
        );
        let ran = folder.helve(&["approve", "--yes"]).ended(5);
        says(&ran, &["whoever asked cannot be the one who decides"]);
        assert_eq!(
            folder.json(&["runs", "--json"])[0]["state"],
            "pending_approval"
        );

        // Nor does a token that they made for somebody else.
        folder
            .helve(&["token", "create", "eve", "--person", "user:eve", "--save"])
            .ended(0);
        let ran = folder.helve(&["approve", "--yes", "--as", "eve"]).ended(5);
        says(&ran, &["`user:eve` has its token from `user:ada`"]);
    });
}

#[test]
fn refused_with_a_reason() {
    both(|folder| {
        let (run, approval) = folder.asked(&["mail_send", "to=bob"]);
        folder.helve(&["deny", &approval]).ended(2);
        let ran = folder
            .helve(&["deny", &approval, "--reason", "not today"])
            .ended(0);
        says(&ran, &["denied: `mail_send` for agent:agent will not run"]);
        let ran = folder
            .helve(&["logs", &run, "--follow", "--as", "agent"])
            .ended(5);
        says(&ran, &["was denied by user:ada: not today"]);
    });
}

#[test]
fn without_an_id_only_the_one_that_waits() {
    both(|folder| {
        says(
            &folder.helve(&["approve", "--yes"]).ended(3),
            &["nothing waits for a decision"],
        );
        let (_, first) = folder.asked(&["mail_send", "to=a"]);
        let ran = folder.helve(&["approve"]).ended(2);
        says(&ran, &["without a terminal, say which one", &first]);
        folder.asked(&["mail_send", "to=b"]);
        let ran = folder.helve(&["approve", "--yes"]).ended(2);
        says(&ran, &["2 wait; say which one", "to=\"a\"", "to=\"b\""]);
        folder.helve(&["approve", &first]).ended(0);
        assert_eq!(
            folder.helve(&["approve", "--yes"]).ended(0).out,
            "sent to b\n"
        );
    });
}

#[test]
fn what_would_run_is_shown_as_it_is() {
    both(|folder| {
        let (_, id) = folder.asked(&["mail_send", "to=bob\u{1b}[2J\u{202e}\nroot"]);
        let ran = folder.helve(&["approve", &id, "--json"]).ended(0);
        assert_eq!(ran.json()["ok"], true);
        let (_, id) = folder.asked(&["mail_send", "to=bob\u{1b}[2J\u{202e}\nroot"]);
        let ran = folder.helve(&["approve", &id]).ended(0);
        says(&ran, &["bob\\u001b[2J\\u{202e}\\nroot"]);
        assert!(!ran.err.contains(['\u{1b}', '\u{202e}']));
    });
}

#[test]
fn nobody_waits_for_a_hub_that_goes_on() {
    let folder = workspace();
    let server = Server::start(folder.path());
    let (run, id) = folder.asked(&["mail_send", "to=bob"]);
    let ran = folder.helve(&["approve", &id, "--no-wait"]).ended(0);
    says(&ran, &["approved; `helve logs"]);
    assert_eq!(
        folder.helve(&["logs", &run, "--follow"]).ended(0).out,
        "sent to bob\n"
    );
    server.stop(folder.path());
}

#[test]
fn two_must_agree() {
    let folder = workspace();
    folder.write(
        "helve.toml",
        "[[policy]]\neffect = \"ask\"\ntool = \"mail_*\"\napprovals = 2\n",
    );
    let server = Server::start(folder.path());
    for name in ["eve", "max"] {
        let owner = format!("user:{name}");
        folder
            .helve(&["token", "create", name, "--person", &owner, "--save"])
            .ended(0);
    }
    let (_, id) = folder.asked(&["mail_send", "to=bob"]);
    says(
        &folder.helve(&["approve", &id, "--as", "eve"]).ended(0),
        &["approved by 1 of 2; it waits for the others"],
    );
    says(
        &folder.helve(&["approve", &id, "--as", "eve"]).ended(3),
        &["has decided this before"],
    );
    // Who made the other's token may be the other.
    folder.helve(&["approve", &id]).ended(5);
    let ran = folder.helve(&["approve", &id, "--as", "max"]).ended(0);
    says(&ran, &["approved; the run is not yours to see"]);
    until("it ran", || {
        let run = folder.json(&["runs", "-n", "1", "--json"]);
        (run[0]["state"] == "succeeded").then_some(())
    });
    server.stop(folder.path());
}

#[test]
fn a_secret_does_not_outlive_the_hub_and_that_is_said() {
    let folder = workspace();
    folder.agent();
    let password = format!("password={SECRET}");
    let ran = folder
        .helve(&["call", "mail_open", "to=bob", &password, "--as", "agent"])
        .ended(6);
    says(&ran, &["no hub runs that could remember the secrets"]);
    let ran = folder.helve(&["approve", "--yes"]).ended(1);
    says(
        &ran,
        &["it does not keep secrets", "hint: call the tool again"],
    );
}

/// The far end of a webhook: one request, taken whole.
fn told(listener: &TcpListener) -> (String, Value) {
    listener.set_nonblocking(true).unwrap();
    let (mut stream, _) = until("somebody is told", || listener.accept().ok());
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let read = stream.read(&mut part).unwrap();
        bytes.extend_from_slice(&part[..read]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        if let Ok(body) = serde_json::from_str(body) {
            let head = head.to_lowercase();
            stream
                .write_all(b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n")
                .unwrap();
            return (head, body);
        }
    }
}

#[test]
fn somebody_is_told() {
    for runs in [false, true] {
        let folder = workspace();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/ask?key=abc", listener.local_addr().unwrap());
        folder.write("helve.toml", format!("[approvals]\nwebhook = \"{url}\"\n"));
        let server = runs.then(|| Server::start(folder.path()));
        let far = std::thread::spawn(move || told(&listener));
        let (run, approval) = folder.asked(&["mail_open", "to=bob", &format!("password={SECRET}")]);
        let (head, body) = far.join().unwrap();
        assert!(head.contains("helve-signature: hmac-sha256="), "{head}");
        assert_eq!(body["approval_id"], approval.as_str());
        assert_eq!(body["run_id"], run.as_str());
        assert!(!body.to_string().contains(SECRET));
        until("it is noted", || {
            let shown = folder.json(&["approvals", "--json"]);
            (shown[0]["notice"]["state"] == "sent").then_some(())
        });
        if let Some(server) = server {
            server.stop(folder.path());
        }
    }
}

#[test]
fn nobody_can_be_told() {
    let folder = workspace();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = listener.local_addr().unwrap();
    drop(listener);
    folder.write(
        "helve.toml",
        format!("[approvals]\nwebhook = \"http://{dead}/{SECRET}\"\n"),
    );
    let server = Server::start(folder.path());
    let (_, id) = folder.asked(&["mail_send", "to=bob"]);
    let notice = until("it was tried", || {
        let notice = folder.json(&["approvals", "--json"])[0]["notice"].take();
        (notice["state"] == "failed").then_some(notice)
    });
    assert!(
        !notice.to_string().contains(SECRET),
        "the address is nobody's business: {notice}"
    );
    says(
        &folder.helve(&["approvals"]).ended(0),
        &["warning: nobody could be told of "],
    );
    assert_eq!(
        folder.helve(&["approve", &id]).ended(0).out,
        "sent to bob\n"
    );
    server.stop(folder.path());
}

/// Nobody can decide while the command that waits has the hub.
#[test]
fn without_a_hub_nobody_is_waited_for() {
    let folder = workspace();
    let ran = folder
        .helve(&["call", "mail_send", "to=bob", "--wait"])
        .ended(6);
    says(&ran, &["start `helve up` to wait", "helve approve "]);
}

#[test]
fn a_long_argument_does_not_hide_the_rest() {
    let folder = workspace();
    let to = format!("to=begin{}end", "x".repeat(5000));
    let (run, id) = folder.asked(&["mail_send", &to]);
    let ran = folder.helve(&["approve", &id]).ended(0);
    says(
        &ran,
        &[
            "\"beginxx",
            " … [5010 characters] … ",
            "xxend\"",
            "shows the arguments in full",
        ],
    );
    assert!(ran.err.len() < 2000, "{}", ran.err);
    assert!(folder.helve(&["runs"]).ended(0).out.len() < 1000);
    // In full where one run is looked at.
    assert!(
        folder
            .helve(&["runs", &run])
            .ended(0)
            .out
            .contains(&to[3..])
    );
}
