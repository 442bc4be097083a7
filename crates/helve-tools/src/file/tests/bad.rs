//! Calls that cannot go well, and what is said of them.

use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use super::{paths, rig};

#[tokio::test]
async fn every_bad_call_says_what_to_do() {
    let rig = rig().await;
    rig.write("a.txt", "one\ntwo\n");
    rig.write("b.txt", "b");
    rig.write("d/x", "x");
    rig.write("long.rs", "fn a() {}\n".repeat(50));
    let at = |path: &str| json!({"path": path});
    rig.refuses(
        "file_read",
        &[
            (json!({}), "validation"),
            (json!({"path": 5}), "validation: argument `path`"),
            (
                json!({"path": "a.txt", "lines": 3}),
                "did you mean `line_numbers` for `lines`?",
            ),
            (json!({"path": ""}), "validation"),
            (
                at("none.txt"),
                "not_found: there is no `none.txt`. `file_list` with path `.` shows",
            ),
            (at("d/e/f/none.txt"), "`file_list` with path `d`"),
            (
                at("d"),
                "validation: `d` is a folder. `file_list` shows what is in it",
            ),
            (at("a.txt/x"), "it goes through something that is no folder"),
            (
                json!({"path": "a.txt", "offset": 3}),
                "validation: `a.txt` has 2 lines; `offset` 3 is past its end",
            ),
            (
                json!({"path": "a.txt", "offset": 2, "end_line": 1}),
                "`end_line` 1 is before `offset` 2",
            ),
            (
                json!({"path": "a.txt", "offset": 0}),
                "validation: argument `offset`",
            ),
            (
                json!({"path": "a.txt", "limit": 90000}),
                "validation: argument `limit`",
            ),
            (
                json!({"path": "a.txt", "encoding": "klingon"}),
                "there is no encoding named `klingon`. `auto`",
            ),
        ],
    )
    .await;
    rig.refuses(
        "file_write",
        &[
            (at("x"), "content"),
            (json!({"path": "d", "content": "x"}), "validation: `d` is a folder. name the file inside it"),
            (json!({"path": "a.txt/x", "content": "x"}), "a.txt"),
            (json!({"path": "x", "content": "x", "mode": "sideways"}), "validation: argument `mode`"),
            (
                json!({"path": "long.rs", "content": "fn b() {}\n// ... rest of the file unchanged ...\n"}),
                "validation: line 2 of `content` stands for a text that was left out: `// ... rest of the file unchanged ...`",
            ),
            (json!({"path": "x".repeat(300), "content": "x"}), "validation"),
        ],
    )
    .await;
    rig.refuses(
        "file_append",
        &[
            (
                json!({"path": "d", "content": "x"}),
                "validation: `d` is a folder",
            ),
            (json!({"path": "a.txt"}), "content"),
        ],
    )
    .await;
    rig.refuses(
        "file_edit",
        &[
            (
                json!({"path": "none", "old_string": "a", "new_string": "b"}),
                "not_found: there is no `none`",
            ),
            (
                json!({"path": "d", "old_string": "a", "new_string": "b"}),
                "validation: `d` is a folder",
            ),
        ],
    )
    .await;
    rig.refuses(
        "file_list",
        &[
            (at("none"), "not_found: there is no `none`"),
            (
                at("a.txt"),
                "validation: `a.txt` is no folder. `file_read` shows a file",
            ),
            (json!({"pattern": "../*"}), "validation: argument `pattern`"),
            (
                json!({"pattern": "a[", "recursive": true}),
                "is no glob pattern",
            ),
        ],
    )
    .await;
    rig.refuses(
        "file_glob",
        &[
            (json!({"pattern": "../*"}), "leads out of its folder"),
            (json!({"pattern": "src/../../*"}), "leads out of its folder"),
            (json!({"pattern": "/etc/*"}), "leads out of its folder"),
            (
                json!({"pattern": "*", "path": "none"}),
                "not_found: there is no `none`",
            ),
            (json!({"pattern": ""}), "validation: argument `pattern`"),
        ],
    )
    .await;
    rig.refuses(
        "file_grep",
        &[
            (
                json!({"pattern": "(open"}),
                "validation: the pattern is no regular expression",
            ),
            (
                json!({"pattern": "x", "path": "none"}),
                "not_found: there is no `none`",
            ),
            (
                json!({"pattern": "x", "include": "../*"}),
                "argument `include`",
            ),
        ],
    )
    .await;
    rig.refuses(
        "file_delete",
        &[
            (at("none"), "not_found: there is no `none`"),
            (at("d"), "conflict: the folder `d` is not empty: it holds 1. look at it with `file_list`; `recursive`"),
            (json!({"path": ".", "recursive": true}), "permission: the workspace itself cannot be deleted"),
        ],
    )
    .await;
    rig.refuses(
        "file_mkdir",
        &[
            (at("a.txt"), "conflict: `a.txt` is there already: a file"),
            (
                json!({"path": "p/q", "recursive": false}),
                "not_found: there is no `p`. `recursive` makes",
            ),
        ],
    )
    .await;
    for tool in ["file_move", "file_copy"] {
        let to = |from: &str, to: &str| json!({"source": from, "destination": to});
        rig.refuses(
            tool,
            &[
                (json!({"source": "a.txt"}), "destination"),
                (json!({"src": "a.txt", "source": "b.txt", "dst": "c"}), "src"),
                (to("none", "x"), "not_found: there is no `none`"),
                (to("a.txt", "a.txt"), "validation: `source` and `destination` are the same"),
                (to("a.txt", "b.txt"), "conflict: `b.txt` is there already: a file. choose another `destination`, or set `overwrite`"),
                (to("a.txt", "d"), "conflict: `d` is a folder that is there already. name the whole new path, for example `d/a.txt`"),
                (to("d", "d/e"), "validation: `d/e` lies inside of `d`"),
            ],
        )
        .await;
    }
    assert_eq!(rig.read("a.txt"), "one\ntwo\n");
}

