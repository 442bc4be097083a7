//! Functions that change files: held back, shown, committed, undone; and what a crash or
//! a full disk makes of that.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use super::harness::*;
use crate::kernel::Kernel;
use crate::{
    Answer, Call, ChangesState, Diff, DiffForm, ErrorKind, Keeper, Keeping, NewToken, Permission,
    Principal, PrincipalKind, Reply, RunState, Store as _, Tool, ToolError, UndoCall, Verdict,
    Wait,
};
use helve_core::def::Risk;
use serde_json::{Value, json};
use tokio::sync::Barrier;

/// A hub that keeps changes, with a folder `data` and a file in it.
pub(super) async fn place(policy: Value) -> Hub {
    let hub = Hub::with(|b| b.policy(rules(policy))).await;
    let data = hub.root.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("old"), "old").unwrap();
    let kernel = kept(&hub).await;
    let hub = Hub { kernel, ..hub };
    tools(&hub.kernel);
    hub
}

pub(super) async fn kept(hub: &Hub) -> Kernel {
    let policy = (*hub.kernel.policy()).clone();
    let keeper = Keeper::open(&hub.root.path().join(".helve/changes"), None).unwrap();
    hub.restarted(|b| b.policy(policy).keeper(Arc::new(keeper)))
        .await
}

/// `a_write` writes files, `a_fail` writes and fails.
pub(super) fn tools(kernel: &Kernel) {
    let more = json!({"risk": "write", "allowed_paths": ["data"]});
    let write = Tool::new(
        def("a_write", more.clone()),
        |ctx, args: Value| async move {
            for (path, text) in args.as_object().unwrap() {
                match text.as_str() {
                    Some(text) => ctx.files().write(path, text).await?,
                    None => ctx.files().remove(path).await?,
                }
            }
            Ok(Reply::new("written").write("slot", 1))
        },
    );
    let fail = Tool::new(def("a_fail", more), |ctx, _: Value| async move {
        ctx.files().write("data/x", "x").await?;
        Err::<Value, _>(ToolError::internal("on purpose"))
    });
    kernel.add_tools([write.held(), fail.held()]).unwrap();
}

pub(super) fn allow() -> Value {
    json!([{"effect": "allow", "tool": "*"}])
}

impl Hub {
    pub(super) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.root.path().join("data").join(name)).ok()
    }

    pub(super) async fn undo(&self, call: UndoCall) -> Answer {
        self.kernel.undo(&Arc::new(ann()), call).await
    }

    pub(super) async fn undo_run(&self, answer: &Answer) -> Answer {
        self.undo(of(&[answer])).await
    }

    pub(super) fn stage_is_empty(&self) -> bool {
        let stage = self.root.path().join(".helve/changes/stage");
        fs::read_dir(stage).unwrap().next().is_none()
    }
}

pub(super) fn of(answers: &[&Answer]) -> UndoCall {
    let runs = answers.iter().map(|a| a.meta.run_id.clone().unwrap());
    UndoCall {
        runs: runs.collect(),
        ..UndoCall::default()
    }
}

#[track_caller]
pub(super) fn refusal(answer: &Answer, says: &str) {
    let error = answer.result.as_ref().unwrap_err();
    assert!(error.message.contains(says), "{error}");
}

/// It may have run by then; what it would change is dropped.
#[tokio::test]
async fn a_change_whose_start_is_lost_is_none() {
    for rule in [allow(), json!([{"effect": "ask", "tool": "*"}])] {
        let hub = place(rule).await;
        for verb in ["opening", "open_run"] {
            hub.store.fail(verb);
        }
        let answer = hub.call("a_write", json!({"data/old": "new"})).await;
        assert_eq!(
            told(&answer),
            "dependency: not run: the record could not be written: the store cannot be written: \
             the disk is full"
        );
        assert_eq!((answer.meta.run_id, answer.meta.state), (None, None));
        hub.store.mend();
        assert_eq!(hub.read("old").as_deref(), Some("old"));
        assert!(hub.stage_is_empty());
        assert!(hub.events().await.is_empty());
        let done = hub.call("a_write", json!({"data/old": "new"})).await;
        assert!(done.meta.run_id.is_some());
    }
}

