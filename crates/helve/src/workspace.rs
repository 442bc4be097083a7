//! The workspace: the folder that relative paths begin at.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use crate::exit::Failure;

/// What makes a folder a workspace, below which others belong to it.
const MARKS: [&str; 2] = ["helve.toml", ".helve"];

/// The nearest folder upwards with `helve.toml` or `.helve/`, or this one.
pub(crate) fn root() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let me = rustix::process::getuid().as_raw();
    nearest(&here, |uid| uid == me || uid == 0).to_owned()
}

/// The same, if there is a workspace at all.
pub(crate) fn known() -> Result<PathBuf, Failure> {
    let root = root();
    match is_marked(&root) || root.join("tools").is_dir() {
        true => Ok(root),
        false => Err(
            Failure::input(format!("`{}` is no workspace", root.display()))
                .hint("go to one; or make this one with `helve up`, or by writing a `helve.toml`"),
        ),
    }
}

/// Where the workspace's own tools are.
pub(crate) fn tools() -> PathBuf {
    root().join("tools")
}

/// A path as it is from the root, with the folders above it resolved as far as they are
/// there; the path itself may be gone, or a link.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let mut plain = PathBuf::new();
    for part in here.join(path).components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    let above = plain.ancestors().skip(1);
    let mut known = above.filter_map(|folder| Some((folder, folder.canonicalize().ok()?)));
    match known.next() {
        Some((folder, real)) => match plain.strip_prefix(folder) {
            Ok(rest) => real.join(rest),
            Err(_) => plain,
        },
        None => plain,
    }
}

/// A folder above counts only if who marked it is trusted: in `/tmp` anybody can, and
/// what stands there decides which programs run.
fn nearest(here: &Path, trusted: impl Fn(u32) -> bool) -> &Path {
    let ours = |folder: &Path| {
        let mut marks = MARKS
            .iter()
            .filter_map(|mark| folder.join(mark).symlink_metadata().ok());
        marks.all(|mark| trusted(mark.uid()))
    };
    let mut above = here.ancestors();
    above
        .find(|folder| is_marked(folder) && (*folder == here || ours(folder)))
        .unwrap_or(here)
}

fn is_marked(folder: &Path) -> bool {
    folder.join("helve.toml").is_file() || folder.join(".helve").is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_gone_is_still_somewhere() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("data")).unwrap();
        std::os::unix::fs::symlink("data", real.join("link")).unwrap();
        for (given, wanted) in [
            ("data/./x/../gone", "data/gone"),
            ("link/gone/deep", "data/gone/deep"),
            ("link", "link"),
            ("data/", "data"),
        ] {
            assert_eq!(absolute(&real.join(given)), real.join(wanted), "{given}");
        }
        assert_eq!(absolute(Path::new("/..")), Path::new("/"));
    }

    #[test]
    fn a_workspace_above_must_be_of_somebody_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let (top, below) = (folder.path(), folder.path().join("a/b"));
        std::fs::create_dir_all(&below).unwrap();
        std::fs::write(top.join("helve.toml"), "").unwrap();
        assert_eq!(nearest(&below, |_| true), top);
        assert_eq!(nearest(&below, |_| false), below);
        // The folder itself was chosen by whoever went there.
        assert_eq!(nearest(top, |_| false), top);
    }
}
