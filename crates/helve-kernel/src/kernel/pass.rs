//! From a call to a decision: resolve, validate, paths, permission, policy.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use helve_core::args::{self, Coerced};
use helve_core::policy::{Decision, Effect};
use serde_json::{Map, Value};

use super::execute::Start;
use super::{Kernel, authorize, paths};
use crate::run::{Run, RunState};
use crate::store::{IdempotencyKey, Opened, Record};
use crate::{
    Answer, At, Call, Ctx, Entry, Meta, Principal, RunId, StoreError, ToolError, Wait, panic_text,
};

/// A call that is sound, with what policy says of it.
#[derive(Clone)]
pub(super) struct Ready {
    pub(super) run: RunId,
    pub(super) entry: Arc<Entry>,
    pub(super) principal: Arc<Principal>,
    pub(super) ctx: Ctx,
    /// The arguments as they were asked, defaults filled in.
    pub(super) args: Map<String, Value>,
    /// The same with every path resolved: what the tool gets.
    pub(super) resolved: Map<String, Value>,
    pub(super) coerced: Vec<Coerced>,
    pub(super) decision: Decision,
    pub(super) key: Option<String>,
    pub(super) created: At,
}

impl Kernel {
    /// Calls a tool. What goes wrong is in the answer.
    pub async fn call(&self, call: Call) -> Answer {
        let begun = Instant::now();
        let mut answer = self.pass(call).await;
        answer.meta.timing_ms = begun.elapsed().as_secs_f64() * 1000.0;
        answer
    }

    async fn pass(&self, call: Call) -> Answer {
        let (tool, principal, wait) = (call.tool.clone(), call.principal.clone(), call.wait);
        // A check that crashes has not passed.
        let ready = std::panic::catch_unwind(AssertUnwindSafe(|| self.ready(call))).unwrap_or_else(
            |panic| {
                let what = panic_text(&*panic);
                Err(ToolError::internal(format!(
                    "a check of the call crashed: {what}"
                )))
            },
        );
        match ready {
            Err(error) => self.refuse(&tool, &principal, error).await,
            Ok(ready) => match ready.decision.effect {
                Effect::Deny => self.deny(ready).await,
                Effect::Ask => self.ask(ready, wait).await,
                Effect::Allow => self.allow(ready, wait).await,
            },
        }
    }

    /// Everything that can be said about a call before it runs.
    fn ready(&self, call: Call) -> Result<Ready, ToolError> {
        if self.inner.closing.is_cancelled() {
            return Err(ToolError::transient(
                "the hub is stopping and takes no more calls",
            ));
        }
        let entry = self.resolve(&call.tool)?;
        authorize::permitted(&call.principal, &entry)?;
        if !entry.enabled {
            let error = ToolError::not_found(format!("`{}` is disabled", entry.def.name));
            return Err(error.with_hint(format!("`helve enable {}` turns it on", entry.def.name)));
        }
        let prepared = args::prepare(&call.args, &entry.def.input_schema, &entry.input)
            .map_err(|e| ToolError::validation(e.to_string()))?;
        let resolved = self.resolve_paths(&entry, &prepared.args)?;
        let decision = self.decide_call(&entry, &call.principal, &prepared.args, &resolved);
        let run = RunId::fresh();
        let ctx = call.ctx.to_builder().run_id(run.as_str());
        Ok(Ready {
            ctx: ctx.principal(call.principal.owner.as_str()).build(),
            run,
            entry,
            principal: call.principal,
            args: prepared.args,
            resolved,
            coerced: prepared.coerced,
            decision,
            key: call.key,
            created: self.now(),
        })
    }

