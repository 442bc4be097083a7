//! From a call to a decision: resolve, validate, paths, permission, policy.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt as _;
use helve_core::args::{self, Coerced};
use helve_core::def::{Reversible, Risk};
use helve_core::policy::{Decision, Effect};
use serde_json::{Map, Value};

use super::execute::Start;
use super::waiting::Asker;
use super::{Kernel, authorize, paths};
use crate::registry::{Behind, Held};
use crate::run::{Run, RunState};
use crate::store::{IdempotencyKey, Opened, Record};
use crate::{
    Answer, At, Call, Change, Ctx, Entry, Meta, Principal, RunId, StoreError, TokenId, ToolError,
    Wait, panic_text,
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
    /// The same with every path resolved, where there is one: what the tool gets.
    pub(super) resolved: Option<Map<String, Value>>,
    /// The same as they may be kept, where that is not all: secrets as HMACs.
    pub(super) hidden: Option<Map<String, Value>>,
    pub(super) coerced: Vec<Coerced>,
    pub(super) decision: Decision,
    pub(super) key: Option<String>,
    pub(super) wait: Wait,
    pub(super) created: At,
    pub(super) dry_run: bool,
    /// The tool that led here.
    pub(super) through: Option<String>,
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
        let (tool, principal) = (call.tool.clone(), call.principal.clone());
        let leads = self
            .find(&tool)
            .is_some_and(|e| matches!(e.behind, Behind::Tools(_)));
        let call = match leads {
            false => call,
            true => match Box::pin(self.led(call)).await {
                Ok(call) => call,
                Err(error) => return Box::pin(self.refuse(&tool, &principal, error)).await,
            },
        };
        // A check that crashes has not passed.
        let ready = std::panic::catch_unwind(AssertUnwindSafe(|| self.ready(call))).unwrap_or_else(
            |panic| {
                let what = panic_text(&*panic);
                Err(ToolError::internal(format!(
                    "a check of the call crashed: {what}"
                )))
            },
        );
        // What is rare is apart: it would make the future of every call larger.
        match ready {
            Err(error) => Box::pin(self.refuse(&tool, &principal, error)).await,
            Ok(ready) => match ready.decision.effect {
                Effect::Allow => self.allow(ready).await,
                Effect::Deny => Box::pin(self.deny(ready)).await,
                Effect::Ask if ready.dry_run => Box::pin(self.allow(ready)).await,
                Effect::Ask if self.shows_first(&ready.entry) => Box::pin(self.show(ready)).await,
                Effect::Ask => Box::pin(self.ask(ready)).await,
            },
        }
    }

    /// Everything that can be said about a call before it runs.
    pub(super) fn ready(&self, call: Call) -> Result<Ready, ToolError> {
        if self.inner.closing.is_cancelled() {
            return Err(ToolError::transient(
                "the hub is stopping and takes no more calls",
            ));
        }
        self.counts(&call.principal)?;
        let entry = self.callable(&call.principal, &call.tool)?;
        if call.dry_run
            && let Err(why) = self.holds(&entry)
        {
            let name = &entry.def.name;
            let problem = format!("`{name}` cannot be tried without effect: {why}");
            return Err(ToolError::validation(problem)
                .with_hint("call it without `--dry-run`; `helve policy explain` tells whether somebody is asked"));
        }
        let prepared = args::prepare(&call.args, &entry.def.input_schema, &entry.input)
            .map_err(|e| ToolError::validation(e.to_string()))?;
        let resolved = self.resolve_paths(&entry, &prepared.args)?;
        let decision = self.decide_call(&entry, &call.principal, &prepared.args, resolved.as_ref());
        let run = call.run.unwrap_or_else(RunId::fresh);
        let ctx = call.ctx.to_builder().run_id(run.as_str());
        let ctx = ctx.who(call.principal.clone());
        Ok(Ready {
            ctx: ctx.principal(call.principal.owner.as_str()).build(),
            hidden: self.hide(&entry, &prepared.args),
            run,
            entry,
            principal: call.principal,
            args: prepared.args,
            resolved,
            coerced: prepared.coerced,
            decision,
            key: call.key,
            wait: call.wait,
            created: self.now(),
            dry_run: call.dry_run,
            through: call.through,
        })
    }

    /// The call that a call of a tool that leads to others comes to.
    async fn led(&self, mut call: Call) -> Result<Call, ToolError> {
        self.counts(&call.principal)?;
        let entry = self.callable(&call.principal, &call.tool)?;
        let Behind::Tools(leads) = &entry.behind else {
            return Ok(call);
        };
        let prepared = args::prepare(&call.args, &entry.def.input_schema, &entry.input)
            .map_err(|e| ToolError::validation(e.to_string()))?;
        let leading = leads(self.clone(), call.principal.clone(), prepared.args);
        let led = AssertUnwindSafe(leading).catch_unwind().await;
        (call.tool, call.args) = led.unwrap_or_else(|panic| {
            let what = panic_text(&*panic);
            Err(ToolError::internal(format!("it led nowhere: {what}")))
        })?;
        let (from, to) = (&entry.def.name, &call.tool);
        if self
            .find(to)
            .is_some_and(|e| matches!(e.behind, Behind::Tools(_)))
        {
            let problem = format!("`{from}` does not lead to `{to}`, which leads on");
            return Err(ToolError::validation(problem).with_hint(format!("call `{to}` itself")));
        }
        call.through = Some(from.to_string());
        Ok(call)
    }

    /// The tool of a call, if its caller may call it.
    pub(super) fn callable(&self, who: &Principal, tool: &str) -> Result<Arc<Entry>, ToolError> {
        let entry = self.resolve_for(who, tool)?;
        authorize::permitted(who, &entry)?;
        if entry.enabled {
            return Ok(entry);
        }
        let name = &entry.def.name;
        let error = ToolError::not_found(format!("`{name}` is disabled"));
        Err(error.with_hint(format!("`helve enable {name}` turns it on")))
    }

    /// The arguments with their paths resolved, where the schema marks any.
    pub(super) fn resolve_paths(
        &self,
        entry: &Entry,
        args: &Map<String, Value>,
    ) -> Result<Option<Map<String, Value>>, ToolError> {
        // Where all goes through the view, what is not for tools is left out there.
        let folders = match entry.behind {
            Behind::Handler(_, Held::Yes) => paths::Folders::Any,
            _ => paths::Folders::WithoutState,
        };
        if entry.paths.is_empty() {
            return Ok(None);
        }
        let (root, marks) = (&self.inner.root, &entry.paths);
        paths::resolve(root, &entry.def, marks, args, folders).map(Some)
    }

    /// The arguments with their secrets as HMACs, where the schema marks any.
    pub(super) fn hide(
        &self,
        entry: &Entry,
        args: &Map<String, Value>,
    ) -> Option<Map<String, Value>> {
        let schema = &entry.def.input_schema;
        let hide = || helve_core::secret::hide(schema, args, &self.inner.secret_key);
        entry.has_secrets.then(hide)
    }

    /// A call that never became a run leaves an entry nevertheless.
    pub(super) async fn refuse(
        &self,
        tool: &str,
        principal: &Principal,
        error: ToolError,
    ) -> Answer {
        let shown: String = tool.chars().take(128).collect();
        let record = self
            .entry_of(&principal.owner, "call.refused", &shown)
            .with("type", error.kind.as_str())
            .with("token", principal.token.as_ref().map(TokenId::as_str));
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
        let answer = ready.answer(Err(error), RunState::Denied);
        let mut run = self.run_of(&ready, RunState::Denied);
        run.ended = Some(ready.created);
        run.answer = Some(answer.to_kept());
        let record = self.run_record(&ready, "run.denied");
        if let Err(e) = self.inner.store.open_run(run, None, None, record).await {
            return self.unopened(&ready, not_recorded(&e));
        }
        self.told(Change::Run(ready.run));
        answer
    }

    /// Whether what a tool does is held back until it is committed; why not.
    pub(super) fn holds(&self, entry: &Entry) -> Result<(), String> {
        if entry.def.risk == Some(Risk::Read) {
            return Ok(());
        }
        if self.inner.keeper.is_none() {
            return Err("this hub does not keep changes".to_owned());
        }
        match &entry.def.reversible {
            Reversible::Yes => {}
            Reversible::No => return Err("it cannot be undone".to_owned()),
            Reversible::Compensate(tool) => {
                return Err(format!("it is undone by another tool, `{tool}`"));
            }
        }
        match &entry.behind {
            Behind::Handler(_, Held::Yes) => Ok(()),
            Behind::Handler(_, Held::No) => Err("it may do more than change files".to_owned()),
            Behind::Executor(_) => {
                let executor = self.executor_of(entry).map_err(|e| e.message)?;
                executor.holds(&entry.def)
            }
            Behind::Tools(_) => Err("it leads to other tools".to_owned()),
            Behind::Nothing => Err("it has no executor".to_owned()),
        }
    }

    /// Whether a tool that did not come to its end has certainly changed nothing.
    pub(super) fn is_held(&self, entry: &Entry) -> bool {
        entry.def.risk != Some(Risk::Read) && self.holds(entry).is_ok()
    }

    /// Whether people decide about the effect of a tool, and not about the intent.
    pub(super) fn shows_first(&self, entry: &Entry) -> bool {
        let writes = matches!(entry.def.risk, Some(Risk::Write) | None);
        writes && self.holds(entry).is_ok()
    }

    /// Runs a tool up to what it would change, about which people decide then.
    async fn show(&self, ready: Ready) -> Answer {
        let (run, wait) = (ready.run.clone(), ready.wait);
        let asker = (wait == Wait::Decision).then(|| Asker::new(self, &run));
        let answer = self.allow(ready).await;
        match asker {
            Some(asker) if super::commit::waits_on(&answer, wait) => asker.answer().await,
            _ => answer,
        }
    }

    async fn allow(&self, ready: Ready) -> Answer {
        match ready.wait {
            Wait::Nothing => Box::pin(self.allow_later(ready)).await,
            _ => self.begin(ready, Start::Open).await,
        }
    }

    async fn allow_later(&self, ready: Ready) -> Answer {
        let (kernel, queued) = (self.clone(), ready.clone());
        let opened = self.through(async move { kernel.queue(queued).await });
        match opened.await {
            Err(error) => self.unopened(&ready, error),
            Ok(Opened::KeyTaken) => self.key_taken(&ready).await,
            Ok(Opened::Same(run)) => self.answer_so_far(&run).await,
            Ok(Opened::New) => ready.answer(Ok(Value::Null), RunState::Queued),
        }
    }

    async fn queue(&self, ready: Ready) -> Result<Opened, ToolError> {
        let run = self.run_of(&ready, RunState::Queued);
        let record = self.run_record(&ready, "run.queued");
        let key = ready.idempotency();
        let opened = self.inner.store.open_run(run, None, key, record).await;
        let opened = opened.map_err(|e| not_recorded(&e))?;
        if opened == Opened::New {
            self.launch(ready, Start::Queued);
        }
        Ok(opened)
    }

    /// A call that could not become a run, because it could not be recorded.
    pub(super) fn unopened(&self, ready: &Ready, error: ToolError) -> Answer {
        let mut answer = ready.answer(Err(error), RunState::Failed);
        answer.meta.run_id = None;
        answer.meta.state = None;
        answer
    }

    pub(super) async fn key_taken(&self, ready: &Ready) -> Answer {
        let tool = ready.entry.def.name.as_str();
        self.refuse(tool, &ready.principal, key_taken()).await
    }

    /// The run as it is kept.
    pub(super) fn run_of(&self, ready: &Ready, state: RunState) -> Run {
        Run {
            id: ready.run.clone(),
            tool: ready.entry.def.name.to_string(),
            version: ready.entry.numbered.clone(),
            version_hash: ready.entry.hash,
            owner: ready.principal.owner.clone(),
            under: ready.principal.under.clone(),
            agent: ready.ctx.agent_id().map(str::to_owned),
            state,
            args: Value::Object(ready.kept().clone()),
            created: ready.created,
            started: None,
            ended: None,
            approval: None,
            exit_code: None,
            answer: None,
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
            .with("version", ready.entry.numbered.clone())
            .with("version_hash", ready.entry.hash.to_string())
            .with("risk", def.risk.map(Risk::as_str))
            .with("args", ready.kept().clone())
            .with("agent", ready.ctx.agent_id())
            .with("under", ready.principal.under.as_deref())
            .with("token", ready.principal.token.as_ref().map(TokenId::as_str))
            .with("through", ready.through.as_deref())
            .with("decision", decision)
    }
}

impl Ready {
    /// The arguments that the tool gets.
    pub(super) fn given(&self) -> &Map<String, Value> {
        self.resolved.as_ref().unwrap_or(&self.args)
    }

    /// The arguments as they may be kept.
    pub(super) fn kept(&self) -> &Map<String, Value> {
        self.hidden.as_ref().unwrap_or(&self.args)
    }

    pub(super) fn answer(&self, result: Result<Value, ToolError>, state: RunState) -> Answer {
        Answer {
            result,
            meta: Meta {
                run_id: Some(self.run.clone()),
                tool: self.entry.def.name.to_string(),
                version: Some(self.entry.numbered.clone()),
                state: Some(state),
                coerced: self.coerced.clone(),
                ..Meta::default()
            },
            writes: Vec::new(),
        }
    }

    pub(super) fn idempotency(&self) -> Option<IdempotencyKey> {
        let key = self.key.clone()?;
        // The hash is kept: of a secret, only its HMAC goes into it.
        let asked = serde_json::json!({
            "tool": self.entry.def.name.as_str(),
            "args": self.kept(),
            "agent": self.ctx.agent_id(),
            "context": self.ctx.keys(),
            "dry_run": self.dry_run,
        });
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
