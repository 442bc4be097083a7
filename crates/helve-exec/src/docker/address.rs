//! Where the container engine listens.

use std::fmt;
use std::path::{Path, PathBuf};

use helve_kernel::ToolError;

use super::DockerSettings;

/// An address of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// A socket on this machine.
    Unix(PathBuf),
    /// Somewhere on the network, perhaps on another machine.
    Tcp(String),
}

/// Where Docker listens by itself, and Podman as root.
const DOCKER: &str = "/var/run/docker.sock";
const PODMAN: &str = "/run/podman/podman.sock";

/// Sockets through which a container could start others. None is ever mounted.
const ENGINES: [&str; 3] = [DOCKER, PODMAN, "/run/containerd/containerd.sock"];

impl Address {
    /// The address that the settings name, else the first of the usual ones that is there.
    pub(crate) fn find(settings: &DockerSettings) -> Result<Self, ToolError> {
        if let Some(text) = &settings.socket {
            return Self::parse(text);
        }
        let usual = usual(settings);
        match usual.iter().find(|path| path.exists()) {
            Some(path) => Ok(Self::Unix(path.clone())),
            None => {
                let usual: Vec<String> = usual.iter().map(|p| p.display().to_string()).collect();
                let problem = format!("there is no container engine at {}", usual.join(", "));
                Err(ToolError::dependency(problem)
                    .with_hint("start Docker or Podman, or name its socket under `[docker]`"))
            }
        }
    }

    /// Reads an address as `DOCKER_HOST` has it.
    pub(crate) fn parse(text: &str) -> Result<Self, ToolError> {
        let path = text.strip_prefix("unix://").unwrap_or(text);
        if path.starts_with('/') {
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        match text.strip_prefix("tcp://") {
            Some(rest) if !rest.is_empty() => Ok(Self::Tcp(text.to_owned())),
            _ => Err(ToolError::validation(format!(
                "`{text}` is no address of a container engine that Helve can use"
            ))
            .with_hint("write it like `unix:///var/run/docker.sock` or `tcp://10.0.0.5:2375`")),
        }
    }

    /// Whether the engine sees the files of this machine.
    pub(crate) fn is_here(&self) -> bool {
        matches!(self, Self::Unix(_))
    }

    /// The socket of an engine that lies in a folder.
    pub(crate) fn inside(&self, folder: &Path) -> Option<PathBuf> {
        let ours = match self {
            Self::Unix(path) => Some(path.clone()),
            Self::Tcp(_) => None,
        };
        let known = ours.into_iter().chain(ENGINES.map(PathBuf::from));
        let both = known.flat_map(|path| [path.canonicalize().ok(), Some(path)]);
        both.flatten()
            .find(|path| path.starts_with(folder) && path.exists())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Tcp(text) => f.write_str(text),
        }
    }
}

/// Where an engine is looked for: the machine's Docker, the user's, and Podman.
fn usual(settings: &DockerSettings) -> Vec<PathBuf> {
    let mut usual = vec![PathBuf::from(DOCKER)];
    if let Some(own) = &settings.runtime_folder {
        usual.push(own.join("docker.sock"));
        usual.push(own.join("podman/podman.sock"));
    }
    usual.push(PathBuf::from(PODMAN));
    usual
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn addresses() {
        for (text, wanted) in [
            (
                "unix:///run/x.sock",
                Some(Address::Unix("/run/x.sock".into())),
            ),
            ("/run/x.sock", Some(Address::Unix("/run/x.sock".into()))),
            (
                "tcp://host:2375",
                Some(Address::Tcp("tcp://host:2375".to_owned())),
            ),
            ("tcp://", None),
            ("ssh://host", None),
            ("unix://x.sock", None),
            ("", None),
        ] {
            assert_eq!(Address::parse(text).ok(), wanted, "{text}");
        }
    }

    #[test]
    fn the_first_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = DockerSettings {
            runtime_folder: Some(folder.path().to_owned()),
            ..DockerSettings::default()
        };
        std::fs::create_dir(folder.path().join("podman")).unwrap();
        let podman = folder.path().join("podman/podman.sock");
        std::fs::write(&podman, "").unwrap();
        if !Path::new(DOCKER).exists() {
            assert_eq!(Address::find(&settings).unwrap(), Address::Unix(podman));
        }
        settings.socket = Some("/named.sock".to_owned());
        let named = Address::Unix("/named.sock".into());
        assert_eq!(Address::find(&settings).unwrap(), named);
    }

    #[test]
    fn a_socket_is_found_in_what_would_be_mounted() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("engine.sock");
        std::fs::write(&socket, "").unwrap();
        let address = Address::Unix(socket.clone());
        assert_eq!(address.inside(folder.path()), Some(socket));
        let beside = tempfile::tempdir().unwrap();
        assert_eq!(address.inside(beside.path()), None);
    }
}
