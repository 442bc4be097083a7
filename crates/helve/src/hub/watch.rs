//! Hot reload: the tool folders and `helve.toml`, watched.

use std::path::PathBuf;
use std::time::Duration;

use helve_kernel::Kernel;
use helve_kernel::store::Record;
use notify::{RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::tools::{self, Synced};
use crate::config::Config;

/// How long nothing must happen before the folders are looked at.
const QUIET: Duration = Duration::from_millis(150);

/// Keeps the registry and the rules as the files say, until the hub closes.
pub(crate) async fn watch(
    kernel: Kernel,
    root: PathBuf,
    mut config: Config,
    closing: CancellationToken,
    told: impl Fn(&Synced) + Send + Sync,
) {
    let (sender, mut receiver) = mpsc::channel(1);
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let looked = event.is_ok_and(|e| e.kind.is_access());
        if !looked {
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
        // Folders that are not there yet appear in the workspace itself.
        let _ = watcher.watch(&root, RecursiveMode::NonRecursive);
        for folder in config.tools(&root) {
            if folder.is_dir() {
                let _ = watcher.watch(&folder, RecursiveMode::Recursive);
            }
        }
    };
    place(&mut watcher, &config);
    loop {
        tokio::select! {
            Some(()) = receiver.recv() => {}
            () = closing.cancelled() => return,
        }
        while let Ok(Some(())) = tokio::time::timeout(QUIET, receiver.recv()).await {}
        match Config::load(&root) {
            Ok(new) => {
                if new.policy != config.policy {
                    told(&new_policy(&kernel, &new).await);
                }
                config = new;
            }
            Err(failure) => told(&problem(&format!(
                "{:#}; the old rules stay",
                failure.error
            ))),
        }
        place(&mut watcher, &config);
        match tools::sync(&kernel, &root, &config).await {
            Ok(synced) if synced.is_empty() => {}
            Ok(synced) => told(&synced),
            Err(failure) => told(&problem(&format!("{:#}", failure.error))),
        }
    }
}

async fn new_policy(kernel: &Kernel, config: &Config) -> Synced {
    let policy = match config.policy() {
        Ok(policy) => policy,
        Err(e) => return problem(&e),
    };
    let rules = serde_json::Value::Array(config.policy.clone());
    let hash = helve_core::audit::hash_of(&rules)
        .map(|h| h.to_string())
        .unwrap_or_default();
    let mut details = serde_json::Map::new();
    details.insert("rules".to_owned(), policy.rules().len().into());
    details.insert("hash".to_owned(), hash.into());
    let record = Record {
        at: kernel.now(),
        event: "policy.changed",
        actor: "hub".to_owned(),
        resource: "policy".to_owned(),
        details,
    };
    if let Err(e) = kernel.store().record(record).await {
        return problem(&format!("the new rules do not count: {e}"));
    }
    kernel.set_policy(policy);
    Synced {
        changed: vec!["the policy".to_owned()],
        ..Synced::default()
    }
}

fn problem(what: &str) -> Synced {
    Synced {
        problems: vec![what.to_owned()],
        ..Synced::default()
    }
}
