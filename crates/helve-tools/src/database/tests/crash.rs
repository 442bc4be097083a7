//! The hub ends in the middle: before the rows are applied, after, and in doubt.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use helve_kernel::{
    Kernel, MemoryStore, Place, RowChange, Rows, RunId, RunState, ToolError, Unapplied,
};
use serde_json::{Value, json};

use super::world::{Engine, Keeper, Rules, World, each};
use crate::database::Databases;

each! {
    a_crash_before_leaves_nothing
    a_crash_after_leaves_all
    a_crash_in_doubt_can_be_undone
    a_lost_answer_is_looked_for
}

const T: &str =
    "CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER); INSERT INTO t VALUES (1, 1), (2, 2)";

/// Where the hub ends, or the answer is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Before,
    After,
    LostBefore,
    LostAfter,
}

/// Keeps rows as the databases do, up to a point.
struct Cut(Arc<Databases>, At);

#[async_trait]
impl Rows for Cut {
    async fn now(&self, places: &[Place]) -> Result<Vec<Option<Value>>, ToolError> {
        self.0.now(places).await
    }

    async fn apply(&self, changes: &[RowChange]) -> Result<(), Unapplied> {
        if matches!(self.1, At::After | At::LostAfter) {
            self.0.apply(changes).await?;
        }
        match self.1 {
            At::Before | At::After => std::future::pending().await,
            At::LostBefore | At::LostAfter => Err(Unapplied::Unsure(ToolError::dependency(
                "the answer was lost",
            ))),
        }
    }
}

async fn cut(engine: Engine, at: At) -> (World, Arc<MemoryStore>) {
    let store = Arc::new(MemoryStore::new());
    let kept = store.clone();
    let world = World::with(engine, Rules::Allow, T, move |_, databases, builder| {
        let cut: Keeper = Arc::new(Cut(databases, at));
        builder.store(kept).rows(Databases::SOURCE, cut)
    })
    .await;
    (world, store)
}

/// Calls, and goes away when the hub is at the commit; then another hub comes up.
async fn crashed(world: &World, store: &Arc<MemoryStore>, meanwhile: &str) -> (Kernel, RunId) {
    let args = json!({"sql": "UPDATE t SET v = v + 10"});
    let call = world.rig.call("database_update", args);
    let waited = tokio::time::timeout(Duration::from_secs(2), call).await;
    assert!(waited.is_err(), "it came to an end");
    world.exec(meanwhile).await;
    let kernel = Kernel::builder()
        .store(store.clone())
        .root(&world.rig.root)
        .rows(Databases::SOURCE, world.databases.clone())
        .open()
        .await
        .unwrap();
    let runs = kernel.store().runs(Default::default(), 9).await.unwrap();
    (kernel, runs[0].id.clone())
}

async fn a_crash_before_leaves_nothing(engine: Engine) {
    let (world, store) = cut(engine, At::Before).await;
    let (kernel, run) = crashed(&world, &store, "SELECT 1").await;
    let run = kernel.run(&run).await.unwrap();
    assert_eq!(run.state, RunState::Failed);
    assert!(
        run.answer
            .unwrap()
            .to_string()
            .contains("nothing was changed")
    );
    assert_eq!(world.all(&["t"]).await, [["1|1", "2|2"]]);
    assert!(
        undo(&kernel, &run.id, &world)
            .await
            .unwrap_err()
            .contains("dropped")
    );
}

async fn a_crash_after_leaves_all(engine: Engine) {
    let (world, store) = cut(engine, At::After).await;
    let (kernel, run) = crashed(&world, &store, "SELECT 1").await;
    assert_eq!(kernel.run(&run).await.unwrap().state, RunState::Succeeded);
    assert_eq!(world.all(&["t"]).await, [["1|11", "2|12"]]);
    undo(&kernel, &run, &world).await.unwrap();
    assert_eq!(world.all(&["t"]).await, [["1|1", "2|2"]]);
}

async fn a_crash_in_doubt_can_be_undone(engine: Engine) {
    let (world, store) = cut(engine, At::After).await;
    let (kernel, run) = crashed(&world, &store, "UPDATE t SET v = 99").await;
    let now = kernel.run(&run).await.unwrap();
    assert_eq!(now.state, RunState::Failed);
    assert!(now.answer.unwrap().to_string().contains("is unknown"));
    assert!(
        undo(&kernel, &run, &world)
            .await
            .unwrap_err()
            .contains("changed since")
    );
    world.exec("UPDATE t SET v = v - 99 + 10 + id").await;
    undo(&kernel, &run, &world).await.unwrap();
    assert_eq!(world.all(&["t"]).await, [["1|1", "2|2"]]);
}

async fn a_lost_answer_is_looked_for(engine: Engine) {
    let (world, _) = cut(engine, At::LostAfter).await;
    let done = world
        .update("UPDATE t SET v = 5 WHERE id = 1", json!([]))
        .await;
    assert!(done.is_ok(), "{done:?}");
    assert_eq!(world.all(&["t"]).await, [["1|5", "2|2"]]);
    let (world, _) = cut(engine, At::LostBefore).await;
    let lost = world
        .update("UPDATE t SET v = 5 WHERE id = 1", json!([]))
        .await;
    assert!(
        lost.text().contains("the answer was lost"),
        "{}",
        lost.text()
    );
    assert_eq!(world.all(&["t"]).await, [["1|1", "2|2"]]);
}

async fn undo(kernel: &Kernel, run: &RunId, world: &World) -> Result<(), String> {
    let call = helve_kernel::UndoCall {
        runs: vec![run.clone()],
        ..Default::default()
    };
    let answer = kernel.undo(&Arc::new(world.rig.me.clone()), call).await;
    answer.result.map(drop).map_err(|e| e.message)
}
