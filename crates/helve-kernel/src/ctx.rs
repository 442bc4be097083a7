//! What a call knows beside its arguments.
//!
//! A [`Ctx`] is read-only: whoever starts the call fills it, the tool reads it.
//! The kernel's own words (who, for which agent, in which run) have accessors and
//! cannot be overwritten by a custom key.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::report::Reporting;
use crate::services::Services;
use crate::{Caller, Files, Principal, Records, ToolError};

/// What a call knows beside its arguments. A clone shares, it copies nothing.
#[derive(Debug, Clone, Default)]
pub struct Ctx(Arc<Known>);

#[derive(Debug, Clone, Default)]
struct Known {
    run_id: Option<String>,
    agent_id: Option<String>,
    principal: Option<String>,
    keys: Map<String, Value>,
    files: Files,
    records: Records,
    services: Services,
    who: Option<Arc<Principal>>,
    caller: Option<Arc<dyn Caller>>,
}

impl Ctx {
    /// Begins an empty context.
    pub fn builder() -> CtxBuilder {
        CtxBuilder::default()
    }

    /// The run that this call is.
    pub fn run_id(&self) -> Option<&str> {
        self.0.run_id.as_deref()
    }

    /// The agent that calls.
    pub fn agent_id(&self) -> Option<&str> {
        self.0.agent_id.as_deref()
    }

    /// Who answers for the call.
    pub fn principal(&self) -> Option<&str> {
        self.0.principal.as_deref()
    }

    /// Who calls, with all that they may. Not in a context that nobody called with.
    pub fn who(&self) -> Option<&Arc<Principal>> {
        self.0.who.as_ref()
    }

    /// Whoever called, where they can be spoken with while the call lasts.
    pub fn caller(&self) -> Option<&Arc<dyn Caller>> {
        self.0.caller.as_ref()
    }

    /// The same keys, to be filled further.
    pub fn to_builder(&self) -> CtxBuilder {
        CtxBuilder(Known::clone(&self.0))
    }

    /// The files that the tool may see and change. What it changes is held back until the
    /// run is committed, and can be undone after.
    pub fn files(&self) -> &Files {
        &self.0.files
    }

    /// What tools remember. What the tool changes there is held back and can be undone,
    /// as with files.
    pub fn records(&self) -> &Records {
        &self.0.records
    }

    /// What the hub offers to its tools, by its type.
    pub fn service<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, ToolError> {
        let found = self.0.services.get::<T>();
        found.ok_or_else(|| ToolError::dependency("this hub does not offer what the tool needs"))
    }

    /// Begins to say how far a long call has come.
    pub fn reporting(&self) -> Reporting {
        Reporting::new(self)
    }

    pub(crate) fn with(&self, files: Files, records: Records, services: Services) -> Self {
        let mut known = Known::clone(&self.0);
        known.services = services;
        known.files = files;
        known.records = records;
        Self(Arc::new(known))
    }

    /// All custom keys.
    pub fn keys(&self) -> &Map<String, Value> {
        &self.0.keys
    }

    /// What stands under a custom key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.keys.get(key)
    }
}

/// Fills a [`Ctx`].
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct CtxBuilder(Known);

impl CtxBuilder {
    /// Says which run this is.
    pub fn run_id(mut self, id: impl Into<String>) -> Self {
        self.0.run_id = Some(id.into());
        self
    }

    /// Says which agent calls.
    pub fn agent_id(mut self, id: impl Into<String>) -> Self {
        self.0.agent_id = Some(id.into());
        self
    }

    /// Says who answers for the call.
    pub fn principal(mut self, principal: impl Into<String>) -> Self {
        self.0.principal = Some(principal.into());
        self
    }

    /// Says how whoever called can be spoken with.
    pub fn caller(mut self, caller: Arc<dyn Caller>) -> Self {
        self.0.caller = Some(caller);
        self
    }

    pub(crate) fn who(mut self, who: Arc<Principal>) -> Self {
        self.0.who = Some(who);
        self
    }

    /// Puts a value under a custom key; the last one stays.
    pub fn set(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.keys.insert(key.into(), value.into());
        self
    }

    /// The context.
    pub fn build(self) -> Ctx {
        Ctx(Arc::new(self.0))
    }
}

#[cfg(test)]
mod tests;
