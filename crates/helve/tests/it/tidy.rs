//! Rules about the code itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::run::root;

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() && name != "target" {
            found.extend(sources(&path));
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
    found
}

fn is_test(path: &Path) -> bool {
    let shown = path.display().to_string();
    shown.contains("/tests/")
        || shown.ends_with("/tests.rs")
        || shown.ends_with("/testing.rs")
        || shown.contains("/benches/")
}

/// Nobody reads a file of a thousand lines.
#[test]
fn files_stay_short() {
    for path in sources(&root().join("crates")) {
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        assert!(
            is_test(&path) || lines <= 800,
            "{} has {lines} lines; take it apart at 800",
            path.display()
        );
    }
}

#[test]
fn every_file_says_what_it_is() {
    for path in sources(&root().join("crates")) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            is_test(&path) || text.starts_with("//!"),
            "{} has no `//!` at its top",
            path.display()
        );
    }
}

/// Which crate may know which. A line here is a decision.
const EDGES: &[(&str, &[&str])] = &[
    (
        "helve",
        &[
            "helve-core",
            "helve-exec",
            "helve-http",
            "helve-kernel",
            "helve-mcp",
            "helve-server",
            "helve-store",
            "helve-tools",
        ],
    ),
    ("helve-changes", &["helve-core"]),
    ("helve-chatlog", &[]),
    ("helve-core", &[]),
    (
        "helve-exec",
        &["helve-core", "helve-kernel", "helve-sandbox"],
    ),
    ("helve-http", &["helve-core", "helve-kernel"]),
    (
        "helve-kernel",
        &["helve-changes", "helve-core", "helve-macros"],
    ),
    ("helve-macros", &[]),
    ("helve-mcp", &["helve-core", "helve-kernel"]),
    ("helve-sandbox", &[]),
    ("helve-server", &["helve-core", "helve-kernel"]),
    ("helve-store", &["helve-core", "helve-kernel"]),
    (
        "helve-tools",
        &["helve-chatlog", "helve-http", "helve-kernel"],
    ),
];

#[test]
fn crate_edges_are_a_table() {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        let mut edges: Vec<String> = package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|d| d["kind"].is_null())
            .map(|d| d["name"].as_str().unwrap().to_owned())
            .filter(|n| n.starts_with("helve"))
            .collect();
        edges.sort();
        found.push((package["name"].as_str().unwrap().to_owned(), edges));
    }
    found.sort();
    let wanted: Vec<(String, Vec<String>)> = EDGES
        .iter()
        .map(|(n, e)| ((*n).to_owned(), e.iter().map(|e| (*e).to_owned()).collect()))
        .collect();
    assert_eq!(found, wanted);
}

/// What a crate must never do, as words that must not stand in it.
const BANNED: &[(&str, &[&str])] = &[
    (
        "helve-core",
        &[
            "async fn",
            "std::fs",
            "std::env",
            "std::net",
            "std::process",
            "SystemTime",
            "Instant::now",
            "println!",
            "tokio",
        ],
    ),
    (
        "helve-http",
        &[
            "std::process",
            "std::env",
            "policy::",
            "rusqlite",
            "println!",
        ],
    ),
    (
        "helve-kernel",
        &[
            "std::process",
            "std::net",
            "std::env",
            "sqlx",
            "rusqlite",
            "reqwest",
            "println!",
        ],
    ),
    (
        "helve-macros",
        &["std::fs", "std::env", "std::process", "std::net"],
    ),
    (
        "helve-server",
        &["std::process", "std::env", "rusqlite", "sqlx", "println!"],
    ),
    (
        "helve-store",
        &["std::process", "std::env", "std::net", "reqwest", "Policy"],
    ),
    (
        "helve-store",
        &[
            "std::process",
            "std::net",
            "std::env",
            "policy::",
            "SystemClock",
            "SystemTime",
            "println!",
        ],
    ),
];

#[test]
fn no_crate_does_what_it_must_never() {
    for (name, words) in BANNED {
        for path in sources(&root().join("crates").join(name).join("src")) {
            let text = std::fs::read_to_string(&path).unwrap();
            let code: Vec<&str> = text
                .lines()
                .filter(|l| !l.trim_start().starts_with("//"))
                .collect();
            for word in words.iter().filter(|_| !is_test(&path)) {
                let found = code.iter().position(|l| l.contains(word));
                assert!(
                    found.is_none(),
                    "{}:{} has `{word}`",
                    path.display(),
                    found.unwrap_or(0) + 1
                );
            }
        }
    }
}
