//! The files of a run that is a function: a view of the real ones, with its own changes
//! over them.
//!
//! Nothing that is written here touches a real file before the run has ended well and
//! its changes are committed. A tool that fails has changed nothing. The hub's own state
//! is not there, whichever way leads to it.

mod desk;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use helve_changes::{Allowed, Files as View, Looked, Root, Staged};

use crate::keeper::{Keeper, refusal};
use crate::{RunId, ToolError};
pub use desk::Desk;

/// The files that a run may see and change. A clone is the same view.
#[derive(Clone, Default)]
pub struct Files(Option<Arc<Opened>>);

/// A small file, all of it.
#[derive(Debug)]
pub struct Glance {
    /// Its path as it is shown.
    pub shown: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// What it is.
    pub looked: Looked,
}

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
        self.work(path, |desk| desk.read(desk.path())).await
    }

    /// The text of a file; one that is not UTF-8 is an error.
    pub async fn read_to_string(&self, path: impl AsRef<Path>) -> Result<String, ToolError> {
        let read = self.work(path, |desk| {
            let text = String::from_utf8(desk.read(desk.path())?);
            let shown = desk.shown(desk.path());
            text.map_err(|_| ToolError::validation(format!("`{shown}` is no UTF-8 text")))
        });
        read.await
    }

    /// What a path is, if it is there.
    pub async fn look(&self, path: impl AsRef<Path>) -> Result<Option<Looked>, ToolError> {
        self.work(path, |desk| desk.look(desk.path())).await
    }

    /// What is in a folder, by name.
    pub async fn list(&self, path: impl AsRef<Path>) -> Result<Vec<(OsString, Looked)>, ToolError> {
        self.work(path, |desk| desk.list(desk.path())).await
    }

    /// Makes a file, or gives it another content.
    pub async fn write(
        &self,
        path: impl AsRef<Path>,
        bytes: impl Into<Vec<u8>>,
    ) -> Result<(), ToolError> {
        let bytes = bytes.into();
        self.work(path, move |desk| desk.write(desk.path(), &bytes))
            .await
    }

    /// Adds to a file, which is made if it is not there.
    pub async fn append(
        &self,
        path: impl AsRef<Path>,
        bytes: impl Into<Vec<u8>>,
    ) -> Result<(), ToolError> {
        let bytes = bytes.into();
        self.work(path, move |desk| desk.append(desk.path(), &bytes))
            .await
    }

    /// Makes a folder, and those above it.
    pub async fn create_dir_all(&self, path: impl AsRef<Path>) -> Result<(), ToolError> {
        self.work(path, |desk| desk.create_dir_all(desk.path()))
            .await
    }

    /// Removes a file, a link or an empty folder.
    pub async fn remove(&self, path: impl AsRef<Path>) -> Result<(), ToolError> {
        self.work(path, |desk| desk.remove(desk.path())).await
    }

    /// Removes a folder with all that is in it.
    pub async fn remove_dir_all(&self, path: impl AsRef<Path>) -> Result<(), ToolError> {
        self.work(path, |desk| desk.remove_dir_all(desk.path()))
            .await
    }

    /// Puts a file or a folder elsewhere.
    pub async fn rename(
        &self,
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
    ) -> Result<(), ToolError> {
        let to = to.as_ref().to_owned();
        self.work(from, move |desk| desk.rename(desk.path(), &to))
            .await
    }

    /// Makes a link that leads to `target`.
    pub async fn symlink(
        &self,
        target: impl AsRef<Path>,
        path: impl AsRef<Path>,
    ) -> Result<(), ToolError> {
        let target = target.as_ref().to_owned();
        self.work(path, move |desk| desk.symlink(&target, desk.path()))
            .await
    }

    /// Sets the permission bits.
    pub async fn set_mode(&self, path: impl AsRef<Path>, mode: u32) -> Result<(), ToolError> {
        self.work(path, move |desk| desk.set_mode(desk.path(), mode))
            .await
    }

    /// Does a whole piece of work on files beside the runtime. `path` is where it begins;
    /// whoever does it asks [`Desk::is_stopped`] now and then, because a run whose time is
    /// over does not wait for it.
    pub async fn work<T: Send + 'static>(
        &self,
        path: impl AsRef<Path>,
        work: impl FnOnce(&Desk<'_>) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let Some(opened) = self.0.clone() else {
            return Err(ToolError::dependency("this run has no files")
                .with_hint("the hub must keep changes, and the tool must have `allowed_paths`"));
        };
        let path = opened.start.join(path);
        let going = Going(Arc::default());
        let stopped = going.0.clone();
        let keeper = opened.keeper.clone();
        let done = keeper.blocking(move |_| {
            let _turn = opened.turn.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(opened.view().and_then(|view| {
                opened.may_see(&path)?;
                work(&Desk::new(view, &opened, &path, &stopped))
            }))
        });
        done.await.map_err(|e| refusal(&e))?
    }

    /// A file of at most so many bytes, where no disk has to be waited for. `None` in every
    /// other case: [`Files::work`] finds out what there is to say.
    pub fn glance(&self, path: impl AsRef<Path>, most: usize) -> Option<Glance> {
        let opened = self.0.as_ref()?;
        let _turn = opened.turn.try_lock().ok()?;
        let path = opened.start.join(path);
        opened.may_see(&path).ok()?;
        let (bytes, looked) = opened.view().ok()?.glance(&path, most)?;
        Some(Glance {
            shown: opened.shown(&path),
            bytes,
            looked,
        })
    }

    /// Gives a file that was glanced at, and still is what was seen, another content, where that
    /// is the first change of the run and small. `false` in every other case: then nothing is
    /// done, and [`Files::work`] does it.
    pub fn jot(&self, path: impl AsRef<Path>, seen: &[u8], bytes: &[u8]) -> bool {
        let Some(opened) = &self.0 else {
            return false;
        };
        let Ok(_turn) = opened.turn.try_lock() else {
            return false;
        };
        let path = opened.start.join(path);
        let view = opened.may_see(&path).and_then(|()| opened.view());
        view.is_ok_and(|view| view.jot(&path, seen, bytes))
    }

    /// What was changed, once the run has ended well.
    pub(crate) async fn finish(&self) -> Result<Option<Arc<Staged>>, ToolError> {
        let is_staged = |o: &Arc<Opened>| o.view.get().is_some_and(View::is_staged);
        let Some(opened) = self.0.clone().filter(is_staged) else {
            return Ok(None);
        };
        if let (Ok(_turn), Some(view)) = (opened.turn.try_lock(), opened.view.get()) {
            // One small file is in memory, and nothing is waited for.
            let quick = view.finish_quick(&opened.allowed);
            if let Some(staged) = quick.map_err(|e| refusal(&e))? {
                return Ok(Some(Arc::new(staged)));
            }
        }
        let keeper = opened.keeper.clone();
        let done = keeper.blocking(move |keeper| {
            let _turn = opened.turn.lock().unwrap_or_else(PoisonError::into_inner);
            let view = opened.view.get();
            view.map(|view| view.finish(&opened.allowed, keeper.blobs()))
                .transpose()
        });
        let staged = done.await.map_err(|e| refusal(&e))?;
        Ok(staged.map(Arc::new))
    }
}

impl Opened {
    /// A path as it is shown: from the workspace, where it is inside.
    fn shown(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.start).unwrap_or(path);
        match inside.as_os_str().is_empty() {
            true => ".".to_owned(),
            false => inside.to_string_lossy().into_owned(),
        }
    }

    /// A folder may have to be opened for one file in it; the others are not to be seen.
    fn may_see(&self, path: &Path) -> Result<(), ToolError> {
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

    /// The view, opened at the first use: most runs need none.
    fn view(&self) -> Result<&View, ToolError> {
        if let Some(view) = self.view.get() {
            return Ok(view);
        }
        let stage = self.keeper.stage_of(&self.run);
        let view = View::new(&self.roots, &stage).map_err(|e| refusal(&e))?;
        let view = view.hiding([self.start.join(crate::kernel::STATE)]);
        Ok(self.view.get_or_init(|| view))
    }
}

/// Whoever waits for the work. Without them it ends.
struct Going(Arc<AtomicBool>);

impl Drop for Going {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
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
