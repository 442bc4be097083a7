//! `helve mcp` as a client starts it, and `/mcp` with its views and an identity provider.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};

use crate::hub::workspace;
use crate::run::{Folder, command};
use crate::server::{PATIENCE, Server, send, token, until};

/// A client on the other end of the pipes. It is ended with the test.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Client {
    fn start(folder: &Folder, revision: &str) -> Self {
        let mut child = command(folder.path())
            .args(["mcp", "--disclose", "full"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut client = Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            asked: 0,
        };
        let info = json!({"name": "tester", "version": "1"});
        let hello = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": info});
        let begun = client.ask("initialize", &hello);
        assert_eq!(begun["protocolVersion"], revision);
        client.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn answer(&mut self, id: u64) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "it hung up");
            let mut message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message["result"].take();
            }
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    fn say(&mut self, to: &str) -> String {
        let result = self.ask(
            "tools/call",
            &json!({"name": "text_say", "arguments": {"to": to}}),
        );
        result["structuredContent"]["stdout"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Hangs up, and waits for the end.
    fn hang_up(mut self) -> ExitStatus {
        self.input = None;
        until("it ends", || self.child.try_wait().unwrap())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn left_behind(folder: &Folder) -> Vec<&'static str> {
    let files = [".helve/hub.json", ".helve/mcp.sock"];
    let there = |file: &&str| folder.path().join(file).exists();
    files.into_iter().filter(there).collect()
}

#[test]
fn one_command_and_it_works() {
    for revision in ["2025-06-18", "2025-11-25"] {
        let folder = workspace();
        let mut client = Client::start(&folder, revision);
        let tools = client.ask("tools/list", &json!({}))["tools"].take();
        let names: Vec<&str> = tools
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t["name"].as_str().unwrap())
            .collect();
        assert!(
            names.contains(&"text_say") && names.contains(&"mail_send"),
            "{names:?}"
        );
        assert_eq!(client.say("ann"), "hello ann\n");
        assert_eq!(client.hang_up().code(), Some(0));
        assert_eq!(left_behind(&folder), [""; 0]);
    }
}

#[test]
fn several_clients_are_one_hub() {
    let folder = workspace();
    let mut first = Client::start(&folder, "2025-11-25");
    let mut second = Client::start(&folder, "2025-06-18");
    assert_eq!(second.say("bob"), "hello bob\n");

    // Another terminal decides what a client asks for.
    let arguments = json!({"name": "mail_send", "arguments": {"to": "cat"}});
    let asked = second.send("tools/call", &arguments);
    let approval = until("somebody is asked", || {
        let waiting = folder.helve(&["approvals", "--json"]).ended(0).json();
        waiting[0]["id"].as_str().map(str::to_owned)
    });
    folder
        .helve(&["approve", &approval, "--yes", "--no-wait"])
        .ended(0);
    let answer = second.answer(asked);
    assert_eq!(answer["structuredContent"]["stdout"], "sent to cat\n");

    // Who leaves takes nothing away from the others.
    assert_eq!(second.hang_up().code(), Some(0));
    assert_eq!(first.say("dan"), "hello dan\n");
    let mut third = Client::start(&folder, "2025-11-25");
    assert_eq!(third.say("eve"), "hello eve\n");
    drop(third);
    assert_eq!(first.hang_up().code(), Some(0));
    assert_eq!(left_behind(&folder), [""; 0]);
}

#[test]
fn a_signal_ends_it_in_order() {
    let folder = workspace();
    let mut client = Client::start(&folder, "2025-11-25");
    client.say("ann");
    let id = client.child.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &id]).status().unwrap();
    assert!(sent.success());
    let status = until("it ends", || client.child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
    assert_eq!(left_behind(&folder), [""; 0]);
    folder.helve(&["audit", "verify"]).ended(0);
}

#[test]
fn a_view_that_is_not_there() {
    let folder = workspace();
    let alone = folder.helve(&["mcp", "--view", "nope"]).ended(2);
    assert!(
        alone.err.contains("there is no view `nope`"),
        "{}",
        alone.err
    );
    let server = Server::start(folder.path());
    let joined = folder.helve(&["mcp", "--view", "nope"]).ended(3);
    assert!(
        joined.err.contains("there is no such view"),
        "{}",
        joined.err
    );
    server.stop(folder.path());
}

/// One request of the newer era: the whole answer, head and body.
fn post(address: &str, path: &str, token: &str, method: &str) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// A request to `/mcp` whose answer may go on: the connection, with the head read.
fn open(address: &str, token: &str, method: &str, more: &str, body: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         {more}Content-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    (stream, String::from_utf8(head).unwrap())
}