#[tokio::test]
async fn what_a_function_writes_is_committed_and_undone() {
    let hub = place(allow()).await;
    let args = json!({"data/new": "new", "data/old": null});
    let answer = hub.call("a_write", args).await;
    assert_eq!(answer.result, Ok(json!("written")));
    let summary = answer.meta.changes.unwrap();
    assert_eq!((summary.created, summary.deleted), (1, 1));
    assert_eq!(
        (hub.read("new").as_deref(), hub.read("old")),
        (Some("new"), None)
    );
    assert!(hub.stage_is_empty());
    assert_eq!(
        hub.events().await,
        ["run.started", "run.committing", "run.ended"]
    );
    let id = hub.record().await[1]["details"]["changes"].clone();
    let kept = hub
        .store
        .changes(answer.meta.run_id.as_ref().unwrap())
        .await;
    let kept = kept.unwrap().unwrap();
    assert_eq!(
        (kept.state, kept.id.to_string().into()),
        (ChangesState::Committed, id)
    );

    let undone = hub.undo_run(&answer).await;
    assert!(undone.is_ok(), "{undone:?}");
    assert_eq!(
        (hub.read("new"), hub.read("old").as_deref()),
        (None, Some("old"))
    );
    assert_eq!(hub.run_of(&answer).await.state, RunState::Undone);
    refusal(&hub.undo_run(&answer).await, "undone before");

    let redone = hub.undo_run(&undone).await;
    assert!(redone.is_ok(), "{redone:?}");
    assert_eq!(hub.read("new").as_deref(), Some("new"));
    assert_eq!(hub.run_of(&answer).await.state, RunState::Succeeded);
    assert_eq!(hub.run_of(&undone).await.state, RunState::Undone);
}

#[tokio::test]
async fn a_function_that_fails_or_writes_elsewhere_changes_nothing() {
    let hub = place(allow()).await;
    refusal(&hub.call("a_fail", json!({})).await, "on purpose");
    for path in [
        "beside",
        "../x",
        "data/../beside",
        "/etc/x",
        "data/.git/config",
        ".helve/x",
    ] {
        let answer = hub.call("a_write", json!({path: "x"})).await;
        assert!(answer.result.is_err(), "{path}");
        assert_eq!(answer.meta.state, Some(RunState::Failed));
    }
    let root = hub.root.path();
    assert!(!root.join("beside").exists() && !root.join("data/.git").exists());
    assert_eq!(hub.read("x"), None);
    assert!(hub.stage_is_empty());
    let quiet = hub.call("a_write", json!({})).await;
    assert!(quiet.is_ok() && quiet.meta.changes.is_none());
}

#[tokio::test]
async fn people_decide_about_the_effect() {
    let hub = place(json!([])).await;
    let waiting = Call::new(ann(), "a_write", json!({"data/new": "new"})).wait(Wait::Decision);
    let kernel = hub.kernel.clone();
    let caller = tokio::spawn(async move { kernel.call(waiting).await });
    let mut changes = hub.kernel.changes();
    let approval = loop {
        let all = hub.store.approvals(None, None, 9).await.unwrap();
        match all.first() {
            Some(approval) => break approval.clone(),
            None => drop(changes.recv().await),
        }
    };
    let run = hub.kernel.run(&approval.run).await.unwrap();
    assert_eq!((run.state, run.answer), (RunState::Staged, None));
    assert_eq!(hub.read("new"), None);
    let Ok(Diff::Text(diff)) = hub.kernel.diff(&run.id, DiffForm::Text).await else {
        panic!("asked for text");
    };
    assert!(diff.contains("+new"), "{diff}");
    hub.approve(&bob(), &approval).await.unwrap();
    let answer = caller.await.unwrap();
    assert_eq!(answer.result, Ok(json!("written")));
    assert_eq!(answer.writes, [("slot".to_owned(), json!(1))]);
    assert_eq!(hub.read("new").as_deref(), Some("new"));
    let events = [
        "run.started",
        "run.staged",
        "approval.decided",
        "run.committing",
        "run.ended",
    ];
    assert_eq!(hub.events().await, events);
    // Whoever asked cannot be the one who decides.
    let answer = hub.call("a_write", json!({"data/more": "more"})).await;
    let id = answer.meta.approval.unwrap();
    let own = hub.kernel.decide(&ann(), &id, Verdict::Approve, None).await;
    assert!(own.is_err());
}

