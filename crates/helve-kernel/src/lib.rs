//! The one path of a call, and the parts that a tool written in Rust is made of.
//!
//! A tool is a definition and a [`Handler`]; [`tool`] makes both of an `async fn`:
//!
//! ```
//! use helve_kernel::{Ctx, ToolError, tool, toolset};
//!
//! /// Counts the words of a text. Use it when a length in words is asked for.
//! #[tool(group = "text", risk = "read", idempotent)]
//! async fn count(
//!     /// The text.
//!     text: String,
//!     /// Words shorter than this are left out.
//!     #[default(1)]
//!     at_least: usize,
//! ) -> usize {
//!     text.split_whitespace().filter(|w| w.len() >= at_least).count()
//! }
//!
//! let tools = toolset! { name: "text", tags: ["text"], tools: [count] }?;
//! assert_eq!(tools.tools()[0].def.name.as_str(), "text_count");
//! # Ok::<(), helve_kernel::ToolsetError>(())
//! ```
//!
//! Nothing here holds SQL, speaks HTTP or starts a process.

// Generated code names this crate by its path, in its own tests too.
#[cfg(test)]
extern crate self as helve_kernel;

mod answer;
mod approval;
mod call;
mod clock;
mod ctx;
mod error;
mod executor;
mod filter;
mod id;
mod kernel;
mod logs;
mod principal;
mod private;
mod registry;
mod run;
mod schema;
pub mod store;
mod token;
pub(crate) mod tool;
mod toolset;

pub use answer::{Answer, Artifact, Meta, Reply, error_value};
pub use approval::{Approval, ApprovalState, Decision, Notice, Verdict};
pub use call::{Call, Wait};
pub use clock::{At, Clock, SystemClock};
pub use ctx::{Ctx, CtxBuilder};
pub use error::{ErrorKind, ToolError};
pub use executor::{Executor, Permit};
pub use filter::{Filter, Next, Passing};
pub use helve_core;
pub use helve_core::{ToolDef, ToolName};
pub use helve_macros::tool;
pub use id::{ApprovalId, RunId, TokenId};
pub use kernel::{
    ApprovalRules, Batch, Builder, Conflict, Kernel, NewToken, Notifier, OpenError, Outcome,
    Registration, run_answer,
};
pub use principal::{Permission, Principal, PrincipalKind};
pub use registry::{Entry, RegistryError};
pub use run::{Chunk, Run, RunState, Stream};
pub use store::{MemoryStore, Store, StoreError};
pub use token::{Secret, Token};
pub use tool::{DefineTool, Handler, HandlerFuture, Tool};
pub use toolset::{Toolset, ToolsetError};

/// Something that whoever watches may want to look at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A run wrote something.
    Log(RunId),
    /// A run is in another state.
    Run(RunId),
    /// An approval was asked for or decided.
    Approval(ApprovalId),
    /// A token no longer counts.
    Token(TokenId),
    /// A tool was registered, changed or removed.
    Tool(String),
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|t| (*t).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "it did not say why".to_owned())
}

/// The README's Rust is tested like any other example.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// What generated code calls. Not an interface: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::private::*;
    pub use crate::schema::mark_path;
    pub use helve_core;
    pub use schemars;
    pub use serde;
    pub use serde_json;
}
