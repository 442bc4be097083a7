//! Programs in containers.
//!
//! ```toml
//! [executor]
//! type = "docker"
//! image = "python@sha256:…"
//! command = ["python3", "notes/count.py", "{word}"]
//! memory = "256MB"
//! ```
//!
//! Everything that holds for a program on this machine holds here: how arguments reach it,
//! what its end means, what becomes of its output, and that what it writes is staged, shown
//! and undone. The engine is Docker, or Podman through the socket on which it speaks as
//! Docker does.
//!
//! - *Only listed images run*, and the one that a tool was registered with.
//! - *Nothing is fetched.* An image that is not there is an error.
//! - *Nothing is left behind.* A run returns when its container and volumes are gone; what
//!   a hub that was cut off left is removed at the next start.

mod address;
mod body;
mod container;
mod engine;
mod image;
mod leftovers;
mod order;
mod report;
mod settings;
mod view;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use helve_core::ToolDef;
use helve_kernel::helve_changes::Books;
use helve_kernel::{Executor, Permit, Reply, ToolError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cage::{Cage, Kind};
use crate::call::{Call, blocking};
use crate::hashes::Hashes;
use crate::place;
use crate::process::{self, Sink};
use crate::program::{self, Pinned};
use crate::running::Unstarted;
use address::Address;
use engine::{Engine, Image, Link};
use image::Allowed;
use leftovers::Marks;
use order::{Crate, Order};
use settings::Settings;

pub use report::{DockerReport, Overlays};

/// How long a program may take to end when it is told to.
const GRACE: Duration = Duration::from_secs(2);

/// What an operator says about containers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DockerSettings {
    /// Where the engine listens; without it, the first of the usual places.
    pub socket: Option<String>,
    /// The folder in which the user's own engine has its socket, if there is one.
    pub runtime_folder: Option<PathBuf>,
    /// The images that may run; none, if none is named.
    pub images: Vec<String>,
    /// Whether images may be named by tags.
    pub tags: bool,
}

impl DockerSettings {
    /// What is wrong with them.
    pub fn problem(&self) -> Option<ToolError> {
        if let Some(Err(error)) = self.socket.as_deref().map(Address::parse) {
            return Some(error);
        }
        let allowed = self.allowed();
        let mut problems = self.images.iter().filter_map(|i| allowed.check(i).err());
        problems.next()
    }

    fn allowed(&self) -> Allowed {
        Allowed::new(self.images.clone(), self.tags)
    }
}

/// Runs programs in containers.
#[derive(Debug, Clone)]
pub struct DockerExecutor {
    root: PathBuf,
    allowed: Arc<Allowed>,
    link: Arc<Link>,
    marks: Marks,
    hashes: Arc<Hashes>,
    /// Whether leftovers are still to be removed; locked while they are.
    swept: Arc<tokio::sync::Mutex<Option<Engine>>>,
    tasks: TaskTracker,
    grace: Duration,
    room: u64,
    kind: Kind,
}

impl DockerExecutor {
    /// An executor whose relative paths begin at that folder, the workspace.
    pub fn new(root: impl Into<PathBuf>, settings: DockerSettings) -> Self {
        let root = root.into();
        // Of what others mount, only root can read the books.
        let kind = match rustix::process::geteuid().is_root() {
            true => Kind::Overlays,
            false => Kind::Copies,
        };
        Self {
            allowed: Arc::new(settings.allowed()),
            marks: Marks::of(&root),
            link: Arc::new(Link::new(settings)),
            hashes: Arc::default(),
            swept: Arc::default(),
            tasks: TaskTracker::new(),
            grace: GRACE,
            room: process::ROOM,
            kind,
            root,
        }
    }

    /// The same, with another time between telling a program to end and killing it.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Removes what a hub of this workspace that was cut off left with the engine, if the
    /// engine was needed so far; how many containers and volumes. Only for whoever has
    /// the workspace to themselves.
    pub async fn tidy(&self) -> Result<usize, ToolError> {
        match self.link.known() {
            Some(engine) => self.sweep(&engine).await,
            None => Ok(0),
        }
    }