#[tokio::test]
async fn a_yes_that_comes_at_once_is_not_lost() {
    let hub = place(json!([])).await;
    let gate = hub.store.hold("keep_changes");
    let kernel = hub.kernel.clone();
    let call = Call::new(ann(), "a_write", json!({"data/new": "new"}));
    let caller = tokio::spawn(async move { kernel.call(call).await });
    gate.arrival().await;
    let approval = hub.store.approvals(None, None, 9).await.unwrap().remove(0);
    hub.approve(&bob(), &approval).await.unwrap();
    gate.open();
    assert_eq!(caller.await.unwrap().meta.state, Some(RunState::Staged));
    assert_eq!(hub.end_of(&approval).await.state, RunState::Succeeded);
    assert_eq!(hub.read("new").as_deref(), Some("new"));
}

#[tokio::test]
async fn without_a_yes_nothing_happens() {
    let hub = place(json!([])).await;
    let staged = || hub.call("a_write", json!({"data/new": "new"}));
    let denied = staged().await;
    let id = denied.meta.approval.clone().unwrap();
    let no = hub.kernel.decide(&bob(), &id, Verdict::Deny, None).await;
    no.unwrap();
    let cancelled = staged().await;
    let run = cancelled.meta.run_id.clone().unwrap();
    hub.kernel.cancel(&ann(), &run).await.unwrap();
    let expired = staged().await;
    hub.clock.turn(3601);
    hub.kernel.expire().await.unwrap();
    for (answer, state) in [
        (denied, RunState::Denied),
        (cancelled, RunState::Cancelled),
        (expired, RunState::Expired),
    ] {
        assert_eq!(hub.run_of(&answer).await.state, state);
        let kept = hub
            .store
            .changes(answer.meta.run_id.as_ref().unwrap())
            .await;
        assert_eq!(kept.unwrap().unwrap().state, ChangesState::Dropped);
        refusal(&hub.undo_run(&answer).await, "dropped");
    }
    assert_eq!(hub.read("new"), None);
    assert!(hub.stage_is_empty());
}

#[tokio::test]
async fn what_waits_survives_a_restart() {
    let hub = place(json!([])).await;
    let answer = hub.call("a_write", json!({"data/new": "new"})).await;
    let approval = hub
        .kernel
        .approval(&answer.meta.approval.unwrap())
        .await
        .unwrap();
    // Who asked without a token is known again by one.
    let new = NewToken {
        owner: "ann".to_owned(),
        kind: PrincipalKind::Person,
        max_risk: Risk::Write,
        ..NewToken::agent("ann")
    };
    hub.kernel.create_token(&cleo(), new).await.unwrap();
    let kernel = kept(&hub).await;
    tools(&kernel);
    let hub = Hub { kernel, ..hub };
    assert_eq!(hub.read("new"), None);
    hub.approve(&bob(), &approval).await.unwrap();
    let run = hub.end_of(&approval).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:?}");
    assert_eq!(run.answer.unwrap()["data"], "written");
    assert_eq!(hub.read("new").as_deref(), Some("new"));
}

#[tokio::test]
async fn what_changed_meanwhile_is_a_conflict() {
    let hub = place(json!([])).await;
    let one = hub
        .call("a_write", json!({"data/old": "one", "data/a": "a"}))
        .await;
    let two = hub
        .call("a_write", json!({"data/old": "two", "data/b": "b"}))
        .await;
    let yes = async |answer: &Answer| {
        let id = answer.meta.approval.clone().unwrap();
        let approval = hub.kernel.approval(&id).await.unwrap();
        hub.approve(&bob(), &approval).await.unwrap();
        hub.end_of(&approval).await
    };
    assert_eq!(yes(&two).await.state, RunState::Succeeded);
    let late = yes(&one).await;
    assert_eq!(late.state, RunState::Failed);
    let answer = late.answer.unwrap();
    assert_eq!(answer["error"]["type"], "conflict");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("data/old"), "{message}");
    assert_eq!(
        (hub.read("old").as_deref(), hub.read("a")),
        (Some("two"), None)
    );
}

