//! Files and folders of the workspace: looked at, found, changed.
//!
//! All of it goes through [`Ctx::files`](helve_kernel::Ctx::files): what is written waits
//! in a stage until the run is committed, and the hub's own state is not there. A path in
//! an argument comes here resolved; a path in a result is told from the workspace.

mod copy;
mod delete;
mod edit;
mod glob;
mod grep;
mod image;
mod list;
mod marker;
mod mkdir;
mod moving;
mod read;
mod stat;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod write;

use std::fs::File;
use std::path::Path;

use helve_kernel::helve_changes::{Looked, Time, What};
use helve_kernel::{Desk, ToolError, Toolset, ToolsetError, toolset};
use schemars::JsonSchema;
use serde::Serialize;

/// The set.
pub fn toolset() -> Result<Toolset, ToolsetError> {
    toolset! {
        name: "file",
        description: "Files and folders of the workspace",
        tags: ["file"],
        tools: [
            read::read,
            write::write,
            write::append,
            edit::edit,
            list::list,
            glob::glob,
            grep::grep,
            stat::stat,
            delete::delete,
            mkdir::mkdir,
            moving::r#move,
            copy::copy,
        ],
    }
}

/// The largest file that is taken into memory as a whole.
const LARGEST: u64 = 32 * 1024 * 1024;

/// How much of an answer may be content, in bytes of JSON: what is longer than the kernel
/// lets through would come back as a cut text.
pub(crate) const ROOM: usize = 80 * 1024;

/// What sort of thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Sort {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A link to something else.
    Link,
    /// A pipe, a socket, a device.
    Other,
}

impl From<What> for Sort {
    fn from(what: What) -> Self {
        match what {
            What::File => Self::File,
            What::Dir => Self::Folder,
            What::Symlink => Self::Link,
            What::Other => Self::Other,
        }
    }
}

impl Sort {
    fn name(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Link => "a link",
            Self::Other => "a pipe, a socket or a device",
        }
    }
}

/// What is at a path, which must be there.
fn there(desk: &Desk<'_>, path: &Path) -> Result<Looked, ToolError> {
    desk.look(path)?.ok_or_else(|| missing(desk, path))
}

/// What is at a path, which must be a file.
fn file(desk: &Desk<'_>, path: &Path) -> Result<Looked, ToolError> {
    let looked = there(desk, path)?;
    let shown = desk.shown(path);
    match looked.what {
        What::File => Ok(looked),
        What::Dir => Err(ToolError::validation(format!("`{shown}` is a folder"))
            .with_hint("`file_list` shows what is in it")),
        what => Err(ToolError::permission(format!(
            "`{shown}` is {}, and no file",
            Sort::from(what).name()
        ))),
    }
}

/// The file at a path, opened, and what it is.
fn opened(desk: &Desk<'_>, path: &Path) -> Result<(File, Looked), ToolError> {
    desk.open_looked(path).or_else(|error| {
        // What it is instead tells more.
        file(desk, path)?;
        Err(error)
    })
}

fn missing(desk: &Desk<'_>, path: &Path) -> ToolError {
    let mut around = path.parent().unwrap_or(path);
    while !matches!(desk.look(around), Ok(Some(_))) {
        match around.parent() {
            Some(parent) => around = parent,
            None => break,
        }
    }
    let (shown, around) = (desk.shown(path), desk.shown(around));
    ToolError::not_found(format!("there is no `{shown}`")).with_hint(format!(
        "`file_list` with path `{around}` shows what is there, `file_glob` finds a file by its name"
    ))
}

/// What is larger than can be held.
fn too_large(desk: &Desk<'_>, path: &Path, size: u64) -> ToolError {
    let shown = desk.shown(path);
    ToolError::validation(format!(
        "`{shown}` has {size} bytes, more than the {LARGEST} that can be changed at once"
    ))
}

/// Makes the folder around a path, unless it is there.
fn make_around(desk: &Desk<'_>, path: &Path) -> Result<(), ToolError> {
    match path.parent() {
        Some(folder) if desk.look(folder)?.is_none() => desk.create_dir_all(folder),
        _ => Ok(()),
    }
}

/// A time as it is told.
fn told_time(time: Time) -> String {
    let time = jiff::Timestamp::new(time.s, time.ns.cast_signed());
    time.map_or_else(|_| "unknown".to_owned(), |time| format!("{time:.0}"))
}

/// How long a text is in JSON.
pub(crate) fn json_length(text: &str) -> usize {
    let longer = |b: u8| match b {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
        b if b < b' ' => 6,
        _ => 1,
    };
    text.bytes().map(longer).sum()
}

/// A text of at most so many characters, and how many were left out.
pub(crate) fn cut(text: &str, most: usize) -> (&str, usize) {
    if text.len() <= most {
        return (text, 0);
    }
    match text.char_indices().nth(most) {
        None => (text, 0),
        Some((at, _)) => (&text[..at], text[at..].chars().count()),
    }
}
