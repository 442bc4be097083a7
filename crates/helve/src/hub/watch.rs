//! Hot reload: the tool folders, `helve.toml`, and the rules that people remembered, watched.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use helve_exec::ScriptExecutor;
use helve_kernel::Kernel;
use helve_kernel::store::Record;
use notify::{RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::rules;
use super::tools::{self, Synced};
use crate::config::Config;
use crate::state::State;

/// How long nothing must happen before the folders are looked at.
const QUIET: Duration = Duration::from_millis(150);

/// Keeps the registry and the rules as the files say, until the hub closes.
pub(crate) async fn watch(
    kernel: Kernel,
    scripts: ScriptExecutor,
    root: PathBuf,
    mut config: Config,
    closing: CancellationToken,
    told: impl Fn(&Synced) + Send + Sync,
) {
    let (sender, mut receiver) = mpsc::channel(1);
    let watched: Arc<Mutex<Vec<PathBuf>>> = Arc::default();
    let (ours, toml) = (watched.clone(), root.join("helve.toml"));
    let remembered = State::of(&root).rules();
    let rules = remembered.clone();
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let matters = event.map_or(true, |event| {
            let folders = ours.lock().unwrap_or_else(PoisonError::into_inner);
            let concerns = |path: &PathBuf| {
                // A folder that is not there yet begins with one that appears.
                let near = |f: &PathBuf| path.starts_with(f) || f.starts_with(path);
                *path == toml || *path == rules || folders.iter().any(near)
            };
            !event.kind.is_access() && event.paths.iter().any(concerns)
        });
        if matters {
            // One that waits is enough.
            let _ = sender.try_send(());
        }
    });
    let Ok(mut watcher) = watcher else {
        told(&problem(
            "files cannot be watched here; restart to load what changed",
        ));
        return;
    };
    let place = |watcher: &mut notify::RecommendedWatcher, config: &Config| {
        *watched.lock().unwrap_or_else(PoisonError::into_inner) = config.tools(&root);
        // Folders that are not there yet appear in the workspace itself.
        let _ = watcher.watch(&root, RecursiveMode::NonRecursive);
        // The file alone: beside it lies the database, which changes with every call. Whoever
        // replaces it replaces what is watched, so it is watched anew each time.
        rules::prepare(&remembered);
        let _ = watcher.watch(&remembered, RecursiveMode::NonRecursive);
        for folder in config.tools(&root) {
            if folder.is_dir() {
                let _ = watcher.watch(&folder, RecursiveMode::Recursive);
            }
        }
    };
    place(&mut watcher, &config);
    let mut known: Vec<String> = Vec::new();
    // What changed after it was loaded and before it was watched is seen by nobody else.
    let mut looked = false;
    loop {
        if looked {
            tokio::select! {
                Some(()) = receiver.recv() => {}
                () = closing.cancelled() => return,
            }
            while let Ok(Some(())) = tokio::time::timeout(QUIET, receiver.recv()).await {}
        }
        let first = !std::mem::replace(&mut looked, true);
        // Before the rules: a tool never counts before the rules that were written before it.
        let mut read = tools::read(&scripts, &root, &config).await;
        match Config::load(&root) {
            Ok(new) => {
                if (new.tools(&root), &new.scripts) != (config.tools(&root), &config.scripts) {
                    read = tools::read(&scripts, &root, &new).await;
                }
                match count_rules(&kernel, &new, "hub").await {
                    Ok(true) => told(&Synced {
                        changed: vec!["the policy".to_owned()],
                        ..Synced::default()
                    }),
                    Ok(false) => {}
                    Err(e) => told(&problem(&e)),
                }
                if (&new.approvals, &new.server, &new.scripts)
                    != (&config.approvals, &config.server, &config.scripts)
                {
                    told(&problem(
                        "`[approvals]`, `[server]` and `[scripts]` count from the next start on",
                    ));
                }
                config = new;
            }
            Err(failure) => told(&problem(&format!(
                "{:#}; the old rules stay",
                failure.error
            ))),
        }
        place(&mut watcher, &config);
        match read {
            Ok(read) => {
                let mut synced = tools::sync(&kernel, &root, read).await;
                // What is wrong is told once, not whenever something else changes.
                let problems = std::mem::take(&mut synced.problems);
                // At the first look, whoever started the hub has told them.
                let new = problems.iter().filter(|p| !first && !known.contains(p));
                synced.problems = new.cloned().collect();
                known = problems;
                if !synced.is_empty() {
                    told(&synced);
                }
            }
            Err(failure) => told(&problem(&format!("{:#}", failure.error))),
        }
    }
}

/// Lets the rules of a configuration count, on record as done by `actor`; whether they are
/// others than before.
pub(super) async fn count_rules(
    kernel: &Kernel,
    config: &Config,
    actor: &str,
) -> Result<bool, String> {
    let policy = config.policy()?;
    if policy == *kernel.policy() {
        return Ok(false);
    }
    let rules = serde_json::Value::Array(config.policy.clone());
    let hash = helve_core::audit::hash_of(&rules)
        .map(|h| h.to_string())
        .unwrap_or_default();
    let record = Record::new(kernel.now(), "policy.changed", actor, "policy")
        .with("rules", policy.rules().len())
        .with("hash", hash);
    let recorded = kernel.store().record(record).await;
    recorded.map_err(|e| format!("the new rules do not count: {e}"))?;
    kernel.set_policy(policy);
    Ok(true)
}

fn problem(what: &str) -> Synced {
    Synced {
        problems: vec![what.to_owned()],
        ..Synced::default()
    }
}