#[tokio::test]
async fn without_a_record_nothing_is_changed() {
    let hub = place(allow()).await;
    hub.store.fail("keep_changes");
    let answer = hub.call("a_write", json!({"data/new": "new"})).await;
    refusal(&answer, "record could not be written");
    assert_eq!(hub.read("new"), None);
    assert!(hub.stage_is_empty());
    hub.store.mend();
    assert!(
        hub.call("a_write", json!({"data/new": "new"}))
            .await
            .is_ok()
    );
    hub.store.fail("keep_changes");
    let last = hub.call("a_write", json!({"data/new": "newer"})).await;
    assert!(last.result.is_err());
    assert_eq!(hub.read("new").as_deref(), Some("new"));
}

#[tokio::test]
async fn a_crash_leaves_all_or_nothing() {
    let hub = place(allow()).await;
    // Down after the intent was recorded, and before anything was applied.
    let gate = hub.store.hold("keep_changes");
    let kernel = hub.kernel.clone();
    let call = || Call::new(ann(), "a_write", json!({"data/new": "new"}));
    let before = tokio::spawn(async move { kernel.call(call()).await });
    gate.arrival().await;
    before.abort();
    let again = kept(&hub).await;
    let runs = hub.store.runs(Default::default(), 9).await.unwrap();
    assert_eq!((runs[0].state, hub.read("new")), (RunState::Failed, None));
    let message = runs[0].answer.as_ref().unwrap()["error"]["hint"].as_str();
    assert!(message.unwrap().contains("nothing was changed"));
    drop(gate);

    // Down after all was applied, and before that was recorded.
    let hub = Hub {
        kernel: again,
        ..hub
    };
    tools(&hub.kernel);
    hub.store.fail("move_run");
    let answer = hub.call("a_write", json!({"data/more": "more"})).await;
    assert!(answer.result.is_err());
    assert_eq!(hub.run_of(&answer).await.state, RunState::Running);
    hub.kernel.close(Duration::ZERO).await;
    hub.store.mend();
    let again = kept(&hub).await;
    let run = again
        .run(answer.meta.run_id.as_ref().unwrap())
        .await
        .unwrap();
    assert_eq!(run.state, RunState::Succeeded, "{run:?}");
    assert_eq!(hub.read("more").as_deref(), Some("more"));
    let hub = Hub {
        kernel: again,
        ..hub
    };
    assert!(hub.undo_run(&answer).await.is_ok());
    assert_eq!(hub.read("more"), None);
}

#[tokio::test]
async fn undo_looks_before_it_takes_back() {
    let hub = place(allow()).await;
    let answer = hub
        .call("a_write", json!({"data/a": "a", "data/b": "b"}))
        .await;
    fs::write(hub.root.path().join("data/a"), "mine").unwrap();
    let refused = hub.undo_run(&answer).await;
    refusal(&refused, "data/a");
    assert_eq!(hub.run_of(&refused).await.state, RunState::Failed);
    assert_eq!(
        (hub.read("a").as_deref(), hub.read("b").as_deref()),
        (Some("mine"), Some("b"))
    );

    let shown = UndoCall {
        dry_run: true,
        force: true,
        ..of(&[&answer])
    };
    let shown = hub.undo(shown).await;
    assert!(shown.meta.diff.unwrap().contains("-mine"));
    assert_eq!(hub.read("a").as_deref(), Some("mine"));

    let part = UndoCall {
        paths: vec!["data/b".into()],
        ..of(&[&answer])
    };
    assert!(hub.undo(part).await.is_ok());
    assert_eq!(
        (hub.read("a").as_deref(), hub.read("b")),
        (Some("mine"), None)
    );
    assert_eq!(hub.run_of(&answer).await.state, RunState::Succeeded);

    let forced = UndoCall {
        force: true,
        ..of(&[&answer])
    };
    let forced = hub.undo(forced).await;
    assert!(forced.is_ok(), "{forced:?}");
    assert_eq!((hub.read("a"), hub.read("b")), (None, None));
    assert!(hub.undo_run(&forced).await.is_ok());
    assert_eq!(hub.read("a").as_deref(), Some("mine"));
}