    /// Waits until all that was given up in the middle is removed.
    pub async fn close(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Removes leftovers, once for each time that the engine was reached anew.
    async fn sweep(&self, engine: &Engine) -> Result<usize, ToolError> {
        let mut swept = self.swept.lock().await;
        if swept.as_ref().is_some_and(|known| known.is(engine)) {
            return Ok(0);
        }
        let removed = self.marks.sweep(engine).await?;
        *swept = Some(engine.clone());
        Ok(removed)
    }

    /// Finds what a tool runs and where.
    async fn look(
        &self,
        def: &ToolDef,
        settings: &Settings,
        engine: &Engine,
    ) -> Result<Found, ToolError> {
        self.allowed.check(&settings.image)?;
        let here = engine.address.is_here();
        if !here && (!def.allowed_paths.is_empty() || settings.common.cwd.is_some()) {
            return Err(ToolError::dependency(format!(
                "the container engine at `{}` does not see the files of this machine",
                engine.address
            ))
            .with_hint("leave `allowed_paths` and `cwd` out, or use an engine on this machine"));
        }
        let image = engine.image(&settings.image).await?;
        if !here {
            let (cwd, pinned) = (PathBuf::from("/"), Vec::new());
            return Ok(Found {
                image,
                root: None,
                program: settings.common.command.program().into(),
                cwd,
                pinned,
            });
        }
        let (root, hashes) = (self.root.clone(), Arc::clone(&self.hashes));
        let (common, allowed) = (settings.common.clone(), def.allowed_paths.clone());
        blocking(move || {
            let root = place::root(&root)?;
            let cwd = place::cwd(common.cwd.as_deref(), &allowed, &root)?;
            let program = match common.command.program() {
                // A path begins at the workspace, as on this machine.
                path if path.contains('/') => root.join(path),
                name => PathBuf::from(name),
            };
            let pinned = program::pin_named(&program, &common.command, &root, &cwd, &hashes)?;
            Ok(Found {
                image,
                root: Some(root),
                program,
                cwd,
                pinned,
            })
        })
        .await?
    }

    /// Runs a tool, for whoever holds a permit.
    async fn perform(
        &self,
        call: Call<'_>,
        sink: &dyn Sink,
        stop: &CancellationToken,
    ) -> Result<Reply, ToolError> {
        let settings = Settings::of(call.def)?;
        let engine = self.link.engine().await?;
        self.sweep(&engine).await?;
        let attempt = |kind| self.attempt(&call, &settings, &engine, kind, sink, stop);
        match attempt(self.kind).await {
            // Nothing has run yet: be content with copies.
            Err(Unstarted::Sandbox(_)) if self.kind == Kind::Overlays => {
                attempt(Kind::Copies).await.map_err(Unstarted::error)
            }
            done => done.map_err(Unstarted::error),
        }
    }

    async fn attempt(
        &self,
        call: &Call<'_>,
        settings: &Settings,
        engine: &Engine,
        kind: Kind,
        sink: &dyn Sink,
        stop: &CancellationToken,
    ) -> Result<Reply, Unstarted> {
        // The image is the one that was looked at, by its id: no name is asked again.
        let found = self.look(call.def, settings, engine).await?;
        found.compare(call.fingerprint)?;
        let cage = call.cage(kind).await?;
        let what = (found.program.clone(), found.cwd.clone());
        let bounds = (self.grace, self.room);
        let spec = call.spec(&settings.common, what, cage.as_ref(), bounds)?;
        let name = format!("helve-{}", call.id.as_str());
        let labels = self.marks.labels(call.id.as_str());
        let cover = Cover::make(call)?;
        let view = match &found.root {
            None => view::View::default(),
            Some(root) => view::build(&view::Parts {
                address: &engine.address,
                make: engine.make,
                root,
                readable: call.readable,
                layers: cage.as_ref().map(Cage::layers).unwrap_or_default(),
                hidden: call.hidden(root),
                cover: cover.as_ref().map(|cover| cover.0.as_path()),
                name: &name,
                labels: &labels,
            })?,
        };
        let order = Order {
            engine: engine.clone(),
            body: body::build(&spec, settings, &found.image, view.mounts, labels),
            volumes: view.volumes,
            stop: stop.child_token(),
            name,
        };
        let live = self.marks.begin(call.id.as_str());
        let place = Crate::new(order, live, self.tasks.clone());
        let finished = process::run(spec, &place, sink, stop).await;
        let removed = place.remove().await;
        drop(cover);
        let finished = finished.and_then(|f| removed.map(|()| f).map_err(Unstarted::from));
        call.conclude(cage, Books::Trusted, finished).await
    }
}

#[async_trait]
impl Executor for DockerExecutor {
    async fn inspect(&self, def: &ToolDef) -> Result<Option<Value>, ToolError> {
        let settings = Settings::of(def)?;
        // Told without asking the engine, which may not be there.
        self.allowed.check(&settings.image)?;
        let engine = self.link.engine().await?;
        let found = self.look(def, &settings, &engine).await?;
        Ok(Some(found.fingerprint()))
    }

    fn holds(&self, def: &ToolDef) -> Result<(), String> {
        match Settings::of(def) {
            Err(error) => Err(error.message),
            Ok(settings) if settings.common.network => Err("it may use the network".to_owned()),
            Ok(_) => Ok(()),
        }
    }

    async fn run(&self, permit: &Permit) -> Result<Reply, ToolError> {
        self.perform(permit.into(), permit, permit.stop()).await
    }
}

/// What a tool runs, in what, and where.
#[derive(Debug)]
struct Found {
    image: Image,
    /// The workspace, where the engine sees it.
    root: Option<PathBuf>,
    program: PathBuf,
    cwd: PathBuf,
    /// Files of the workspace that the command names.
    pinned: Vec<Pinned>,
}

impl Found {
    fn fingerprint(&self) -> Value {
        json!({"image": self.image.id, "files": program::fingerprint(&self.pinned)})
    }

    /// Whether it is what was registered.
    fn compare(&self, registered: Option<&Value>) -> Result<(), ToolError> {
        let before = registered
            .and_then(|r| r["image"].as_str())
            .unwrap_or_default();
        let now = &self.image.id;
        if before != now {
            return Err(ToolError::conflict(format!(
                "the image has changed since the tool was registered: it is `{now}`, and was \
                 `{before}`"
            ))
            .with_hint("look at what changed, then register the tool again"));
        }
        program::compare(registered.and_then(|r| r.get("files")), &self.pinned)
    }
}

/// An empty folder with which the hub's state is covered.
struct Cover(PathBuf);

impl Cover {
    fn make(call: &Call<'_>) -> Result<Option<Self>, ToolError> {
        let Some(keeper) = call.keeper else {
            return Ok(None);
        };
        let folder = keeper.stage_of(call.id).join("cover");
        std::fs::create_dir_all(&folder)?;
        Ok(Some(Self(folder)))
    }
}

impl Drop for Cover {
    fn drop(&mut self) {
        // The run's own folder goes as well, where nothing is staged in it.
        let _ = std::fs::remove_dir(&self.0);
        if let Some(stage) = self.0.parent() {
            let _ = std::fs::remove_dir(stage);
        }
    }
}

#[cfg(test)]
mod tests;
