//! Scripts that do what nobody should. The next call works, and others are not harmed.

use super::*;

/// How calls of a tool fail, and that the toolset goes on.
async fn fails(rig: &Rig, tool: &str, wanted: &str) {
    let error = rig.error(tool, json!({})).await;
    assert!(error.message.contains(wanted), "{tool}: {error:?}");
    assert_eq!(rig.data("fine", json!({})).await, "fine", "after {tool}");
}

#[tokio::test]
async fn in_javascript() {
    let rig = Rig::new().await;
    rig.js("fine", "return 'fine'", json!({})).await;
    let cases = [
        ("exits", "process.exit(3)", "process.exit(3)"),
        (
            "dies",
            "process.kill(process.pid, 'SIGKILL')",
            "ended in the middle",
        ),
        ("aborts", "process.abort()", "ended in the middle"),
        (
            "closes",
            "require('fs').closeSync(3); await new Promise(() => {})",
            "ended in the middle",
        ),
        ("huge", "return 'x'.repeat(500 * 1024 * 1024)", "too long"),
        ("round", "const a = {}; a.a = a; return a", "circ"),
    ];
    for (name, body, wanted) in cases {
        rig.js(name, body, json!({})).await;
        fails(&rig, name, wanted).await;
    }
    // Nobody waits for what is broken after the answer.
    rig.js(
        "later",
        "setImmediate(() => { throw new Error('late') }); return 1",
        json!({}),
    )
    .await;
    assert_eq!(rig.data("later", json!({})).await, 1);
    rig.js(
        "reject",
        "Promise.reject(new Error('lost')); return 2",
        json!({}),
    )
    .await;
    assert_eq!(rig.data("reject", json!({})).await, 2);
    assert_eq!(rig.data("fine", json!({})).await, "fine");
}

#[tokio::test]
async fn in_python() {
    let rig = Rig::new().await;
    rig.py("fine", "    return 'fine'", json!({})).await;
    let cases = [
        ("exits", "    sys.exit(3)", "exit"),
        ("dies", "    os._exit(4)", "exit status: 4"),
        ("raises", "    raise ValueError('no')", "ValueError: no"),
        ("huge", "    return 'x' * (500 * 1024 * 1024)", "too long"),
        (
            "closes",
            "    os.close(3)\n    os.close(4)\n    import time\n    time.sleep(1000)",
            "",
        ),
    ];
    for (name, body, wanted) in cases {
        let more = json!({"timeout": "20s"});
        rig.py(name, body, more).await;
        fails(&rig, name, wanted).await;
    }
}

#[tokio::test]
async fn what_hangs_is_ended_and_others_are_not() {
    let rig = Rig::new().await;
    let count = "global.n = (global.n || 0) + 1; return global.n";
    rig.js("count", count, json!({})).await;
    assert_eq!(rig.data("count", json!({})).await, 1);
    for (name, body) in [
        ("waits", "await new Promise(() => {})"),
        ("spins", "for (;;) {}"),
    ] {
        // The one that waits takes the worker that is there; whoever comes meanwhile gets
        // another, and keeps it.
        rig.js(name, body, json!({"timeout": "1s"})).await;
        let hang = rig.call(name, json!({}));
        let others = async {
            let first = rig.data("count", json!({})).await;
            let second = rig.data("count", json!({})).await;
            assert_eq!(second.as_u64(), first.as_u64().map(|n| n + 1));
            second
        };
        let (hung, last) = tokio::join!(hang, others);
        assert_eq!(hung.meta.state, Some(RunState::TimedOut), "{name}");
        let next = rig.data("count", json!({})).await;
        assert_eq!(next.as_u64(), last.as_u64().map(|n| n + 1), "after {name}");
    }
}

#[tokio::test]
async fn memory_and_processes_are_bounded() {
    let rig = Rig::new().await;
    rig.js("fine", "return 'fine'", json!({})).await;
    let eats = "const all = []; for (;;) all.push(Buffer.alloc(1 << 20, 1))";
    rig.js("eats", eats, json!({"executor": {"memory": "256MB"}}))
        .await;
    fails(&rig, "eats", "memory").await;
    let forks = "    import subprocess\n    \
                 return len([subprocess.Popen(['sleep', '1000']) for _ in range(200)])";
    rig.py("forks", forks, json!({"executor": {"pids": 40}}))
        .await;
    let error = rig.error("forks", json!({})).await;
    assert!(error.message.contains("BlockingIOError"), "{error:?}");
}

#[tokio::test]
async fn what_prints_without_end_is_ended() {
    let rig = Rig::new().await;
    rig.js("fine", "return 'fine'", json!({})).await;
    let prints =
        "const line = 'x'.repeat(65535) + '\\n'; for (;;) require('fs').writeSync(1, line)";
    rig.js("prints", prints, json!({"timeout": "60s"})).await;
    fails(&rig, "prints", "did not end").await;
}

#[tokio::test]
async fn children_go_with_the_worker() {
    let rig = Rig::new().await;
    let mark = format!("77.{}", std::process::id());
    let spawn = format!(
        "require('child_process').spawn('sleep', ['{mark}'], {{detached: true, stdio: 'inherit'}}); return 1"
    );
    rig.js("spawn", &spawn, json!({})).await;
    assert_eq!(rig.data("spawn", json!({})).await, 1);
    assert_eq!(processes_with(&mark), 1);
    rig.executor.close().await;
    assert_eq!(processes_with(&mark), 0);
}

fn processes_with(word: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|p| fs::read(p.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
    lines
        .filter(|line| line.starts_with("sleep") && line.contains(word))
        .count()
}
