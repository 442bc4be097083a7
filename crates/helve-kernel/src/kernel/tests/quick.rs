//! Changes of one small file: on the disk a moment later, and what a crash makes of that.

use std::fs;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use helve_changes::Probe;
use serde_json::{Value, json};

use super::changes::{allow, kept, of, place, refusal, tools};
use super::harness::*;
use crate::kernel::lock;
use crate::{
    Answer, Call, ChangesFilter, ChangesState, ErrorKind, Keeper, RunState, Store as _, Tool,
};

/// The redo as another boot would have written it.
async fn another_boot(hub: &Hub) -> usize {
    let kept = redos(hub).await;
    for changes in &kept {
        let redo = changes.redo.as_ref().unwrap();
        let at = redo.windows(7).position(|w| w == b"\"boot\":").unwrap() + 8;
        let mut redo = redo.clone();
        redo[at..at + 4].copy_from_slice(b"0000");
        hub.store.put_redo(&changes.run, redo);
    }
    kept.len()
}

fn with_redo() -> ChangesFilter {
    ChangesFilter {
        redo: true,
        ..ChangesFilter::default()
    }
}

async fn redos(hub: &Hub) -> Vec<crate::Changes> {
    hub.store.all_changes(with_redo(), 99).await.unwrap()
}

fn time_of(hub: &Hub, name: &str) -> SystemTime {
    let path = hub.root.path().join("data").join(name);
    fs::metadata(path).unwrap().modified().unwrap()
}

