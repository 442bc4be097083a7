//! What a hub that was cut off left with the engine.
//!
//! Everything that is made here carries the mark of its hub and the id of its run. At
//! the next start, and whenever the engine had gone away, whatever has our mark and
//! belongs to no run that is at work is removed.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bollard::query_parameters::{
    ListContainersOptions, ListVolumesOptions, RemoveContainerOptions, RemoveVolumeOptions,
};
use helve_core::audit::Hash;
use helve_kernel::ToolError;

use super::engine::{Engine, is_gone};

/// The labels of all that is made here.
const HUB: &str = "helve.hub";
const RUN: &str = "helve.run";

/// What tells the things of one hub from those of others, and its runs at work.
#[derive(Debug, Clone)]
pub(crate) struct Marks {
    hub: String,
    live: Arc<Mutex<HashSet<String>>>,
}

/// A run at work: what has its mark is left alone until this is dropped.
#[derive(Debug)]
pub(crate) struct Live {
    marks: Marks,
    run: String,
}

impl Marks {
    /// Those of the hub of a workspace.
    pub(crate) fn of(root: &Path) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let hash = Hash::of(root.as_os_str().as_encoded_bytes()).to_string();
        Self {
            hub: hash[..16].to_owned(),
            live: Arc::default(),
        }
    }

    /// The labels of what a run makes.
    pub(crate) fn labels(&self, run: &str) -> HashMap<String, String> {
        HashMap::from([
            (HUB.to_owned(), self.hub.clone()),
            (RUN.to_owned(), run.to_owned()),
        ])
    }

    /// From here on, what has the mark of this run is no leftover.
    pub(crate) fn begin(&self, run: &str) -> Live {
        self.lock().insert(run.to_owned());
        Live {
            marks: self.clone(),
            run: run.to_owned(),
        }
    }

    /// Removes what no run at work has to do with; how many containers and volumes.
    pub(crate) async fn sweep(&self, engine: &Engine) -> Result<usize, ToolError> {
        let filters = HashMap::from([("label".to_owned(), vec![format!("{HUB}={}", self.hub)])]);
        let list = ListContainersOptions {
            all: true,
            filters: Some(filters.clone()),
            ..ListContainersOptions::default()
        };
        let containers = engine.docker.list_containers(Some(list)).await;
        let containers = containers.map_err(|e| engine.failed("list containers", &e))?;
        let mut removed = 0;
        for container in containers {
            if let (false, Some(id)) = (self.is_live(container.labels.as_ref()), &container.id) {
                remove_container(engine, id).await?;
                removed += 1;
            }
        }
        let list = ListVolumesOptions {
            filters: Some(filters),
        };
        let volumes = engine.docker.list_volumes(Some(list)).await;
        let volumes = volumes.map_err(|e| engine.failed("list volumes", &e))?;
        for volume in volumes.volumes.unwrap_or_default() {
            if !self.is_live(Some(&volume.labels)) {
                remove_volume(engine, &volume.name).await?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    fn is_live(&self, labels: Option<&HashMap<String, String>>) -> bool {
        let run = labels.and_then(|labels| labels.get(RUN));
        run.is_some_and(|run| self.lock().contains(run))
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<String>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.marks.lock().remove(&self.run);
    }
}

/// Kills and removes a container, and the volumes without a name that its image made.
/// One that is not there is no error.
pub(crate) async fn remove_container(engine: &Engine, name: &str) -> Result<(), ToolError> {
    let options = RemoveContainerOptions {
        force: true,
        v: true,
        ..RemoveContainerOptions::default()
    };
    match engine.docker.remove_container(name, Some(options)).await {
        Err(e) if !is_gone(&e) => Err(engine.failed("remove the container", &e)),
        _ => Ok(()),
    }
}

/// Removes a volume. When it is gone, nothing is mounted on its folders any more.
pub(crate) async fn remove_volume(engine: &Engine, name: &str) -> Result<(), ToolError> {
    let options = RemoveVolumeOptions::default();
    match engine.docker.remove_volume(name, Some(options)).await {
        Err(e) if !is_gone(&e) => Err(engine.failed("remove the volume", &e)),
        _ => Ok(()),
    }
}
