//! Paths that must not lead anywhere, through every tool that takes one.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use helve_http::Guard;
use helve_http::guard::Hosts;
use helve_kernel::ErrorKind;
use serde_json::{Value, json};

use crate::network::Network;
use crate::testing::Rig;

/// The tools with every argument of theirs that is a path, and the others filled in.
fn takers() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("file_read", "path", json!({})),
        ("file_stat", "path", json!({})),
        ("file_list", "path", json!({})),
        ("file_glob", "path", json!({"pattern": "**/*"})),
        ("file_grep", "path", json!({"pattern": "."})),
        ("file_write", "path", json!({"content": "attack"})),
        ("file_append", "path", json!({"content": "attack"})),
        (
            "file_edit",
            "path",
            json!({"old_string": "secret", "new_string": "attack"}),
        ),
        ("file_delete", "path", json!({"recursive": true})),
        ("file_mkdir", "path", json!({})),
        ("file_move", "source", json!({"destination": "taken"})),
        (
            "file_move",
            "destination",
            json!({"source": "mine", "overwrite": true}),
        ),
        ("file_copy", "source", json!({"destination": "taken"})),
        (
            "file_copy",
            "destination",
            json!({"source": "mine", "overwrite": true}),
        ),
        ("code_search", "path", json!({"query": "secret"})),
        ("code_analyze", "path", json!({})),
        (
            "network_download",
            "path",
            json!({"url": "http://127.0.0.1/", "overwrite": true}),
        ),
        ("skills_install", "source", json!({"overwrite": true})),
        #[cfg(feature = "chatlog")]
        ("chatlog_import", "path", json!({})),
        #[cfg(feature = "chatlog")]
        ("chatlog_export", "path", json!({})),
    ]
}

/// A workspace with all tools that take a path.
async fn rig() -> Rig {
    let nowhere = Guard::new([]).only(Hosts::default());
    let network = Arc::new(Network::new(nowhere));
    let rig = Rig::with(crate::file::toolset().unwrap(), |_root, builder| {
        #[cfg(feature = "chatlog")]
        let builder = builder.service(Arc::new(crate::chatlog::ChatLog::new(
            crate::chatlog::Settings {
                folder: _root.join(".helve/chatlog"),
                zone: jiff::tz::TimeZone::UTC,
                meaning: crate::chatlog::Meaning::None,
                model: None,
            },
        )));
        builder.service(network)
    })
    .await;
    for set in [
        crate::code::toolset().unwrap(),
        crate::network::toolset().unwrap(),
        crate::skills::toolset().unwrap(),
        #[cfg(feature = "chatlog")]
        crate::chatlog::toolset().unwrap(),
    ] {
        rig.kernel.add_toolset(set).unwrap();
    }
    rig
}

/// A workspace beside something that is nobody's business.
async fn beside() -> Rig {
    let rig = rig().await;
    let outside = rig.root.parent().unwrap().join("ws2");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), "secret").unwrap();
    rig.write("mine", "mine");
    rig.write("d/x", "x");
    for (name, to) in [
        ("out", "../ws2"),
        ("out_file", "../ws2/secret"),
        ("state", ".helve"),
        ("key", ".helve/key"),
        ("root", "/proc/self/root"),
    ] {
        symlink(to, rig.root.join(name)).unwrap();
    }
    rig
}

#[test]
fn no_tool_that_takes_a_path_is_forgotten() {
    let sets = crate::toolsets().unwrap().into_iter();
    let mut known: Vec<(String, String)> = Vec::new();
    for tool in sets.flat_map(helve_kernel::Toolset::into_tools) {
        let properties = tool.def.input_schema["properties"]
            .as_object()
            .unwrap()
            .clone();
        for (name, property) in properties {
            if property["format"] == "path" {
                known.push((tool.def.name.to_string(), name));
            }
        }
    }
    let tested: Vec<(String, String)> = takers()
        .into_iter()
        .map(|(tool, argument, _)| (tool.to_owned(), argument.to_owned()))
        .collect();
    assert!(known.iter().all(|one| tested.contains(one)), "{known:?}");
}

