//! The workspace: the folder that relative paths begin at.

use std::path::PathBuf;

/// The nearest folder upwards with `helve.toml` or `.helve/`, or this one.
pub(crate) fn root() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let marked = here
        .ancestors()
        .find(|a| a.join("helve.toml").is_file() || a.join(".helve").is_dir());
    marked.unwrap_or(&here).to_owned()
}

/// Where the workspace's own tools are.
pub(crate) fn tools() -> PathBuf {
    root().join("tools")
}
