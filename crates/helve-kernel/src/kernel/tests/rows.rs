//! Rows that are kept elsewhere: one transaction of somebody else's, between the intent and
//! the outcome.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};

use super::harness::*;
use crate::kernel::{Builder, Kernel, lock};
use crate::{
    Answer, ChangesState, Keeper, Place, RowChange, Rows, RunState, Store as _, Tool, ToolError,
    Unapplied, UndoCall,
};

/// What goes wrong elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Fault {
    #[default]
    None,
    /// It is applied, and the hub ends before it hears of it.
    Crash,
    /// It is applied, and the answer is lost.
    Lost,
    /// The same, and then nobody can be reached.
    ThenGone,
    /// Nobody can be reached.
    Gone,
}

/// Rows in a map.
#[derive(Default)]
struct Elsewhere {
    rows: Mutex<BTreeMap<String, Value>>,
    fault: Mutex<Fault>,
}

impl Elsewhere {
    fn put(&self, key: &str, value: Value) {
        lock(&self.rows).insert(format!("@far:one:t/{key}"), value);
    }

    fn get(&self, key: &str) -> Option<Value> {
        lock(&self.rows).get(&format!("@far:one:t/{key}")).cloned()
    }
}

fn at(place: &Place) -> String {
    format!("{}/{}", place.collection, place.key)
}

#[async_trait]
impl Rows for Elsewhere {
    async fn now(&self, places: &[Place]) -> Result<Vec<Option<Value>>, ToolError> {
        if *lock(&self.fault) == Fault::Gone {
            return Err(ToolError::dependency("nobody is there"));
        }
        let rows = lock(&self.rows);
        Ok(places
            .iter()
            .map(|place| rows.get(&at(place)).cloned())
            .collect())
    }

    async fn apply(&self, changes: &[RowChange]) -> Result<(), Unapplied> {
        {
            let mut rows = lock(&self.rows);
            let same = |c: &RowChange| rows.get(&at(&c.place())) == c.before.as_ref();
            if !changes.iter().all(same) {
                return Err(Unapplied::Refused(ToolError::conflict("not as before")));
            }
            for change in changes {
                match &change.after {
                    Some(value) => rows.insert(at(&change.place()), value.clone()),
                    None => rows.remove(&at(&change.place())),
                };
            }
        }
        let fault = *lock(&self.fault);
        match fault {
            Fault::None => Ok(()),
            Fault::Crash => std::future::pending().await,
            Fault::Lost => Err(Unapplied::Unsure(ToolError::dependency("no answer"))),
            Fault::ThenGone | Fault::Gone => {
                *lock(&self.fault) = Fault::Gone;
                Err(Unapplied::Unsure(ToolError::dependency("no answer")))
            }
        }
    }
}

struct Far {
    hub: Hub,
    elsewhere: Arc<Elsewhere>,
}

impl Far {
    async fn new(policy: Value) -> Self {
        let elsewhere = Arc::new(Elsewhere::default());
        let hub = Hub::with(|b| b.policy(rules(policy))).await;
        std::fs::create_dir(hub.root.path().join("data")).unwrap();
        let kernel = Self::open(&hub, |b| b.rows("far", elsewhere.clone())).await;
        kernel.add_tools([set(), look()]).unwrap();
        let hub = Hub { kernel, ..hub };
        Self { hub, elsewhere }
    }

    async fn open(hub: &Hub, more: impl FnOnce(Builder) -> Builder) -> Kernel {
        let policy = (*hub.kernel.policy()).clone();
        let keeper = Keeper::open(&hub.root.path().join(".helve/changes"), None).unwrap();
        hub.restarted(|b| more(b.policy(policy).keeper(Arc::new(keeper))))
            .await
    }

    async fn undo(&self, done: &Answer) -> Answer {
        let call = UndoCall {
            runs: vec![done.meta.run_id.clone().unwrap()],
            ..UndoCall::default()
        };
        self.hub.kernel.undo(&Arc::new(ann()), call).await
    }

    async fn state(&self, of: &Answer) -> ChangesState {
        let run = of.meta.run_id.as_ref().unwrap();
        self.hub.store.changes(run).await.unwrap().unwrap().state
    }
}

/// `a_set` takes rows as `[collection, key, before, after]`, and writes a file if it is told to.
fn set() -> Tool {
    let more = json!({"risk": "write", "allowed_paths": ["data"]});
    let tool = Tool::new(def("a_set", more), |ctx, args: Value| async move {
        for row in args["rows"].as_array().unwrap() {
            let side = |n: usize| (!row[n].is_null()).then(|| row[n].clone());
            ctx.records().foreign(RowChange {
                collection: row[0].as_str().unwrap().to_owned(),
                key: row[1].as_str().unwrap().to_owned(),
                before: side(2),
                after: side(3),
            })?;
        }
        if args["file"] == true {
            ctx.files().write("data/x", "x").await?;
        }
        Ok(json!("set"))
    });
    tool.held()
}

