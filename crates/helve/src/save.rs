//! Writing files so that nobody ever sees half of one.

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
    for (i, (path, _)) in targets.iter().enumerate() {
        if targets[..i].iter().any(|(other, _)| other == path) {
            let error = format!("two tools would be written to `{}`", path.display());
            return Err(Failure::output(error).hint("rename one of them"));
        }
    }
    all(&targets)
}

fn all(files: &[(PathBuf, &str)]) -> Result<(), Failure> {
    let mut staged = Vec::new();
    for (path, text) in files {
        let refuse = |e: &dyn std::fmt::Display| {
            Failure::output(format!("`{}` cannot be written: {e}", path.display()))
        };
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent).map_err(|e| refuse(&e))?;
        let mut temporary = tempfile::NamedTempFile::new_in(parent).map_err(|e| refuse(&e))?;
        temporary
            .write_all(text.as_bytes())
            .map_err(|e| refuse(&e))?;
        readable(temporary.as_file()).map_err(|e| refuse(&e))?;
        temporary.as_file().sync_all().map_err(|e| refuse(&e))?;
        staged.push((temporary, path));
    }
    for (temporary, path) in staged {
        temporary.persist(path).map_err(|e| {
            Failure::output(format!(
                "`{}` cannot be written: {}",
                path.display(),
                e.error
            ))
        })?;
    }
    Ok(())
}

/// A temporary file is for its owner alone; what it becomes is an ordinary file.
#[cfg(unix)]
fn readable(file: &fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &fs::File) -> std::io::Result<()> {
    Ok(())
}
