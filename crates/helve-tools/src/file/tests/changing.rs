//! Writing, editing, moving, deleting: shown first, committed, undone.

use std::os::unix::fs::symlink;

use helve_core::policy::Policy;
use helve_kernel::{Diff, DiffForm, Principal, RunState, Verdict};
use serde_json::{Value, json};

use super::rig;
use crate::testing::Rig;

#[tokio::test]
async fn a_file_is_written() {
    let rig = rig().await;
    let done = rig
        .data(
            "file_write",
            json!({"path": "new/deep/a.txt", "content": "a\nb\n"}),
        )
        .await;
    assert_eq!(
        done,
        json!({"path": "new/deep/a.txt", "action": "created", "bytes": 4, "lines": 2})
    );
    let done = rig
        .data(
            "file_write",
            json!({"path": "new/deep/a.txt", "content": "c"}),
        )
        .await;
    assert_eq!(done["action"], "overwritten");
    assert_eq!(rig.read("new/deep/a.txt"), "c");
    let done = rig
        .data(
            "file_write",
            json!({"path": "new/deep/a.txt", "content": "d", "mode": "append"}),
        )
        .await;
    assert_eq!(
        (&done["action"], &done["bytes"]),
        (&json!("appended"), &json!(2))
    );
    rig.data("file_write", json!({"path": "..dots", "content": "fine"}))
        .await;
    assert_eq!(rig.read("..dots"), "fine");
    let new = json!({"path": "fresh", "content": "x", "mode": "create_new"});
    rig.data("file_write", new.clone()).await;
    let said = rig.refused("file_write", new).await;
    assert!(
        said.starts_with("conflict: `fresh` is there already"),
        "{said}"
    );
    // What is there may say so itself.
    rig.write(
        "doc.md",
        "long long long\n// ... rest of the file unchanged\nend of it\n",
    );
    let args = json!({"path": "doc.md", "content": "// ... rest of the file unchanged\n"});
    rig.data("file_write", args).await;
}

#[tokio::test]
async fn what_is_added_is_written_as_the_rest() {
    let rig = rig().await;
    for (old, added, wanted) in [
        (&b"a\n"[..], "b\n", &b"a\nb\n"[..]),
        (b"a\r\n", "b\n", b"a\r\nb\r\n"),
        (b"", "b", b"b"),
        (b"\xFF\xFEa\0\n\0", "b", b"\xFF\xFEa\0\n\0b\0"),
    ] {
        rig.write("f", old);
        rig.data("file_append", json!({"path": "f", "content": added}))
            .await;
        assert_eq!(
            std::fs::read(rig.root.join("f")).unwrap(),
            wanted,
            "{old:?}"
        );
    }
    let gbk = |text: &str| encoding_rs::GBK.encode(text).0.into_owned();
    let old = "这是一个用来测试编码的中文文件。\n";
    rig.write("f", gbk(old));
    rig.data("append_file", json!({"path": "f", "content": "你好\n"}))
        .await;
    assert_eq!(
        std::fs::read(rig.root.join("f")).unwrap(),
        gbk(&format!("{old}你好\n"))
    );
    let said = rig
        .refused("append_file", json!({"path": "f", "content": "\u{1F980}"}))
        .await;
    assert!(said.contains("cannot be written in gbk"), "{said}");
}

#[tokio::test]
async fn things_are_moved_copied_and_removed() {
    let rig = rig().await;
    rig.write("d/x", "x");
    rig.write("d/e/y", "y");
    symlink("x", rig.root.join("d/link")).unwrap();
    symlink("nowhere", rig.root.join("dangling")).unwrap();
    std::fs::create_dir(rig.root.join("empty")).unwrap();
    let done = rig
        .data("file_copy", json!({"source": "d", "destination": "deep/c"}))
        .await;
    assert_eq!(
        done,
        json!({"source": "d", "destination": "deep/c", "type": "folder", "overwritten": false})
    );
    assert_eq!(
        (
            rig.read("deep/c/x"),
            rig.read("deep/c/e/y"),
            rig.read("d/x")
        ),
        ("x".into(), "y".into(), "x".into())
    );
    assert!(rig.root.join("deep/c/link").is_symlink());
    let answer = rig
        .call("file_move", json!({"src": "deep/c", "dst": "moved"}))
        .await;
    assert_eq!(answer.meta.coerced.len(), 2, "{:?}", answer.meta.coerced);
    assert_eq!(
        (rig.read("moved/e/y"), rig.root.join("deep/c").exists()),
        ("y".into(), false)
    );
    // A link goes by itself, wherever it leads.
    for link in ["d/link", "dangling"] {
        let done = rig.data("file_delete", json!({"path": link})).await;
        assert_eq!(
            (&done["type"], &done["removed"]),
            (&json!("link"), &json!(1))
        );
        assert!(!rig.root.join(link).is_symlink());
    }
    assert_eq!(rig.read("d/x"), "x");
    let done = rig.data("file_delete", json!({"path": "empty"})).await;
    assert_eq!(done["type"], "folder");
    let done = rig
        .data("file_delete", json!({"path": "moved", "recursive": true}))
        .await;
    assert_eq!(done["removed"], 5);
    assert!(!rig.root.join("moved").exists());
    let args = json!({"source": "d/e/y", "destination": "d/x", "overwrite": true});
    rig.data("file_copy", args.clone()).await;
    assert_eq!(rig.read("d/x"), "y");
    assert_eq!(rig.data("file_move", args).await["overwritten"], true);
    assert_eq!(
        rig.data("file_mkdir", json!({"path": "p/q/r"})).await["created"],
        true
    );
    assert_eq!(
        rig.data("file_mkdir", json!({"path": "p/q/r"})).await["created"],
        false
    );
}

