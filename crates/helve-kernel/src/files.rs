//! The files of a run that is a function: a view of the real ones, with its own changes
//! over them.
//!
//! Nothing that is written here touches a real file before the run has ended well and
//! its changes are committed. A tool that fails has changed nothing.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use helve_changes::{Allowed, Error, Files as View, Looked, Root, Staged, What};

use crate::keeper::{Keeper, refusal};
use crate::{RunId, ToolError};

/// The files that a run may see and change. A clone is the same view.
#[derive(Clone, Default)]
pub struct Files(Option<Arc<Opened>>);

struct Opened {
    keeper: Arc<Keeper>,
    run: RunId,
    /// Where relative paths begin.
    start: PathBuf,
    roots: Vec<Root>,
    /// What may be looked at.
    seen: Vec<PathBuf>,
    allowed: Allowed,
    view: OnceLock<View>,
    /// One at a time: the view keeps its changes in files.
    turn: Mutex<()>,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roots = self.0.as_ref().map(|opened| &opened.roots);
        f.debug_tuple("Files").field(&roots).finish()
    }
}

impl Files {
    pub(crate) fn new(
        keeper: Arc<Keeper>,
        run: RunId,
        start: PathBuf,
        seen: &[Root],
        allowed: Allowed,
    ) -> Self {
        Self(Some(Arc::new(Opened {
            keeper,
            run,
            start,
            roots: folders(seen),
            seen: seen.iter().map(|root| root.path.clone()).collect(),
            allowed,
            view: OnceLock::new(),
            turn: Mutex::default(),
        })))
    }

    /// The bytes of a file.
    pub async fn read(&self, path: impl AsRef<Path>) -> Result<Vec<u8>, ToolError> {
        self.with(path, View::read).await
    }

    /// The text of a file; one that is not UTF-8 is an error.
    pub async fn read_to_string(&self, path: impl AsRef<Path>) -> Result<String, ToolError> {
        self.with(path, View::read_to_string).await
    }

    /// What a path is, if it is there.
    pub async fn look(&self, path: impl AsRef<Path>) -> Result<Option<Looked>, ToolError> {
        self.with(path, View::look).await
    }

    /// What is in a folder, by name.
    pub async fn list(&self, path: impl AsRef<Path>) -> Result<Vec<(OsString, What)>, ToolError> {
        let folder = self.0.as_ref().map(|opened| opened.start.join(&path));
        let mut names = self.with(path, View::list).await?;
        if let (Some(opened), Some(folder)) = (&self.0, folder) {
            names.retain(|(name, _)| !opened.is_state(&folder.join(name)));
        }
        Ok(names)
    }

    /// Makes a file, or gives it another content.
    pub async fn write(
        &self,
        path: impl AsRef<Path>,
        bytes: impl Into<Vec<u8>>,
    ) -> Result<(), ToolError> {
        let bytes = bytes.into();
        self.with(path, move |view, path| view.write(path, &bytes))
            .await
    }

    /// Adds to a file, which is made if it is not there.
    pub async fn append(
        &self,
        path: impl AsRef<Path>,
        bytes: impl Into<Vec<u8>>,
    ) -> Result<(), ToolError> {
        let bytes = bytes.into();
        self.with(path, move |view, path| view.append(path, &bytes))
            .await
    }

    /// Makes a folder, and those above it.
    pub async fn create_dir_all(&self, path: impl AsRef<Path>) -> Result<(), ToolError> {
        self.with(path, View::create_dir_all).await
    }

    /// Removes a file, a link or an empty folder.
    pub async fn remove(&self, path: impl AsRef<Path>) -> Result<(), ToolError> {
        self.with(path, View::remove).await
    }

    /// Removes a folder with all that is in it.
    pub async fn remove_dir_all(&self, path: impl AsRef<Path>) -> Result<(), ToolError> {
        self.with(path, View::remove_dir_all).await
    }

    /// Puts a file or a folder elsewhere.
    pub async fn rename(
        &self,
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
    ) -> Result<(), ToolError> {
        let to = match &self.0 {
            Some(opened) => opened.start.join(to),
            None => to.as_ref().to_owned(),
        };
        self.with(from, move |view, from| view.rename(from, &to))
            .await
    }

