//! The console of a running hub, as far as files and commands are concerned; what a browser
//! sees is in `tests/console`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::hub::{says, workspace};
use crate::server::Server;

/// One request of a browser: its head and its body.
fn browse(server: &Server, method: &str, path: &str, cookie: &str, body: &str) -> (String, String) {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let address = &server.address;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    let (head, body) = all.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// What stands between two words.
#[track_caller]
fn between(text: &str, before: &str, after: &str) -> String {
    let found = text
        .split_once(before)
        .and_then(|(_, rest)| rest.split_once(after));
    let (found, _) = found.unwrap_or_else(|| panic!("no `{before}` in\n{text}"));
    found.to_owned()
}

#[test]
fn a_link_is_for_a_hub_that_runs() {
    let folder = workspace();
    folder.helve(&["tools"]).ended(0);
    let alone = folder.helve(&["console"]).ended(3);
    says(&alone, &["no hub runs in this workspace", "helve up"]);
    let server = Server::start(folder.path());
    let link = folder.helve(&["console"]).ended(0).out;
    let place = format!("http://{}/console/enter/", server.address);
    assert!(link.starts_with(&place), "{link}");
    assert_eq!(link.lines().count(), 1);
    let other = folder.json(&["console", "--json"]);
    assert!(other["url"].as_str().unwrap().starts_with(&place));
    assert_ne!(other["url"].as_str(), Some(link.trim()));
    let agents = folder.helve(&["console", "--as", "agent"]).ended(5);
    says(&agents, &["the console is for people"]);
    server.stop(folder.path());
}

#[test]
fn a_rule_that_was_remembered_holds_after_a_restart() {
    let folder = workspace();
    let server = Server::start(folder.path());
    let link = folder.helve(&["console"]).ended(0).out;
    let path = link.trim().split_once(&server.address).unwrap().1;
    let (head, _) = browse(&server, "GET", path, "", "");
    let cookie = between(&head.to_lowercase(), "set-cookie: ", ";");

    let (_, approval) = folder.asked(&["mail_send", "to=ann"]);
    let place = format!("/console/inbox/{approval}/remember");
    let (_, page) = browse(&server, "GET", &place, &cookie, "");
    assert!(page.contains("to&quot; = &quot;ann&quot;"), "{page}");
    let csrf = between(&page, "name=\"csrf\" value=\"", "\"");
    let sent = format!("csrf={csrf}&like=arguments");
    let (head, _) = browse(&server, "POST", &place, &cookie, &sent);
    assert!(head.starts_with("HTTP/1.1 303"), "{head}");

    let call = |to: &str| {
        let to = format!("to={to}");
        folder.helve(&["call", "mail_send", &to, "--as", "agent"])
    };
    call("ann").ended(0);
    call("bob").ended(6);
    server.stop(folder.path());
    call("ann").ended(0);
    call("bob").ended(6);
    let rules = std::fs::read_to_string(folder.path().join(".helve/rules.toml")).unwrap();
    assert!(rules.contains("tool = \"mail_send\""), "{rules}");
    let changed = folder.json(&["audit", "tail", "--event", "policy.changed", "--json"]);
    assert_eq!(changed["record"]["actor"], "user:ada", "{changed}");

    // One that cannot be read is told, and nothing runs as if it were not there.
    folder.write(".helve/rules.toml", "[server]\nlisten = \"x\"\n");
    says(&call("ann").ended(3), &["only `[[policy]]` belongs here"]);
    folder.write(".helve/rules.toml", "[[policy]]\neffect = \"alow\"\n");
    says(&call("ann").ended(3), &["rules.toml", "alow"]);
}