/// Whatever changes something, on a workspace with `a.txt` and `d/x`.
fn changes() -> Vec<(&'static str, Value)> {
    vec![
        ("file_write", json!({"path": "a.txt", "content": "other\n"})),
        ("file_write", json!({"path": "new/b.txt", "content": "b\n"})),
        ("file_append", json!({"path": "a.txt", "content": "more\n"})),
        (
            "file_edit",
            json!({"path": "a.txt", "old_string": "first", "new_string": "1st"}),
        ),
        ("file_delete", json!({"path": "a.txt"})),
        ("file_delete", json!({"path": "d", "recursive": true})),
        ("file_mkdir", json!({"path": "made"})),
        ("file_move", json!({"source": "d", "destination": "e/f"})),
        ("file_copy", json!({"source": "d", "destination": "copy"})),
    ]
}

fn all(rig: &Rig) -> Vec<(String, Option<String>)> {
    fn enter(
        folder: &std::path::Path,
        top: &std::path::Path,
        out: &mut Vec<(String, Option<String>)>,
    ) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(top).unwrap().display().to_string();
            match path.is_dir() {
                true if name != ".helve" => {
                    out.push((name, None));
                    enter(&path, top, out);
                }
                true => {}
                false => out.push((name, std::fs::read_to_string(&path).ok())),
            }
        }
    }
    let mut out = Vec::new();
    enter(&rig.root, &rig.root, &mut out);
    out.sort();
    out
}

async fn filled(asks: bool) -> Rig {
    let set = super::super::toolset().unwrap();
    let rig = Rig::with(set, |_, builder| match asks {
        false => builder,
        true => {
            let ask = json!([{"effect": "ask", "tool": "*"}]);
            builder.policy(Policy::from_value(&ask).unwrap())
        }
    })
    .await;
    rig.write("a.txt", "first\nsecond\n");
    rig.write("d/x", "x\n");
    rig
}

#[tokio::test]
async fn every_change_can_be_undone() {
    for (tool, args) in changes() {
        let rig = filled(false).await;
        let before = all(&rig);
        let done = rig.call(tool, args.clone()).await;
        assert!(done.is_ok(), "{tool} {args}: {:?}", done.result);
        assert_ne!(all(&rig), before, "{tool} {args}");
        let undone = rig.undo(&done).await;
        assert!(undone.is_ok(), "{tool} {args}: {:?}", undone.result);
        assert_eq!(all(&rig), before, "{tool} {args}");
    }
}

#[tokio::test]
async fn every_change_is_shown_before_it_happens() {
    for (tool, args) in changes() {
        let rig = filled(true).await;
        let before = all(&rig);
        let staged = rig.call(tool, args.clone()).await;
        assert_eq!(
            staged.meta.state,
            Some(RunState::Staged),
            "{tool} {args}: {staged:?}"
        );
        assert_eq!(all(&rig), before, "{tool} {args}");
        let run = staged.meta.run_id.unwrap();
        let Ok(Diff::Text(diff)) = rig.kernel.diff(&run, DiffForm::Text).await else {
            panic!("asked for text");
        };
        assert!(!diff.is_empty(), "{tool} {args}");
        let mut changed = rig.kernel.changes();
        let id = staged.meta.approval.unwrap();
        let bob = Principal::person("bob");
        let decided = rig.kernel.decide(&bob, &id, Verdict::Approve, None).await;
        decided.unwrap();
        while rig.kernel.run(&run).await.unwrap().state != RunState::Succeeded {
            drop(changed.recv().await);
        }
        assert_ne!(all(&rig), before, "{tool} {args}");
    }
}