/// A stream of news has no end of its own, in either era. When the hub stops it gets one, at
/// once; what is at work may end, and its answer leaves.
#[test]
fn a_hub_stops_though_somebody_listens() {
    let folder = workspace();
    let server = Server::start(folder.path());
    let token = token(folder.path(), "agent");
    let (address, who) = (server.address.clone(), token.clone());
    let calling = std::thread::spawn(move || {
        let path = "/tools/job_wait/runs";
        send(&address, "POST", path, Some(&who), Some(&json!({})))
    });
    until("the run begins", || {
        let runs = folder.json(&["runs", "--state", "running", "--json"]);
        runs[0]["id"].is_string().then_some(())
    });
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "tester", "version": "1"}}});
    let (_, head) = open(&server.address, &token, "POST", "", &hello.to_string());
    let session = head
        .lines()
        .find_map(|line| line.strip_prefix("mcp-session-id: "))
        .unwrap_or_else(|| panic!("{head}"));
    let session = format!("Mcp-Session-Id: {session}\r\n");
    let (older, head) = open(&server.address, &token, "GET", &session, "");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let listen = json!({"jsonrpc": "2.0", "id": 2, "method": "subscriptions/listen", "params": {
        "_meta": meta, "notifications": {"toolsListChanged": true}}});
    let modern = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n";
    let (newer, head) = open(&server.address, &token, "POST", modern, &listen.to_string());
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    server.signal("-TERM");
    for mut stream in [older, newer] {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        let rest = String::from_utf8_lossy(&rest);
        assert!(rest.ends_with("0\r\n\r\n"), "cut off: {rest:?}");
    }
    folder.write("go", "");
    let (status, answer) = calling.join().unwrap().unwrap();
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["data"]["stdout"], "begun\nover\n", "{answer}");
    server.stop(folder.path());
}

/// Some clients give a socket instead of pipes, and do not close it before they end us.
#[test]
fn a_client_on_a_socket_may_end_it_by_a_signal() {
    let folder = workspace();
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let handle = || Stdio::from(std::os::fd::OwnedFd::from(theirs.try_clone().unwrap()));
    let mut child = command(folder.path())
        .arg("mcp")
        .stdin(handle())
        .stdout(handle())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "tester", "version": "1"}}});
    writeln!(&ours, "{hello}").unwrap();
    let mut line = String::new();
    ours.set_read_timeout(Some(PATIENCE)).unwrap();
    BufReader::new(&ours).read_line(&mut line).unwrap();
    assert!(line.contains("protocolVersion"), "{line}");
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &id]).status().unwrap();
    assert!(sent.success());
    let status = until("it ends", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
    assert_eq!(left_behind(&folder), Vec::<&str>::new());
}

#[test]
fn a_view_has_an_address_and_its_own_tools() {
    let folder = workspace();
    let toml = "[mcp]\ndisclose = \"full\"\n[mcp.views.quiet]\ntools = [\"text_*\"]\n";
    folder.write("helve.toml", toml);
    let server = Server::start(folder.path());
    let token = token(folder.path(), "agent");
    let all = post(&server.address, "/mcp", &token, "tools/list");
    assert!(
        all.contains("text_say") && all.contains("mail_send"),
        "{all}"
    );
    let some = post(&server.address, "/mcp/quiet", &token, "tools/list");
    assert!(
        some.contains("text_say") && !some.contains("mail_send"),
        "{some}"
    );
    let none = post(&server.address, "/mcp/loud", &token, "tools/list");
    assert!(none.starts_with("HTTP/1.0 404"), "{none}");
}

#[test]
fn tokens_of_an_identity_provider_count() {
    let folder = workspace();
    let key = SigningKey::from_bytes(&[7; 32]);
    let x = BASE64.encode(key.verifying_key().as_bytes());
    let jwk = json!({"kty": "OKP", "crv": "Ed25519", "kid": "k", "use": "sig", "x": x});
    folder.write("keys.json", json!({"keys": [jwk]}).to_string());
    folder.write(
        "helve.toml",
        "[mcp]\ndisclose = \"full\"\n[identity]\nissuer = \"https://login.example\"\n\
         audience = \"helve\"\njwks = \"keys.json\"\nscopes = [\"text_*\"]\n",
    );
    let server = Server::start(folder.path());
    let signed = |audience: &str| {
        let part = |value: Value| BASE64.encode(value.to_string());
        let claims = json!({"iss": "https://login.example", "aud": audience, "sub": "ann",
            "exp": 4_000_000_000_u64});
        let text = format!(
            "{}.{}",
            part(json!({"alg": "EdDSA", "kid": "k"})),
            part(claims)
        );
        let signature = key.sign(text.as_bytes()).to_bytes();
        format!("{text}.{}", BASE64.encode(signature))
    };
    // The keys are read beside the start.
    let listed = until("the keys are known", || {
        let answer = post(&server.address, "/mcp", &signed("helve"), "tools/list");
        answer.starts_with("HTTP/1.0 200").then_some(answer)
    });
    assert!(
        listed.contains("text_say") && !listed.contains("mail_send"),
        "{listed}"
    );

    let refused = post(&server.address, "/mcp", &signed("another"), "tools/list");
    assert!(refused.starts_with("HTTP/1.0 401"), "{refused}");
    let place = "/.well-known/oauth-protected-resource";
    assert!(
        refused.to_lowercase().contains(&format!(
            "resource_metadata=\"http://{}{place}\"",
            server.address
        )),
        "{refused}"
    );
    let told = server.get(place, &signed("helve"));
    assert_eq!(
        told["authorization_servers"],
        json!(["https://login.example"])
    );
}
