//! Schedules on a hub with a clock that is turned by hand.

mod tools;
mod when;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use helve_core::def::Risk;
use helve_core::policy::Policy;
use helve_kernel::{
    At, Builder, Clock, Ctx, DefineTool, Kernel, MemoryStore, NewToken, Permission, Principal,
    PrincipalKind, Store, ToolError, tool,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::ticker::{Settings, Ticker};
use crate::testing::Rig;

/// Thursday, 2026-01-01T00:00:00Z.
const START: i64 = 1_767_225_600_000;

/// A clock that is turned by hand.
struct Hand(AtomicI64);

impl Clock for Hand {
    fn now(&self) -> At {
        At(self.0.load(Ordering::SeqCst))
    }
}

/// What tools did, and what lets them go on.
struct Probe {
    hits: Mutex<Vec<String>>,
    gate: Semaphore,
}

/// Notes a word.
#[tool(group = "probe", risk = "exec_low")]
async fn hit(ctx: &Ctx, word: String) -> Result<Value, ToolError> {
    let by = ctx.principal().unwrap_or_default();
    let probe = ctx.service::<Probe>()?;
    probe.hits.lock().unwrap().push(format!("{word} by {by}"));
    Ok(json!({}))
}

/// Notes a word once it is let go on.
#[tool(group = "probe", risk = "exec_low")]
async fn slow(ctx: &Ctx, word: String) -> Result<Value, ToolError> {
    let probe = ctx.service::<Probe>()?;
    probe.gate.acquire().await.unwrap().forget();
    probe.hits.lock().unwrap().push(word);
    Ok(json!({}))
}

/// Takes a secret.
#[tool(group = "probe", risk = "exec_low")]
#[expect(clippy::unused_async, reason = "every tool is")]
async fn login(#[secret] password: String) -> Result<Value, ToolError> {
    drop(password);
    Ok(json!({}))
}

/// A hub with schedules, todos and probes.
pub(super) struct Hub {
    pub(super) rig: Rig,
    clock: Arc<Hand>,
    probe: Arc<Probe>,
    pub(super) store: Arc<dyn Store>,
    pub(super) ticker: Ticker,
}

impl Hub {
    pub(super) async fn new() -> Self {
        Self::with(json!([{"effect": "allow", "tool": "*"}])).await
    }

    async fn with(rules: Value) -> Self {
        let clock = Arc::new(Hand(AtomicI64::new(START)));
        let mut hub = Self::over(Arc::new(MemoryStore::new()), clock, &rules).await;
        hub.rig.me = hub.person("ann").await;
        hub
    }

    async fn over(store: Arc<dyn Store>, clock: Arc<Hand>, rules: &Value) -> Self {
        let probe = Arc::new(Probe {
            hits: Mutex::default(),
            gate: Semaphore::new(0),
        });
        let more = |_: &std::path::Path, builder: Builder| {
            builder
                .store(store.clone())
                .clock(clock.clone())
                .policy(Policy::from_value(rules).unwrap())
                .service(probe.clone())
        };
        let rig = Rig::with(super::toolset().unwrap(), more).await;
        rig.kernel
            .add_toolset(crate::todo::toolset().unwrap())
            .unwrap();
        let tools = [
            <hit as DefineTool>::tool(),
            <slow as DefineTool>::tool(),
            <login as DefineTool>::tool(),
        ];
        rig.kernel.add_tools(tools).unwrap();
        let ticker = Ticker::new(rig.kernel.clone(), Settings::default());
        Self {
            rig,
            clock,
            probe,
            store,
            ticker,
        }
    }

    /// The same after it went down and came up again, with nothing but what is kept.
    async fn restarted(&self) -> Self {
        let rules = json!([{"effect": "allow", "tool": "*"}]);
        let mut hub = Self::over(self.store.clone(), self.clock.clone(), &rules).await;
        hub.rig.me = self.rig.me.clone();
        hub
    }

    pub(super) fn kernel(&self) -> &Kernel {
        &self.rig.kernel
    }

    /// Somebody with a token that may do everything.
    async fn person(&self, owner: &str) -> Principal {
        let new = NewToken {
            kind: PrincipalKind::Person,
            owner: owner.to_owned(),
            permissions: Permission::ALL.to_vec(),
            ..NewToken::agent(owner)
        };
        let hub = Principal::person("hub");
        let (_, secret) = self.kernel().create_token(&hub, new).await.unwrap();
        let who = self.kernel().authenticate(secret.reveal());
        Principal::clone(&who.unwrap())
    }

    /// An agent under somebody, who reaches these tools.
    async fn agent(&self, under: &Principal, scopes: &[&str]) -> Principal {
        let new = NewToken {
            scopes: scopes.iter().map(|&s| s.to_owned()).collect(),
            max_risk: Risk::Write,
            ..NewToken::agent("bot")
        };
        let (_, secret) = self.kernel().create_token(under, new).await.unwrap();
        let who = self.kernel().authenticate(secret.reveal());
        Principal::clone(&who.unwrap())
    }

    /// Schedules a call of `probe_hit`; the id.
    pub(super) async fn every(&self, seconds: u64, more: Value) -> String {
        let mut args = json!({
            "name": "Often", "tool": "probe_hit", "arguments": {"word": "hit"},
            "trigger_type": "interval", "trigger_config": {"interval_seconds": seconds},
        });
        for (key, value) in more.as_object().unwrap() {
            args[key] = value.clone();
        }
        let made = self.rig.data("schedule_task", args).await;
        made["id"].as_str().unwrap().to_owned()
    }

    pub(super) fn turn(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds * 1000, Ordering::SeqCst);
    }

    /// That much later, a step, and the end of what it began. When something is due next, in
    /// seconds from the start.
    pub(super) async fn step(&self, seconds: i64) -> Option<i64> {
        let next = self.look(seconds).await;
        self.ticker.settled().await;
        next
    }

    /// The same without waiting for what it began.
    async fn look(&self, seconds: i64) -> Option<i64> {
        self.turn(seconds);
        let next = self.ticker.step(self.kernel().now()).await.unwrap();
        next.map(|at| (at.0 - START) / 1000)
    }

    pub(super) fn hits(&self) -> Vec<String> {
        std::mem::take(&mut *self.probe.hits.lock().unwrap())
    }

    /// When it was due in seconds from the start, and what came of it; the oldest first.
    pub(super) async fn past(&self, id: &str) -> Vec<(i64, String)> {
        let told = self
            .rig
            .data("schedule_executions", json!({"task_id": id, "limit": 200}))
            .await;
        let told = told["executions"].as_array().unwrap().iter().rev();
        let word = |e: &Value| match e["missed"] == true {
            true => format!("missed {}", e["state"].as_str().unwrap()),
            false => e["state"].as_str().unwrap().to_owned(),
        };
        let due = |e: &Value| (At::parse(e["due"].as_str().unwrap()).unwrap().0 - START) / 1000;
        told.map(|e| (due(e), word(e))).collect()
    }

    /// Why the last one did not go well.
    async fn why(&self, id: &str) -> String {
        let told = self
            .rig
            .data("schedule_executions", json!({"task_id": id, "limit": 1}))
            .await;
        told["executions"][0]["error"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// What is on the record of a schedule.
    async fn events(&self, id: &str) -> Vec<String> {
        let filter = helve_kernel::store::AuditFilter {
            resource: Some(id.to_owned()),
            ..Default::default()
        };
        let entries = self.store.audit(filter, 1000).await.unwrap();
        let event = |e: &helve_core::audit::Entry| e.record["event"].as_str().unwrap().to_owned();
        entries.iter().map(event).collect()
    }
}

fn ok(due: &[i64]) -> Vec<(i64, String)> {
    due.iter()
        .map(|due| (*due, "succeeded".to_owned()))
        .collect()
}
