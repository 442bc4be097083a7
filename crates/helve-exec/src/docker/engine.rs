//! The container engine: how it is reached, and what its refusals mean.
//!
//! Nothing is asked of it before somebody needs it. When it goes away it is looked for
//! anew the next time, and what it may have been left with is removed before the next
//! run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bollard::errors::Error;
use bollard::models::ImageInspect;
use bollard::{API_DEFAULT_VERSION, Docker};
use helve_kernel::ToolError;

use super::DockerSettings;
use super::address::Address;
use super::image;

/// How long the engine may take to answer, in seconds.
const PATIENCE: u64 = 60;

/// An engine that answered.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    pub(crate) docker: Docker,
    pub(crate) address: Address,
    /// What it is, and its version.
    pub(crate) make: Make,
    pub(crate) version: String,
    /// Set when it once did not answer.
    gone: Arc<AtomicBool>,
}

/// What an engine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Make {
    Docker,
    Podman,
}

/// The way to the engine.
#[derive(Debug)]
pub(crate) struct Link {
    settings: DockerSettings,
    known: Mutex<Option<Engine>>,
}

/// An image, as the engine has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Image {
    /// What it is, whatever it is called: `sha256:…`.
    pub(crate) id: String,
    /// The variables that it sets.
    pub(crate) env: Vec<String>,
    /// The folders for which it wants volumes.
    pub(crate) volumes: Vec<String>,
}

impl Link {
    pub(crate) fn new(settings: DockerSettings) -> Self {
        Self {
            settings,
            known: Mutex::default(),
        }
    }

    /// The engine, if it was reached before and has not gone away since.
    pub(crate) fn known(&self) -> Option<Engine> {
        let known = self.lock().clone();
        known.filter(|engine| !engine.gone.load(Ordering::Acquire))
    }

    /// The engine; it is looked for where it is not known.
    pub(crate) async fn engine(&self) -> Result<Engine, ToolError> {
        if let Some(engine) = self.known() {
            return Ok(engine);
        }
        let engine = Engine::connect(&self.settings).await?;
        *self.lock() = Some(engine.clone());
        Ok(engine)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Engine>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Reaches the engine and agrees with it on a version.
    pub(crate) async fn connect(settings: &DockerSettings) -> Result<Self, ToolError> {
        let address = Address::find(settings)?;
        let at = address.to_string();
        let docker = match address {
            Address::Unix(_) => Docker::connect_with_unix(&at, PATIENCE, API_DEFAULT_VERSION),
            Address::Tcp(_) => Docker::connect_with_http(&at, PATIENCE, API_DEFAULT_VERSION),
        };
        let docker = docker.map_err(|e| unreached(&address, &e))?;
        let docker = docker.negotiate_version().await;
        let docker = docker.map_err(|e| unreached(&address, &e))?;
        let told = docker.version().await;
        let told = told.map_err(|e| unreached(&address, &e))?;
        let mut parts = told.components.unwrap_or_default().into_iter();
        let make = match parts.any(|part| part.name.contains("Podman")) {
            true => Make::Podman,
            false => Make::Docker,
        };
        Ok(Self {
            docker,
            address,
            make,
            version: told.version.unwrap_or_default(),
            gone: Arc::default(),
        })
    }

    /// The image of that name.
    pub(crate) async fn image(&self, name: &str) -> Result<Image, ToolError> {
        let found = self.docker.inspect_image(name).await.map_err(|e| match e {
            Error::DockerResponseServerError {
                status_code: 404, ..
            } => image::missing(name),
            e => self.failed("look at the image", &e),
        })?;
        Image::of(found)
    }

    /// Whether both were reached at one time, and neither has gone away since.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.gone, &other.gone) && !self.gone.load(Ordering::Acquire)
    }

    /// It is to be looked for anew before the next run, and tidied.
    pub(crate) fn give_up(&self) {
        self.gone.store(true, Ordering::Release);
    }

    /// That the engine refused something, or could not be asked.
    pub(crate) fn failed(&self, what: &str, error: &Error) -> ToolError {
        match error {
            Error::DockerResponseServerError { message, .. } => ToolError::dependency(format!(
                "the container engine would not {what}: {}",
                message.trim()
            )),
            error => {
                self.give_up();
                unreached(&self.address, error)
            }
        }
    }
}

impl Image {
    fn of(found: ImageInspect) -> Result<Self, ToolError> {
        let Some(id) = found.id else {
            return Err(ToolError::dependency(
                "the container engine gave an image without an id",
            ));
        };
        let id = match id.starts_with("sha256:") {
            true => id,
            false => format!("sha256:{id}"),
        };
        let config = found.config.unwrap_or_default();
        Ok(Self {
            id,
            env: config.env.unwrap_or_default(),
            volumes: config.volumes.unwrap_or_default(),
        })
    }
}

/// Whether the engine answered, if only to refuse.
pub(crate) fn answered(error: &Error) -> bool {
    matches!(error, Error::DockerResponseServerError { .. })
}

/// Whether the engine says that there is no such thing.
pub(crate) fn is_gone(error: &Error) -> bool {
    matches!(
        error,
        Error::DockerResponseServerError {
            status_code: 404,
            ..
        }
    )
}

fn unreached(address: &Address, error: &Error) -> ToolError {
    let why = cause(error);
    ToolError::dependency(format!(
        "the container engine at `{address}` cannot be reached: {why}"
    ))
    .with_hint("is it running, and may you use it? `helve doctor` tells")
}

/// The last of the causes: what the system said.
pub(crate) fn cause(error: &Error) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}