/// What a crash leaves of a file, with the time that it has then.
fn leave(hub: &Hub, name: &str, text: &str, time: SystemTime) {
    let path = hub.root.path().join("data").join(name);
    fs::write(&path, text).unwrap();
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

/// Fails at steps of that name, while there is one.
#[derive(Clone, Default)]
struct Fails(Arc<Mutex<Option<&'static str>>>);

impl Fails {
    fn at(&self, step: Option<&'static str>) {
        *lock(&self.0) = step;
    }

    /// The hub after a crash, at whose steps this fails.
    async fn restarted(&self, hub: Hub) -> Hub {
        let policy = (*hub.kernel.policy()).clone();
        let folder = hub.root.path().join(".helve/changes");
        let keeper = Keeper::open(&folder, None).unwrap().probed(self.clone());
        let kernel = hub.restarted(|b| b.policy(policy).keeper(Arc::new(keeper)));
        let kernel = kernel.await;
        tools(&kernel);
        Hub { kernel, ..hub }
    }
}

impl Probe for Fails {
    fn step(&self, what: &'static str) -> io::Result<()> {
        match *lock(&self.0) == Some(what) {
            true => Err(io::Error::from_raw_os_error(5)),
            false => Ok(()),
        }
    }
}

/// The events of the record about one run.
async fn told_of(hub: &Hub, answer: &Answer) -> Vec<String> {
    let run = answer.meta.run_id.as_ref().unwrap().as_str();
    let record = hub.record().await;
    let of_run = record.iter().filter(|r| r["resource"] == run);
    of_run
        .map(|r| r["event"].as_str().unwrap().to_owned())
        .collect()
}

/// What was answered is there when the system went down and lost the file, and can be undone.
#[tokio::test]
async fn what_the_system_lost_is_done_again() {
    let hub = place(allow()).await;
    let before = time_of(&hub, "old");
    let first = hub.call("a_write", json!({"data/old": "new"})).await;
    let between = time_of(&hub, "old");
    let second = hub.call("a_write", json!({"data/old": "newer"})).await;
    let after = time_of(&hub, "old");
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(hub.read("old").as_deref(), Some("newer"));
    assert!(hub.stage_is_empty());
    assert_eq!(another_boot(&hub).await, 2);
    for (lost, time) in [("old", before), ("new", between), ("", after)] {
        leave(&hub, "old", lost, time);
        let objects = hub.root.path().join(".helve/changes/objects");
        fs::remove_dir_all(&objects).unwrap();
        let before = redos(&hub).await;
        let again = kept(&hub).await;
        assert_eq!(hub.read("old").as_deref(), Some("newer"), "{lost}");
        assert_eq!(redos(&hub).await, []);
        drop(again);
        for changes in before {
            hub.store.put_redo(&changes.run, changes.redo.unwrap());
        }
    }
    assert_eq!(told_of(&hub, &second).await[3..], ["run.redone"; 3]);
    let hub = Hub {
        kernel: kept(&hub).await,
        ..hub
    };
    let undone = hub.undo(of(&[&first, &second])).await;
    assert!(undone.is_ok(), "{undone:?}");
    assert_eq!(hub.read("old").as_deref(), Some("old"));
}

/// What was about to happen when the system went down happens, or is told not to have.
#[tokio::test]
async fn what_was_intended_when_the_system_went_down_has_an_end() {
    for (found, ends) in [("old", "newer"), ("newer", "newer"), ("theirs", "theirs")] {
        let hub = place(allow()).await;
        let before = time_of(&hub, "old");
        let gate = hub.store.hold("keep_changes");
        let kernel = hub.kernel.clone();
        let call = Call::new(ann(), "a_write", json!({"data/old": "newer"}));
        let running = tokio::spawn(async move { kernel.call(call).await });
        gate.arrival().await;
        running.abort();
        assert_eq!(another_boot(&hub).await, 1);
        leave(&hub, "old", found, before);
        let again = kept(&hub).await;
        assert_eq!(hub.read("old").as_deref(), Some(ends));
        let runs = hub.store.runs(Default::default(), 9).await.unwrap();
        let state = match ends {
            "newer" => RunState::Succeeded,
            _ => RunState::Failed,
        };
        assert_eq!(runs[0].state, state, "{found}");
        if state == RunState::Failed {
            let error = &runs[0].answer.as_ref().unwrap()["error"];
            let hint = error["hint"].as_str().unwrap();
            assert!(hint.contains("took effect is unknown"), "{hint}");
        }
        assert_eq!(redos(&hub).await, []);
        drop((again, gate));
    }
}

/// A person's work after a crash is not taken for what the crash left.
#[tokio::test]
async fn what_somebody_made_of_it_since_is_left_and_told() {
    for theirs in [Some("old"), Some(""), Some("theirs"), None] {
        let hub = place(allow()).await;
        let answer = hub.call("a_write", json!({"data/old": "new"})).await;
        assert_eq!(another_boot(&hub).await, 1);
        match theirs {
            Some(text) => leave(&hub, "old", text, SystemTime::now()),
            None => fs::remove_file(hub.root.path().join("data/old")).unwrap(),
        }
        let again = kept(&hub).await;
        assert_eq!(hub.read("old").as_deref(), theirs);
        assert_eq!(redos(&hub).await, []);
        assert_eq!(hub.run_of(&answer).await.state, RunState::Succeeded);
        assert_eq!(told_of(&hub, &answer).await[3..], ["run.not_redone"]);
        drop(again);
    }
}

/// Whatever one file is like, the hub starts.
#[tokio::test]
async fn no_change_holds_up_a_start() {
    // Its folder is gone.
    let hub = place(allow()).await;
    let answer = hub.call("a_write", json!({"data/old": "new"})).await;
    assert_eq!(another_boot(&hub).await, 1);
    fs::remove_dir_all(hub.root.path().join("data")).unwrap();
    let again = kept(&hub).await;
    assert_eq!(hub.run_of(&answer).await.state, RunState::Succeeded);
    assert_eq!(redos(&hub).await, []);
    drop(again);

    // What was kept is damaged: of a run that has an end, and of one that has none.
    let hub = place(allow()).await;
    let done = hub.call("a_write", json!({"data/old": "new"})).await;
    hub.store.fail("move_run");
    let open = hub.call("a_write", json!({"data/other": "new"})).await;
    hub.store.mend();
    for changes in redos(&hub).await {
        hub.store.put_redo(&changes.run, b"damaged".to_vec());
    }
    let again = kept(&hub).await;
    assert_eq!(hub.run_of(&done).await.state, RunState::Succeeded);
    let run = hub.run_of(&open).await;
    assert_eq!(run.state, RunState::Failed);
    let hint = run.answer.unwrap()["error"]["hint"].to_string();
    assert!(hint.contains("unknown"), "{hint}");
    for answer in [&done, &open] {
        let told = told_of(&hub, answer).await;
        assert!(told.contains(&"run.not_redone".to_owned()), "{told:?}");
    }
    assert_eq!(redos(&hub).await, []);
    drop(again);
}

/// It is kept for the next start, and until then nobody changes that file.
#[tokio::test]
async fn what_cannot_be_done_again_now_is_done_by_the_next_start() {
    let hub = place(allow()).await;
    let before = time_of(&hub, "old");
    let done = hub.call("a_write", json!({"data/old": "new"})).await;
    hub.store.fail("move_run");
    let open = hub.call("a_write", json!({"data/other": "new"})).await;
    hub.store.mend();
    assert_eq!(another_boot(&hub).await, 2);
    leave(&hub, "old", "old", before);
    fs::remove_file(hub.root.path().join("data/other")).unwrap();

    let fails = Fails::default();
    fails.at(Some("write a file"));
    let hub = fails.restarted(hub).await;
    fails.at(None);
    assert_eq!(redos(&hub).await.len(), 2);
    assert_eq!(hub.run_of(&open).await.state, RunState::Failed);
    for answer in [&done, &open] {
        let told = told_of(&hub, answer).await;
        assert!(told.contains(&"run.not_redone".to_owned()), "{told:?}");
    }
    for args in [
        json!({"data/old": "mine"}),
        json!({"data/old": "mine", "data/more": "mine"}),
    ] {
        let refused = hub.call("a_write", args).await;
        refusal(&refused, "cannot be brought to the disk");
    }
    let others = json!({"data/x": "x", "data/y": "y"});
    assert!(hub.call("a_write", others).await.is_ok());
    assert!(hub.call("a_write", json!({"data/z": "z"})).await.is_ok());
    refusal(&hub.undo_run(&done).await, "cannot be brought to the disk");

    let hub = fails.restarted(hub).await;
    assert_eq!(hub.read("old").as_deref(), Some("new"));
    assert_eq!(hub.read("other").as_deref(), Some("new"));
    assert_eq!(redos(&hub).await, []);
    assert!(hub.undo_run(&done).await.is_ok());
}

/// One path that cannot be synced is no matter for all others.
#[tokio::test]
async fn only_changes_of_what_cannot_be_synced_are_refused() {
    for (step, lasts) in [("open to sync", false), ("sync", true)] {
        let fails = Fails::default();
        let hub = fails.restarted(place(allow()).await).await;
        let first = hub.call("a_write", json!({"data/old": "new"})).await;
        fails.at(Some(step));
        let others = json!({"data/x": "x", "data/y": "y"});
        assert!(hub.call("a_write", others).await.is_ok());
        refusal(&hub.undo_run(&first).await, "cannot be brought to the disk");
        let again = hub.call("a_write", json!({"data/old": "newer"})).await;
        refusal(&again, "cannot be brought to the disk");
        assert_eq!(hub.read("old").as_deref(), Some("new"));
        assert_eq!(redos(&hub).await.len(), 1);
        fails.at(None);
        // A sync that succeeds after one that failed says nothing.
        let undone = hub.undo_run(&first).await;
        assert_eq!(undone.is_ok(), !lasts, "{undone:?}");
        let hub = fails.restarted(hub).await;
        assert_eq!(redos(&hub).await, []);
        if lasts {
            assert!(hub.undo_run(&first).await.is_ok());
        }
        assert_eq!(hub.read("old").as_deref(), Some("old"));
    }
}

/// Of two without an end nobody could tell which came first.
#[tokio::test]
async fn one_without_an_end_is_the_last_of_its_file() {
    let hub = place(allow()).await;
    hub.store.fail("move_run");
    let first = hub.call("a_write", json!({"data/old": "new"})).await;
    assert!(first.result.is_err());
    hub.store.mend();
    let second = hub.call("a_write", json!({"data/old": "newer"})).await;
    refusal(&second, "not on the record yet");
    assert_eq!(hub.read("old").as_deref(), Some("new"));
    let third = hub.call("a_write", json!({"data/other": "x"})).await;
    assert!(third.is_ok());
}

/// What counts as taken back is not done again, whoever took it back.
#[tokio::test]
async fn what_was_undone_stays_undone() {
    let hub = place(allow()).await;
    let before = time_of(&hub, "old");
    let answer = hub.call("a_write", json!({"data/old": "new"})).await;
    leave(&hub, "old", "old", before);
    another_boot(&hub).await;
    let redo = redos(&hub).await.remove(0);
    // There is nothing left to do, and still it has to be let go of first.
    hub.store.fail("forget_redo");
    assert!(hub.undo_run(&answer).await.result.is_err());
    assert_eq!(hub.run_of(&answer).await.state, RunState::Succeeded);
    hub.store.mend();
    assert!(hub.undo_run(&answer).await.is_ok());
    assert_eq!(redos(&hub).await, []);
    hub.store.put_redo(&redo.run, redo.redo.unwrap());
    let again = kept(&hub).await;
    assert_eq!(hub.read("old").as_deref(), Some("old"));
    assert_eq!(redos(&hub).await, []);
    let now = hub.store.changes(&redo.run).await.unwrap().unwrap();
    assert_eq!(now.state, ChangesState::Undone);
    drop(again);
}

/// With a record beside it a small file goes the way of all others, and leaves as little.
#[tokio::test]
async fn a_file_with_a_record_leaves_nothing_behind() {
    let hub = place(allow()).await;
    let more = json!({"risk": "write", "allowed_paths": ["data"]});
    let both = Tool::new(def("a_both", more), |ctx, args: Value| async move {
        let text = args["text"].as_str().unwrap();
        ctx.files().write("data/old", text).await?;
        ctx.records().put("notes", "a", args["note"].clone())?;
        Ok(json!("done"))
    });
    hub.add(both.held());
    // The second does not change the file.
    for note in [1, 2] {
        let answer = hub.call("a_both", json!({"text": "new", "note": note}));
        let answer = answer.await;
        assert!(answer.is_ok(), "{answer:?}");
        assert_eq!(hub.read("old").as_deref(), Some("new"));
        assert_eq!(
            hub.store.row("notes", "a").await.unwrap(),
            Some(json!(note))
        );
        assert!(hub.stage_is_empty());
        let journal = hub.root.path().join(".helve/changes/journal");
        let entries = fs::read_dir(journal).unwrap();
        let entries: Vec<_> = entries.map(|e| e.unwrap().file_name()).collect();
        assert!(entries.iter().all(|name| name == "lock"), "{entries:?}");
    }
}

/// A change that goes by the disk comes after what is to be done again, and never before it.
#[tokio::test]
async fn whoever_goes_by_the_disk_waits_for_it() {
    let hub = place(allow()).await;
    let first = hub.call("a_write", json!({"data/old": "new"})).await;
    assert_eq!(redos(&hub).await.len(), 1);
    // Where it cannot be let go of, nothing is changed.
    hub.store.fail("forget_redo");
    let both = json!({"data/old": "both", "data/other": "both"});
    let refused = hub.call("a_write", both.clone()).await;
    assert!(refused.result.is_err());
    assert_eq!(hub.read("old").as_deref(), Some("new"));
    assert!(hub.undo_run(&first).await.result.is_err());
    assert_eq!(hub.read("old").as_deref(), Some("new"));
    hub.store.mend();
    assert!(hub.undo_run(&first).await.is_ok());
    assert_eq!(redos(&hub).await, []);
    assert_eq!(hub.read("old").as_deref(), Some("old"));
}

/// What somebody else has begun to bring to the disk is waited for as well.
#[tokio::test]
async fn whoever_goes_by_the_disk_waits_until_the_redo_is_gone() {
    let hub = place(allow()).await;
    let first = hub.call("a_write", json!({"data/old": "new"})).await;
    let gate = hub.store.hold("forget_redo");
    gate.arrival().await;
    let kernel = hub.kernel.clone();
    let undo = of(&[&first]);
    let mut undo = tokio::spawn(async move { kernel.undo(&Arc::new(ann()), undo).await });
    let early = tokio::time::timeout(Duration::from_millis(300), &mut undo).await;
    assert!(early.is_err(), "{early:?}");
    assert_eq!(hub.read("old").as_deref(), Some("new"));
    gate.open();
    assert!(undo.await.unwrap().is_ok());
    assert_eq!(hub.read("old").as_deref(), Some("old"));
}

/// Beside the calls, and when the kernel closes.
#[tokio::test]
async fn what_is_on_the_disk_is_not_kept_for_long() {
    let hub = place(allow()).await;
    hub.call("a_write", json!({"data/old": "new"})).await;
    while !hub
        .store
        .all_changes(with_redo(), 9)
        .await
        .unwrap()
        .is_empty()
    {
        tokio::task::yield_now().await;
    }
    hub.call("a_write", json!({"data/old": "newer"})).await;
    hub.kernel.close(Duration::from_secs(5)).await;
    assert_eq!(redos(&hub).await, []);
}

/// Of a change that was refused after its intent was on the disk nothing is done again.
#[tokio::test]
async fn what_was_refused_is_not_done_by_a_start() {
    let hub = place(allow()).await;
    let gate = hub.store.hold("keep_changes");
    let kernel = hub.kernel.clone();
    let call = Call::new(ann(), "a_write", json!({"data/old": "mine"}));
    let running = tokio::spawn(async move { kernel.call(call).await });
    gate.arrival().await;
    fs::write(hub.root.path().join("data/old"), "theirs").unwrap();
    gate.open();
    let answer = running.await.unwrap();
    assert_eq!(answer.result.unwrap_err().kind, ErrorKind::Conflict);
    // Its end was waited for.
    assert_eq!(lock(&hub.store.soon).last(), Some(&false));
    assert_eq!(redos(&hub).await, []);
    assert_eq!(hub.read("old").as_deref(), Some("theirs"));
}