#[tokio::test]
async fn many_runs_are_undone_in_the_right_order() {
    let hub = place(allow()).await;
    let first = hub.call("a_write", json!({"data/old": "1"})).await;
    let second = hub
        .call("a_write", json!({"data/old": "2", "data/b": "2"}))
        .await;
    let undone = hub.undo_run(&second).await;
    let third = hub.call("a_write", json!({"data/old": "3"})).await;
    assert_eq!(hub.read("old").as_deref(), Some("3"));
    let since = UndoCall {
        since: first.meta.run_id.clone(),
        ..UndoCall::default()
    };
    let all = hub.undo(since).await;
    assert!(all.is_ok(), "{all:?}");
    assert_eq!(
        (hub.read("old").as_deref(), hub.read("b")),
        (Some("old"), None)
    );
    for answer in [&first, &second, &undone, &third] {
        assert_eq!(hub.run_of(answer).await.state, RunState::Undone);
    }
    let past = hub
        .kernel
        .past(Some("data/old".as_ref()), None, 9)
        .await
        .unwrap();
    let runs: Vec<_> = past.iter().map(|p| Some(p.run.clone())).collect();
    let wanted = [&all, &third, &undone, &second, &first].map(|a| a.meta.run_id.clone());
    assert_eq!(runs, wanted);
}

#[tokio::test]
async fn not_everybody_may_undo() {
    let hub = place(allow()).await;
    let answer = hub.call("a_write", json!({"data/a": "a"})).await;
    let all: Vec<_> = Permission::ALL
        .into_iter()
        .filter(|p| *p != Permission::RunUndo)
        .collect();
    let agent = Principal {
        permissions: Permission::ALL.to_vec(),
        ..Principal::agent("agent:x")
    };
    let theirs = Principal {
        under: Some("ann".to_owned()),
        ..agent.clone()
    };
    for (who, says) in [
        (with_only("ann", &all), "run:undo"),
        (agent, "somebody else"),
        (theirs, "somebody else"),
        (scoped("bob", &["b_*"]), "scopes"),
    ] {
        let undone = hub.kernel.undo(&Arc::new(who), of(&[&answer])).await;
        refusal(&undone, says);
    }
    assert_eq!(hub.read("a").as_deref(), Some("a"));
    let bob = hub.kernel.undo(&Arc::new(bob()), of(&[&answer])).await;
    assert!(bob.is_ok());
}

#[tokio::test]
async fn another_tool_makes_good() {
    let hub = place(allow()).await;
    let more = json!({"risk": "exec_high", "reversible": {"compensate": "a_back"}});
    hub.add(echo("a_send", more));
    let schema = json!({"type": "object", "additionalProperties": false, "properties": {
        "to": {"type": "string"}, "run_id": {"type": "string"}, "result": {}}});
    let (back, count) = counting(
        "a_back",
        json!({"risk": "exec_low", "input_schema": schema}),
    );
    hub.add(back);
    hub.add(echo(
        "a_mail",
        json!({"risk": "exec_high", "reversible": "no"}),
    ));
    let sent = hub.call("a_send", json!({"to": "x", "text": "y"})).await;
    let undone = hub.undo_run(&sent).await;
    assert!(undone.is_ok(), "{undone:?}");
    assert_eq!(count.get(), 1);
    assert_eq!(hub.run_of(&sent).await.state, RunState::Undone);
    let runs = hub.store.runs(Default::default(), 9).await.unwrap();
    let run = runs.iter().find(|r| r.tool == "a_back").unwrap();
    let id = sent.meta.run_id.as_ref().unwrap().as_str();
    let wanted = json!({"to": "x", "run_id": id, "result": {"to": "x", "text": "y"}});
    assert_eq!(run.args, wanted);
    refusal(&hub.undo_run(&sent).await, "undone before");
    let mailed = hub.call("a_mail", json!({})).await;
    refusal(&hub.undo_run(&mailed).await, "cannot be undone");
}

