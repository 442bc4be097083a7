//! Path arguments: resolved, symlinks and all, and inside what the tool may touch.
//!
//! The tool gets the path that was checked, not the one that was asked for. What
//! happens to it between the check and its use is for the executor's walls.

use std::fs;
use std::path::{Component, Path, PathBuf};

use helve_changes::Root;
use helve_core::ToolDef;
use helve_core::def::{Access, Risk};
use helve_core::marked::Marks;
use serde_json::{Map, Value};

use crate::ToolError;

/// The folder of the hub's own state, which no tool is handed.
pub(crate) const STATE: &str = ".helve";

/// No system takes a longer path.
const LONGEST: usize = 4096;

/// How many paths a call may name: each is looked at before it begins.
const MOST: usize = 10_000;

/// Folders that hold no files of anybody.
const SYSTEM: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Which folders a tool may be handed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folders {
    /// Also one that holds the hub's own state.
    Any,
    /// None that holds it: whoever goes through it would come to it.
    WithoutState,
}

/// What about a link at the very end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// What it leads to is meant.
    Followed,
    /// The link itself is meant: `"x-link": "kept"`.
    Kept,
}

impl Last {
    fn of(schema: &Value, pointer: &str) -> Self {
        let property = schema["properties"].pointer(pointer);
        match property.and_then(|p| p.get("x-link")) {
            Some(kept) if kept == "kept" => Self::Kept,
            _ => Self::Followed,
        }
    }
}

/// The arguments with every path resolved, or why one is refused.
pub(super) fn resolve(
    root: &Path,
    def: &ToolDef,
    marks: &Marks,
    args: &Map<String, Value>,
    folders: Folders,
) -> Result<Map<String, Value>, ToolError> {
    let mut out = Value::Object(args.clone());
    let walls = Walls::of(root, def);
    let mut count = 0;
    for found in marks.find(&def.input_schema, args) {
        let last = Last::of(&def.input_schema, &found.pointer);
        if let Some(place) = out.pointer_mut(&found.pointer) {
            each_text(place, &mut |asked| {
                let refuse = |kind, why: &str| refused(&found.pointer, asked, kind, why);
                count += 1;
                if count > MOST {
                    let why = format!("there are more than {MOST} paths; call it for a part");
                    return Err(refuse(crate::ErrorKind::Validation, &why));
                }
                let path = resolve_one(&walls, asked, folders, last)
                    .map_err(|e| refuse(e.kind, &e.message))?;
                let unreadable = || {
                    let why = "it resolves to a path that is not UTF-8";
                    refuse(crate::ErrorKind::Validation, why)
                };
                Ok(path.to_str().ok_or_else(unreadable)?.to_owned())
            })?;
        }
    }
    match out {
        Value::Object(map) => Ok(map),
        _ => Err(ToolError::internal("the arguments are no object")),
    }
}

/// Resolved arguments as an operator writes them in a rule: from the root.
pub(super) fn from_root(
    root: &Path,
    def: &ToolDef,
    marks: &Marks,
    args: &Map<String, Value>,
) -> Map<String, Value> {
    let mut out = Value::Object(args.clone());
    for found in marks.find(&def.input_schema, args) {
        if let Some(place) = out.pointer_mut(&found.pointer) {
            let shown = each_text(place, &mut |path| {
                let inside = Path::new(path)
                    .strip_prefix(root)
                    .ok()
                    .and_then(Path::to_str);
                Ok(match inside {
                    Some("") => ".".to_owned(),
                    Some(inside) => inside.to_owned(),
                    None => path.to_owned(),
                })
            });
            debug_assert!(shown.is_ok(), "nothing is refused here");
        }
    }
    match out {
        Value::Object(map) => map,
        _ => args.clone(),
    }
}

/// The real paths that a tool may change.
pub(super) fn writable(root: &Path, def: &ToolDef) -> Vec<PathBuf> {
    writable_of(&roots(root, def))
}

/// Those of these that may be changed.
pub(super) fn writable_of(roots: &[Root]) -> Vec<PathBuf> {
    let writable = roots
        .iter()
        .filter(|r| r.access == helve_changes::Access::Write);
    writable.map(|r| r.path.clone()).collect()
}

