//! Where the programs of built-in tools lie: formatters are seldom where the system's own
//! programs are.
//!
//! They are looked for once, on the path of whoever started the hub, never in the workspace
//! (which may be a stranger's), and pinned when they are registered.

use std::path::{Path, PathBuf};

use crate::{env, load};

/// The whole path of a program; `None` where it is not found, or is named by a path already.
pub(super) fn find(program: &str, workspace: &Path) -> Option<String> {
    found(program, workspace, &env::programs(), env::rustup_home())
}

fn found(
    program: &str,
    workspace: &Path,
    path: &[PathBuf],
    rustup: Option<PathBuf>,
) -> Option<String> {
    if program.contains('/') {
        return None;
    }
    let real = path
        .iter()
        .filter(|folder| folder.is_absolute())
        .find_map(|folder| {
            let real = std::fs::canonicalize(folder.join(program)).ok()?;
            (real.is_file() && !real.starts_with(workspace)).then_some(real)
        })?;
    let real = match real.file_name().is_some_and(|name| name == "rustup") {
        // It only finds the program of a toolchain, and wants the user's home for that.
        true => of_toolchain(program, &rustup?)?,
        false => real,
    };
    real.to_str().map(str::to_owned)
}

/// The program of the toolchain that rustup uses if nothing is said.
fn of_toolchain(program: &str, rustup: &Path) -> Option<PathBuf> {
    let settings = load::toml_file(&rustup.join("settings.toml")).ok()??;
    let toolchain = settings["default_toolchain"].as_str()?;
    let program = rustup
        .join("toolchains")
        .join(toolchain)
        .join("bin")
        .join(program);
    program.is_file().then_some(program)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn programs_are_found_on_the_path_and_never_in_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        for name in ["ws/bin/tool", "bin/tool", "cargo/rustup", "bin/other/x"] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), "").unwrap();
        }
        let real = at("rustup/toolchains/stable-x/bin/rustfmt");
        fs::create_dir_all(real.parent().unwrap()).unwrap();
        fs::write(&real, "").unwrap();
        fs::write(
            at("rustup/settings.toml"),
            "default_toolchain = \"stable-x\"\n",
        )
        .unwrap();
        symlink("rustup", at("cargo/rustfmt")).unwrap();
        symlink(at("ws/bin/tool"), at("bin/planted")).unwrap();
        let path = [PathBuf::from("bin"), at("ws/bin"), at("bin"), at("cargo")];
        let find = |program: &str| found(program, &at("ws"), &path, Some(at("rustup")));
        let shown = |name: &str| Some(at(name).to_str().unwrap().to_owned());
        assert_eq!(find("tool"), shown("bin/tool"));
        assert_eq!(find("rustfmt"), Some(real.to_str().unwrap().to_owned()));
        for program in ["planted", "other", "nobody", "node_modules/.bin/prettier"] {
            assert_eq!(find(program), None, "{program}");
        }
        fs::remove_file(at("rustup/settings.toml")).unwrap();
        assert_eq!(find("rustfmt"), None);
    }
}
