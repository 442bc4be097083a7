//! A workspace with tools, for tests of the commands that talk to a hub.

use serde_json::{Value, json};

use crate::run::{Folder, Ran};
use crate::server::Server;

/// A secret that must never be found anywhere.
pub(crate) const SECRET: &str = "correct-horse-battery";

/// A tool that runs a line of shell; what `properties` names is filled in after it.
pub(crate) fn tool(name: &str, risk: &str, line: &str, properties: &Value) -> Value {
    let mut command = vec![json!("sh"), json!("-c"), json!(line), json!("-")];
    let names = properties.as_object().unwrap().iter();
    let open = names.filter(|(_, schema)| schema["format"] != "password");
    command.extend(open.map(|(name, _)| json!(format!("{{{name}}}"))));
    json!({
        "name": name,
        "description": "Does something for a test. Use it nowhere else.",
        "risk": risk,
        "reversible": "no",
        "tags": [risk],
        "executor": {"type": "host", "command": command},
        "input_schema": {
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        },
    })
}

/// A configuration without the tools that a hub has by itself.
pub(crate) const BARE: &str = "[toolsets]\noff = [\"*\"]\n";

/// A workspace with some tools, and no others.
pub(crate) fn workspace() -> Folder {
    let folder = Folder::new();
    folder.write("helve.toml", BARE);
    let who = json!({"to": {"type": "string", "description": "Who"}});
    let secret = json!({
        "to": {"type": "string", "description": "Who"},
        "password": {"type": "string", "format": "password", "description": "What opens the box"},
    });
    let none = json!({});
    for (file, tool) in [
        ("text/say", tool("say", "read", "echo hello \"$1\"", &who)),
        (
            "text/fail",
            tool("fail", "read", "echo out; echo err >&2; exit 3", &none),
        ),
        ("text/much", tool("much", "read", "seq 1 400000", &none)),
        (
            "job/wait",
            tool(
                "wait",
                "exec_low",
                "echo begun; while [ ! -e go ]; do sleep 0.02; done; echo over",
                &none,
            ),
        ),
        (
            "mail/send",
            tool("send", "exec_high", "echo sent to \"$1\"", &who),
        ),
        (
            "mail/open",
            tool(
                "open",
                "exec_high",
                "echo \"opened for $1 with $ARG_PASSWORD\"",
                &secret,
            ),
        ),
    ] {
        folder.write(&format!("tools/{file}.json"), tool.to_string());
    }
    folder
}

/// Does the same with a hub that commands open for themselves, and with one that runs.
pub(crate) fn both(test: impl Fn(&Folder)) {
    let folder = workspace();
    test(&folder);
    let folder = workspace();
    let server = Server::start(folder.path());
    test(&folder);
    server.stop(folder.path());
}

impl Folder {
    /// Makes the token by which `--as agent` acts, unless `helve up` has.
    pub(crate) fn agent(&self) {
        if !self.path().join(".helve/tokens/agent").exists() {
            self.helve(&["token", "create", "agent", "--save"]).ended(0);
        }
    }

    /// Calls a tool as the agent, where it is asked for; the ids of run and approval.
    pub(crate) fn asked(&self, args: &[&str]) -> (String, String) {
        self.agent();
        let all: Vec<&str> = [&["call"], args, &["--as", "agent", "--json"]].concat();
        let meta = self.helve(&all).ended(6).json()["meta"].take();
        let id = |key: &str| meta[key].as_str().unwrap().to_owned();
        (id("run_id"), id("approval_id"))
    }

    /// What a command prints as JSON.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        self.helve(args).ended(0).json()
    }
}

/// A command said all of this, to whom it may.
#[track_caller]
pub(crate) fn says(ran: &Ran, words: &[&str]) {
    let all = format!("{}{}", ran.out, ran.err);
    for word in words {
        assert!(all.contains(word), "no `{word}` in\n{all}");
    }
}
