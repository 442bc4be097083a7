//! `[docker]`: the container engine, and the images that may run in it.

use schemars::JsonSchema;
use serde::Deserialize;

#[cfg(feature = "docker")]
use crate::env;

/// The container engine, and what may run in it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Docker {
    /// Where it listens, like `unix:///run/podman/podman.sock` [default: `DOCKER_HOST`, else the usual places of Docker and Podman].
    pub socket: Option<String>,
    /// The images that may run, by digest (`busybox@sha256:…`) or id (`sha256:…`) [default: none].
    pub images: Vec<String>,
    /// Whether images may be named by tags [default: false]. Even then a tool runs only the image that its tag meant when it was registered.
    pub tags: bool,
}

#[cfg(feature = "docker")]
impl Docker {
    /// What the executor is told.
    pub(crate) fn settings(&self) -> helve_exec::DockerSettings {
        helve_exec::DockerSettings {
            socket: self.socket.clone().or_else(env::docker_host),
            runtime_folder: env::runtime_folder(),
            images: self.images.clone(),
            tags: self.tags,
        }
    }

    /// What is wrong with it.
    pub(super) fn problem(&self) -> Option<String> {
        // What the environment says is not the file's fault.
        let alone = helve_exec::DockerSettings {
            socket: self.socket.clone(),
            runtime_folder: None,
            ..self.settings()
        };
        let error = alone.problem()?;
        let hint = error.hint.map(|hint| format!("; {hint}"));
        Some(format!(
            "`docker`: {}{}",
            error.message,
            hint.unwrap_or_default()
        ))
    }
}

#[cfg(not(feature = "docker"))]
impl Docker {
    /// Without the executor it says nothing to anybody.
    pub(super) fn problem(&self) -> Option<String> {
        None
    }
}
