//! Where a changeset may write.
//!
//! Beneath the allowed paths; and what makes other programs run something (git hooks,
//! shell start-up files, the settings of editors and agents) only if it is allowed by
//! its own name. Allowing the folder around it is not enough: whoever allows a project
//! does not mean its hooks.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

use crate::changeset::{Change, Changeset};
use crate::error::Error;

/// The paths that a changeset may touch.
#[derive(Debug, Clone, Default)]
pub struct Allowed(BTreeSet<PathBuf>);

/// Files that a program reads and obeys, wherever they lie.
const FILES: &[&str] = &[
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".cshrc",
    ".envrc",
    ".gitconfig",
    ".inputrc",
    ".kshrc",
    ".login",
    ".logout",
    ".mcp.json",
    ".netrc",
    ".npmrc",
    ".pam_environment",
    ".profile",
    ".pypirc",
    ".tcshrc",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];

/// Folders of which everything counts, wherever they lie.
const FOLDERS: &[&str] = &[
    ".agents",
    ".codex",
    ".helve",
    ".idea",
    ".ssh",
    ".gnupg",
    ".config/fish",
    ".config/autostart",
    ".config/systemd",
    ".config/git",
    ".claude/hooks",
];

/// Files that count only in a folder of a certain name.
const IN_FOLDERS: &[&str] = &[
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".cursor/mcp.json",
    ".vscode/launch.json",
    ".vscode/mcp.json",
    ".vscode/settings.json",
    ".vscode/tasks.json",
];

/// What git obeys in its folder, at any depth: worktrees and submodules have their own.
const GIT: &[&str] = &["hooks", "config", "config.worktree", "commondir", "gitdir"];

/// Where names in git's folder are branches and objects, and mean nothing more.
const GIT_DATA: &[&str] = &["objects", "refs", "logs"];

impl Allowed {
    /// Paths, each a file or a folder with all beneath it; absolute, without `..`.
    pub fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(paths.into_iter().collect())
    }

    /// Exactly the paths of a changeset: for an undo, whose paths were allowed before.
    pub fn just(changeset: &Changeset) -> Self {
        Self::new(changeset.changes.iter().map(|c| c.path.clone()))
    }

    /// Whether a path lies at or beneath one of them.
    pub fn contains(&self, path: &Path) -> bool {
        path.ancestors().any(|around| self.0.contains(around))
    }

    /// Refuses a changeset that touches anything else.
    pub fn check(&self, changeset: &Changeset) -> Result<(), Error> {
        let named = |is: &dyn Fn(&Change) -> bool| -> Vec<PathBuf> {
            let changes = changeset.changes.iter().filter(|c| is(c));
            changes.map(|c| c.path.clone()).collect()
        };
        let paths = named(&|c| !self.contains(&c.path) && !self.leads(c));
        if !paths.is_empty() {
            return Err(Error::Outside { paths });
        }
        let paths = named(&|c| self.is_refused(c));
        match paths.is_empty() {
            true => Ok(()),
            false => Err(Error::Protected { paths }),
        }
    }

    /// Whether it only makes a folder on the way to an allowed path, that was not there.
    fn leads(&self, change: &Change) -> bool {
        let makes = change.before.is_absent() && change.after.is_dir();
        // Sorted: what lies beneath a path comes right after it.
        let beneath = self.0.range(change.path.clone()..).next();
        makes && beneath.is_some_and(|allowed| allowed.starts_with(&change.path))
    }

    fn is_refused(&self, change: &Change) -> bool {
        let Some(unit) = protected(change) else {
            return false;
        };
        let own = |around: &Path| self.0.contains(around) && around.components().count() >= unit;
        !change.path.ancestors().any(own)
    }
}

/// How many components of a protected path make up what has to be allowed by name.
fn protected(change: &Change) -> Option<usize> {
    let names: Vec<String> = change
        .path
        .components()
        .map(|c| fold(&c.as_os_str().to_string_lossy()))
        .collect();
    for (at, name) in names.iter().enumerate() {
        let rest = &names[at..];
        if name == ".git"
            && let Some(more) = in_git(change, &rest[1..])
        {
            return Some(at + 1 + more);
        }
        let last = rest.len() == 1;
        let pair = rest
            .get(1)
            .map(|next| format!("{name}/{next}"))
            .unwrap_or_default();
        if FOLDERS.contains(&name.as_str()) {
            return Some(at + 1);
        }
        if FOLDERS.contains(&pair.as_str()) {
            return Some(at + 2);
        }
        // A folder of that name is made before what it holds, which counts for itself.
        if FILES.contains(&name.as_str()) && !(last && is_folder(change)) {
            return Some(at + 1);
        }
        if IN_FOLDERS.contains(&pair.as_str()) {
            return Some(at + 2);
        }
        let parent = IN_FOLDERS
            .iter()
            .chain(FOLDERS)
            .any(|f| f.split_once('/').is_some_and(|(p, _)| p == name));
        if last && parent && !is_folder(change) {
            return Some(at + 1);
        }
    }
    None
}

fn in_git(change: &Change, rest: &[String]) -> Option<usize> {
    let Some(first) = rest.first() else {
        // The folder itself: to make it, or to change its mode, runs nothing. To take
        // it away takes its hooks away, and a file or link in its place puts others there.
        return (!is_folder(change)).then_some(0);
    };
    if GIT_DATA.contains(&first.as_str()) {
        return None;
    }
    let at = rest.iter().position(|name| GIT.contains(&name.as_str()));
    if let Some(at) = at {
        return Some(at + 1);
    }
    // A link or a file in place of a folder on the way to such a file.
    let way = matches!(first.as_str(), "worktrees" | "modules") && !change.after.is_dir();
    let link = matches!(change.after, crate::State::Symlink(_));
    (way && link).then_some(rest.len())
}

/// Whether it is a folder, and was none or the same.
fn is_folder(change: &Change) -> bool {
    change.after.is_dir() && (change.before.is_dir() || change.before.is_absent())
}

/// A name as a file system would see it that tells neither case nor spelling apart:
/// `.GIT`, `.ｇit` and `.g\u{200c}it` are `.git` to some.
fn fold(name: &str) -> String {
    let shown = name.chars().filter(|c| !helve_core::lint::is_hidden(*c));
    let folded: String = shown
        .collect::<String>()
        .nfkc()
        .flat_map(char::to_lowercase)
        .collect();
    let short = folded.trim_end_matches(['.', ' ']);
    match short {
        "git~1" => ".git".to_owned(),
        "" => folded,
        _ => short.to_owned(),
    }
}
