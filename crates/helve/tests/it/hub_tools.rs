//! The registry, from the command line.

use serde_json::json;

use crate::hub::{both, says, tool, workspace};
use crate::server::{Server, until};

#[test]
fn what_there_is() {
    both(|folder| {
        let ran = folder.helve(&["tools"]).ended(0);
        says(
            &ran,
            &[
                "text\n",
                "  text_say   1.0.0  read",
                "tools/text/say.json",
                "Does something for a test.\n",
            ],
        );
        assert!(
            !ran.out.contains("Use it nowhere else"),
            "one sentence is enough"
        );
        says(&ran, &["6 tools"]);
        let some = |args: &[&str]| folder.json(args).as_array().unwrap().len();
        assert_eq!(some(&["tools", "--group", "mail", "--json"]), 2);
        assert_eq!(some(&["tools", "--tag", "exec_low", "--json"]), 1);
        says(
            &folder.helve(&["tools", "--tag", "nothing"]).ended(0),
            &["no such tool"],
        );
    });
}

#[test]
fn off_and_on() {
    both(|folder| {
        says(
            &folder.helve(&["disable", "text_say"]).ended(0),
            &["`text_say` is disabled"],
        );
        let ran = folder.helve(&["call", "text_say", "to=x"]).ended(3);
        says(
            &ran,
            &[
                "`text_say` is disabled",
                "hint: `helve enable text_say` turns it on",
            ],
        );
        assert!(!folder.helve(&["tools"]).ended(0).out.contains("text_say"));
        says(
            &folder.helve(&["tools", "--all"]).ended(0),
            &["text_say (disabled)"],
        );
        says(
            &folder.helve(&["enable", "text_say"]).ended(0),
            &["`text_say` is enabled"],
        );
        folder.helve(&["call", "text_say", "to=x"]).ended(0);
        says(
            &folder.helve(&["enable", "text_sai"]).ended(3),
            &["there is no tool named", "`text_say`"],
        );
    });
}

#[test]
fn registered_replaced_rolled_back_removed() {
    both(|folder| {
        let one = tool("note_read", "read", "echo one", &json!({}));
        folder.write("new.json", one.to_string());
        let ran = folder
            .helve(&["register", "new.json", "--why", "a test"])
            .ended(0);
        says(&ran, &["note_read: registered 1.0.0"]);
        let ran = folder.helve(&["register", "new.json"]).ended(3);
        says(
            &ran,
            &[
                "`note_read` is not registered",
                "already",
                "helve register --replace",
            ],
        );
        let two = tool("note_read", "read", "echo two", &json!({}));
        let ran = folder
            .helve_with(&["register", "-", "--replace"], two.to_string().as_bytes())
            .ended(0);
        says(&ran, &["note_read: registered 1.0.1"]);
        let ran = folder
            .helve_with(&["register", "-", "--replace"], two.to_string().as_bytes())
            .ended(0);
        says(&ran, &["unchanged, still 1.0.1"]);
        assert_eq!(folder.helve(&["call", "note_read"]).ended(0).out, "two\n");

        let ran = folder.helve(&["versions", "note_read"]).ended(0);
        let lines: Vec<&str> = ran.out.lines().collect();
        assert!(
            lines[1].starts_with("   1.0.0    20") && lines[1].ends_with("a test"),
            "{}",
            ran.out
        );
        assert!(
            lines[2].starts_with("*  1.0.1    20") && lines[2].contains("  user:ada  "),
            "{}",
            ran.out
        );

        says(
            &folder
                .helve(&["rollback", "note_read", "1.0.0", "--why", "worse"])
                .ended(0),
            &["`note_read` is 1.0.0 again"],
        );
        assert_eq!(folder.helve(&["call", "note_read"]).ended(0).out, "one\n");
        says(
            &folder.helve(&["rollback", "note_read", "7.0.0"]).ended(3),
            &["no version `7.0.0`", "`1.0.1`"],
        );

        says(
            &folder.helve(&["remove", "note_read"]).ended(0),
            &["`note_read` is removed"],
        );
        folder.helve(&["call", "note_read"]).ended(3);
        let ran = folder.helve(&["remove", "text_say"]).ended(3);
        says(
            &ran,
            &["comes from `tools/text/say.json`", "helve disable text_say"],
        );
    });
}

