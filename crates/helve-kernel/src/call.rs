//! A call, as a front door hands it to the kernel.

use std::sync::Arc;

use serde_json::Value;

use crate::{Ctx, Principal, RunId};

/// A call.
#[derive(Debug, Clone)]
pub struct Call {
    /// The tool, by any of its names.
    pub tool: String,
    /// The arguments, as they came: an object, its JSON text, or null.
    pub args: Value,
    /// Who calls.
    pub principal: Arc<Principal>,
    /// What the call knows beside its arguments. The kernel fills in who and which run.
    pub ctx: Ctx,
    /// A key under which the same call may be repeated without a second effect.
    pub key: Option<String>,
    /// What to wait for.
    pub wait: Wait,
    /// Only to see what it would change.
    pub dry_run: bool,
    /// The run that it shall be, for whoever must be able to call it off before there is
    /// an answer; a fresh one if nothing is said.
    pub run: Option<RunId>,
    /// The tool that led here.
    pub through: Option<String>,
}

/// What a caller waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wait {
    /// For nothing: the answer says that the run was accepted.
    Nothing,
    /// For the run, but for nobody's decision.
    #[default]
    Run,
    /// For the run, and for people where policy asks them.
    Decision,
}

impl Call {
    /// A call that waits for the run.
    pub fn new(
        principal: impl Into<Arc<Principal>>,
        tool: impl Into<String>,
        args: impl Into<Value>,
    ) -> Self {
        Self {
            tool: tool.into(),
            args: args.into(),
            principal: principal.into(),
            ctx: Ctx::default(),
            key: None,
            wait: Wait::default(),
            dry_run: false,
            run: None,
            through: None,
        }
    }

    /// The same with a context.
    #[must_use]
    pub fn ctx(mut self, ctx: Ctx) -> Self {
        self.ctx = ctx;
        self
    }

    /// The same, to be repeated under a key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The same, only to see what it would change.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// The same, as this run.
    #[must_use]
    pub fn run(mut self, run: RunId) -> Self {
        self.run = Some(run);
        self
    }

    /// The same, waiting for more or less.
    #[must_use]
    pub fn wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }
}
