//! What a run may change, and where its changes land.
//!
//! Each folder that a tool may write is an overlay (or, where the machine has none, a
//! copy); all else is read-only. When the program has ended well, what is in those
//! layers is the changeset. The real folders are not touched here.
//!
//! A tool may be allowed a single file, or a path that is not there yet: then the
//! nearest folder above it is the layer, and whatever it changes beside what it may
//! is found when the changes are captured.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use helve_kernel::helve_changes::{
    Allowed, Books, Copied, Error, Overlay, Staged, capture_copy, capture_overlay, copy_tree,
};
use helve_kernel::{Keeper, ToolError};
use helve_sandbox::{Layer, remove_work, remove_work_but_index};

/// How the folders of a run are kept from being changed for real.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// By overlays.
    Overlays,
    /// By copies, which the program sees in their place.
    Copies,
    /// Not at all: the program runs on the real ones, of which there are copies.
    Nothing,
}

/// The folders of one run.
#[derive(Debug)]
pub(crate) struct Cage {
    kind: Kind,
    keeper: Arc<Keeper>,
    allowed: Allowed,
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    real: PathBuf,
    stage: PathBuf,
}

impl Part {
    fn upper(&self) -> PathBuf {
        self.stage.join("upper")
    }

    fn work(&self) -> PathBuf {
        self.stage.join("work")
    }

    fn copy(&self) -> PathBuf {
        self.stage.join("copy")
    }
}

impl Cage {
    /// Makes the folders of an attempt; `stage` is the run's.
    pub(crate) fn build(
        kind: Kind,
        keeper: Arc<Keeper>,
        stage: &Path,
        writable: &[PathBuf],
    ) -> Result<Self, ToolError> {
        let targets = targets(writable);
        if let Some(target) = targets.iter().find(|target| stage.starts_with(target))
            && kind != Kind::Overlays
        {
            // The copy would hold the state, and itself without end.
            return Err(ToolError::dependency(format!(
                "not run: `{}` cannot be copied, because the hub's own state is in it",
                target.display()
            ))
            .with_hint("there are no overlays here; name folders inside it in `allowed_paths`"));
        }
        let attempt = fresh(stage).map_err(|e| unmade(stage, &e))?;
        let mut parts = Vec::new();
        for (i, real) in targets.into_iter().enumerate() {
            let stage = attempt.join(i.to_string());
            private(&stage).map_err(|e| unmade(&stage, &e))?;
            let part = Part { real, stage };
            match kind {
                Kind::Overlays => {
                    for folder in [part.upper(), part.work()] {
                        private(&folder).map_err(|e| unmade(&folder, &e))?;
                    }
                }
                Kind::Copies | Kind::Nothing => {
                    copy_tree(&part.real, &part.copy()).map_err(|e| refused(&e))?;
                }
            }
            parts.push(part);
        }
        Ok(Self {
            kind,
            keeper,
            allowed: Allowed::new(writable.iter().cloned()),
            parts,
        })
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// What the sandbox puts over the real folders.
    pub(crate) fn layers(&self) -> Vec<Layer> {
        let layer = |part: &Part| match self.kind {
            Kind::Overlays => Layer::Overlay {
                target: part.real.clone(),
                upper: part.upper(),
                work: part.work(),
            },
            Kind::Copies | Kind::Nothing => Layer::Bind {
                target: part.real.clone(),
                source: part.copy(),
            },
        };
        self.parts.iter().map(layer).collect()
    }

    /// What the program would change, when it has ended well.
    pub(crate) fn capture(self, books: Books, index: bool) -> Result<Staged, ToolError> {
        let captured = match self.kind {
            Kind::Overlays => {
                let overlays: Vec<Overlay> = self
                    .parts
                    .iter()
                    .map(|part| Overlay {
                        lower: part.real.clone(),
                        upper: part.upper(),
                        work: index.then(|| part.work()),
                        books,
                    })
                    .collect();
                capture_overlay(&overlays, &self.allowed, self.keeper.blobs())
            }
            Kind::Copies => capture_copy(&self.copied(), &self.allowed, self.keeper.blobs()),
            Kind::Nothing => self
                .turn_back()
                .and_then(|()| capture_copy(&self.copied(), &self.allowed, self.keeper.blobs())),
        };
        // What the kernel left there opens to nobody, and is not needed any more.
        for part in &self.parts {
            let _ = match index {
                true => remove_work_but_index(&part.work()),
                false => remove_work(&part.work()),
            };
        }
        captured.map_err(|e| refused(&e))
    }

    /// Makes the real folders what they were, where the program ran on them, and failed.
    pub(crate) fn restore(self) -> Result<(), ToolError> {
        match self.kind {
            Kind::Overlays | Kind::Copies => Ok(()),
            Kind::Nothing => self.turn_back().map_err(|e| refused(&e)),
        }
    }

    /// The program has changed the real folders, and the copies are what they were.
    /// Afterwards it is the other way round.
    fn turn_back(&self) -> Result<(), Error> {
        for part in &self.parts {
            let (before, after) = (part.stage.join("before"), part.stage.join("after"));
            fs::rename(part.copy(), &before).map_err(|e| failed("rename", &part.copy(), e))?;
            copy_tree(&part.real, &after)?;
            let back = [Copied {
                real: part.real.clone(),
                copy: before,
            }];
            let whole = Allowed::new([part.real.clone()]);
            let back = capture_copy(&back, &whole, self.keeper.blobs());
            self.keeper.put_back(&back?)?;
            fs::rename(&after, part.copy()).map_err(|e| failed("rename", &after, e))?;
        }
        Ok(())
    }

    fn copied(&self) -> Vec<Copied> {
        let copied = |part: &Part| Copied {
            real: part.real.clone(),
            copy: part.copy(),
        };
        self.parts.iter().map(copied).collect()
    }
}

/// The folders to be layered: of what is no folder, or not there yet, the nearest above
/// that is; of two inside each other, the outer one.
fn targets(writable: &[PathBuf]) -> Vec<PathBuf> {
    let mut targets: Vec<PathBuf> = Vec::new();
    for path in writable {
        let Some(folder) = path.ancestors().find(|path| path.is_dir()) else {
            continue;
        };
        if !targets.iter().any(|known| folder.starts_with(known)) {
            targets.retain(|known| !known.starts_with(folder));
            targets.push(folder.to_owned());
        }
    }
    targets
}

/// A folder of its own for each attempt: an overlay wants fresh ones.
fn fresh(stage: &Path) -> io::Result<PathBuf> {
    private(stage)?;
    for number in 0..1000 {
        let folder = stage.join(number.to_string());
        match fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::Error::other("it was tried too often"))
}

fn private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

fn failed(what: &'static str, path: &Path, source: io::Error) -> Error {
    Error::Io {
        what,
        path: path.to_owned(),
        source,
    }
}

fn unmade(folder: &Path, error: &io::Error) -> ToolError {
    let folder = folder.display();
    ToolError::dependency(format!("not run: `{folder}` cannot be made: {error}"))
        .with_hint("Helve holds back there what a tool changes; is the disk full?")
}

fn refused(error: &Error) -> ToolError {
    Keeper::refusal(error)
}
