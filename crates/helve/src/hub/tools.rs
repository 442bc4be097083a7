//! The workspace's tool folders, and the registry: what a file says is what is registered.
//!
//! A file that changed makes a new version, one that is gone removes its tool, and
//! one that is broken leaves the tool as it was and is told.

use std::collections::HashSet;
use std::path::Path;

use helve_core::collection::Document;
use helve_core::lint::Severity;
use helve_exec::ScriptExecutor;
use helve_kernel::{Kernel, Registration, ToolError};

use crate::config::Config;
use crate::exit::Failure;
use crate::hub::{hub_itself, scripts};
use crate::load::{self, Folders, Reading};

/// What came of looking at the folders.
#[derive(Debug, Default, Clone)]
pub(crate) struct Synced {
    /// Tools that are new, or have a new version.
    pub(crate) changed: Vec<String>,
    /// Tools whose file is gone.
    pub(crate) removed: Vec<String>,
    /// What could not be registered, and why.
    pub(crate) problems: Vec<String>,
}

impl Synced {
    pub(crate) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty() && self.problems.is_empty()
    }
}

/// What the folders say.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) documents: Vec<Document>,
    /// Files that cannot be read or loaded, and why.
    pub(crate) broken: Vec<(String, String)>,
}

/// Reads the folders, and loads what has to be loaded.
pub(crate) async fn read(
    scripts: &ScriptExecutor,
    root: &Path,
    config: &Config,
) -> Result<Read, Failure> {
    let folders = config.tools(root);
    let paths: Vec<String> = folders
        .iter()
        .filter(|f| f.is_dir())
        .map(|f| f.display().to_string())
        .collect();
    let reading = Reading {
        dialect: None,
        lint: true,
        vendor: None,
    };
    let found = match paths.is_empty() {
        true => Folders::default(),
        // There may be thousands, and somebody may be waiting for an answer.
        false => {
            let loading = tokio::task::spawn_blocking(move || load::load_all(&paths, reading));
            loading.await.map_err(Failure::output)??
        }
    };
    let mut documents = found.documents;
    let loaded = scripts::read(scripts, root, config, found.scripts).await;
    documents.extend(loaded.documents);
    let broken = loaded.broken.into_iter();
    let broken = broken.map(|(file, why)| (from_root(root, &file.display().to_string()), why));
    Ok(Read {
        documents,
        broken: broken.collect(),
    })
}

/// Makes the registry say what the folders say.
pub(crate) async fn sync(kernel: &Kernel, root: &Path, read: Read) -> Synced {
    let mut synced = Synced::default();
    let who = hub_itself();
    let mut seen: HashSet<String> = HashSet::new();
    for (source, problem) in read.broken {
        seen.insert(source);
        synced.problems.push(problem);
    }
    for document in read.documents {
        let source = from_root(root, &document.file);
        seen.insert(source.clone());
        let errors = document
            .findings
            .iter()
            .filter(|f| f.severity == Severity::Error);
        let errors: Vec<String> = errors
            .map(|f| {
                let place = f.place.map(|p| format!(":{}", p.line)).unwrap_or_default();
                format!("{source}{place}: {} [{}]", f.message, f.code)
            })
            .collect();
        if !errors.is_empty() {
            synced.problems.extend(errors);
            continue;
        }
        for tool in document.tools {
            let name = tool.def.name.to_string();
            let registered = kernel.register(
                &who,
                Registration {
                    def: tool.def,
                    source: source.clone(),
                    why: None,
                    replace: true,
                },
            );
            match registered.await {
                Ok(outcome) if outcome.changed => synced.changed.push(name),
                Ok(_) => {}
                Err(error) => synced.problems.push(format!("{source}: {}", told(&error))),
            }
        }
    }
    for entry in kernel.tools() {
        // What comes from a server elsewhere goes with it, and what is the hub's own with the hub.
        let elsewhere = entry.source.starts_with("mcp:") || entry.source == super::builtin::SOURCE;
        let from_file = entry.source != "code" && entry.source != "api" && !elsewhere;
        if from_file && !seen.contains(&entry.source) {
            let name = entry.def.name.to_string();
            match kernel.remove(&who, &name).await {
                Ok(()) => synced.removed.push(name),
                Err(error) => synced.problems.push(format!("{name}: {}", told(&error))),
            }
        }
    }
    synced
}

fn told(error: &ToolError) -> String {
    match &error.hint {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message.clone(),
    }
}

/// A path as the registry keeps it: from the workspace.
fn from_root(root: &Path, file: &str) -> String {
    let absolute = std::path::absolute(file).unwrap_or_else(|_| file.into());
    let inside = absolute.strip_prefix(root).unwrap_or(&absolute);
    inside.display().to_string()
}