/// The real paths that a tool may look at.
pub(super) fn readable(root: &Path, def: &ToolDef) -> Vec<PathBuf> {
    roots(root, def).into_iter().map(|r| r.path).collect()
}

/// The real paths that a tool may touch. It may change those that say so, and those that
/// say nothing where its risk is more than to look.
pub(super) fn roots(root: &Path, def: &ToolDef) -> Vec<Root> {
    if def.allowed_paths.is_empty() {
        return Vec::new();
    }
    let looks_only = def.risk == Some(Risk::Read);
    let access = |access: Option<Access>| match access {
        Some(Access::Read) => helve_changes::Access::Read,
        _ if looks_only => helve_changes::Access::Read,
        Some(Access::Write) | None => helve_changes::Access::Write,
    };
    let base = Base::of(root);
    let paths = def.allowed_paths.iter().filter_map(|allowed| {
        Some(Root {
            path: base.real(&allowed.path).ok()?,
            access: access(allowed.access),
        })
    });
    paths.collect()
}

/// Changes every text in a value: an argument may be a list of paths.
fn each_text(
    value: &mut Value,
    change: &mut impl FnMut(&str) -> Result<String, ToolError>,
) -> Result<(), ToolError> {
    match value {
        Value::String(text) => *text = change(text)?,
        Value::Array(items) => items.iter_mut().try_for_each(|v| each_text(v, change))?,
        Value::Object(map) => map.values_mut().try_for_each(|v| each_text(v, change))?,
        _ => {}
    }
    Ok(())
}

fn refused(pointer: &str, asked: &str, kind: crate::ErrorKind, why: &str) -> ToolError {
    let name = pointer.trim_start_matches('/');
    let asked: String = asked.chars().take(200).collect();
    let asked = asked.escape_debug();
    ToolError::new(
        kind,
        format!("argument `{name}`: the path `{asked}` is refused: {why}"),
    )
}

/// What the paths of a call are held against.
struct Walls<'w> {
    base: Base<'w>,
    def: &'w ToolDef,
    /// Where the hub's own state is: in the workspace, and where it really lies.
    states: [PathBuf; 2],
    /// The real paths that the tool may touch.
    allowed: Vec<PathBuf>,
}

impl<'w> Walls<'w> {
    fn of(root: &'w Path, def: &'w ToolDef) -> Self {
        let (base, state) = (Base::of(root), root.join(STATE));
        let allowed = def.allowed_paths.iter();
        let allowed = allowed.filter_map(|a| base.real(&a.path).ok());
        Self {
            def,
            states: [base.real(STATE).unwrap_or_else(|_| state.clone()), state],
            allowed: allowed.collect(),
            base,
        }
    }
}

fn resolve_one(
    walls: &Walls<'_>,
    asked: &str,
    folders: Folders,
    last: Last,
) -> Result<PathBuf, ToolError> {
    let def = walls.def;
    let path = match last {
        Last::Followed => walls.base.real(asked)?,
        Last::Kept => walls.base.real_but_last(asked)?,
    };
    let states = &walls.states;
    if states.iter().any(|state| path.starts_with(state)) {
        return Err(ToolError::permission("it is the hub's own state"));
    }
    let is_there = |state: &Path| fs::symlink_metadata(state).is_ok();
    let holds_it = states.iter().any(|s| s.starts_with(&path) && is_there(s));
    if holds_it && folders == Folders::WithoutState {
        let why = "it holds the hub's own state (`.helve`); name a folder inside";
        return Err(ToolError::permission(why));
    }
    if def.allowed_paths.is_empty() {
        let why = "the tool has no `allowed_paths`, so it may touch none";
        return Err(ToolError::permission(why));
    }
    if !walls
        .allowed
        .iter()
        .any(|allowed| path.starts_with(allowed))
    {
        let list: Vec<String> = def
            .allowed_paths
            .iter()
            .map(|a| format!("`{}`", a.path))
            .collect();
        return Err(ToolError::permission(format!(
            "it is `{}`, outside of {}",
            path.display(),
            list.join(", ")
        )));
    }
    // A link that is still one is meant itself.
    match fs::symlink_metadata(&path) {
        Ok(meta) if !meta.is_file() && !meta.is_dir() && !meta.is_symlink() => {
            Err(ToolError::permission("it is neither a file nor a folder"))
        }
        _ => Ok(path),
    }
}

