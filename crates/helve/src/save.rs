//! Writing files so that nobody ever sees half of one.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use helve_core::write::File;

use crate::exit::Failure;

/// Writes one file: all of it, or none.
pub(crate) fn file(path: &Path, text: &str) -> Result<(), Failure> {
    all(&[(path.to_owned(), text)])
}

/// Writes the files of a folder. Every one of them is complete on the disk before
/// the first is put in its place.
pub(crate) fn folder(root: &Path, files: &[File]) -> Result<(), Failure> {
    let targets: Vec<(PathBuf, &str)> = files
        .iter()
        .map(|f| (root.join(&f.path), f.text.as_str()))
        .collect();
    let mut seen = HashSet::new();
    if let Some((path, _)) = targets.iter().find(|(path, _)| !seen.insert(path)) {
        let error = format!("two tools would be written to `{}`", path.display());
        return Err(Failure::output(error).hint("rename one of them"));
    }
    all(&targets)
}

fn refuse(path: &Path, e: impl std::fmt::Display) -> Failure {
    Failure::output(format!("`{}` cannot be written: {e}", path.display()))
}

fn all(files: &[(PathBuf, &str)]) -> Result<(), Failure> {
    // Everything that can go wrong is tried before the first file is in place.
    let mut staged = Vec::new();
    for (path, text) in files {
        let target = target(path)?;
        if target.special {
            // A pipe or a device: what is written cannot be taken back anyway.
            let mut file = fs::OpenOptions::new()
                .write(true)
                .open(&target.path)
                .map_err(|e| refuse(path, e))?;
            file.write_all(text.as_bytes())
                .map_err(|e| refuse(path, e))?;
            continue;
        }
        let parent = match target.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent).map_err(|e| refuse(path, e))?;
        let mut temporary = tempfile::NamedTempFile::new_in(parent).map_err(|e| refuse(path, e))?;
        temporary
            .write_all(text.as_bytes())
            .map_err(|e| refuse(path, e))?;
        if let Some(mode) = target.mode {
            temporary
                .as_file()
                .set_permissions(mode)
                .map_err(|e| refuse(path, e))?;
        }
        temporary
            .as_file()
            .sync_all()
            .map_err(|e| refuse(path, e))?;
        staged.push((temporary, target.path));
    }
    for (temporary, path) in staged {
        temporary
            .persist(&path)
            .map_err(|e| refuse(&path, e.error))?;
    }
    Ok(())
}

/// Where a file really goes, and what it may be for whom.
struct Target {
    path: PathBuf,
    /// Whether it is there and no file.
    special: bool,
    /// `None` for what the system gives by itself.
    mode: Option<fs::Permissions>,
}

/// Follows links, so that a link stays one, and keeps the mode of what is replaced.
fn target(path: &Path) -> Result<Target, Failure> {
    let path = match fs::canonicalize(path) {
        Ok(real) => real,
        Err(_) => {
            return Ok(Target {
                path: path.to_owned(),
                special: false,
                mode: ordinary(),
            });
        }
    };
    let metadata = fs::metadata(&path).map_err(|e| refuse(&path, e))?;
    if metadata.is_dir() {
        return Err(refuse(&path, "it is a folder"));
    }
    Ok(Target {
        path,
        special: !metadata.is_file(),
        mode: Some(metadata.permissions()),
    })
}

/// A temporary file is for its owner alone; what it becomes is an ordinary file.
#[cfg(unix)]
fn ordinary() -> Option<fs::Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn ordinary() -> Option<fs::Permissions> {
    None
}