    pub(super) fn resolve_paths(
        &self,
        entry: &Entry,
        args: &Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolError> {
        match entry.has_paths {
            true => paths::resolve(&self.inner.root, &entry.def, args),
            false => Ok(args.clone()),
        }
    }

    /// A call that never became a run leaves an entry nevertheless.
    async fn refuse(&self, tool: &str, principal: &Principal, error: ToolError) -> Answer {
        let shown: String = tool.chars().take(128).collect();
        let record = self
            .entry_of(&principal.owner, "call.refused", &shown)
            .with("type", error.kind.as_str())
            .with("token", principal.token.as_ref().map(|t| t.as_str()));
        let error = match self.inner.store.record(record).await {
            Ok(()) => error,
            Err(e) => not_recorded(&e),
        };
        let tool = self.find(tool).map_or(shown, |e| e.def.name.to_string());
        Answer {
            result: Err(error),
            meta: Meta {
                tool,
                ..Meta::default()
            },
            writes: Vec::new(),
        }
    }

    async fn deny(&self, ready: Ready) -> Answer {
        let reason = &ready.decision.reason;
        let error = ToolError::denied(format!("`{}` is denied: {reason}", ready.entry.def.name))
            .with_hint(match ready.decision.rule {
                Some(rule) => format!("rule {rule} of the policy says so"),
                None => "the default policy says so".to_owned(),
            });
        let mut answer = ready.answer(Err(error), RunState::Denied);
        let mut run = self.run_of(&ready, RunState::Denied);
        run.ended = Some(ready.created);
        run.answer = Some(answer.to_value());
        let record = self.run_record(&ready, "run.denied");
        if let Err(e) = self.inner.store.open_run(run, None, None, record).await {
            answer.result = Err(not_recorded(&e));
        }
        answer
    }

    async fn allow(&self, ready: Ready, wait: Wait) -> Answer {
        if wait != Wait::Nothing {
            return self.begin(ready, Start::Open).await;
        }
        let run = self.run_of(&ready, RunState::Queued);
        let record = self.run_record(&ready, "run.queued");
        let key = ready.idempotency();
        match self.inner.store.open_run(run, None, key, record).await {
            Err(e) => ready.answer(Err(not_recorded(&e)), RunState::Failed),
            Ok(Opened::KeyTaken) => ready.answer(Err(key_taken()), RunState::Failed),
            Ok(Opened::Same(run)) => self.answer_so_far(&run).await,
            Ok(Opened::New) => {
                let answer = ready.answer(Ok(Value::Null), RunState::Queued);
                drop(self.launch(ready, Start::Queued));
                answer
            }
        }
    }

    /// The run as it is kept.
    pub(super) fn run_of(&self, ready: &Ready, state: RunState) -> Run {
        Run {
            id: ready.run.clone(),
            tool: ready.entry.def.name.to_string(),
            version: ready.entry.version.to_string(),
            version_hash: ready.entry.hash,
            owner: ready.principal.owner.clone(),
            under: ready.principal.under.clone(),
            agent: ready.ctx.agent_id().map(str::to_owned),
            state,
            args: Value::Object(self.hidden(ready)),
            created: ready.created,
            started: None,
            ended: None,
            approval: None,
            exit_code: None,
            answer: None,
        }
    }

    /// The arguments as they may be kept: secrets as HMACs.
    pub(super) fn hidden(&self, ready: &Ready) -> Map<String, Value> {
        match ready.entry.has_secrets {
            false => ready.args.clone(),
            true => {
                let schema = &ready.entry.def.input_schema;
                helve_core::secret::hide(schema, &ready.args, &self.inner.secret_key)
            }
        }
    }

    /// Who called what, with what, and why it may: the part that all entries of a run have.
    pub(super) fn run_record(&self, ready: &Ready, event: &'static str) -> Record {
        let def = &ready.entry.def;
        let mut decision = Map::new();
        decision.insert("effect".into(), ready.decision.effect.as_str().into());
        if let Some(rule) = ready.decision.rule {
            decision.insert("rule".into(), rule.into());
        }
        decision.insert("reason".into(), ready.decision.reason.as_str().into());
        self.entry_of(&ready.principal.owner, event, ready.run.as_str())
            .with("tool", def.name.as_str())
            .with("version", ready.entry.version.to_string())
            .with("version_hash", ready.entry.hash.to_string())
            .with("risk", def.risk.map(|r| r.as_str()))
            .with("args", self.hidden(ready))
            .with("agent", ready.ctx.agent_id())
            .with("under", ready.principal.under.as_deref())
            .with("token", ready.principal.token.as_ref().map(|t| t.as_str()))
            .with("decision", decision)
    }
}

impl Ready {
    pub(super) fn answer(&self, result: Result<Value, ToolError>, state: RunState) -> Answer {
        Answer {
            result,
            meta: Meta {
                run_id: Some(self.run.clone()),
                tool: self.entry.def.name.to_string(),
                version: Some(self.entry.version.to_string()),
                state: Some(state),
                coerced: self.coerced.clone(),
                ..Meta::default()
            },
            writes: Vec::new(),
        }
    }

    pub(super) fn idempotency(&self) -> Option<IdempotencyKey> {
        let key = self.key.clone()?;
        let asked = serde_json::json!({"tool": self.entry.def.name.as_str(), "args": self.args});
        let body = helve_core::audit::hash_of(&asked)
            .unwrap_or_else(|_| helve_core::audit::Hash::of(asked.to_string().as_bytes()));
        Some(IdempotencyKey {
            owner: self.principal.owner.clone(),
            key,
            body,
        })
    }
}

pub(super) fn key_taken() -> ToolError {
    ToolError::conflict("the idempotency key was used for another call")
        .with_hint("use a new key for every new call")
}

/// Law three: what cannot be recorded does not run.
pub(super) fn not_recorded(error: &StoreError) -> ToolError {
    ToolError::dependency(format!("not run: the record could not be written: {error}"))
        .with_hint("`helve doctor` tells what is wrong with the store")
}