/// `a_look` only looks, and should not say that it changes something.
fn look() -> Tool {
    Tool::new(def("a_look", json!({})), |ctx, _: Value| async move {
        ctx.records().foreign(RowChange {
            collection: "@far:one:t".to_owned(),
            key: "k".to_owned(),
            before: None,
            after: Some(json!(1)),
        })?;
        Ok(json!(null))
    })
}

fn allow() -> Value {
    json!([{"effect": "allow", "tool": "*"}])
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "a test writes `json!(…)` where it needs one"
)]
fn one(before: Value, after: Value) -> Value {
    json!({"rows": [["@far:one:t", "k", before, after]]})
}

#[track_caller]
fn refusal(answer: &Answer, says: &str) {
    let error = answer.result.as_ref().unwrap_err();
    assert!(error.message.contains(says), "{error}");
}

#[tokio::test]
async fn they_are_applied_between_intent_and_outcome() {
    let far = Far::new(allow()).await;
    far.elsewhere.put("k", json!(1));
    let done = far.hub.call("a_set", one(json!(1), json!(2))).await;
    assert_eq!(done.result, Ok(json!("set")));
    assert_eq!(far.elsewhere.get("k"), Some(json!(2)));
    let events = far.hub.events().await;
    assert_eq!(events, ["run.started", "run.committing", "run.ended"]);
    assert_eq!(far.hub.store.row("@far:one:t", "k").await.unwrap(), None);
    let past = far.hub.kernel.past(None, None, 9).await.unwrap();
    assert_eq!(past[0].touched.path, b"far:one:t/k");
    let undone = far.undo(&done).await;
    assert!(undone.is_ok(), "{undone:?}");
    assert_eq!(far.elsewhere.get("k"), Some(json!(1)));
    assert!(far.undo(&undone).await.is_ok());
    assert_eq!(far.elsewhere.get("k"), Some(json!(2)));
    // What is as it was is no change.
    let same = far.hub.call("a_set", one(json!(2), json!(2))).await;
    assert!(same.is_ok() && same.meta.changes.is_none());
}

#[tokio::test]
async fn they_wait_for_people() {
    let far = Far::new(json!([])).await;
    let mut staged = Vec::new();
    for after in [2, 3] {
        let answer = far.hub.call("a_set", one(json!(null), json!(after))).await;
        assert_eq!(answer.meta.state, Some(RunState::Staged), "{answer:?}");
        staged.push(answer);
    }
    assert_eq!(far.elsewhere.get("k"), None);
    let mut ends = Vec::new();
    for answer in &staged {
        let id = answer.meta.approval.clone().unwrap();
        let approval = far.hub.kernel.approval(&id).await.unwrap();
        far.hub.approve(&bob(), &approval).await.unwrap();
        ends.push(far.hub.end_of(&approval).await.state);
    }
    // Both saw the same; only the first takes effect.
    assert_eq!(ends, [RunState::Succeeded, RunState::Failed]);
    assert_eq!(far.elsewhere.get("k"), Some(json!(2)));
    assert_eq!(far.state(&staged[1]).await, ChangesState::Dropped);
}

#[tokio::test]
async fn one_commit_is_in_one_place() {
    let far = Far::new(allow()).await;
    let row = |collection: &str| json!([collection, "k", null, 1]);
    let two = json!({"rows": [row("@far:one:t"), row("@far:two:t")]});
    refusal(
        &far.hub.call("a_set", two).await,
        "`far:one` and `far:two` cannot be changed as one",
    );
    let file = json!({"rows": [row("@far:one:t")], "file": true});
    refusal(
        &far.hub.call("a_set", file).await,
        "`far:one` and files cannot be changed as one",
    );
    assert_eq!(far.elsewhere.get("k"), None);
    assert!(!far.hub.root.path().join("data/x").exists());
    let nobody = json!({"rows": [row("@near:one:t")]});
    refusal(
        &far.hub.call("a_set", nobody).await,
        "nobody who keeps the rows of `near`",
    );
    for name in ["plain", "@far", "@far:one"] {
        let odd = json!({"rows": [row(name)]});
        refusal(
            &far.hub.call("a_set", odd).await,
            "is no collection kept elsewhere",
        );
    }
    refusal(
        &far.hub.call("a_look", json!({})).await,
        "changes no records",
    );

    // Nor are they undone as one.
    let rows = far.hub.call("a_set", one(json!(null), json!(1))).await;
    let file = far
        .hub
        .call("a_set", json!({"rows": [], "file": true}))
        .await;
    let both = UndoCall {
        runs: [&rows, &file]
            .map(|a| a.meta.run_id.clone().unwrap())
            .to_vec(),
        ..UndoCall::default()
    };
    let both = far.hub.kernel.undo(&Arc::new(ann()), both).await;
    refusal(&both, "cannot be changed as one");
    assert!(far.hub.root.path().join("data/x").exists());
    assert!(far.undo(&rows).await.is_ok() && far.undo(&file).await.is_ok());
}

