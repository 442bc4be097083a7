//! Where file changes are held: in the stage until they are applied, in the journal
//! while they are, and what was there before for as long as it may be wanted back.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use helve_changes::{
    Allowed, Blobs, Changeset, Ended, Error, Journal, Placed, Probe, Redone, Staged, Trouble,
};
use helve_core::audit::Hash;

use crate::{RunId, ToolError};

/// Holds file changes, in a folder of its own.
pub struct Keeper {
    blobs: Blobs,
    journal: Journal,
    stage: PathBuf,
    /// Makes a step fail, in tests.
    probe: Box<dyn Probe + Send>,
    /// One commit at a time.
    pub(crate) commits: tokio::sync::Mutex<()>,
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Keeper");
        shown
            .field("folder", &self.folder())
            .finish_non_exhaustive()
    }
}

impl Keeper {
    /// Opens the folder, which only this keeper uses, and makes it if it is not there.
    /// No more than `quota` bytes of before-images are kept.
    pub fn open(folder: &Path, quota: Option<u64>) -> Result<Self, Error> {
        let made = |source, path: &Path| Error::Io {
            what: "make the folder",
            path: path.to_owned(),
            source,
        };
        private_folder(folder).map_err(|e| made(e, folder))?;
        // The state may lie behind a link, but nothing inside it may be one: what is
        // written and removed here would be written and removed elsewhere.
        let folder = &fs::canonicalize(folder).map_err(|e| made(e, folder))?;
        let stage = folder.join("stage");
        for path in [&stage, &folder.join("objects"), &folder.join("journal")] {
            private_folder(path)
                .and_then(|()| is_folder(path))
                .map_err(|e| made(e, path))?;
        }
        Ok(Self {
            blobs: Blobs::open(&folder.join("objects"), quota)?,
            journal: Journal::open(&folder.join("journal"))?,
            stage,
            probe: Box::new(()),
            commits: tokio::sync::Mutex::default(),
        })
    }

    /// The same, whose steps after a change is in place fail when the probe says so.
    #[cfg(test)]
    pub(crate) fn probed(self, probe: impl Probe + Send + 'static) -> Self {
        let probe = Box::new(probe);
        Self { probe, ..self }
    }

    /// The folder of all of it, which no tool should see.
    pub fn folder(&self) -> &Path {
        self.stage.parent().unwrap_or(&self.stage)
    }

    /// Applies changes at once, for an executor that has to make good what a program did
    /// to real files. Blocks.
    pub fn put_back(&self, staged: &Staged) -> Result<(), Error> {
        let _turn = self.commits.blocking_lock();
        let allowed = Allowed::just(&staged.changeset);
        let ended = self.journal.commit(staged, &allowed, &self.blobs)?;
        self.journal.settle(&ended.id)
    }

    /// What went wrong with changes, for whoever called.
    pub fn refusal(error: &Error) -> ToolError {
        refusal(error)
    }

    /// What was there before.
    pub fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    /// Where the commits are written down.
    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The folder of what a run would change; whoever needs it makes it.
    pub fn stage_of(&self, run: &RunId) -> PathBuf {
        self.stage.join(run.as_str())
    }

    /// Applies changes, all or none.
    pub(crate) async fn commit(
        self: &Arc<Self>,
        staged: Arc<Staged>,
        allowed: Allowed,
    ) -> Result<Ended, Error> {
        let _turn = self.commits.lock().await;
        self.blocking(move |keeper| keeper.journal.commit(&staged, &allowed, &keeper.blobs))
            .await
    }

    /// Applies a change of one small file, whose redo is durable.
    pub(crate) async fn place(
        self: &Arc<Self>,
        staged: Arc<Staged>,
        allowed: Allowed,
    ) -> Result<Ended, Error> {
        let _turn = self.commits.lock().await;
        self.blocking(move |keeper| keeper.journal.place(&staged, &allowed, &keeper.blobs))
            .await
    }

    /// Brings changes to the disk; tells of which it could not. Blocks.
    pub(crate) fn harden(&self, placed: &[Changeset]) -> Vec<Trouble> {
        let probe = &*self.probe;
        self.journal.harden_with(placed, &self.blobs, probe)
    }

    /// Does again what a crash may have lost. Blocks.
    pub(crate) fn redo(&self, placed: &[Placed<'_>]) -> Result<Vec<Redone>, Error> {
        self.journal.redo_with(placed, &self.blobs, &*self.probe)
    }

    /// Forgets a commit whose end is recorded, and what the run had staged.
    pub(crate) async fn settle(self: &Arc<Self>, run: &RunId, id: Hash) {
        let folder = self.stage_of(run);
        // Where it fails, the next start does it.
        let _ = self
            .blocking(move |keeper| {
                let settled = keeper.journal.settle(&id);
                let _ = remove_stage(&folder);
                settled
            })
            .await;
    }

    /// Forgets what a run would have changed.
    pub(crate) async fn drop_stage(self: &Arc<Self>, run: &RunId) {
        let folder = self.stage_of(run);
        // What cannot be removed now is removed at the next start.
        let _ = self
            .blocking(move |_| {
                let _ = remove_stage(&folder);
                Ok(())
            })
            .await;
    }

    /// Removes the stages of all runs but these. What is no run's is left alone.
    pub(crate) fn sweep_stages(&self, open: &[RunId]) -> io::Result<()> {
        is_folder(&self.stage)?;
        for entry in fs::read_dir(&self.stage)? {
            let entry = entry?;
            let run = entry.file_name().to_str().and_then(RunId::parse);
            if run.is_some_and(|run| !open.contains(&run)) {
                remove_stage(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Does something slow beside the runtime.
    pub(crate) async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Keeper) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let keeper = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&keeper)).await;
        done.unwrap_or_else(|e| Err(Error::Manifest(format!("Helve crashed at it: {e}"))))
    }
}

fn private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

/// A real folder, and no link to one.
fn is_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => Ok(()),
        false => Err(io::Error::other("it is a link or a file, and no folder")),
    }
}

/// A run may have left folders that nobody may enter. A link or a file in the place of
/// a stage goes as such; what is behind it is not touched.
fn remove_stage(folder: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !found.is_dir() {
        return fs::remove_file(folder);
    }
    match fs::remove_dir_all(folder) {
        Ok(()) => Ok(()),
        Err(_) => {
            open_up(folder)?;
            fs::remove_dir_all(folder)
        }
    }
}

fn open_up(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

/// What went wrong with changes, for whoever called.
pub(crate) fn refusal(error: &Error) -> ToolError {
    let text = with_source(error);
    match error {
        Error::Conflict { .. } => ToolError::conflict(text)
            .with_hint("nothing was changed; look at those files, then call it again"),
        Error::Outside { .. } => ToolError::permission(text).with_hint(
            "nothing was changed; `allowed_paths` of the definition says where it may write",
        ),
        Error::Protected { .. } => ToolError::permission(text).with_hint("nothing was changed"),
        Error::Special { .. } | Error::Owner { .. } => {
            ToolError::permission(text).with_hint("nothing was changed")
        }
        Error::Quota { .. } => {
            ToolError::dependency(text).with_hint("nothing was changed; `helve gc` makes room")
        }
        Error::Half { .. } => ToolError::internal(text).with_hint("look at those files"),
        Error::Busy { .. } => ToolError::transient(text),
        _ => ToolError::dependency(text).with_hint("nothing was changed"),
    }
}

pub(crate) fn with_source(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
