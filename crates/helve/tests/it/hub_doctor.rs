//! `helve doctor`, and what a hub says of files that it cannot load.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::hub::{both, says, tool, workspace};
use crate::run::Folder;
use crate::server::{Server, until, up};

fn check(folder: &Folder, code: i32, name: &str) -> Value {
    let all = folder.helve(&["doctor", "--json"]).ended(code).json();
    let worst = |status: &str| {
        let all = all.as_array().unwrap().iter();
        all.clone()
            .find(|c| c["name"] == name && c["status"] == status)
            .cloned()
    };
    let found = worst("fail")
        .or_else(|| worst("warn"))
        .or_else(|| worst("ok"));
    found
        .or_else(|| worst("note"))
        .unwrap_or_else(|| panic!("no {name} in {all}"))
}

#[test]
fn all_is_well() {
    both(|folder| {
        folder.helve(&["call", "text_say", "to=x"]).ended(0);
        let ran = folder.helve(&["doctor"]).ended(0);
        says(
            &ran,
            &[
                "ok    record         whole: ",
                "ok    tools          6 tools",
                "note  executors      docker, host, http, mcp, script; not in this build: k8s_job",
                "all is well",
            ],
        );
    });
}

#[test]
fn nothing_is_made_by_looking() {
    let folder = Folder::new();
    says(
        &folder.helve(&["doctor"]).ended(0),
        &["note  workspace", "not used yet", "`helve up` begins one"],
    );
    assert!(folder.files().is_empty());
    assert!(!folder.path().join(".helve").exists());
}

#[test]
fn what_the_sandbox_has_is_told_one_by_one() {
    let folder = workspace();
    folder.helve(&["tools"]).ended(0);
    let all = folder.helve(&["doctor", "--json"]).ended(0).json();
    let found: Vec<(&str, &str)> = all
        .as_array()
        .unwrap()
        .iter()
        .filter(|c| c["name"] == "sandbox")
        .map(|c| (c["status"].as_str().unwrap(), c["found"].as_str().unwrap()))
        .collect();
    assert_eq!(
        found[0].0, "ok",
        "the tests of what runs need it: {found:?}"
    );
    assert!(found[0].1.starts_with("whole: "), "{found:?}");
    for name in [
        "mount namespace",
        "overlay",
        "landlock",
        "seccomp",
        "reflink",
    ] {
        let (works, no) = (format!("{name} works"), format!("no {name} ("));
        let told = found
            .iter()
            .filter(|f| f.1 == works || f.1.starts_with(&no));
        assert_eq!(told.count(), 1, "{name}: {found:?}");
    }
    // Nothing stays of the trial.
    let state = std::fs::read_dir(folder.path().join(".helve")).unwrap();
    let mut names = state.map(|e| e.unwrap().file_name().into_string().unwrap());
    assert!(names.all(|name| !name.contains("trial")));
}

#[test]
fn what_is_wrong_is_said() {
    let folder = workspace();
    folder.helve(&["tools"]).ended(0);
    let state = folder.path().join(".helve");
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o755)).unwrap();
    let found = check(&folder, 1, "state");
    assert!(
        found["found"].as_str().unwrap().contains("mode 755"),
        "{found}"
    );
    assert!(
        found["todo"].as_str().unwrap().contains("chmod 700"),
        "{found}"
    );
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o700)).unwrap();

    folder.write("helve.toml", "tolls = []\n");
    let found = check(&folder, 1, "configuration");
    assert!(
        found["found"]
            .as_str()
            .unwrap()
            .contains("did you mean `tools`"),
        "{found}"
    );
    folder.write("helve.toml", "");

    folder.write(
        ".helve/hub.json",
        "{\"url\": \"http://127.0.0.1:1\", \"pid\": 1}",
    );
    let found = check(&folder, 0, "hub");
    assert!(
        found["found"].as_str().unwrap().contains("nobody answers"),
        "{found}"
    );
}

#[test]
fn a_file_that_cannot_be_loaded_is_told_by_everybody() {
    let folder = workspace();
    folder.write("tools/bad/one.json", "{\"name\": ");
    let mut missing = tool("two", "read", "echo", &json!({}));
    missing["executor"]["command"] = json!(["no-such-program"]);
    folder.write("tools/bad/two.json", missing.to_string());
    let ran = folder.helve(&["doctor"]).ended(1);
    says(
        &ran,
        &[
            "`tools/bad/one.json`: ",
            "`helve check tools/bad/one.json` shows where",
            "`tools/bad/two.json`: ",
            "no-such-program",
            "2 failed",
        ],
    );
    says(
        &folder.helve(&["tools"]).ended(0),
        &[
            "warning: tools/bad/one.json:1: ",
            "warning: tools/bad/two.json: ",
            "6 tools",
        ],
    );
    let ran = folder.helve(&["call", "bad_one"]).ended(3);
    says(
        &ran,
        &[
            "there is no tool named `bad_one`",
            "warning: tools/bad/one.json:1: ",
        ],
    );

    let mut child = up(folder.path());
    child.env("HELVE_LOG", "info").stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let said = child.stderr.take().unwrap();
    let server = Server::started(child, folder.path());
    folder.helve(&["call", "text_say", "to=x"]).ended(0);
    until("doctor agrees", || {
        (folder.helve(&["doctor"]).code == 1).then_some(())
    });
    server.stop(folder.path());
    let said = std::io::read_to_string(said).unwrap();
    assert!(said.contains("warning: tools/bad/one.json:1: "), "{said}");
    assert!(said.contains("warning: tools/bad/two.json: "), "{said}");
}
