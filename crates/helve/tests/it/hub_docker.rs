//! Tools in containers, from the command line, in the engine that `tests/docker.sh` starts.

use serde_json::json;

use crate::hub::{BARE, says, tool};
use crate::run::Folder;

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!(
            "these tests need a Docker: `export $(tests/docker.sh start)`, or run ./test, which \
             does it"
        )
    })
}

/// A workspace with a tool that writes into `data`, and that configuration.
fn workspace(docker: &str) -> Folder {
    let folder = Folder::new();
    let rule = "[[policy]]\neffect = \"allow\"\ntool = \"box_greet\"";
    folder.write(
        "helve.toml",
        format!("{BARE}\n{rule}\n[docker]\n{docker}\n"),
    );
    let who = json!({"to": {"type": "string", "description": "Who"}});
    let mut tool = tool(
        "greet",
        "write",
        "echo hello $ARG_TO | tee data/$ARG_TO",
        &who,
    );
    tool["reversible"] = json!("yes");
    tool["allowed_paths"] = json!(["data"]);
    tool["executor"]["type"] = json!("docker");
    tool["executor"]["image"] = json!(variable("HELVE_TEST_IMAGE"));
    folder.write("tools/box/greet.json", tool.to_string());
    folder.write("data/.keep", "");
    folder
}

fn configured() -> String {
    let (socket, image) = (variable("HELVE_TEST_DOCKER"), variable("HELVE_TEST_IMAGE"));
    format!("socket = \"{socket}\"\nimages = [\"{image}\"]")
}

#[test]
fn shown_committed_undone() {
    let folder = workspace(&configured());
    let there = || folder.path().join("data/ann").exists();
    let ran = folder
        .helve(&["call", "box_greet", "to=ann", "--dry-run"])
        .ended(0);
    says(&ran, &["+hello ann"]);
    assert!(!there());
    let ran = folder.helve(&["call", "box_greet", "to=ann"]).ended(0);
    assert_eq!(ran.out, "hello ann\n");
    assert_eq!(folder.read("data/ann"), "hello ann\n");
    folder.helve(&["undo"]).ended(0);
    assert!(!there());
}

#[test]
fn the_doctor_tells_what_is_there() {
    let folder = workspace(&configured());
    says(
        &folder.helve(&["doctor"]).ended(0),
        &[
            "ok    tools          1 tool in files can be called",
            "docker, host, http, mcp, script; not in this build: k8s_job",
            "ok    docker         Docker ",
            "what containers write is held back by overlays",
            "1 of 1 image that may run are there",
        ],
    );
    assert!(!folder.path().join(".helve").exists());
}

#[test]
fn an_engine_that_is_not_there_is_told() {
    let folder = workspace("socket = \"/nowhere/docker.sock\"");
    // Not in the way of a workspace without such tools.
    std::fs::remove_file(folder.path().join("tools/box/greet.json")).unwrap();
    let ran = folder.helve(&["doctor"]).ended(0);
    says(
        &ran,
        &[
            "note  docker",
            "`unix:///nowhere/docker.sock` cannot be reached",
        ],
    );
    let image = variable("HELVE_TEST_IMAGE");
    let folder = workspace(&format!(
        "socket = \"/nowhere/docker.sock\"\nimages = [\"{image}\"]"
    ));
    let ran = folder.helve(&["doctor"]).ended(1);
    says(&ran, &["fail  tools", "cannot be reached"]);
    says(&folder.helve(&["tools"]).ended(0), &["cannot be reached"]);
}

#[test]
fn what_is_wrong_with_the_configuration_is_told() {
    for (docker, wanted) in [
        ("images = [\"busybox:1\"]", "named by a tag"),
        ("images = [\"a b\"]", "is no name of an image"),
        (
            "socket = \"ssh://host\"",
            "is no address of a container engine",
        ),
        ("sockets = \"x\"", "did you mean `socket`?"),
    ] {
        let folder = workspace(docker);
        says(&folder.helve(&["tools"]).ended(3), &[wanted]);
    }
    let folder = workspace("images = [\"busybox:1\"]\ntags = true");
    let ran = folder.helve(&["tools"]).ended(0);
    says(&ran, &["is not among those that may run here"]);
}
