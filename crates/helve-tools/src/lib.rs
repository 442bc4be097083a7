//! The tools that a hub has the minute it is up, a module for each set.
//!
//! A tool here is a function with `#[tool]`; what it does to the world goes through its
//! context: [`Ctx::files`](helve_kernel::Ctx::files), [`Ctx::records`](helve_kernel::Ctx::records),
//! and the services of the hub. So whatever is written here can be shown before it happens,
//! and undone after.

pub mod database;
mod owned;
pub mod todo;

#[cfg(test)]
mod testing;

use helve_kernel::{Toolset, ToolsetError};

/// All sets, in the order in which they are listed.
pub fn toolsets() -> Result<Vec<Toolset>, ToolsetError> {
    Ok(vec![todo::toolset()?, database::toolset()?])
}

#[cfg(test)]
mod tests;
