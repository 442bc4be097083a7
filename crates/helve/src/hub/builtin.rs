//! The tools that a hub has by itself, as the configuration wants them.
//!
//! What the workspace defines goes before: a built-in tool whose name is taken stays out, and
//! one whose alias is taken does without it.

mod programs;

use std::path::Path;
use std::sync::Arc;

use helve_core::def::AllowedPath;
use helve_http::guard::Hosts;
use helve_kernel::{ErrorKind, Kernel, Registration, RegistryError, Tool, ToolDef};
use helve_tools::network::Network;
use helve_tools::system::Surroundings;
use helve_tools::web::Outside;

use super::hub_itself;
use crate::config::{Config, Language, Toolsets};
use crate::env;
use crate::exit::Failure;
use crate::secrets::Configured;

/// Where built-in programs come from, as the registry keeps it.
pub(super) const SOURCE: &str = "builtin";

/// What the network tools reach: granted hosts, and no other.
pub(super) fn network(config: &Config) -> Network {
    // Checked when it was read.
    let hosts = Hosts::parse(&config.toolsets.hosts).unwrap_or_default();
    Network::new(config.network.guard().only(hosts))
}

/// What the web tools reach: all that is public, and what is granted.
pub(super) fn web(root: &Path, config: &Config) -> Result<Outside, Failure> {
    let secrets = config.secrets.read().map_err(Failure::input)?;
    let secrets = Arc::new(Configured::new(root, secrets));
    Ok(Outside::new(
        config.network.guard(),
        secrets,
        config.web.settings(),
    ))
}

/// What the hub knows of where it runs.
pub(super) fn surroundings(root: &Path, config: &Config) -> Surroundings {
    let granted = &config.toolsets.env;
    Surroundings {
        workspace: root.display().to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        memory: memory().unwrap_or(0),
        variables: env::variables(|name| granted.iter().any(|g| g == name)),
    }
}

/// Bytes of memory of the machine.
fn memory() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// Adds them; what there is to be told of it.
pub(super) async fn add(
    kernel: &Kernel,
    root: &Path,
    config: &Toolsets,
) -> Result<Vec<String>, Failure> {
    let mut told = add_programs(kernel, root, config).await?;
    for set in helve_tools::toolsets().map_err(Failure::output)? {
        let name = set.name().to_owned();
        for mut tool in set.into_tools() {
            if config.leaves_out(&name, tool.def.name.as_str()) {
                continue;
            }
            tool.def.enabled |= config.turns_on(&name, tool.def.name.as_str());
            if config.language == Language::Zh {
                helve_tools::chinese::speak(&mut tool.def);
            }
            if let Some(paths) = config.paths.as_ref().filter(|_| is_everywhere(&tool.def)) {
                tool.def.allowed_paths = paths.iter().map(|path| allowed(path)).collect();
            }
            told.extend(add_one(kernel, tool)?);
        }
    }
    Ok(told)
}

/// Registers those that are programs, and lets go of those that there are no more.
async fn add_programs(
    kernel: &Kernel,
    root: &Path,
    config: &Toolsets,
) -> Result<Vec<String>, Failure> {
    let find = |program: &str| programs::find(program, root);
    let all = helve_tools::programs(root, &find).map_err(|e| Failure::output(e.message))?;
    let (who, mut told, mut kept) = (hub_itself(), Vec::new(), Vec::new());
    for mut def in all {
        let name = def.name.to_string();
        let set = def.name.group().unwrap_or_default().to_owned();
        if config.leaves_out(&set, &name) {
            continue;
        }
        def.enabled |= config.turns_on(&set, &name);
        if let Some(paths) = config.paths.as_ref().filter(|_| is_everywhere(&def)) {
            def.allowed_paths = paths.iter().map(|path| allowed(path)).collect();
        }
        if kernel
            .find(&name)
            .is_some_and(|entry| entry.source != SOURCE)
        {
            told.push(taken(&name));
            continue;
        }
        let aliases = def.aliases.clone().into_iter();
        def.aliases = aliases
            .filter(|alias| {
                kernel
                    .find(alias)
                    .is_none_or(|e| e.def.name.as_str() == name)
            })
            .collect();
        let source = SOURCE.to_owned();
        let registration = Registration {
            def,
            source,
            why: None,
            replace: true,
        };
        match kernel.register(&who, registration).await {
            Ok(_) => kept.push(name),
            // It is not installed here.
            Err(error) if error.kind == ErrorKind::Validation => {}
            // The pin holds: what was registered stays, and does not run.
            Err(error) if error.kind == ErrorKind::Conflict && kernel.find(&name).is_some() => {
                told.push(format!(
                    "what `{name}` runs has changed since it was registered, and does not run; look \
                     at it, then `helve remove {name}` lets the hub take it in anew"
                ));
                kept.push(name);
            }
            Err(error) => told.push(format!("the built-in `{name}`: {}", error.message)),
        }
    }
    for entry in kernel.tools() {
        let name = entry.def.name.as_str();
        if entry.source == SOURCE && !kept.iter().any(|kept| kept == name) {
            let removed = kernel.remove(&who, name).await;
            removed.map_err(|e| Failure::output(e.message))?;
        }
    }
    Ok(told)
}

fn taken(name: &str) -> String {
    format!("the built-in `{name}` is left out: another tool answers to its name")
}

/// Whether it may touch the whole workspace.
fn is_everywhere(def: &ToolDef) -> bool {
    let paths = &def.allowed_paths;
    paths.len() == 1 && paths[0].path == "."
}

fn allowed(path: &str) -> AllowedPath {
    AllowedPath {
        path: path.to_owned(),
        access: None,
    }
}

fn add_one(kernel: &Kernel, mut tool: Tool) -> Result<Option<String>, Failure> {
    let own = tool.def.name.to_string();
    loop {
        match kernel.add_tool(tool.clone()) {
            Ok(()) => return Ok(None),
            Err(RegistryError::NameTaken { name, .. }) if name == own => {
                return Ok(Some(taken(&own)));
            }
            Err(RegistryError::NameTaken { name, .. }) => {
                tool.def.aliases.retain(|alias| *alias != name);
            }
            Err(error) => return Err(Failure::output(error)),
        }
    }
}
