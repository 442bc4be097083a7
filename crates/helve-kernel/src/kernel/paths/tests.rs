//! Every way to leave a folder, and every way to stay in it.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use helve_core::marked::{Mark, Marks};
use serde_json::{Value, json};

use super::{Folders, resolve};
use crate::ToolDef;

struct Place {
    /// Canonical.
    root: std::path::PathBuf,
    _outer: tempfile::TempDir,
}

/// `outer/ws` is the root, with `data` allowed in it; `outer/out` is outside.
fn place() -> Place {
    let outer = tempfile::tempdir().unwrap();
    let real = fs::canonicalize(outer.path()).unwrap();
    let root = real.join("ws");
    for folder in ["ws/data/sub", "ws/data2", "ws/.helve", "out"] {
        fs::create_dir_all(real.join(folder)).unwrap();
    }
    for file in [
        "ws/data/a",
        "ws/data/..dots",
        "ws/data2/a",
        "ws/.helve/key",
        "out/a",
    ] {
        fs::write(real.join(file), "x").unwrap();
    }
    let link = |to: &str, at: &str| symlink(to, root.join(at)).unwrap();
    link("../../out", "data/away");
    link("../../out/a", "data/away_file");
    link("sub", "data/inside");
    link("nowhere", "data/dangling");
    link("round", "data/loop");
    link("loop", "data/round");
    link("/proc/self/root", "data/proc");
    link("../.helve", "data/state");
    UnixListener::bind(root.join("data/socket")).unwrap();
    Place {
        root,
        _outer: outer,
    }
}

fn def(allowed: &[&str]) -> ToolDef {
    ToolDef::from_value(&json!({
        "name": "a_tool",
        "description": "Reads. Use it in tests.",
        "input_schema": {"type": "object", "properties": {
            "path": {"type": "string", "format": "path"},
            "paths": {"type": "array", "items": {"format": "path"}},
        }},
        "allowed_paths": allowed,
    }))
    .unwrap()
}

fn tried(place: &Place, allowed: &[&str], args: Value) -> Result<Value, String> {
    let Value::Object(args) = args else { panic!() };
    let def = def(allowed);
    let marks = Marks::of(&def.input_schema, Mark::Path);
    resolve(&place.root, &def, &marks, &args, Folders::WithoutState)
        .map(Value::Object)
        .map_err(|e| e.message)
}

#[test]
fn what_stays_inside_is_resolved() {
    let place = place();
    let root = place.root.display().to_string();
    for (asked, real) in [
        ("data", "data"),
        ("data/", "data"),
        ("./data/./a", "data/a"),
        ("data/a", "data/a"),
        ("data//a", "data/a"),
        ("data/..dots", "data/..dots"),
        ("data/sub/../a", "data/a"),
        ("data2/../data/a", "data/a"),
        ("data/inside", "data/sub"),
        ("data/inside/new", "data/sub/new"),
        ("data/inside/../a", "data/a"),
        ("data/new", "data/new"),
        ("data/new/deep", "data/new/deep"),
        ("data/away/../ws/data/a", "data/a"),
    ] {
        let given = tried(&place, &["data"], json!({"path": asked}));
        assert_eq!(
            given,
            Ok(json!({"path": format!("{root}/{real}")})),
            "{asked}"
        );
    }
    let absolute = format!("{root}/data/a");
    let given = tried(&place, &["data"], json!({"path": absolute}));
    assert_eq!(given, Ok(json!({"path": absolute})));
}

#[test]
fn what_leads_outside_is_refused() {
    let place = place();
    let root = place.root.display();
    for asked in [
        "",
        ".",
        "..",
        "../out/a",
        "data/../../out/a",
        "data/../..",
        "a/../../x",
        "data/new/../../x",
        "data/new/../a",
        "data2/a",
        "data2",
        "/etc/passwd",
        "/",
        "data/away",
        "data/away/a",
        "data/away_file",
        "data/away/new",
        "data/inside/../../../out/a",
        "data/dangling",
        "data/dangling/x",
        "data/loop",
        "data/loop/x",
        "data/a/x",
        "data/proc/etc/passwd",
        "data/socket",
        "data/state/key",
        ".helve/key",
        ".helve",
        "data/a\0",
        "/proc/self/root/etc/passwd",
        "/proc/self/cwd",
        "/proc/self/environ",
        "/proc/1/fd/0",
        "/dev/null",
        "/dev/fd/0",
        "/sys/kernel",
        "~/x/../../out",
        &format!("/proc/self/root{root}/data/a"),
        &format!("{root}/data/../../out/a"),
        &format!("{root}2/data/a"),
        &format!("{root}/data\u{301}/a"),
        &format!("{root}/DATA/a"),
        &"data/".repeat(3000),
    ] {
        let given = tried(&place, &["data"], json!({"path": asked}));
        assert!(given.is_err(), "{asked}: {given:?}");
    }
}

#[test]
fn the_hubs_own_state_is_never_handed_out() {
    let place = place();
    for asked in [
        ".helve",
        ".helve/key",
        "data/state/key",
        "data/../.helve/new",
    ] {
        let given = tried(&place, &[".", ".helve"], json!({"path": asked}));
        let why = given.unwrap_err();
        assert!(why.contains("the hub's own state"), "{asked}: {why}");
    }
    // Nor if it lies somewhere else, behind a link.
    fs::remove_dir_all(place.root.join(".helve")).unwrap();
    symlink("data/sub", place.root.join(".helve")).unwrap();
    let given = tried(&place, &["."], json!({"path": "data/sub/key"}));
    assert!(given.unwrap_err().contains("the hub's own state"));
}

#[test]
fn nothing_allowed_means_nothing() {
    let place = place();
    let given = tried(&place, &[], json!({"path": "data/a"}));
    assert!(given.unwrap_err().contains("no `allowed_paths`"));
    assert_eq!(
        tried(&place, &[], json!({})),
        Ok(json!({})),
        "no path, no question"
    );
}

#[test]
fn every_path_of_a_list_counts() {
    let place = place();
    let root = place.root.display();
    assert_eq!(
        tried(&place, &["data"], json!({"paths": ["data/a", "data/b"]})),
        Ok(json!({"paths": [format!("{root}/data/a"), format!("{root}/data/b")]}))
    );
    let given = tried(&place, &["data"], json!({"paths": ["data/a", "../out/a"]}));
    assert!(given.unwrap_err().contains("argument `paths/1`"));
}

#[test]
fn what_is_allowed_may_be_outside_of_the_root_or_a_file_or_a_link() {
    let place = place();
    let out = place.root.parent().unwrap().join("out/a");
    let out = out.to_str().unwrap();
    for (allowed, asked) in [
        ("../out", out),
        (out, "../out/a"),
        ("data/away", "data/away/a"),
        ("data/a", "data/a"),
    ] {
        let given = tried(&place, &[allowed], json!({"path": asked}));
        assert!(given.is_ok(), "{allowed} {asked}: {given:?}");
    }
    let given = tried(&place, &["data/a"], json!({"path": "data/ab"}));
    assert!(given.is_err(), "a file is not a prefix");
}

#[test]
fn a_refusal_shows_what_cannot_be_seen() {
    let place = place();
    let given = tried(&place, &["data"], json!({"path": "../o\u{202e}ut\n"}));
    let why = given.unwrap_err();
    assert!(why.contains("\\u{202e}ut\\n`"), "{why}");
}
