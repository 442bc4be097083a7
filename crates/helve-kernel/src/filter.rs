//! Code around a call: it sees it, may change it, may stop it.
//!
//! Filters are an onion, in the order of the list: the first is the outermost.
//! What one changes in the arguments is checked again like any arguments, so a
//! filter can narrow a call but never slip one past the rules.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use helve_core::ToolDef;
use serde_json::{Map, Value};

use crate::{Ctx, Principal, Reply, ToolError};

/// A call on its way to the tool.
#[derive(Debug, Clone)]
pub struct Passing {
    /// The tool.
    pub def: Arc<ToolDef>,
    /// Who calls.
    pub principal: Arc<Principal>,
    /// What the call knows beside its arguments.
    pub ctx: Ctx,
    /// The arguments, which a filter may change.
    pub args: Map<String, Value>,
}

/// Code around a call.
#[async_trait]
pub trait Filter: Send + Sync {
    /// What it is called, for the error when it fails.
    fn name(&self) -> &str;

    /// Goes around a call. Without [`Next::run`] the tool does not run.
    async fn around(&self, call: Passing, next: Next<'_>) -> Result<Reply, ToolError>;
}

/// What is inside a filter: the next one, or the tool.
pub struct Next<'n> {
    pub(crate) rest: &'n [Arc<dyn Filter>],
    pub(crate) tool: &'n (dyn Fn(Passing) -> BoxFuture<'n, Result<Reply, ToolError>> + Send + Sync),
}

impl<'n> Next<'n> {
    /// Goes on inwards.
    pub async fn run(self, call: Passing) -> Result<Reply, ToolError> {
        match self.rest.split_first() {
            None => (self.tool)(call).await,
            Some((filter, rest)) => {
                let tool = self.tool;
                guarded(filter.as_ref(), call, Next { rest, tool }).await
            }
        }
    }
}

/// A filter that panics stops its call and nothing else.
async fn guarded(filter: &dyn Filter, call: Passing, next: Next<'_>) -> Result<Reply, ToolError> {
    use futures_util::FutureExt as _;
    let around = std::panic::AssertUnwindSafe(filter.around(call, next));
    around.catch_unwind().await.unwrap_or_else(|panic| {
        let what = crate::panic_text(&*panic);
        Err(ToolError::internal(format!(
            "the filter `{}` crashed: {what}",
            filter.name()
        )))
    })
}
