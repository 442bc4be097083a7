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
//! A [`Kernel`] takes tools and calls, and every call takes the one path: name,
//! arguments, paths, permission, policy, approval, filters, record, run, record. What
//! comes back is an [`Answer`], in the one shape that every front door shows:
//!
//! ```
//! use helve_kernel::{Call, Kernel, Principal, tool, toolset};
//! use serde_json::json;
//!
//! /// Adds two numbers. Use it for sums.
//! #[tool(group = "math", risk = "read", idempotent)]
//! async fn add(
//!     /// The first.
//!     a: i64,
//!     /// The second.
//!     b: i64,
//! ) -> i64 {
//!     a + b
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let kernel = Kernel::new()?;
//! kernel.add_toolset(toolset! { name: "math", tools: [add] }?)?;
//!
//! let me = Principal::person("ann");
//! // `"3"` can only mean 3: it is repaired, and the answer says so.
//! let answer = kernel.call(Call::new(me, "math_add", json!({"a": 2, "b": "3"}))).await;
//! println!("{:#}", answer.to_value());
//! assert_eq!(answer.result, Ok(json!(5)));
//! assert_eq!(answer.meta.coerced[0].argument, "/b");
//! # Ok(())
//! # }
//! ```
//!
//! A tool can also be a closure over whatever it needs, a [`Filter`] goes around every
//! call, and calls that are made together run beside each other and fold what they
//! write into one context:
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicI64, Ordering};
//!
//! use helve_kernel::helve_core::def::Risk;
//! use helve_kernel::{
//!     Call, Ctx, Filter, Kernel, Next, Passing, Principal, Reply, Tool, ToolDef, ToolError,
//!     ToolName,
//! };
//! use serde_json::json;
//!
//! /// Lets nothing run on a holiday.
//! struct Holidays(Vec<&'static str>);
//!
//! #[async_trait::async_trait]
//! impl Filter for Holidays {
//!     fn name(&self) -> &str {
//!         "holidays"
//!     }
//!
//!     async fn around(&self, call: Passing, next: Next<'_>) -> Result<Reply, ToolError> {
//!         let day = call.ctx.get("day").and_then(|d| d.as_str());
//!         if day.is_some_and(|day| self.0.contains(&day)) {
//!             return Err(ToolError::denied("nothing runs on a holiday"));
//!         }
//!         next.run(call).await
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let kernel = Kernel::builder()
//!     .filter(Arc::new(Holidays(vec!["sunday"])))
//!     .open()
//!     .await?;
//!
//! let mut def = ToolDef::new(ToolName::new("ticket_draw")?, "Draws a number. Use it to queue.");
//! def.risk = Some(Risk::ExecLow);
//! let last = Arc::new(AtomicI64::new(0));
//! kernel.add_tool(Tool::new(def, move |ctx: Ctx, _args| {
//!     let last = last.clone();
//!     async move {
//!         let number = last.fetch_add(1, Ordering::SeqCst) + 1;
//!         let who = ctx.principal().unwrap_or("nobody").to_owned();
//!         // What is written here stands in the context of the next calls.
//!         Ok(Reply::new(number).write(format!("ticket of {who}"), number))
//!     }
//! }))?;
//!
//! let draw = |who: &str| Call::new(Principal::person(who), "ticket_draw", json!({}));
//! let monday = Ctx::builder().set("day", "monday").build();
//! let batch = kernel.call_all(&monday, vec![draw("ann"), draw("bob")]).await;
//! assert!(batch.answers.iter().all(|answer| answer.is_ok()));
//! let ctx = batch.ctx?;
//! assert!(ctx.get("ticket of ann").is_some() && ctx.get("ticket of bob").is_some());
//!
//! let sunday = Ctx::builder().set("day", "sunday").build();
//! let answer = kernel.call(draw("ann").ctx(sunday)).await;
//! assert_eq!(answer.text(), "denied: nothing runs on a holiday");
//! # Ok(())
//! # }
//! ```
//!
//! Nothing here holds SQL, speaks HTTP or starts a process.

// Generated code names this crate by its path, in its own tests too.
#[cfg(test)]
extern crate self as helve_kernel;

mod answer;
mod approval;
mod call;
mod caller;
mod changes;
mod clock;
mod ctx;
mod error;
mod executor;
mod files;
mod filter;
mod id;
mod keeper;
mod kernel;
mod logs;
mod people;
mod principal;
mod private;
mod records;
mod registry;
mod report;
mod rows;
mod run;
mod schema;
mod services;
pub mod store;
mod token;
pub(crate) mod tool;
mod toolset;
mod wire;

pub use answer::{
    Answer, Artifact, Captured, Illustrated, Meta, Reply, Sourced, Summary, error_value,
};
pub use approval::{Approval, ApprovalState, Decision, Notice, Verdict};
pub use call::{Call, Wait};
pub use caller::Caller;
pub use changes::{
    Changes, ChangesFilter, ChangesState, HistoryFilter, Past, RowChange, Settled, Touched, Turn,
};
pub use clock::{At, Clock, SystemClock};
pub use ctx::{Ctx, CtxBuilder};
pub use error::{ErrorKind, ToolError};
pub use executor::{Executor, Permit};
pub use files::{Desk, Files, Glance};
pub use filter::{Filter, Next, Passing};
pub use helve_changes;
pub use helve_core;
pub use helve_core::{ToolDef, ToolName};
pub use helve_macros::tool;
pub use id::{ApprovalId, QuestionId, RunId, TokenId};
pub use keeper::Keeper;
pub use kernel::{
    ApprovalRules, Batch, Builder, Collected, Conflict, Diff, DiffForm, Keeping, Kernel, NewToken,
    Notifier, OpenError, Outcome, Purged, Registration, UNDO, UndoCall, WeakKernel, run_answer,
};
pub use people::{Asking, People, Question, Said};
pub use principal::{Permission, Principal, PrincipalKind};
pub use records::Records;
pub use registry::{Entry, RegistryError};
pub use report::{Report, Reporting};
pub use rows::{Place, Rows, Unapplied};
pub use run::{Chunk, Run, RunState, Stream};
pub use store::{MemoryStore, Store, StoreError};
pub use token::{Secret, Token};
pub use tool::{DefineTool, Handler, HandlerFuture, Leading, Leads, Led, Tool};
pub use toolset::{Toolset, ToolsetError};
pub use wire::Wire;

/// Something that whoever watches may want to look at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A run wrote something.
    Log(RunId),
    /// A run is in another state.
    Run(RunId),
    /// An approval was asked for or decided.
    Approval(ApprovalId),
    /// People were asked something, or have answered.
    Question(QuestionId),
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
