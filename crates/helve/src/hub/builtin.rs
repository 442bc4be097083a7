//! The tools that a hub has by itself, as the configuration wants them.
//!
//! What the workspace defines goes before: a built-in tool whose name is taken stays out, and
//! one whose alias is taken does without it.

use helve_core::def::AllowedPath;
use helve_kernel::{Kernel, RegistryError, Tool};

use crate::config::Toolsets;
use crate::exit::Failure;

/// Adds them; what there is to be told of it.
pub(super) fn add(kernel: &Kernel, config: &Toolsets) -> Result<Vec<String>, Failure> {
    let mut told = Vec::new();
    for set in helve_tools::toolsets().map_err(Failure::output)? {
        let name = set.name().to_owned();
        for mut tool in set.into_tools() {
            if config.leaves_out(&name, tool.def.name.as_str()) {
                continue;
            }
            tool.def.enabled |= config.turns_on(&name, tool.def.name.as_str());
            if let Some(paths) = config.paths.as_ref().filter(|_| is_everywhere(&tool)) {
                tool.def.allowed_paths = paths.iter().map(allowed).collect();
            }
            told.extend(add_one(kernel, tool)?);
        }
    }
    Ok(told)
}

/// Whether it may touch the whole workspace.
fn is_everywhere(tool: &Tool) -> bool {
    let paths = &tool.def.allowed_paths;
    paths.len() == 1 && paths[0].path == "."
}

fn allowed(path: &String) -> AllowedPath {
    AllowedPath {
        path: path.clone(),
        access: None,
    }
}

fn add_one(kernel: &Kernel, mut tool: Tool) -> Result<Option<String>, Failure> {
    let own = tool.def.name.to_string();
    loop {
        match kernel.add_tool(tool.clone()) {
            Ok(()) => return Ok(None),
            Err(RegistryError::NameTaken { name, .. }) if name == own => {
                return Ok(Some(format!(
                    "the built-in `{own}` is left out: another tool answers to its name"
                )));
            }
            Err(RegistryError::NameTaken { name, .. }) => {
                tool.def.aliases.retain(|alias| *alias != name);
            }
            Err(error) => return Err(Failure::output(error)),
        }
    }
}
