//! Which files a tool runs, and whether they are still the same.
//!
//! A program is found in a fixed list of folders or by its path from the
//! workspace, never by the caller's `PATH` or the current folder. It is pinned by
//! its real path and its hash, as is every file of the workspace that the command
//! names beside it (the script of an interpreter).
//!
//! - A file that anybody could replace is not run.
//! - A file without a `#!` line that is no binary is not run: some systems would
//!   hand it to a shell.
//!
//! Between the last look and the start there is a moment in which someone who may
//! write the file can still swap it. Only a sandbox that shows the program a
//! read-only copy closes it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use helve_core::audit::Hash;
use helve_kernel::ToolError;
use serde_json::{Value, json};

use crate::argv::Template;
use crate::environment::FOLDERS;
use crate::hashes::Hashes;

/// A file and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pinned {
    /// Its real path.
    pub(crate) path: PathBuf,
    /// Its content.
    pub(crate) sha256: Hash,
}

/// Finds the files of a command: the program first, then what it names below
/// `root`. The program runs in `cwd`, so that is where its paths begin. Both
/// folders are real paths.
pub(crate) fn pin(
    command: &Template,
    root: &Path,
    cwd: &Path,
    hashes: &Hashes,
) -> Result<Vec<Pinned>, ToolError> {
    let program = find(command.program(), root)?;
    pin_all(vec![program], command, root, cwd, hashes)
}

/// The same for a program that is not on this machine, unless it lies below `root`.
#[cfg(feature = "docker")]
pub(crate) fn pin_named(
    program: &Path,
    command: &Template,
    root: &Path,
    cwd: &Path,
    hashes: &Hashes,
) -> Result<Vec<Pinned>, ToolError> {
    let program = match program.starts_with(root) {
        true => vec![runnable(program).map_err(|why| unusable(program, &why))?],
        false => Vec::new(),
    };
    pin_all(program, command, root, cwd, hashes)
}

fn pin_all(
    mut paths: Vec<PathBuf>,
    command: &Template,
    root: &Path,
    cwd: &Path,
    hashes: &Hashes,
) -> Result<Vec<Pinned>, ToolError> {
    for word in command.literals().filter(|word| !word.is_empty()) {
        let named = cwd.join(word);
        let Ok(real) = named.canonicalize() else {
            continue;
        };
        // A link in the workspace counts as well as a file in it.
        let ours = real.starts_with(root) || named.starts_with(root);
        if ours && real.is_file() && !paths.contains(&real) {
            paths.push(real);
        }
    }
    paths.into_iter().map(|path| pinned(path, hashes)).collect()
}

/// A file as it is now, if nobody else could exchange it.
pub(crate) fn pinned(path: PathBuf, hashes: &Hashes) -> Result<Pinned, ToolError> {
    refuse_writable(&path)?;
    let sha256 = hashes.of(&path).map_err(|e| unreadable(&path, &e))?;
    Ok(Pinned { path, sha256 })
}

/// The form in which pinned files are kept with a version.
pub(crate) fn fingerprint(pinned: &[Pinned]) -> Value {
    let programs = pinned.iter().map(
        |file| json!({"path": file.path.to_string_lossy(), "sha256": file.sha256.to_string()}),
    );
    json!({"programs": programs.collect::<Vec<_>>()})
}

/// Whether what was found is what was registered.
pub(crate) fn compare(registered: Option<&Value>, found: &[Pinned]) -> Result<(), ToolError> {
    let now = fingerprint(found);
    if registered == Some(&now) {
        return Ok(());
    }
    let list = |value: &Value| value["programs"].as_array().cloned().unwrap_or_default();
    let before = registered.map(list).unwrap_or_default();
    let now = list(&now);
    let differs = |i: &usize| before.get(*i) != now.get(*i);
    let first = (0..before.len().max(now.len())).find(differs).unwrap_or(0);
    let entry = before.get(first).or(now.get(first));
    let path = entry
        .and_then(|e| e["path"].as_str())
        .unwrap_or("a program");
    Err(ToolError::conflict(format!(
        "`{path}` has changed since the tool was registered"
    ))
    .with_hint("look at what changed, then register the tool again"))
}

/// Whether a program can be run without a shell.
pub(crate) fn check_format(path: &Path) -> Result<(), ToolError> {
    let mut start = Vec::with_capacity(256);
    let read = File::open(path).and_then(|file| file.take(256).read_to_end(&mut start));
    read.map_err(|e| unreadable(path, &e))?;
    if start.starts_with(b"#!") || start.contains(&0) {
        return Ok(());
    }
    let problem = format!("`{}` is neither a binary nor a script", path.display());
    Err(ToolError::dependency(problem)
        .with_hint("a script begins with `#!` and the path of its interpreter"))
}

/// The real path of a program.
pub(crate) fn find(program: &str, root: &Path) -> Result<PathBuf, ToolError> {
    if program.contains('/') {
        let path = root.join(program);
        return runnable(&path).map_err(|why| unusable(&path, &why));
    }
    let mut why = "was not found".to_owned();
    for folder in FOLDERS {
        let path = Path::new(folder).join(program);
        match runnable(&path) {
            Ok(path) => return Ok(path),
            Err(_) if !path.exists() => {}
            Err(problem) => why = format!("{problem} (`{}`)", path.display()),
        }
    }
    Err(
        ToolError::dependency(format!("the program `{program}` {why}")).with_hint(format!(
            "install it into one of {}, or give its path",
            FOLDERS.join(", ")
        )),
    )
}

fn unusable(path: &Path, why: &str) -> ToolError {
    ToolError::dependency(format!("the program `{}` {why}", path.display()))
        .with_hint("the path in `command` begins at the workspace; the file must be executable")
}

fn runnable(path: &Path) -> Result<PathBuf, String> {
    let real = path.canonicalize().map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => "was not found".to_owned(),
        _ => format!("cannot be looked at: {e}"),
    })?;
    if real.is_dir() {
        return Err("is a folder".to_owned());
    }
    if !real.is_file() {
        return Err("is not a regular file".to_owned());
    }
    match rustix::fs::access(&real, rustix::fs::Access::EXEC_OK) {
        Ok(()) => Ok(real),
        Err(_) => Err("is not executable".to_owned()),
    }
}

/// Refuses a file that anybody could write, or exchange for another.
pub(crate) fn refuse_writable(path: &Path) -> Result<(), ToolError> {
    for (i, place) in path.ancestors().enumerate() {
        let mode = fs::metadata(place)
            .map_err(|e| unreadable(place, &e))?
            .mode();
        // In a sticky folder only the owner of a file may exchange it.
        let sticky = i > 0 && mode & 0o1000 != 0;
        if mode & 0o002 != 0 && !sticky {
            let place = place.display();
            return Err(ToolError::dependency(format!(
                "`{}` is not run: everybody may write `{place}`",
                path.display()
            ))
            .with_hint(format!("`chmod o-w {place}`")));
        }
    }
    Ok(())
}

fn unreadable(path: &Path, error: &io::Error) -> ToolError {
    ToolError::dependency(format!("`{}` cannot be read: {error}", path.display()))
        .with_hint("Helve must be able to read a program to know that it is the same")
}

#[cfg(test)]
mod tests;