#[tokio::test]
async fn names_that_are_no_text_are_listed_and_do_no_harm() {
    let rig = rig().await;
    let odd = std::ffi::OsStr::from_bytes(b"odd-\xFF.txt");
    std::fs::write(rig.root.join(odd), "needle\n").unwrap();
    std::fs::write(rig.root.join("line\nbreak"), "needle\n").unwrap();
    let list = rig.data("file_list", json!({})).await;
    assert_eq!(paths(&list["entries"]), ["line\nbreak", "odd-\u{FFFD}.txt"]);
    let found = rig.data("file_grep", json!({"pattern": "needle"})).await;
    assert_eq!(found["total"], 2);
    rig.data("file_glob", json!({"pattern": "*"})).await;
}

/// A file too large to be changed is refused before it is read.
#[tokio::test]
async fn what_is_too_large_is_not_taken_into_memory() {
    let rig = rig().await;
    let file = std::fs::File::create(rig.root.join("huge")).unwrap();
    file.set_len(5 << 30).unwrap();
    let args = json!({"path": "huge", "old_string": "a", "new_string": "b"});
    let said = rig.refused("file_edit", args).await;
    assert!(said.contains("more than the"), "{said}");
    let args = json!({"path": "huge", "content": "a"});
    assert!(
        rig.refused("file_append", args)
            .await
            .contains("more than the")
    );
    let page = rig.data("file_read", json!({"path": "huge"})).await;
    assert_eq!(
        (&page["kind"], &page["size"]),
        (&json!("binary"), &json!(5_u64 << 30))
    );
}

/// A file that comes and goes is there or not; nothing else is said of it, and nothing crashes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_vanishes_meanwhile_is_not_there() {
    let rig = rig().await;
    rig.write("d/stays", "x\n");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                std::fs::write(rig.root.join("d/goes"), "x\n").unwrap();
                std::fs::remove_file(rig.root.join("d/goes")).unwrap();
            }
        });
        let calls = async {
            for _ in 0..60 {
                for (tool, args) in [
                    ("file_read", json!({"path": "d/goes"})),
                    ("file_stat", json!({"path": "d/goes"})),
                    ("file_list", json!({"path": "d"})),
                    ("file_grep", json!({"pattern": "x", "path": "d"})),
                    ("file_glob", json!({"pattern": "d/*"})),
                ] {
                    match rig.call(tool, args).await.result {
                        Ok(_) => {}
                        Err(error) => {
                            assert_eq!(error.kind.as_str(), "not_found", "{tool}: {error:?}");
                        }
                    }
                }
            }
        };
        let result = tokio::task::block_in_place(|| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                tokio::runtime::Handle::current().block_on(calls);
            }))
        });
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
    });
}