#[tokio::test]
async fn no_path_leads_out_or_to_the_state() {
    for (tool, argument, others) in takers() {
        let rig = beside().await;
        let outside = rig.root.parent().unwrap().join("ws2");
        for path in [
            "../ws2/secret",
            "d/../../ws2/secret",
            outside.join("secret").to_str().unwrap(),
            "/etc/passwd",
            "out/secret",
            "out/../secret",
            "root/etc/passwd",
            "/proc/self/root/etc/passwd",
            "/proc/1/environ",
            ".helve",
            ".helve/key",
            "state/key",
            "d/../.helve/key",
        ] {
            let mut args = others.clone();
            args[argument] = path.into();
            let answer = rig.call(tool, args).await;
            let Err(error) = &answer.result else {
                panic!("{tool} {argument}={path}: {:?}", answer.result);
            };
            assert_eq!(
                error.kind,
                ErrorKind::Permission,
                "{tool} {argument}={path}: {error:?}"
            );
            assert!(
                error.message.contains("refused"),
                "{tool} {path}: {error:?}"
            );
        }
        assert_eq!(
            std::fs::read_to_string(outside.join("secret")).unwrap(),
            "secret"
        );
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
        assert_eq!(rig.read(".helve/key"), "state");
    }
}

/// Of a link at the end, what it leads to is refused, or the link itself is meant.
#[tokio::test]
async fn a_link_out_is_only_ever_a_link() {
    for (tool, argument, others) in takers() {
        for link in ["out_file", "out", "key", "state"] {
            let rig = beside().await;
            let outside = rig.root.parent().unwrap().join("ws2/secret");
            let mut args = others.clone();
            args[argument] = link.into();
            let answer = rig.call(tool, args).await;
            let meant = (tool, argument) == ("file_delete", "path")
                || (tool, argument) == ("file_move", "source");
            assert_eq!(answer.is_ok(), meant, "{tool} {link}: {:?}", answer.result);
            let shown = answer.to_value().to_string();
            assert!(
                !shown.contains("secret\\n") && !shown.contains("\"secret\""),
                "{shown}"
            );
            assert_eq!(
                std::fs::read_to_string(&outside).unwrap(),
                "secret",
                "{tool}"
            );
            assert_eq!(rig.read(".helve/key"), "state", "{tool}");
        }
    }
}

/// Pipes, sockets and devices are not even opened: a pipe would hold us up for ever.
#[tokio::test]
async fn what_is_no_file_is_refused() {
    for (tool, argument, others) in takers() {
        let rig = beside().await;
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, rig.root.join("pipe"), mode).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(rig.root.join("socket")).unwrap();
        for path in ["pipe", "socket", "/dev/zero", "/dev/stdin"] {
            let mut args = others.clone();
            args[argument] = path.into();
            let answer = rig.call(tool, args).await;
            let error = answer.result.expect_err(tool);
            assert_eq!(
                error.kind,
                ErrorKind::Permission,
                "{tool} {path}: {error:?}"
            );
        }
    }
}

/// Nor does whoever goes through a folder open them, or tell of the state.
#[tokio::test]
async fn a_walk_passes_by_what_is_not_for_it() {
    let rig = beside().await;
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, rig.root.join("pipe"), mode).unwrap();
    rig.write(".helve/notes.md", "secret state mine");
    for (tool, args) in [
        ("file_list", json!({"recursive": true, "show_hidden": true})),
        (
            "file_glob",
            json!({"pattern": "**/*", "hidden": true, "ignored": true}),
        ),
        ("file_glob", json!({"pattern": ".helve/*"})),
        (
            "file_grep",
            json!({"pattern": "secret|state|mine", "hidden": true, "ignored": true}),
        ),
    ] {
        let mut found = rig.data(tool, args.clone()).await;
        found["note"] = Value::Null;
        let found = found.to_string();
        assert!(!found.contains(".helve"), "{tool} {args}: {found}");
        assert!(!found.contains("ws2"), "{tool} {args}: {found}");
        if tool == "file_grep" {
            assert!(
                found.contains("\"mine\"") && !found.contains("secret"),
                "{found}"
            );
        }
    }
}

