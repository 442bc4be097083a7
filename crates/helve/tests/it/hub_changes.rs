//! What tools change: shown before, undone after, from the command line.

use serde_json::{Value, json};

use crate::hub::{both, says, tool};
use crate::run::{Folder, Ran};

/// A tool that writes a file in `data`, and one that does it for everybody unasked.
fn writers(folder: &Folder) {
    let text = json!({
        "name": {"type": "string", "description": "Which file"},
        "text": {"type": "string", "description": "What"},
    });
    // First: where the tools are there, the rules are.
    folder.write(
        "helve.toml",
        "[[policy]]\neffect = \"allow\"\ntool = \"note_set\"\n",
    );
    for name in ["put", "set"] {
        let line = "printf '%s\\n' \"$2\" > \"data/$1\"; echo wrote \"$1\"";
        let mut tool = tool(name, "write", line, &text);
        tool["reversible"] = json!("yes");
        tool["allowed_paths"] = json!(["data"]);
        folder.write(&format!("tools/note/{name}.json"), tool.to_string());
    }
    folder.write("data/.keep", "");
}

/// The same with a hub that commands open for themselves, and with one that runs.
fn with_writers(test: impl Fn(&Folder)) {
    both(|folder| {
        writers(folder);
        // A hub that runs loads them by itself.
        crate::server::until("the tools are there", || {
            let tools = folder.json(&["tools", "--json"]).to_string();
            tools.contains("note_set").then_some(())
        });
        test(folder);
    });
}

fn there(folder: &Folder, name: &str) -> Option<String> {
    std::fs::read_to_string(folder.path().join("data").join(name)).ok()
}

/// The run of a call.
fn run_of(ran: &Ran) -> String {
    ran.json()["meta"]["run_id"].as_str().unwrap().to_owned()
}

fn set(folder: &Folder, name: &str, text: &str) -> String {
    let (name, text) = (format!("name={name}"), format!("text={text}"));
    run_of(
        &folder
            .helve(&["call", "note_set", &name, &text, "--json"])
            .ended(0),
    )
}

#[test]
fn seen_committed_undone() {
    with_writers(|folder| {
        folder.agent();
        let ran = folder
            .helve(&["call", "note_put", "name=a", "text=one", "--as", "agent"])
            .ended(6);
        assert_eq!(ran.out, "wrote a\n");
        says(
            &ran,
            &[
                "`note_put` has changed nothing yet: it would change 1 path (1 created)",
                "helve diff ",
                "helve approve ",
                "helve deny ",
            ],
        );
        assert_eq!(there(folder, "a"), None);
        let pending = folder.json(&["approvals", "--json"]);
        let run = pending[0]["run_id"].as_str().unwrap();
        says(
            &folder.helve(&["approvals"]).ended(0),
            &["would change", "1 path (1 created)"],
        );
        says(
            &folder.helve(&["runs", run]).ended(0),
            &["staged", "1 path, held back until somebody decides"],
        );
        let diff = folder.helve(&["diff", run]).ended(0).out;
        assert!(diff.contains("+one\n"), "{diff}");
        let stat = folder.helve(&["diff", run, "--stat"]).ended(0).out;
        assert_eq!(stat, "  created  data/a  +1 -0\n");
        let patch = folder.helve(&["diff", run, "--patch"]).ended(0).out;
        assert!(patch.starts_with("diff --git a/"), "{patch}");
        assert_eq!(
            folder.json(&["diff", run, "--json"])["changes"][0]["kind"],
            "created"
        );

        let ran = folder.helve(&["approve", "--yes"]).ended(0);
        says(
            &ran,
            &["would change  1 path (1 created)", "; undo: helve undo "],
        );
        assert_eq!(there(folder, "a").as_deref(), Some("one\n"));

        let ran = folder.helve(&["undo", run]).ended(0);
        assert_eq!(ran.out, "removed  data/a\n");
        says(
            &ran,
            &["undid 1 run: 1 path (1 deleted); to put it back: helve undo "],
        );
        assert_eq!(there(folder, "a"), None);
        let again = folder.helve(&["undo", run]).ended(3);
        says(&again, &["was undone before"]);
        let log = folder.helve(&["log", "data/a"]).ended(0).out;
        assert!(log.contains("created, undone  data/a"), "{log}");
        assert!(log.contains("helve_undo"), "{log}");
        assert_eq!(log.lines().count(), 3);
    });
}

#[test]
fn denied_is_dropped() {
    with_writers(|folder| {
        let (run, approval) = folder.asked(&["note_put", "name=a", "text=one"]);
        folder
            .helve(&["deny", &approval, "--reason", "no"])
            .ended(0);
        assert_eq!(there(folder, "a"), None);
        says(
            &folder.helve(&["runs", &run]).ended(0),
            &["denied", "never applied"],
        );
        folder.helve(&["undo", &run]).ended(3);
    });
}

#[test]
fn a_dry_run_shows_and_does_nothing() {
    with_writers(|folder| {
        for name in ["note_put", "note_set"] {
            let ran = folder
                .helve(&["call", name, "name=a", "text=one", "--dry-run"])
                .ended(0);
            assert!(ran.out.contains("+one\n"), "{}", ran.out);
            says(&ran, &["nothing was changed; it would change 1 path"]);
            assert_eq!(there(folder, "a"), None);
        }
    });
}

#[test]
fn many_runs_some_paths_and_conflicts() {
    with_writers(|folder| {
        let ran = folder
            .helve(&["call", "note_set", "name=a", "text=one"])
            .ended(0);
        says(&ran, &["changed 1 path (1 created); undo: helve undo "]);
        let (second, third) = (set(folder, "a", "two"), set(folder, "b", "three"));
        folder.write("data/a", "mine\n");
        let ran = folder.helve(&["undo", "--since", &second]).ended(3);
        says(
            &ran,
            &["data/a` was changed since", "hint: nothing was changed"],
        );
        assert_eq!(there(folder, "b").as_deref(), Some("three\n"));
        let ran = folder
            .helve(&["undo", "--since", &second, "--path", "data/b"])
            .ended(0);
        assert_eq!(ran.out, "removed  data/b\n");
        let ran = folder
            .helve(&["undo", &second, "--force", "--dry-run"])
            .ended(0);
        assert!(ran.out.contains("-mine\n+one\n"), "{}", ran.out);
        assert_eq!(there(folder, "a").as_deref(), Some("mine\n"));
        folder.helve(&["undo", &second, "--force"]).ended(0);
        assert_eq!(there(folder, "a").as_deref(), Some("one\n"));
        let lines = folder.json(&["log", "--json"]);
        let kinds: Vec<&Value> = lines
            .as_array()
            .unwrap()
            .iter()
            .map(|l| &l["kind"])
            .collect();
        assert_eq!(
            kinds,
            ["changed", "deleted", "created", "changed", "created"]
        );
        says(&folder.helve(&["runs", &third]).ended(0), &["applied"]);
    });
}

#[test]
fn pinned_and_let_go() {
    with_writers(|folder| {
        let run = set(folder, "a", "one");
        says(
            &folder.helve(&["pin", &run]).ended(0),
            &["pinned: it is kept"],
        );
        says(&folder.helve(&["pin", &run]).ended(0), &["pinned before"]);
        says(
            &folder.helve(&["runs", &run]).ended(0),
            &["applied, pinned"],
        );
        says(&folder.helve(&["unpin", &run]).ended(0), &["unpinned"]);
        assert_eq!(
            folder.json(&["gc", "--json"])["expired"],
            json!([]),
            "it is young"
        );
    });
}