#[test]
fn every_tool_of_a_file_is_told() {
    both(|folder| {
        let good = tool("note_read", "read", "echo", &json!({}));
        let mut bad = tool("note_run", "read", "echo", &json!({}));
        bad["executor"]["command"] = json!(["no-such-program"]);
        folder.write("two.json", json!([bad, good]).to_string());
        let ran = folder.helve(&["register", "two.json"]).ended(3);
        says(
            &ran,
            &[
                "`note_run` is not registered",
                "no-such-program",
                "note_read: registered 1.0.0",
            ],
        );
        let told = folder
            .helve(&["register", "two.json", "--replace", "--json"])
            .ended(3)
            .json();
        assert_eq!(told[1]["changed"], false);
        assert!(
            told[0]["error"]
                .as_str()
                .unwrap()
                .contains("no-such-program")
        );
        folder.write("broken.json", "{\"name\": \"x");
        says(
            &folder.helve(&["register", "broken.json"]).ended(3),
            &["error[E001]", "nothing was done"],
        );
    });
}

/// Another dialect is as good.
#[test]
fn in_the_words_of_another_system() {
    let folder = workspace();
    folder.write(
        "hub.json",
        json!({
            "id": "notes_show", "name": "Show notes", "description": "Shows notes. Use to read them.",
            "risk_level": "read", "executor": "host", "command": ["echo", "shown"],
            "args_schema": {"type": "object", "properties": {}},
        })
        .to_string(),
    );
    folder.helve(&["register", "hub.json"]).ended(0);
    assert_eq!(
        folder.helve(&["call", "notes_show"]).ended(0).out,
        "shown\n"
    );
}

#[test]
fn files_that_change_while_the_hub_runs() {
    let folder = workspace();
    let server = Server::start(folder.path());
    let current = || {
        let versions = folder.json(&["versions", "text_say", "--json"]);
        let all = versions.as_array().unwrap().clone();
        let current = all.iter().find(|v| v["current"] == true).unwrap();
        current["version"].as_str().unwrap().to_owned()
    };
    assert_eq!(current(), "1.0.0");
    let say = |line: &str| tool("say", "read", line, &json!({})).to_string();
    folder.write("tools/text/say.json", say("echo new"));
    until("the new version is there", || {
        (current() == "1.0.1").then_some(())
    });
    assert_eq!(folder.helve(&["call", "text_say"]).ended(0).out, "new\n");

    // A broken file leaves the tool as it was; the file that came after it shows that it was read.
    folder.write("tools/text/say.json", "{\"name\": ");
    folder.write(
        "tools/text/more.json",
        tool("more", "read", "echo more", &json!({})).to_string(),
    );
    until("the new file is there", || {
        (folder.helve(&["call", "text_more"]).code == 0).then_some(())
    });
    assert_eq!(current(), "1.0.1");
    assert_eq!(folder.helve(&["call", "text_say"]).ended(0).out, "new\n");

    std::fs::remove_file(folder.path().join("tools/text/more.json")).unwrap();
    until("the tool goes with its file", || {
        (folder.helve(&["call", "text_more"]).code == 3).then_some(())
    });
    server.stop(folder.path());
}

#[test]
fn a_version_of_a_file_is_rolled_back_with_a_word_about_the_file() {
    let folder = workspace();
    folder.helve(&["tools"]).ended(0);
    folder.write(
        "tools/text/say.json",
        tool("say", "read", "echo new", &json!({})).to_string(),
    );
    let ran = folder.helve(&["rollback", "text_say", "1.0.0"]).ended(0);
    says(
        &ran,
        &[
            "`text_say` is 1.0.0 again",
            "warning: `tools/text/say.json` still says otherwise",
        ],
    );
}
