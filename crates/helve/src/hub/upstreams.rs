//! The servers of `.mcp.json`.

use std::collections::BTreeMap;
use std::path::Path;

use helve_mcp::Upstreams;
use helve_mcp::upstream::McpJson;

use crate::config::Config;
use crate::exit::Failure;
use crate::state::State;

/// Reads the file of a workspace, and knows its servers. What could not be used is told.
pub(super) fn open(
    root: &Path,
    state: &State,
    _config: &Config,
) -> Result<(Upstreams, Vec<String>), Failure> {
    let path = root.join(".mcp.json");
    let read = match std::fs::read_to_string(&path) {
        Ok(text) => {
            let variable = |name: &str| std::env::var(name).ok();
            let base: BTreeMap<String, String> = ["PATH", "HOME", "LANG"]
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
                .collect();
            McpJson::read(&text, &variable, &base)
        }
        Err(_) => McpJson::default(),
    };
    let mut told = read.problems;
    told.extend(read.warnings);
    let told = told
        .into_iter()
        .map(|t| format!(".mcp.json: {t}"))
        .collect();
    let folder = state.path().join("mcp");
    let opened = Upstreams::open(read.servers, &folder);
    Ok((opened.map_err(Failure::output)?, told))
}
