//! What is in a folder.

use std::path::{Path, PathBuf};

use helve_kernel::helve_changes::{Looked, What};
use helve_kernel::{Ctx, Desk, ToolError, tool};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ROOM, Sort, json_length, there, told_time};
use crate::walk;

/// How many things are looked at before a listing is given up.
const MOST: usize = 500_000;

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Entry {
    /// Its name.
    name: String,
    /// Its path, from the workspace.
    path: String,
    /// What it is.
    #[serde(rename = "type")]
    sort: Sort,
    /// Bytes, of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// When it was last written.
    modified: String,
}

/// What is in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Listing {
    /// The folder, from the workspace.
    path: String,
    /// What is in it, by path.
    entries: Vec<Entry>,
    /// How many there are in all.
    total: usize,
    /// Whether there are more than these.
    truncated: bool,
    /// Where to go on; not there at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    /// What is worth knowing, and how to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Lists a folder. Use it when you need to see which files and folders there are.
///
/// Entries come by path, with type, size and time. An empty folder is an empty list. Links are
/// listed and not followed. `next_offset` says where to go on.
#[tool(
    group = "file",
    title = "List a folder",
    category = "File",
    risk = "read",
    held,
    idempotent,
    output,
    paths = ["."],
    aliases = ["list_directory", "list_files"],
    triggers = ["When it is not known which files there are", "Before a file is made or moved"],
    related = [("file_glob", "finds files by a pattern"), ("file_stat", "tells more of one"), ("code_analyze", "maps a whole tree of code")],
    example(scenario = "The workspace", params = {}, expected = "Its files and folders"),
    example(scenario = "All Python files beneath a folder", params = {"path": "src", "recursive": true, "pattern": "*.py"}, expected = "Those files, by path")
)]
pub(super) async fn list(
    ctx: &Ctx,
    /// The folder; `.` is the workspace.
    #[path]
    #[default(".")]
    #[schemars(extend("x-aliases" = ["directory", "dir", "folder"]))]
    path: String,
    /// Whether the folders inside are listed as well; false for this one alone.
    #[default(false)]
    recursive: bool,
    /// Only what matches: `*.rs` a name, `src/**/*.rs` a path; empty for all.
    #[default("")]
    pattern: String,
    /// Whether names that begin with a dot are listed; false leaves them out.
    #[default(false)]
    show_hidden: bool,
    /// How many at most.
    #[default(200)]
    #[schemars(range(min = 1, max = 1000))]
    max_items: usize,
    /// How many to pass over; 0 begins at the first.
    #[default(0)]
    offset: usize,
) -> Result<Listing, ToolError> {
    let matcher = match pattern.as_str() {
        "" => None,
        pattern => Some(walk::glob(pattern, "pattern")?),
    };
    let wanted = Wanted {
        recursive,
        matcher,
        by_path: pattern.contains('/'),
        show_hidden,
    };
    ctx.files()
        .work(path, move |desk| listing(desk, &wanted, max_items, offset))
        .await
}

struct Wanted {
    recursive: bool,
    matcher: Option<walk::Glob>,
    /// Whether the pattern is held against the path, and not the name.
    by_path: bool,
    show_hidden: bool,
}

#[derive(Default)]
struct Found {
    entries: Vec<(PathBuf, Looked)>,
    /// How many were left out for their dot.
    dotted: usize,
    looked_at: usize,
}

fn listing(
    desk: &Desk<'_>,
    wanted: &Wanted,
    most: usize,
    offset: usize,
) -> Result<Listing, ToolError> {
    let folder = desk.path();
    let shown = desk.shown(folder);
    let mut found = Found::default();
    if let Err(error) = enter(desk, folder, folder, wanted, &mut found) {
        // What is there instead tells more.
        if there(desk, folder)?.what != What::Dir {
            return Err(ToolError::validation(format!("`{shown}` is no folder"))
                .with_hint("`file_read` shows a file, `file_stat` tells what it is"));
        }
        return Err(error);
    }
    let total = found.entries.len();
    let mut room = ROOM;
    let mut entries = Vec::new();
    let mut around = Around::default();
    for (path, looked) in found.entries.iter().skip(offset).take(most) {
        let entry = entry(desk, &mut around, path, *looked);
        let needs = 150 + json_length(&entry.path) + json_length(&entry.name);
        if needs > room {
            break;
        }
        room -= needs;
        entries.push(entry);
    }
    let end = offset.min(total) + entries.len();
    let next = (end < total).then_some(end);
    let note = match (next, found.dotted) {
        (Some(next), _) => Some(format!(
            "These are {} of {total}. Call it again with offset {next} for what follows.",
            entries.len()
        )),
        (None, 0) => None,
        (None, dotted) => Some(format!(
            "{dotted} more begin with a dot; `show_hidden` lists them."
        )),
    };
    Ok(Listing {
        path: shown,
        entries,
        total,
        truncated: next.is_some(),
        next_offset: next,
        note,
    })
}

fn enter(
    desk: &Desk<'_>,
    top: &Path,
    folder: &Path,
    wanted: &Wanted,
    found: &mut Found,
) -> Result<(), ToolError> {
    if desk.is_stopped() {
        return Err(ToolError::timeout("it took too long to list"));
    }
    let listed = match desk.list(folder) {
        // Gone since its own folder was listed.
        Err(_) if folder != top => return Ok(()),
        listed => listed?,
    };
    found.looked_at += listed.len();
    if found.looked_at > MOST {
        return Err(ToolError::validation(format!(
            "there are more than {MOST} files and folders beneath"
        ))
        .with_hint("list a folder further inside, or use `file_glob`"));
    }
    for (name, looked) in listed {
        if !wanted.show_hidden && name.as_encoded_bytes().starts_with(b".") {
            found.dotted += 1;
            continue;
        }
        let path = folder.join(&name);
        let matches = wanted
            .matcher
            .as_ref()
            .is_none_or(|matcher| match wanted.by_path {
                true => matcher.is_match(path.strip_prefix(top).unwrap_or(&path)),
                false => matcher.is_match(Path::new(&name)),
            });
        let inside = (wanted.recursive && looked.what == What::Dir).then(|| path.clone());
        if matches {
            found.entries.push((path, looked));
        }
        if let Some(inside) = inside {
            enter(desk, top, &inside, wanted, found)?;
        }
    }
    Ok(())
}

/// The folder of the last entry, and how it is shown: most are in the same.
#[derive(Default)]
struct Around<'p> {
    folder: Option<&'p Path>,
    shown: String,
}

fn entry<'p>(desk: &Desk<'_>, around: &mut Around<'p>, path: &'p Path, looked: Looked) -> Entry {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path.parent();
    if folder != around.folder {
        around.folder = folder;
        around.shown = match desk.shown(folder.unwrap_or(path)) {
            top if top == "." => String::new(),
            shown => shown + "/",
        };
    }
    Entry {
        path: format!("{}{name}", around.shown),
        name: name.into_owned(),
        sort: looked.what.into(),
        size: (looked.what == What::File).then_some(looked.size),
        modified: told_time(looked.mtime),
    }
}
