//! What a container sees of this machine's files.
//!
//! Paths mean the same inside as outside: the workspace and whatever else a tool may look
//! at are bound, read-only, at the place where they are. Each folder that it may write is
//! an overlay over the real one (a volume, which the engine mounts and unmounts) or a
//! copy. The hub's own state is covered.
//!
//! What is mounted inside a bound folder is not shown: engines make only the folder itself
//! read-only, not what is mounted in it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bollard::models::{
    Mount, MountBindOptions, MountTmpfsOptions, MountType, MountVolumeOptions, VolumeCreateRequest,
};
use helve_kernel::ToolError;
use helve_sandbox::{Layer, dress_upper, mounted_inside};

use super::address::Address;
use super::engine::Make;
use crate::running::Unstarted;

/// What is mounted, and the volumes that must be made for it.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) mounts: Vec<Mount>,
    pub(crate) volumes: Vec<VolumeCreateRequest>,
}

/// What a view is made of; all paths are real.
#[derive(Debug)]
pub(crate) struct Parts<'p> {
    /// Where the engine is reached.
    pub(crate) address: &'p Address,
    /// What the engine is.
    pub(crate) make: Make,
    /// The workspace.
    pub(crate) root: &'p Path,
    /// What the tool may look at.
    pub(crate) readable: &'p [PathBuf],
    /// What it may write, held back.
    pub(crate) layers: Vec<Layer>,
    /// What it must not see.
    pub(crate) hidden: Vec<PathBuf>,
    /// An empty folder of this run alone, to cover with. An engine that does not have it
    /// does not see the files of this machine, and refuses.
    pub(crate) cover: Option<&'p Path>,
    /// How the volumes are called, a number apart.
    pub(crate) name: &'p str,
    /// Their labels.
    pub(crate) labels: &'p HashMap<String, String>,
}

/// The options of an overlay: like those of the sandbox on this machine, so that renames
/// and hard links hold, and nothing is synced that is thrown away after a crash.
const OVERLAY: &str = "redirect_dir=on,index=on,metacopy=on,volatile,nosuid,nodev";

/// The most that the kernel takes as options of a mount.
const LONGEST: usize = 4095;

/// Puts a view together.
pub(crate) fn build(parts: &Parts<'_>) -> Result<View, Unstarted> {
    let mut view = View::default();
    let targets: Vec<&Path> = parts.layers.iter().map(target).collect();
    let bound = bound(parts, &targets);
    let shown: Vec<&Path> = bound.iter().map(PathBuf::as_path).chain(targets).collect();
    let hidden = hidden(parts, &shown);
    for path in &shown {
        refuse(parts.address, path, &hidden)?;
    }
    for path in &bound {
        view.mounts.push(bind(path, path, Access::Read)?);
    }
    for (i, layer) in parts.layers.iter().enumerate() {
        match layer {
            Layer::Bind { target, source } => {
                view.mounts.push(bind(source, target, Access::Write)?);
            }
            Layer::Overlay {
                target,
                upper,
                work,
            } => {
                let options = overlay(target, upper, work)?;
                let name = format!("{}-{i}", parts.name);
                view.mounts.push(Mount {
                    typ: Some(MountType::VOLUME),
                    source: Some(name.clone()),
                    target: Some(text(target)?),
                    volume_options: Some(MountVolumeOptions {
                        // What the image has there is not for the real folder.
                        no_copy: Some(true),
                        ..MountVolumeOptions::default()
                    }),
                    ..Mount::default()
                });
                view.volumes.push(VolumeCreateRequest {
                    name: Some(name),
                    driver: Some("local".to_owned()),
                    driver_opts: Some(HashMap::from([
                        ("type".to_owned(), "overlay".to_owned()),
                        ("device".to_owned(), "overlay".to_owned()),
                        ("o".to_owned(), options),
                    ])),
                    labels: Some(parts.labels.clone()),
                    ..VolumeCreateRequest::default()
                });
            }
        }
    }
    for path in &hidden {
        view.mounts.push(match parts.cover {
            Some(cover) => bind(cover, path, Access::Read)?,
            None => nothing(path)?,
        });
    }
    if parts.make == Make::Podman {
        view.mounts.iter().try_for_each(plain)?;
    }
    Ok(view)
}

/// What is bound read-only: the workspace and the rest, but nothing twice, and nothing
/// that a layer shows.
fn bound(parts: &Parts<'_>, targets: &[&Path]) -> Vec<PathBuf> {
    let mut bound: Vec<PathBuf> = Vec::new();
    let wanted = parts.readable.iter().map(PathBuf::as_path);
    for path in [parts.root].into_iter().chain(wanted) {
        let shown = |by: &Path| path.starts_with(by);
        let state = parts.hidden.iter().any(|h| shown(h));
        if state || !path.exists() || targets.iter().any(|t| shown(t)) {
            continue;
        }
        if !bound.iter().any(|b| shown(b)) {
            bound.retain(|known| !known.starts_with(path));
            bound.push(path.to_owned());
        }
    }
    bound
}