    /// Makes a link that leads to `target`.
    pub async fn symlink(
        &self,
        target: impl AsRef<Path>,
        path: impl AsRef<Path>,
    ) -> Result<(), ToolError> {
        let target = target.as_ref().to_owned();
        self.with(path, move |view, path| view.symlink(&target, path))
            .await
    }

    /// Sets the permission bits.
    pub async fn set_mode(&self, path: impl AsRef<Path>, mode: u32) -> Result<(), ToolError> {
        self.with(path, move |view, path| view.set_mode(path, mode))
            .await
    }

    async fn with<T: Send + 'static>(
        &self,
        path: impl AsRef<Path>,
        work: impl FnOnce(&View, &Path) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, ToolError> {
        let Some(opened) = self.0.clone() else {
            return Err(ToolError::dependency("this run has no files")
                .with_hint("the hub must keep changes, and the tool must have `allowed_paths`"));
        };
        let path = opened.start.join(path);
        opened.may_see(&path)?;
        let keeper = opened.keeper.clone();
        let done = keeper.blocking(move |_| {
            let _turn = opened.turn.lock().unwrap_or_else(PoisonError::into_inner);
            work(opened.view()?, &path)
        });
        done.await.map_err(|e| refusal(&e))
    }

    /// What was changed, once the run has ended well.
    pub(crate) async fn finish(&self) -> Result<Option<Arc<Staged>>, ToolError> {
        let Some(opened) = self.0.clone().filter(|o| o.view.get().is_some()) else {
            return Ok(None);
        };
        let keeper = opened.keeper.clone();
        let done = keeper.blocking(move |keeper| {
            let _turn = opened.turn.lock().unwrap_or_else(PoisonError::into_inner);
            opened.view()?.finish(&opened.allowed, keeper.blobs())
        });
        let staged = done.await.map_err(|e| refusal(&e))?;
        Ok(Some(Arc::new(staged)))
    }
}

impl Opened {
    /// A folder may have to be opened for one file in it; the others are not to be seen.
    fn may_see(&self, path: &Path) -> Result<(), ToolError> {
        if self.is_state(path) {
            let path = path.display();
            let why = format!("`{path}` is the hub's own state, which is not for tools");
            return Err(ToolError::permission(why));
        }
        if self.seen.iter().any(|seen| path.starts_with(seen)) {
            return Ok(());
        }
        let (path, list) = (path.display(), &self.seen);
        let list: Vec<String> = list.iter().map(|p| format!("`{}`", p.display())).collect();
        Err(ToolError::permission(format!(
            "`{path}` is outside of what the tool may touch: {}",
            list.join(", ")
        )))
    }

    /// Whether it is the hub's own state, or in it.
    fn is_state(&self, path: &Path) -> bool {
        path.starts_with(self.start.join(crate::kernel::STATE))
    }

    /// The view, opened at the first use: most runs need none.
    fn view(&self) -> Result<&View, Error> {
        if let Some(view) = self.view.get() {
            return Ok(view);
        }
        let stage = self.stage()?;
        let view = View::new(&self.roots, &stage)?;
        Ok(self.view.get_or_init(|| view))
    }

    fn stage(&self) -> Result<PathBuf, Error> {
        let stage = self.keeper.stage_of(&self.run);
        std::fs::create_dir_all(&stage).map_err(|source| Error::Io {
            what: "make the folder",
            path: stage.clone(),
            source,
        })?;
        Ok(stage)
    }
}

/// The folders to be opened: of what is no folder, or not there yet, the nearest above
/// that is; of two inside each other, the outer one, unless they differ in what may be
/// done.
fn folders(seen: &[Root]) -> Vec<Root> {
    let mut folders: Vec<Root> = Vec::new();
    for root in seen {
        let above = root.path.ancestors().find(|path| path.is_dir());
        let Some(path) = above.map(Path::to_owned) else {
            continue;
        };
        let access = root.access;
        let inside = |known: &Root| path.starts_with(&known.path) && known.access == access;
        if !folders.iter().any(inside) {
            folders.retain(|known| !known.path.starts_with(&path) || known.access != access);
            folders.push(Root { path, access });
        }
    }
    folders
}