/// A file that other files share is not written through: the others keep what they have.
#[tokio::test]
async fn a_hard_link_is_cut_and_not_written_through() {
    let rig = beside().await;
    let outside = rig.root.parent().unwrap().join("ws2/secret");
    std::fs::hard_link(&outside, rig.root.join("hard")).unwrap();
    for (tool, args) in [
        ("file_append", json!({"path": "hard", "content": "x"})),
        (
            "file_edit",
            json!({"path": "hard", "old_string": "x", "new_string": "y"}),
        ),
        ("file_write", json!({"path": "hard", "content": "z"})),
    ] {
        // Refused or not, what is outside stays.
        rig.call(tool, args).await;
        assert_eq!(
            std::fs::read_to_string(&outside).unwrap(),
            "secret",
            "{tool}"
        );
    }
}

/// What other programs obey is not written just because the folder around it may be.
#[tokio::test]
async fn what_others_obey_is_refused_at_the_commit() {
    let rig = rig().await;
    std::fs::create_dir_all(rig.root.join(".git/hooks")).unwrap();
    rig.write("plain", "#!/bin/sh\n");
    for path in [
        ".git/hooks/pre-commit",
        ".git/config",
        ".bashrc",
        ".mcp.json",
        "sub/.envrc",
        ".GIT/hooks/x",
        ".ssh/authorized_keys",
    ] {
        for (tool, args) in [
            ("file_write", json!({"path": path, "content": "x"})),
            ("file_append", json!({"path": path, "content": "x"})),
            (
                "file_edit",
                json!({"path": path, "old_string": "", "new_string": "x"}),
            ),
            ("file_move", json!({"source": "plain", "destination": path})),
            ("file_copy", json!({"source": "plain", "destination": path})),
        ] {
            let said = rig.refused(tool, args).await;
            assert!(
                said.starts_with("permission: protected"),
                "{tool} {path}: {said}"
            );
            assert!(!rig.root.join(path).exists(), "{tool} {path}");
        }
    }
    assert_eq!(rig.read("plain"), "#!/bin/sh\n");
    // A name with dots is a name.
    rig.data(
        "file_write",
        json!({"path": "..dots/...more", "content": "x"}),
    )
    .await;
}

/// A folder is swapped for a link all the time: what comes back is ours, or nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_swapped_in_never_leads_out() {
    let rig = beside().await;
    let outside = rig.root.parent().unwrap().join("ws2");
    std::fs::write(outside.join("x"), "secret").unwrap();
    let (folder, link) = (rig.root.join("d"), rig.root.join("aside"));
    symlink(&outside, &link).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let swap = rustix::fs::RenameFlags::EXCHANGE;
                let here = rustix::fs::CWD;
                let swapped = rustix::fs::renameat_with(here, &folder, here, &link, swap);
                // Whoever commits may hold one of them for a moment; neither may be lost.
                let lost = || {
                    let there = |path: &std::path::Path| path.symlink_metadata().is_ok();
                    !(0..10_000).any(|_| there(&folder) && there(&link))
                };
                assert!(swapped.is_ok() || !lost(), "{swapped:?}");
            }
        });
        let swapped = async {
            for round in 0..15 {
                for (tool, args) in [
                    ("file_read", json!({"path": "d/x"})),
                    ("file_grep", json!({"pattern": ".", "path": "."})),
                    ("file_glob", json!({"pattern": "**/secret"})),
                    ("file_list", json!({"path": "d", "recursive": true})),
                    (
                        "file_write",
                        json!({"path": format!("d/w{round}"), "content": "w"}),
                    ),
                    (
                        "file_copy",
                        json!({"source": "d", "destination": format!("c{round}")}),
                    ),
                ] {
                    let answer = rig.call(tool, args).await.to_value().to_string();
                    let leaked =
                        answer.contains("\"secret\"") || answer.contains("\"path\":\"d/secret");
                    assert!(!leaked, "{tool}: {answer}");
                }
            }
        };
        let result = tokio::task::block_in_place(|| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                tokio::runtime::Handle::current().block_on(swapped);
            }))
        });
        done.store(true, Ordering::Relaxed);
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
    });
    let mut names: Vec<_> = std::fs::read_dir(&outside)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["secret", "x"], "nothing was written outside");
}
