//! The folder in which a program runs.

use std::io;
use std::path::{Path, PathBuf};

use helve_core::def::AllowedPath;
use helve_kernel::ToolError;

/// The real path of the workspace.
pub(crate) fn root(root: &Path) -> Result<PathBuf, ToolError> {
    root.canonicalize().map_err(|e| {
        let problem = format!("the workspace `{}` cannot be reached: {e}", root.display());
        ToolError::dependency(problem).with_hint("start Helve in a folder that exists")
    })
}

/// The real path of the folder in which a tool runs: `cwd` from the workspace,
/// which must lie in the workspace or in a path that the tool may touch. `root` is
/// a real path.
pub(crate) fn cwd(
    cwd: Option<&str>,
    allowed: &[AllowedPath],
    root: &Path,
) -> Result<PathBuf, ToolError> {
    let Some(cwd) = cwd else {
        return Ok(root.to_owned());
    };
    let real = root.join(cwd).canonicalize().map_err(|e| {
        let problem = match e.kind() {
            io::ErrorKind::NotFound => "does not exist".to_owned(),
            _ => format!("cannot be reached: {e}"),
        };
        ToolError::dependency(format!("the folder `{cwd}` in `cwd` {problem}"))
            .with_hint("the path begins at the workspace; make the folder, or leave `cwd` out")
    })?;
    if !real.is_dir() {
        return Err(
            ToolError::dependency(format!("`{cwd}` in `cwd` is not a folder"))
                .with_hint("name the folder that it is in"),
        );
    }
    let mut allowed = allowed.iter().map(|allowed| root.join(&allowed.path));
    let inside = |path: PathBuf| path.canonicalize().is_ok_and(|p| real.starts_with(p));
    if real.starts_with(root) || allowed.any(inside) {
        return Ok(real);
    }
    Err(ToolError::validation(format!(
        "the folder `{cwd}` in `cwd` lies outside the workspace (`{}`)",
        real.display()
    ))
    .with_hint("add it to `allowed_paths`, or leave `cwd` out"))
}

#[cfg(test)]
mod tests;