/// What is hidden, where the container would see it: of two inside each other the outer
/// one, and no links, which lead nowhere inside.
fn hidden(parts: &Parts<'_>, shown: &[&Path]) -> Vec<PathBuf> {
    let mut hidden: Vec<PathBuf> = Vec::new();
    for path in &parts.hidden {
        let seen = shown.iter().any(|shown| path.starts_with(shown));
        let there = path.symlink_metadata().is_ok_and(|m| m.is_dir());
        if seen && there && !hidden.iter().any(|h| path.starts_with(h)) {
            hidden.retain(|known| !known.starts_with(path));
            hidden.push(path.clone());
        }
    }
    hidden
}

/// Refuses what no container may have.
fn refuse(address: &Address, path: &Path, hidden: &[PathBuf]) -> Result<(), ToolError> {
    let shown = path.display();
    if path.parent().is_none() {
        return Err(
            ToolError::validation("not run: a container cannot have `/` of this machine")
                .with_hint("start Helve in a folder, and name folders in `allowed_paths`"),
        );
    }
    if hidden.iter().any(|hidden| path.starts_with(hidden)) {
        let problem = format!("not run: `{shown}` is the hub's own state");
        return Err(ToolError::permission(problem));
    }
    if let Some(socket) = address.inside(path) {
        return Err(ToolError::permission(format!(
            "not run: the container engine's own socket `{}` is in `{shown}`",
            socket.display()
        ))
        .with_hint("whoever can use it is root on this machine; name folders beside it"));
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

fn bind(source: &Path, target: &Path, access: Access) -> Result<Mount, ToolError> {
    Ok(Mount {
        typ: Some(MountType::BIND),
        source: Some(text(source)?),
        target: Some(text(target)?),
        read_only: Some(access == Access::Read),
        bind_options: Some(MountBindOptions {
            non_recursive: Some(true),
            ..MountBindOptions::default()
        }),
        ..Mount::default()
    })
}

/// An empty folder that nothing can be put into.
fn nothing(path: &Path) -> Result<Mount, ToolError> {
    Ok(Mount {
        typ: Some(MountType::TMPFS),
        target: Some(text(path)?),
        read_only: Some(true),
        tmpfs_options: Some(MountTmpfsOptions {
            size_bytes: Some(4096),
            ..MountTmpfsOptions::default()
        }),
        ..Mount::default()
    })
}

/// Podman makes one line of all that is said of a mount: a comma in a path would begin
/// another word of it.
fn plain(mount: &Mount) -> Result<(), ToolError> {
    let mut paths = [&mount.source, &mount.target].into_iter().flatten();
    match paths.find(|path| path.contains([',', '"', '\n'])) {
        None => Ok(()),
        Some(path) => Err(ToolError::validation(format!(
            "not run: the path `{path}` has a character that Podman does not take"
        ))
        .with_hint("give the folder another name, or use Docker")),
    }
}

/// The options of an overlay's mount. Where they cannot be written, a copy serves.
fn overlay(target: &Path, upper: &Path, work: &Path) -> Result<String, Unstarted> {
    let cannot = |why: String| Unstarted::Sandbox(ToolError::dependency(format!("not run: {why}")));
    if let Ok(Some(inside)) = mounted_inside(target) {
        return Err(Unstarted::Program(
            ToolError::dependency(format!(
                "not run: `{}` is mounted inside `{}`, and would not be seen",
                inside.display(),
                target.display()
            ))
            .with_hint("name folders beside it in `allowed_paths`"),
        ));
    }
    dress_upper(upper, target).map_err(ToolError::from)?;
    let mut options = String::new();
    for (name, path) in [("lowerdir", target), ("upperdir", upper), ("workdir", work)] {
        let path = text(path)?;
        // They would mean something to the engine, or to the kernel.
        if path.contains([',', ':', '\\', '"', '\n']) {
            return Err(cannot(format!("`{path}` cannot be part of an overlay")));
        }
        options += &format!("{name}={path},");
    }
    options += OVERLAY;
    match options.len() > LONGEST {
        true => Err(cannot("its paths are too long for an overlay".to_owned())),
        false => Ok(options),
    }
}

fn target(layer: &Layer) -> &Path {
    match layer {
        Layer::Overlay { target, .. } | Layer::Bind { target, .. } => target,
    }
}

fn text(path: &Path) -> Result<String, ToolError> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        let problem = format!("not run: the path `{}` is not text", path.display());
        ToolError::validation(problem).with_hint("container engines take only UTF-8")
    })
}

#[cfg(test)]
mod tests;
