//! Scripts that write: held back, shown, committed, undone.

use helve_kernel::{Diff, DiffForm, UndoCall, Verdict};

use super::*;

fn writes() -> Value {
    json!({"risk": "write", "allowed_paths": ["data"], "reversible": "yes"})
}

const PUT: &str = "const fs = require('fs'); fs.writeFileSync('data/new.txt', 'new\\n'); \
                   fs.appendFileSync('data/old.txt', 'more\\n'); fs.rmSync('data/gone.txt'); return 'done'";

fn prepared(rig: &Rig) {
    rig.write("data/old.txt", "old\n");
    rig.write("data/gone.txt", "gone\n");
}

#[tokio::test]
async fn committed_and_undone() {
    let rig = Rig::new().await;
    prepared(&rig);
    rig.js("put", PUT, writes()).await;
    let answer = rig.call("put", json!({})).await;
    assert_eq!(answer.result, Ok(json!("done")));
    assert_eq!(answer.meta.changes.unwrap().paths, 3);
    assert_eq!(rig.read("data/new.txt").as_deref(), Some("new\n"));
    assert_eq!(rig.read("data/old.txt").as_deref(), Some("old\nmore\n"));
    assert_eq!(rig.read("data/gone.txt"), None);
    let run = answer.meta.run_id.unwrap();
    let who = Arc::new(Principal::person("ann"));
    let call = UndoCall {
        runs: vec![run],
        ..UndoCall::default()
    };
    rig.kernel.undo(&who, call).await.result.unwrap();
    assert_eq!(rig.read("data/new.txt"), None);
    assert_eq!(rig.read("data/old.txt").as_deref(), Some("old\n"));
    assert_eq!(rig.read("data/gone.txt").as_deref(), Some("gone\n"));
}

#[tokio::test]
async fn shown_before_somebody_agrees() {
    let rules = json!([{"effect": "ask", "tool": "put"}]);
    let settings = ScriptSettings {
        pool: 1,
        ..ScriptSettings::default()
    };
    let rig = Rig::with(settings, rules).await;
    prepared(&rig);
    rig.js("put", PUT, writes()).await;
    let answer = rig.call("put", json!({})).await;
    assert_eq!(answer.meta.state, Some(RunState::Staged), "{answer:?}");
    assert_eq!(rig.read("data/new.txt"), None);
    let run = answer.meta.run_id.unwrap();
    let ben = Principal::person("ben");
    let Diff::Text(text) = rig.kernel.diff(&run, DiffForm::Text).await.unwrap() else {
        panic!("it was asked for as text");
    };
    assert!(text.contains("+more"), "{text}");
    let approval = answer.meta.approval.unwrap();
    rig.kernel
        .decide(&ben, &approval, Verdict::Approve, None)
        .await
        .unwrap();
    rig.kernel.wait_for(&run).await.unwrap();
    assert_eq!(rig.read("data/new.txt").as_deref(), Some("new\n"));
}

#[tokio::test]
async fn nothing_half_done_and_nothing_elsewhere() {
    let rig = Rig::new().await;
    prepared(&rig);
    let half = format!(
        "{}; throw new Error('half')",
        PUT.replace("; return 'done'", "")
    );
    rig.js("half", &half, writes()).await;
    assert_eq!(rig.error("half", json!({})).await.message, "half");
    let dies = format!("{}; process.abort()", PUT.replace("; return 'done'", ""));
    rig.js("dies", &dies, writes()).await;
    rig.error("dies", json!({})).await;
    assert_eq!(rig.read("data/new.txt"), None);
    assert_eq!(rig.read("data/old.txt").as_deref(), Some("old\n"));
    // Beside what it may write, and without anything that it may.
    let beside = "require('fs').writeFileSync('beside.txt', 'x')";
    rig.js("beside", beside, writes()).await;
    assert!(
        rig.error("beside", json!({}))
            .await
            .message
            .contains("EROFS")
    );
    rig.js(
        "reader",
        "require('fs').writeFileSync('data/x', 'x')",
        json!({}),
    )
    .await;
    assert!(
        rig.error("reader", json!({}))
            .await
            .message
            .contains("EROFS")
    );
    let py = "    open('data/x', 'w').write('x')";
    rig.py("pyreader", py, json!({})).await;
    assert!(
        rig.error("pyreader", json!({}))
            .await
            .message
            .contains("Read-only")
    );
    assert_eq!(rig.read("beside.txt"), None);
}

#[tokio::test]
async fn in_python_too() {
    let rig = Rig::new().await;
    let body = "    with open('data/a.txt', 'w') as f:\n        f.write('a')\n    return 'ok'";
    rig.py("put", body, writes()).await;
    let answer = rig.call("put", json!({})).await;
    assert_eq!(answer.result, Ok(json!("ok")));
    assert_eq!(rig.read("data/a.txt").as_deref(), Some("a"));
    // A worker that waits for readers is not one that may write.
    let reads = "    return open('data/a.txt').read()";
    rig.py("get", reads, json!({})).await;
    assert_eq!(rig.data("get", json!({})).await, "a");
}
