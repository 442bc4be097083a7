//! A tool written in Rust: its definition and the function behind it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use helve_core::ToolDef;
use serde_json::{Map, Value};

use crate::{Ctx, Kernel, Principal, Reply, ToolError};

/// What a [`Handler`] gives back at once, and its result later.
pub type HandlerFuture = Pin<Box<dyn Future<Output = Result<Reply, ToolError>> + Send>>;

/// The function behind a tool. It gets arguments that nobody has checked: only
/// the path of a call does that, and only it should call a handler.
pub type Handler = Arc<dyn Fn(Ctx, Value) -> HandlerFuture + Send + Sync>;

/// Where a call really goes, of a tool that only leads to others: the tool and its
/// arguments, found in the arguments of the call.
pub type Leads = Arc<dyn Fn(Kernel, Arc<Principal>, Map<String, Value>) -> Leading + Send + Sync>;

/// A tool and its arguments, or why there is none.
pub type Led = Result<(String, Value), ToolError>;

/// The same, later.
pub type Leading = Pin<Box<dyn Future<Output = Led> + Send>>;

/// A definition and the function behind it.
#[derive(Clone)]
pub struct Tool {
    /// What it is.
    pub def: ToolDef,
    /// What it does.
    pub handler: Handler,
    /// Whether all that it does to the world goes through [`Ctx::files`], so that it can
    /// be shown before it happens.
    pub held: bool,
    /// Whether it is open to every token that may call anything, whatever its scopes: it
    /// tells only what its caller may know.
    pub open: bool,
    /// Where its calls go, if it only leads to other tools. It has no runs of its own then:
    /// the call becomes one of the other tool, with all that is checked and asked there.
    pub leads: Option<Leads>,
}

impl Tool {
    /// Puts a function behind a definition, for tools whose arguments are known
    /// only at run time. [`tool`](crate::tool) writes both.
    pub fn new<F, Fut, R>(def: ToolDef, run: F) -> Self
    where
        F: Fn(Ctx, Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
        R: Into<Reply>,
    {
        let handler: Handler = Arc::new(move |ctx, args| {
            let running = run(ctx, args);
            Box::pin(async move { running.await.map(Into::into) })
        });
        Self {
            def,
            handler,
            held: false,
            open: false,
            leads: None,
        }
    }

    /// The same; all that it does to the world goes through [`Ctx::files`]. Where policy
    /// asks, it then runs first, and people decide about what it would change.
    #[must_use]
    pub fn held(mut self) -> Self {
        self.held = true;
        self
    }

    /// The same, open to every token that may call anything, whatever its scopes. Only for
    /// what looks at its caller and tells nothing else.
    #[must_use]
    pub fn open(mut self) -> Self {
        self.open = true;
        self
    }

    /// The same, leading to other tools: what it answers is what they do.
    #[must_use]
    pub fn leading<F, Fut>(mut self, leads: F) -> Self
    where
        F: Fn(Kernel, Arc<Principal>, Map<String, Value>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Led> + Send + 'static,
    {
        self.leads = Some(Arc::new(move |kernel, who, args| {
            Box::pin(leads(kernel, who, args))
        }));
        self
    }

    /// The same for a function that needs no context.
    pub fn of_args<F, Fut, R>(def: ToolDef, run: F) -> Self
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
        R: Into<Reply>,
    {
        Self::new(def, move |_, args| run(args))
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("def", &self.def)
            .finish_non_exhaustive()
    }
}

/// What [`tool`](crate::tool) implements for the type that it names after the
/// function, so that [`toolset!`](crate::toolset) can take the function's path.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool",
    note = "put `#[tool]` on the function `{Self}`"
)]
pub trait DefineTool {
    /// The tool, made anew.
    fn tool() -> Tool;
}

#[cfg(test)]
pub(crate) mod tests;