#[tokio::test]
async fn records_of_the_hub_are_not_kept_elsewhere() {
    let far = Far::new(allow()).await;
    let more = json!({"risk": "write"});
    let put = Tool::new(def("a_put", more), |ctx, args: Value| async move {
        let records = ctx.records();
        match args["how"].as_str() {
            Some("put") => records.put("@far:one:t", "k", json!(1))?,
            Some("remove") => records.remove("@far:one:t", "k")?,
            Some("list") => drop(records.list("@far:one:t", None, 1).await?),
            _ => drop(records.get("@far:one:t", "k").await?),
        }
        Ok(json!(null))
    });
    far.hub.add(put.held());
    for how in ["put", "remove", "list", "get"] {
        let answer = far.hub.call("a_put", json!({"how": how})).await;
        refusal(&answer, "is not kept in this hub");
    }
}

#[tokio::test]
async fn a_lost_answer_is_told_by_the_rows() {
    let far = Far::new(allow()).await;
    *lock(&far.elsewhere.fault) = Fault::Lost;
    let done = far.hub.call("a_set", one(json!(null), json!(1))).await;
    assert!(done.is_ok(), "{done:?}");
    assert_eq!(far.state(&done).await, ChangesState::Committed);

    // Nobody can tell: it counts as applied, and an undo looks.
    *lock(&far.elsewhere.fault) = Fault::ThenGone;
    let doubt = far.hub.call("a_set", one(json!(1), json!(2))).await;
    refusal(&doubt, "no answer");
    let hint = doubt.result.as_ref().unwrap_err().hint.clone().unwrap();
    assert!(hint.contains("is unknown"), "{hint}");
    assert_eq!(doubt.meta.state, Some(RunState::Failed));
    assert_eq!(far.state(&doubt).await, ChangesState::Committed);
    *lock(&far.elsewhere.fault) = Fault::None;
    assert!(far.undo(&doubt).await.is_ok());
    assert_eq!(far.elsewhere.get("k"), Some(json!(1)));

    // Where nobody can be reached before, nothing is begun.
    *lock(&far.elsewhere.fault) = Fault::Gone;
    refusal(
        &far.hub.call("a_set", one(json!(1), json!(2))).await,
        "nobody is there",
    );
    assert_eq!(far.elsewhere.get("k"), Some(json!(1)));
}

#[tokio::test]
async fn a_crash_is_settled_by_looking() {
    for (meanwhile, reachable, state, changes) in [
        (json!(2), true, RunState::Succeeded, ChangesState::Committed),
        (json!(1), true, RunState::Failed, ChangesState::Dropped),
        (json!(7), true, RunState::Failed, ChangesState::Committed),
        (json!(2), false, RunState::Failed, ChangesState::Committed),
    ] {
        let far = Far::new(allow()).await;
        far.elsewhere.put("k", json!(1));
        *lock(&far.elsewhere.fault) = Fault::Crash;
        let call = far.hub.call("a_set", one(json!(1), json!(2)));
        let limit = std::time::Duration::from_millis(500);
        assert!(tokio::time::timeout(limit, call).await.is_err());
        far.elsewhere.put("k", meanwhile.clone());
        *lock(&far.elsewhere.fault) = match reachable {
            true => Fault::None,
            false => Fault::Gone,
        };
        let kernel = Far::open(&far.hub, |b| b.rows("far", far.elsewhere.clone())).await;
        let run = far
            .hub
            .store
            .runs(Default::default(), 9)
            .await
            .unwrap()
            .remove(0);
        assert_eq!(run.state, state, "{meanwhile}");
        let kept = far.hub.store.changes(&run.id).await.unwrap().unwrap();
        assert_eq!(kept.state, changes, "{meanwhile}");
        assert!(far.hub.events().await.contains(&"run.recovered".to_owned()));
        *lock(&far.elsewhere.fault) = Fault::None;
        // Where it is not known, an undo makes sure.
        far.elsewhere.put("k", json!(1));
        let call = UndoCall {
            runs: vec![run.id.clone()],
            ..UndoCall::default()
        };
        let undone = kernel.undo(&Arc::new(ann()), call).await;
        assert_eq!(
            undone.is_ok(),
            changes == ChangesState::Committed,
            "{undone:?}"
        );
        assert_eq!(far.elsewhere.get("k"), Some(json!(1)));
    }
}
