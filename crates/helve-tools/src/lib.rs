//! The tools that a hub has the minute it is up, a module for each set.
//!
//! A tool here is a function with `#[tool]`; what it does to the world goes through its
//! context: [`Ctx::files`](helve_kernel::Ctx::files), [`Ctx::records`](helve_kernel::Ctx::records),
//! and the services of the hub. So whatever is written here can be shown before it happens,
//! and undone after.

pub mod agent;
#[cfg(feature = "chatlog")]
pub mod chatlog;
pub mod chinese;
pub mod code;
pub mod database;
pub mod file;
pub mod format;
pub mod human;
mod lines;
pub mod memory;
#[cfg(feature = "chatlog")]
pub mod model;
pub mod network;
mod owned;
pub mod profile;
pub mod schedule;
pub mod shell;
pub mod skills;
pub mod system;
pub mod todo;
mod walk;
pub mod web;

#[cfg(test)]
mod testing;

use std::path::Path;

pub use code::paint;
use helve_kernel::{ToolDef, ToolError, Toolset, ToolsetError};

/// All sets, in the order in which they are listed.
pub fn toolsets() -> Result<Vec<Toolset>, ToolsetError> {
    Ok(vec![
        agent::toolset()?,
        #[cfg(feature = "chatlog")]
        chatlog::toolset()?,
        file::toolset()?,
        code::toolset()?,
        format::toolset()?,
        database::toolset()?,
        human::toolset()?,
        memory::toolset()?,
        network::toolset()?,
        profile::toolset()?,
        schedule::toolset()?,
        skills::toolset()?,
        system::toolset()?,
        todo::toolset()?,
        web::toolset()?,
    ])
}

/// The tools that are programs: they are registered, and so pinned, like those of an operator.
pub fn programs(workspace: &Path, find: &format::Find<'_>) -> Result<Vec<ToolDef>, ToolError> {
    let mut programs = vec![shell::exec()?];
    programs.extend(format::programs(workspace, find)?);
    programs.extend(skills::programs(workspace)?);
    Ok(programs)
}

#[cfg(test)]
mod tests;
