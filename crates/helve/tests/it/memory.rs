//! What is remembered, through the command: found, forgotten, brought back, and gone.

use std::path::Path;

use crate::hub::says;
use crate::run::Folder;

/// The files beneath a folder that hold these bytes.
fn holding(folder: &Path, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, bytes));
        } else if path.is_file() {
            let content = std::fs::read(&path).unwrap();
            if content.windows(bytes.len()).any(|window| window == bytes) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

fn remember(folder: &Folder, content: &str) -> String {
    let content = format!("content={content}");
    let args = ["call", "remember", "category=fact", &content, "--json"];
    let noted = folder.json(&args);
    assert_eq!(noted["data"]["status"], "added", "{noted}");
    noted["data"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn what_is_purged_is_in_no_file() {
    let folder = Folder::new();
    let state = folder.path().join(".helve");
    let kept = remember(&folder, "this one stays: quokka");
    let words = "the zebra sleeps under the baobab 斑马睡在树下";
    // As it is, and as JSON may write it.
    let traces = || {
        let mut found = holding(&state, "zebra sleeps".as_bytes());
        found.extend(holding(&state, "斑马睡在".as_bytes()));
        found.extend(holding(&state, "\\u6591\\u9a6c".as_bytes()));
        found
    };
    let id = remember(&folder, words);
    let long = "baobab zebra sleeps ".repeat(190);
    let second = remember(&folder, &long);
    says(
        &folder.helve(&["memory", "recall", "zebra"]).ended(0),
        &["baobab"],
    );
    assert_ne!(
        traces(),
        [] as [String; 0],
        "it is kept, so it must be seen here"
    );

    // Forgotten and brought back.
    let gone = folder.json(&["call", "forget", &format!("memory_id={id}"), "--json"]);
    let run = gone["meta"]["run_id"].as_str().unwrap();
    let found = folder.helve(&["memory", "recall", "斑马"]).ended(0);
    assert!(!found.out.contains("斑马"), "{}", found.out);
    folder.helve(&["undo", run]).ended(0);
    says(
        &folder.helve(&["memory", "recall", "斑马"]).ended(0),
        &["斑马睡在树下"],
    );

    // Gone for good.
    for id in [&id, &second] {
        let gone = folder.helve(&["memory", "forget", id, "--purge"]).ended(0);
        says(&gone, &["forgotten for good"]);
    }
    assert_eq!(traces(), [] as [String; 0]);
    let runs = folder.json(&["runs", "--json"]);
    assert!(!runs.to_string().contains("zebra"));
    // The others are as they were, and so is the record.
    says(
        &folder.helve(&["memory", "list"]).ended(0),
        &[&kept, "quokka"],
    );
    folder.helve(&["audit", "verify"]).ended(0);
    let undo = folder.helve(&["undo", run]);
    assert_ne!(undo.code, 0, "what is purged does not come back");
    assert_eq!(traces(), [] as [String; 0]);
}

#[test]
fn a_look_through_the_memory_and_words_that_are_forgotten() {
    let folder = Folder::new();
    remember(&folder, "我喜欢在晚上听爵士乐");
    remember(&folder, "我不喜欢在晚上听爵士乐");
    remember(&folder, "I have a dog");
    let found = folder.helve(&["memory", "audit"]).ended(0);
    says(&found, &["similar", "1 finding in 3 memories"]);
    let shown = folder
        .helve(&["memory", "forget", "--query", "爵士乐"])
        .ended(0);
    says(&shown, &["nothing is forgotten yet", "我喜欢"]);
    let gone = folder
        .helve(&["memory", "forget", "--query", "爵士乐", "--yes"])
        .ended(0);
    says(&gone, &["helve undo"]);
    let left = folder.json(&["memory", "list", "--json"]);
    assert_eq!(left["total"], 1);
    let none = folder
        .helve(&["memory", "forget", "--query", "爵士乐"])
        .ended(0);
    says(&none, &["nothing contains these words"]);
    let wrong = folder.helve(&["memory", "forget", "mem_none"]);
    assert_ne!(wrong.code, 0);
    says(&wrong, &["there is no memory `mem_none`", "memory_list"]);
}
