//! Code: searched, mapped, and in colours.

#[cfg(feature = "code")]
mod analyze;
pub mod paint;
#[cfg(feature = "code")]
mod parse;
mod search;
#[cfg(feature = "code")]
mod symbols;
#[cfg(test)]
mod tests;

use helve_kernel::{Toolset, ToolsetError, toolset};

/// The set.
#[cfg(feature = "code")]
pub fn toolset() -> Result<Toolset, ToolsetError> {
    toolset! {
        name: "code",
        description: "Code of the workspace: searched, and mapped",
        tags: ["code"],
        tools: [search::search, analyze::analyze],
    }
}

/// The set, without what needs the grammars.
#[cfg(not(feature = "code"))]
pub fn toolset() -> Result<Toolset, ToolsetError> {
    toolset! {
        name: "code",
        description: "Code of the workspace, searched",
        tags: ["code"],
        tools: [search::search],
    }
}
