//! Calls that a script makes of other tools of the hub, while it is called itself.
//!
//! Each is a call like any other, by whoever called the script: policy, approval and record
//! are the same.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use helve_core::def::Risk;
use helve_kernel::{
    Answer, Call, Kernel, Permit, Principal, RunId, RunState, ToolError, WeakKernel, error_value,
};
use serde_json::{Value, json};

use super::wire::Asked;

/// How deep calls may go.
const DEEPEST: u32 = 8;

/// How many a script may have open.
const MOST: usize = 64;

/// The hub as scripts see it.
#[derive(Default)]
pub(crate) struct Hub {
    kernel: Mutex<Option<WeakKernel>>,
    /// How deep in calls of each other the runs are that scripts began.
    depths: Mutex<HashMap<RunId, u32>>,
}

impl Hub {
    pub(crate) fn connect(&self, kernel: &Kernel) {
        let mut known = self.kernel.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some(kernel.downgrade());
    }

    fn kernel(&self) -> Option<Kernel> {
        let kernel = self.kernel.lock().unwrap_or_else(PoisonError::into_inner);
        kernel.as_ref().and_then(WeakKernel::upgrade)
    }

    /// How deep a run is; what no script began is at the surface.
    pub(crate) fn depth(&self, run: &RunId) -> u32 {
        self.depths().get(run).copied().unwrap_or(0)
    }

    fn depths(&self) -> std::sync::MutexGuard<'_, HashMap<RunId, u32>> {
        self.depths.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The calls of one run.
pub(crate) struct Asks<'a> {
    hub: &'a Arc<Hub>,
    permit: &'a Permit,
    depth: u32,
    open: FuturesUnordered<BoxFuture<'a, (RunId, Value)>>,
    runs: HashSet<RunId>,
}

impl<'a> Asks<'a> {
    pub(crate) fn new(hub: &'a Arc<Hub>, permit: &'a Permit) -> Self {
        Self {
            hub,
            permit,
            depth: hub.depth(permit.run_id()) + 1,
            open: FuturesUnordered::new(),
            runs: HashSet::new(),
        }
    }

    /// Begins a call.
    pub(crate) fn begin(&mut self, asked: Asked) {
        let run = RunId::fresh();
        let id = asked.id;
        let answered = move |result: Result<Value, ToolError>| match result {
            Ok(value) => json!({"op": "answer", "id": id, "ok": true, "value": value}),
            Err(error) => {
                json!({"op": "answer", "id": id, "ok": false, "error": error_value(&error)})
            }
        };
        match self.call(asked, run.clone()) {
            Err(error) => {
                let message = answered(Err(error));
                self.open.push(Box::pin(async move { (run, message) }));
            }
            Ok((kernel, call)) => {
                self.hub.depths().insert(run.clone(), self.depth);
                self.runs.insert(run.clone());
                self.open.push(Box::pin(async move {
                    let answer = kernel.call(call).await;
                    (run, answered(outcome(answer)))
                }));
            }
        }
    }

    fn call(&self, asked: Asked, run: RunId) -> Result<(Kernel, Call), ToolError> {
        let kernel = self.hub.kernel();
        let kernel = kernel.ok_or_else(|| ToolError::dependency("there is no hub to call"))?;
        let who = self.who()?;
        if self.open.len() >= MOST {
            return Err(ToolError::conflict(format!(
                "more than {MOST} calls of other tools are open at once"
            )));
        }
        if self.depth > DEEPEST {
            return Err(ToolError::conflict(format!(
                "tools call each other more than {DEEPEST} deep"
            ))
            .with_hint("do they call each other in a circle?"));
        }
        let tool = name(&kernel, &asked)?;
        if self.permit.is_undecided() && kernel.resolve(&tool)?.def.risk != Some(Risk::Read) {
            return Err(ToolError::denied(format!(
                "`{tool}` is not called: this run shows what it would change, and nobody has agreed yet"
            ))
            .with_hint("until then, only tools that read can be called"));
        }
        let mut call = Call::new(who, tool, asked.args);
        call.ctx = self.permit.ctx().clone();
        call.run = Some(run);
        call.dry_run = self.permit.is_dry_run();
        call.through = Some(self.permit.def().name.to_string());
        Ok((kernel, call))
    }

    fn who(&self) -> Result<Arc<Principal>, ToolError> {
        let who = self.permit.ctx().who().cloned();
        who.ok_or_else(|| ToolError::permission("nobody answers for this call"))
    }

    /// The next answer. Waits for ever where nothing is open.
    pub(crate) async fn next(&mut self) -> Value {
        match self.open.next().await {
            Some((run, message)) => {
                self.runs.remove(&run);
                self.hub.depths().remove(&run);
                message
            }
            None => std::future::pending().await,
        }
    }

    /// Calls off what nobody waits for any more.
    pub(crate) async fn end(&mut self) {
        let (kernel, who) = (self.hub.kernel(), self.who());
        for run in self.runs.drain() {
            if let (Some(kernel), Ok(who)) = (&kernel, &who) {
                // One that is over needs no calling off.
                let _ = kernel.cancel(who, &run).await;
            }
            self.hub.depths().remove(&run);
        }
    }
}

/// The tool that is meant.
fn name(kernel: &Kernel, asked: &Asked) -> Result<String, ToolError> {
    if let Some(tool) = &asked.tool {
        return Ok(tool.clone());
    }
    let (Some(service), Some(action)) = (&asked.service, &asked.action) else {
        return Err(ToolError::validation("a call without the name of a tool"));
    };
    let ours = format!("{service}_{action}");
    let elsewhere = format!("mcp__{service}__{action}");
    match kernel.find(&ours).is_none() && kernel.find(&elsewhere).is_some() {
        true => Ok(elsewhere),
        false => Ok(ours),
    }
}

fn outcome(answer: Answer) -> Result<Value, ToolError> {
    let waits = matches!(
        answer.meta.state,
        Some(RunState::PendingApproval | RunState::Staged)
    );
    match (waits, &answer.meta.approval) {
        (true, Some(approval)) if !answer.meta.dry_run => Err(ToolError::denied(format!(
            "`{}` waits for approval {approval}",
            answer.meta.tool
        ))
        .with_hint("call again when somebody has agreed")),
        _ => answer.result,
    }
}