/// Whether it is one, and no link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

fn of_system(real: &Path) -> bool {
    SYSTEM.iter().any(|system| real.starts_with(system))
}

/// Where relative paths begin.
#[derive(Clone, Copy)]
struct Base<'r> {
    root: &'r Path,
    /// The root is where it says, and not a link by now: looked up once for all paths of a call.
    is_real: bool,
}

impl<'r> Base<'r> {
    fn of(root: &'r Path) -> Self {
        let is_real = is_folder(root);
        Self { root, is_real }
    }

    /// The real path of the folder, and the name in it as it is.
    fn real_but_last(&self, asked: &str) -> Result<PathBuf, ToolError> {
        let whole = self.real(asked);
        let path = self.root.join(asked);
        let ends_in_name = matches!(path.components().next_back(), Some(Component::Normal(_)));
        let (true, Some(folder), Some(name)) = (
            ends_in_name && !asked.ends_with('/'),
            path.parent().and_then(Path::to_str),
            path.file_name(),
        ) else {
            return whole;
        };
        let kept = self.real(folder)?.join(name);
        match fs::symlink_metadata(&kept) {
            Ok(meta) if meta.is_symlink() => Ok(kept),
            _ => whole,
        }
    }

    /// The real path: every part that exists resolved, the rest taken as it is, which
    /// it may only be without `..` and without a link that leads nowhere.
    fn real(&self, asked: &str) -> Result<PathBuf, ToolError> {
        if asked.is_empty() {
            return Err(ToolError::validation("it is empty"));
        }
        if asked.len() > LONGEST {
            return Err(ToolError::validation("it is longer than any path can be"));
        }
        if asked.contains('\0') {
            return Err(ToolError::validation("it contains a NUL character"));
        }
        // Most paths are in the root.
        let whole = self.root.join(asked);
        let inside = whole.strip_prefix(self.root).ok().filter(|_| self.is_real);
        let (rest, mut real) = match inside {
            Some(inside) => (inside, self.root.to_owned()),
            None => (whole.as_path(), PathBuf::new()),
        };
        if of_system(&real) {
            let why = "the workspace is of devices or the system itself";
            return Err(ToolError::permission(why));
        }
        let mut exists = true;
        for part in rest.components() {
            match part {
                Component::Prefix(_) | Component::RootDir => real.push(part),
                Component::CurDir => {}
                Component::ParentDir if exists => {
                    real.pop();
                }
                Component::ParentDir => {
                    return Err(ToolError::validation(
                        "it goes up from a folder that is not there",
                    ));
                }
                Component::Normal(name) => {
                    real.push(name);
                    // Its links lead to whoever looks, not to a place.
                    if of_system(&real) {
                        let why = "it leads through devices or the system itself";
                        return Err(ToolError::permission(why));
                    }
                    if !exists {
                        continue;
                    }
                    match fs::symlink_metadata(&real) {
                        Ok(meta) if meta.is_symlink() => {
                            real = fs::canonicalize(&real).map_err(|_| {
                                ToolError::not_found("a link in it leads nowhere, or in a circle")
                            })?;
                            if of_system(&real) {
                                let why = "it leads to devices or the system itself";
                                return Err(ToolError::permission(why));
                            }
                        }
                        Ok(_) => {}
                        Err(e) if e.kind() == std::io::ErrorKind::NotFound => exists = false,
                        Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => {
                            let why = "it goes through something that is no folder";
                            return Err(ToolError::validation(why));
                        }
                        Err(e) if e.kind() == std::io::ErrorKind::InvalidFilename => {
                            let why = "a name in it is longer than any file's can be";
                            return Err(ToolError::validation(why));
                        }
                        Err(e) => {
                            return Err(ToolError::permission(format!(
                                "it cannot be looked at: {e}"
                            )));
                        }
                    }
                }
            }
        }
        Ok(real)
    }
}

#[cfg(test)]
mod tests;
