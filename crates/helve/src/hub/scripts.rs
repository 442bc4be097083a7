//! Scripts in the tool folders, as definitions.
//!
//! What a file has is found by loading it, in a sandbox in which it can change nothing and
//! reach nothing. What was found is kept, so that files that are as they were are not
//! loaded again.

mod define;
mod programs;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use helve_core::audit::Hash;
use helve_core::collection::Document;
use helve_exec::{Described, HostExecutor, Runtime, ScriptExecutor, ScriptSettings, Toolset};
use serde_json::{Value, json};

use crate::config::{Config, real};
use crate::secrets::Configured;
use crate::state::State;

/// What runs the scripts of a workspace, and what there is to be told of it.
pub(crate) async fn executor(
    host: HostExecutor,
    root: &Path,
    config: &Config,
) -> (ScriptExecutor, Vec<String>) {
    let secrets = config.secrets.read().unwrap_or_default();
    let configured = Configured::new(root, secrets.clone());
    let (mut toolsets, mut problems) = (Vec::new(), Vec::new());
    for (name, folder) in &config.scripts.folders {
        let mut env: Vec<(String, String)> = folder.env.clone().into_iter().collect();
        for (variable, secret) in &folder.secrets {
            let value = match secrets.get(secret) {
                None => Err("there is none of that name in `[secrets]`".to_owned()),
                Some(known) if known.hosts.is_some() => {
                    Err("it may be sent to some hosts only, and a script has it itself".to_owned())
                }
                Some(known) => configured.value(&known.source).await,
            };
            match value {
                Ok(value) => env.push((variable.clone(), value)),
                Err(why) => problems.push(format!(
                    "scripts in `{name}` do without the secret `{secret}`: {why}"
                )),
            }
        }
        toolsets.push(Toolset {
            folder: real(root, name),
            pool: folder.pool,
            env,
        });
    }
    let settings = ScriptSettings {
        interpreters: config.scripts.interpreters(),
        pool: config.scripts.pool(),
        toolsets,
    };
    (ScriptExecutor::new(host, settings), problems)
}

/// What scripts say.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) documents: Vec<Document>,
    /// Files that could not be loaded, and why.
    pub(super) broken: Vec<(PathBuf, String)>,
}

/// Scripts of one language in one folder.
type Set = (PathBuf, Runtime);

/// Loads scripts.
pub(super) async fn read(
    executor: &ScriptExecutor,
    root: &Path,
    config: &Config,
    files: Vec<PathBuf>,
) -> Read {
    let mut sets: BTreeMap<Set, Vec<PathBuf>> = BTreeMap::new();
    let mut programs = Vec::new();
    for file in files {
        match (Runtime::of_file(&file), file.parent()) {
            (Some(runtime), Some(folder)) => {
                let set = sets.entry((folder.to_owned(), runtime)).or_default();
                set.push(file);
            }
            _ => programs.push(file),
        }
    }
    let mut read = Read::default();
    if sets.is_empty() && programs.is_empty() {
        return read;
    }
    let mut kept = Kept::open(root);
    for ((folder, runtime), files) in sets {
        let about = config.scripts.of(root, &folder);
        let key = kept.key(config, &folder, runtime, &files);
        let found = match key.as_ref().and_then(|key| kept.get(key)) {
            Some(found) => Ok(found),
            None => executor.describe(runtime, &files).await,
        };
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                let why = match error.hint {
                    Some(hint) => format!("{}; {hint}", error.message),
                    None => error.message,
                };
                read.broken
                    .extend(files.into_iter().map(|f| (f, why.clone())));
                continue;
            }
        };
        if let Some(key) = key {
            kept.put(key, &found);
        }
        for described in found {
            define::script(&mut read, root, runtime, &about, described);
        }
    }
    for file in programs {
        let about = config.scripts.of(root, file.parent().unwrap_or(root));
        programs::program(&mut read, executor, &mut kept, root, &about, file).await;
    }
    kept.save();
    read
}

/// What was found in files that are still the same.
struct Kept {
    path: PathBuf,
    before: BTreeMap<String, Value>,
    now: BTreeMap<String, Value>,
}

impl Kept {
    fn open(root: &Path) -> Self {
        let path = State::of(root).path().join("scripts.json");
        let text = fs::read(&path).unwrap_or_default();
        Self {
            path,
            // What cannot be read is found anew.
            before: serde_json::from_slice(&text).unwrap_or_default(),
            now: BTreeMap::new(),
        }
    }

    /// What the files of a set, and what loads them, are known by.
    fn key(
        &self,
        config: &Config,
        folder: &Path,
        runtime: Runtime,
        files: &[PathBuf],
    ) -> Option<String> {
        let mut about = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "runtime": runtime.as_str(),
            "interpreters": format!("{:?}", config.scripts.interpreters()),
            "asked": files,
        });
        let mut beside: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(folder).ok()? {
            let entry = entry.ok()?;
            if entry.file_type().ok()?.is_file() {
                beside.push(entry.path());
            }
        }
        beside.sort();
        let mut hashes = serde_json::Map::new();
        for path in beside {
            let bytes = fs::read(&path).ok()?;
            hashes.insert(
                path.display().to_string(),
                Hash::of(&bytes).to_string().into(),
            );
        }
        about["files"] = Value::Object(hashes);
        Some(Hash::of(about.to_string().as_bytes()).to_string())
    }

    fn get<T: serde::de::DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let found = self.before.get(key)?;
        serde_json::from_value(found.clone()).ok()
    }

    /// Keeps what was found, unless something was wrong: that may be mended elsewhere.
    fn put(&mut self, key: String, found: &[Described]) {
        if found.iter().all(|described| described.error.is_none()) {
            self.now.insert(key, json!(found));
        }
    }

    fn save(self) {
        if self.now != self.before
            && let Ok(text) = serde_json::to_vec(&self.now)
        {
            // Without it, they are loaded again.
            let _ = fs::write(self.path, text);
        }
    }
}
