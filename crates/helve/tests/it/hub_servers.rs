//! MCP servers behind a hub, from the command line.

use serde_json::{Value, json};

use crate::hub::{both, says};
use crate::run::{Folder, root};

/// The server of the gateway's own tests, with tools out of a file.
fn add(folder: &Folder, name: &str, more: &[&str]) -> crate::run::Ran {
    let script = root().join("crates/helve-mcp/src/upstream/tests/server.py");
    let settings = json!({"file": folder.path().join(format!("{name}.json"))}).to_string();
    let script = script.display().to_string();
    let mut args = vec!["mcp", "add", name];
    args.extend(more);
    args.extend(["--", "python3", &script, &settings]);
    folder.helve(&args)
}

fn tools(folder: &Folder, name: &str, description: &str) {
    let list =
        json!([{"name": "echo", "description": description, "inputSchema": {"type": "object"}}]);
    folder.write(&format!("{name}.json"), list.to_string());
}

#[test]
fn a_server_comes_changes_and_goes() {
    both(|folder| {
        tools(folder, "py", "Says it.");
        folder.write(
            ".mcp.json",
            r#"{"note": "kept", "mcpServers": {"off": {"command": "x", "disabled": true, "zz": 1}}}"#,
        );
        let ran = add(folder, "py", &["--env", "KEY=${HOME}"]).ended(0);
        says(
            &ran,
            &[
                "`py` is in `.mcp.json`",
                "speaks      2025-11-25 (legacy)",
                "tools       py_echo",
            ],
        );
        let file: Value = serde_json::from_str(&folder.read(".mcp.json")).unwrap();
        assert_eq!(file["note"], "kept");
        assert_eq!(file["mcpServers"]["off"]["zz"], 1);
        assert_eq!(file["mcpServers"]["py"]["env"]["KEY"], "${HOME}");
        says(
            &add(folder, "py", &[]).ended(2),
            &["already", "hint: `--force` replaces it"],
        );

        says(
            &folder.helve(&["mcp", "list"]).ended(0),
            &["py", "2025-11-25"],
        );
        says(&folder.helve(&["mcp", "diff"]).ended(0), &["nothing waits"]);
        tools(folder, "py", "Says it\u{202e} louder.");
        says(
            &folder.helve(&["mcp", "test", "py"]).ended(0),
            &["a definition waits", "helve mcp diff py"],
        );
        let tested = ["audit", "tail", "--event", "server.tested", "--json"];
        let told = folder.helve(&tested).ended(0).out;
        assert!(told.contains("\"resource\":\"py\""), "{told}");
        let ran = folder.helve(&["mcp", "diff", "py"]).ended(0);
        says(
            &ran,
            &[
                "`echo` of `py` is not what it was",
                "-   \"description\": \"Says it.\"",
                "\\u{202e}",
            ],
        );
        assert!(
            !ran.out.contains('\u{202e}'),
            "nothing hidden is shown as it is"
        );
        says(&folder.helve(&["call", "py_echo"]).ended(3), &["disabled"]);
        says(
            &folder.helve(&["mcp", "accept", "py", "nothing"]).ended(3),
            &["nothing waits", "helve mcp diff"],
        );
        says(
            &folder.helve(&["mcp", "accept", "--all"]).ended(0),
            &["`py_echo` is taken over"],
        );
        assert_eq!(folder.json(&["mcp", "diff", "--json"]), json!([]));

        says(
            &folder.helve(&["mcp", "remove", "pyy"]).ended(3),
            &["did you mean `py`?"],
        );
        says(
            &folder.helve(&["mcp", "remove", "py"]).ended(0),
            &["`py` is gone"],
        );
        assert!(!folder.helve(&["tools"]).ended(0).out.contains("py_echo"));
        says(
            &folder.helve(&["mcp", "test", "py"]).ended(3),
            &["no MCP server named `py`"],
        );
    });
}

#[test]
fn what_cannot_be_added() {
    let folder = Folder::new();
    folder.write("helve.toml", "");
    for (args, word) in [
        (&["x", "ftp://example.com"][..], "cannot be started"),
        (
            &["x", "--transport", "http", "example"],
            "an address begins with",
        ),
        (
            &["x", "--header", "A", "https://example.com"],
            "write it like `NAME: VALUE`",
        ),
        (
            &["x", "--env", "A=1", "https://example.com"],
            "`--env` is for a program",
        ),
        (&["ü", "prog"], "a server needs a name"),
    ] {
        let mut all = vec!["mcp", "add"];
        all.extend(args);
        let ran = folder.helve(&all);
        assert_ne!(ran.code, 0);
        says(&ran, &[word]);
    }
    folder.write(".mcp.json", "{");
    says(
        &folder.helve(&["mcp", "add", "x", "prog"]),
        &["cannot be used: it is not JSON"],
    );
    says(
        &folder.helve(&["mcp", "list"]).ended(0),
        &[".mcp.json: it is not JSON"],
    );
}

/// The configuration has the last word about servers and their tools.
#[test]
fn the_configuration_speaks_of_servers() {
    both(|folder| {
        tools(folder, "py", "Says it.");
        let toml = "[mcp.servers.py]\nrisk = \"read\"\n[mcp.servers.py.tools.echo]\nname = \"say_it\"\ndescription = \"Says what it is told. Use it to say something.\"\n";
        folder.write("helve.toml", toml);
        add(folder, "py", &[]).ended(0);
        assert_eq!(
            folder.helve(&["call", "say_it", "text=hi"]).ended(0).out,
            "hi\n"
        );
        let wrong = "[mcp.servers.py]\nrisc = \"read\"\n";
        folder.write("helve.toml", wrong);
        says(
            &folder.helve(&["mcp", "add", "--no-test", "z", "prog"]),
            &["did you mean `risk`?"],
        );
    });
}