#[tokio::test]
async fn records_are_held_back_and_undone_like_files() {
    let hub = place(json!([])).await;
    let more = json!({"risk": "write", "allowed_paths": ["data"]});
    let note = Tool::new(def("a_note", more), |ctx, args: Value| async move {
        let records = ctx.records();
        for (key, value) in args.as_object().unwrap() {
            match value.is_null() {
                true => records.remove("notes", key)?,
                false => records.put("notes", key, value.clone())?,
            }
        }
        if args.get("file").is_some() {
            ctx.files().write("data/note", "noted").await?;
        }
        let seen = records.list("notes", None, 9).await?;
        Ok(json!(
            seen.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        ))
    });
    hub.add(note.held());
    let call = async |args: Value| {
        let answer = hub.call("a_note", args).await;
        assert_eq!(answer.meta.state, Some(RunState::Staged), "{answer:?}");
        answer
    };
    let yes = async |answer: &Answer| {
        let id = answer.meta.approval.clone().unwrap();
        let approval = hub.kernel.approval(&id).await.unwrap();
        hub.approve(&bob(), &approval).await.unwrap();
        hub.end_of(&approval).await
    };
    let row = async |key: &str| hub.store.row("notes", key).await.unwrap();

    let first = call(json!({"a": 1, "file": true})).await;
    assert_eq!(row("a").await, None);
    let Ok(Diff::Text(diff)) = hub
        .kernel
        .diff(first.meta.run_id.as_ref().unwrap(), DiffForm::Text)
        .await
    else {
        panic!("asked for text");
    };
    assert!(diff.contains("created record:notes/a\n+1\n"), "{diff}");
    let run = yes(&first).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:?}");
    assert_eq!(run.answer.unwrap()["data"], json!(["a", "file"]));
    assert_eq!(
        (row("a").await, hub.read("note").as_deref()),
        (Some(json!(1)), Some("noted"))
    );

    // Two that saw the same: only one of them takes effect.
    let (one, two) = (
        call(json!({"a": 2})).await,
        call(json!({"a": 3, "b": 3})).await,
    );
    assert_eq!(yes(&two).await.state, RunState::Succeeded);
    let late = yes(&one).await;
    assert_eq!(late.state, RunState::Failed);
    assert_eq!(late.answer.unwrap()["error"]["type"], "conflict");
    assert_eq!(
        (row("a").await, row("b").await),
        (Some(json!(3)), Some(json!(3)))
    );

    refusal(&hub.undo_run(&first).await, "record:notes/a");
    assert_eq!(hub.read("note").as_deref(), Some("noted"));
    let undone = hub.undo(of(&[&first, &two])).await;
    assert!(undone.is_ok(), "{undone:?}");
    assert_eq!(
        (row("a").await, row("b").await, hub.read("note")),
        (None, None, None)
    );
    assert!(hub.undo_run(&undone).await.is_ok());
    assert_eq!(
        (row("a").await, row("b").await),
        (Some(json!(3)), Some(json!(3)))
    );
    let past = hub.kernel.past(None, None, 99).await.unwrap();
    let named = past.iter().filter(|p| p.touched.path == b"record:notes/a");
    assert_eq!(named.count(), 4);

    // A tool that only looks changes nothing.
    let look = Tool::new(def("a_look", json!({})), |ctx, _: Value| async move {
        ctx.records().put("notes", "a", json!(9))?;
        Ok(json!(null))
    });
    hub.add(look);
    refusal(&hub.call("a_look", json!({})).await, "changes no records");
    assert_eq!(row("a").await, Some(json!(3)));
}

/// Counts in a row; all callers have read it before the first of them counts.
fn counter(name: &str, callers: usize, file: bool) -> Tool {
    let (all, first) = (Arc::new(Barrier::new(callers)), Arc::new(Count::default()));
    let more = json!({"risk": "write", "allowed_paths": ["data"]});
    let tool = Tool::new(def(name, more), move |ctx, _: Value| {
        let (all, first) = (all.clone(), first.clone());
        async move {
            let seen = ctx.records().get("counts", "n").await?;
            first.add();
            let turn = first.get();
            if usize::try_from(turn).unwrap() <= callers {
                all.wait().await;
            }
            let n = seen.and_then(|n| n.as_i64()).unwrap_or(0) + 1;
            ctx.records().put("counts", "n", json!(n))?;
            if file {
                // Of each another: what is the same as what is there changes nothing.
                let text = format!("{n} in turn {turn}");
                ctx.files().write("data/n", text).await?;
            }
            Ok(json!(n))
        }
    });
    tool.held()
}

#[tokio::test]
async fn who_was_not_first_is_done_again() {
    const CALLERS: usize = 20;
    let hub = place(allow()).await;
    hub.add(counter("a_count", CALLERS, false));
    let calls = (0..CALLERS).map(|_| hub.call("a_count", json!({})));
    let answers = futures_util::future::join_all(calls).await;
    let counts = answers.iter().map(|a| a.result.clone().unwrap());
    let mut counts: Vec<i64> = counts.map(|n| n.as_i64().unwrap()).collect();
    counts.sort_unstable();
    assert_eq!(counts, (1..=20).collect::<Vec<i64>>());
    let row = hub.store.row("counts", "n").await.unwrap();
    assert_eq!(row, Some(json!(20)));
    // Each is on the record once, and the last is taken back by itself.
    let ended = hub.events().await;
    let ended = ended.iter().filter(|event| *event == "run.ended").count();
    assert_eq!(ended, CALLERS);
    let last = answers.iter().find(|a| a.result == Ok(json!(20))).unwrap();
    assert!(hub.undo_run(last).await.is_ok());
    let row = hub.store.row("counts", "n").await.unwrap();
    assert_eq!(row, Some(json!(19)));
}

