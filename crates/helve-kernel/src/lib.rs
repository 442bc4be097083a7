//! The one path of a call, and the parts that a tool written in Rust is made of.
//!
//! Nothing here holds SQL, speaks HTTP or starts a process.

mod ctx;
mod error;

pub use ctx::{Ctx, CtxBuilder};
pub use error::{ErrorKind, ToolError};
