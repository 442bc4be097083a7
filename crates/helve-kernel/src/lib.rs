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

mod ctx;
mod error;
mod private;
mod schema;
pub(crate) mod tool;
mod toolset;

pub use ctx::{Ctx, CtxBuilder};
pub use error::{ErrorKind, ToolError};
pub use helve_core;
pub use helve_core::{ToolDef, ToolName};
pub use helve_macros::tool;
pub use tool::{DefineTool, Handler, HandlerFuture, Tool};
pub use toolset::{Toolset, ToolsetError};

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