#[tokio::test]
async fn who_wrote_files_as_well_is_told() {
    let hub = place(allow()).await;
    hub.add(counter("a_count", 2, true));
    let (one, two) = tokio::join!(
        hub.call("a_count", json!({})),
        hub.call("a_count", json!({}))
    );
    let (late, first) = match one.is_ok() {
        true => (two, one),
        false => (one, two),
    };
    assert_eq!(first.result, Ok(json!(1)));
    assert_eq!(late.result.unwrap_err().kind, ErrorKind::Conflict);
    assert!(hub.read("n").unwrap().starts_with("1 in turn"));
}

#[tokio::test]
async fn what_was_before_is_let_go_after_it_was_said() {
    let hub = place(allow()).await;
    let old = hub.call("a_write", json!({"data/old": "1"})).await;
    let pinned = hub.call("a_write", json!({"data/old": "2"})).await;
    let run = pinned.meta.run_id.clone().unwrap();
    assert!(hub.kernel.pin(&ann(), &run, true).await.unwrap());
    hub.clock.turn(1000);
    let new = hub.call("a_write", json!({"data/old": "3"})).await;
    let keeping = Keeping {
        age: Some(Duration::from_secs(500)),
        bytes: None,
    };
    let gone = hub.kernel.collect(keeping).await.unwrap();
    assert_eq!(gone.expired, [old.meta.run_id.clone().unwrap()]);
    assert!(gone.bytes > 0);
    assert!(hub.events().await.contains(&"run.undo_expired".to_owned()));
    refusal(&hub.undo_run(&old).await, "undo expired");
    assert!(hub.undo_run(&new).await.is_ok());
    assert!(hub.undo_run(&pinned).await.is_ok());
    assert_eq!(hub.read("old").as_deref(), Some("1"));
    let again = hub.kernel.collect(keeping).await.unwrap();
    assert_eq!(again.expired, []);
}

#[tokio::test]
async fn links_in_the_state_lead_nowhere() {
    let hub = place(allow()).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let state = elsewhere.path().join("state");
    let precious = elsewhere.path().join("precious");
    fs::create_dir_all(precious.join("folder")).unwrap();
    fs::write(precious.join("folder/file"), "mine").unwrap();
    let stage = hub.root.path().join(".helve/changes/stage");

    // In the place of a stage, and beside the stages: left alone, and the hub starts.
    let run = crate::RunId::fresh();
    std::os::unix::fs::symlink(&precious, stage.join(run.as_str())).unwrap();
    fs::write(stage.join("a file"), "x").unwrap();
    fs::create_dir(stage.join("a folder")).unwrap();
    drop(kept(&hub).await);
    assert!(!stage.join(run.as_str()).is_symlink());
    assert!(stage.join("a file").exists() && stage.join("a folder").exists());

    // In the place of all of them.
    for name in ["stage", "objects", "journal"] {
        let changes = state.join(name);
        fs::create_dir_all(&changes).unwrap();
        std::os::unix::fs::symlink(&precious, changes.join(name)).unwrap();
        let error = Keeper::open(&changes, None).unwrap_err();
        let why = std::error::Error::source(&error).unwrap().to_string();
        assert!(why.contains("no folder"), "{why}");
    }
    assert_eq!(
        fs::read_to_string(precious.join("folder/file")).unwrap(),
        "mine"
    );

    // The state itself may lie behind a link.
    let link = elsewhere.path().join("link");
    fs::create_dir(elsewhere.path().join("real")).unwrap();
    std::os::unix::fs::symlink("real", &link).unwrap();
    let keeper = Keeper::open(&link, None).unwrap();
    let real = elsewhere.path().canonicalize().unwrap().join("real");
    assert_eq!(keeper.folder(), real);
}
