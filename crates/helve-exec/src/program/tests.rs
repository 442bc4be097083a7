//! Programs that are missing, planted, replaced, or anybody's.

#![allow(clippy::unwrap_used)]

use std::os::unix::fs::{PermissionsExt, symlink};

use helve_kernel::ErrorKind;
use tempfile::TempDir;

use super::*;

/// A workspace whose path has no links in it.
struct Workspace {
    _folder: TempDir,
    root: PathBuf,
}

impl Workspace {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        Self {
            _folder: folder,
            root,
        }
    }

    fn file(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        self.mode(name, mode);
        path
    }

    fn mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.root.join(name), PermissionsExt::from_mode(mode)).unwrap();
    }

    fn pin(&self, command: &[&str]) -> Result<Vec<Pinned>, ToolError> {
        self.pin_in(command, "")
    }

    fn pin_in(&self, command: &[&str], cwd: &str) -> Result<Vec<Pinned>, ToolError> {
        let template = Template::parse(command.iter().copied()).unwrap();
        let cwd = self.root.join(cwd).canonicalize().unwrap();
        pin(&template, &self.root, &cwd, &Hashes::default())
    }

    fn paths(&self, command: &[&str], cwd: &str) -> Vec<PathBuf> {
        let pinned = self.pin_in(command, cwd).unwrap();
        pinned.into_iter().map(|file| file.path).collect()
    }
}

#[test]
fn a_fingerprint_has_path_and_hash() {
    let workspace = Workspace::new();
    let path = workspace.file("run.sh", "#!/bin/sh\n", 0o755);
    let found = fingerprint(&workspace.pin(&["./run.sh"]).unwrap());
    let wanted = json!({"programs": [{
        "path": path.to_str().unwrap(),
        "sha256": Hash::of(b"#!/bin/sh\n").to_string(),
    }]});
    assert_eq!(found, wanted);
}

#[test]
fn what_cannot_be_run_is_told() {
    let workspace = Workspace::new();
    workspace.file("plain", "#!/bin/sh\n", 0o644);
    workspace.file("folder/file", "", 0o644);
    symlink("gone", workspace.root.join("dangling")).unwrap();
    let table = [
        ("helve-no-such-program", "was not found"),
        ("./gone", "was not found"),
        ("./dangling", "was not found"),
        ("./plain", "is not executable"),
        ("./folder", "is a folder"),
        ("/dev/null", "is not a regular file"),
        (".", "is a folder"),
        ("..", "is a folder"),
    ];
    for (program, says) in table {
        let error = workspace.pin(&[program]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Dependency);
        assert!(error.message.contains(says), "{error}");
        assert!(error.hint.is_some());
    }
}

/// A name is never looked for in the workspace, the folder it runs in, or a `PATH`.
#[test]
fn a_planted_program_is_not_found() {
    let workspace = Workspace::new();
    workspace.file("sh", "#!/bin/false\n", 0o755);
    workspace.file("only-here", "#!/bin/false\n", 0o755);
    let wanted = Path::new("/bin/sh").canonicalize().unwrap();
    assert_eq!(workspace.paths(&["sh"], ""), [wanted]);
    assert!(workspace.pin(&["only-here"]).is_err());
}

#[test]
fn scripts_of_the_workspace_are_pinned() {
    let workspace = Workspace::new();
    let sh = Path::new("/bin/sh").canonicalize().unwrap();
    let top = workspace.file("tools/x.sh", "", 0o644);
    let deep = workspace.file("sub/tools/x.sh", "", 0o644);
    let elsewhere = Workspace::new();
    let outside = elsewhere.file("y.sh", "", 0o644);
    symlink(&outside, workspace.root.join("link.sh")).unwrap();
    let outside_name = outside.to_str().unwrap();

    let table: &[(&[&str], &str, &[&PathBuf])] = &[
        (&["sh", "tools/x.sh"], "", &[&sh, &top]),
        (&["sh", "tools/x.sh"], "sub", &[&sh, &deep]),
        (&["sh", "../tools/x.sh"], "sub", &[&sh, &top]),
        (
            &["sh", top.to_str().unwrap(), "tools/x.sh"],
            "",
            &[&sh, &top],
        ),
        // A link in the workspace, wherever it leads.
        (&["sh", "link.sh"], "", &[&sh, &outside]),
        // Not ours, not a file, not there, not literal.
        (
            &["sh", outside_name, "tools", "gone", "", "{x}"],
            "",
            &[&sh],
        ),
        (&["sh", "/etc/passwd"], "", &[&sh]),
    ];
    for (command, cwd, wanted) in table {
        let found = workspace.paths(command, cwd);
        assert_eq!(found.iter().collect::<Vec<_>>(), *wanted, "{command:?}");
    }
}

#[test]
fn what_changed_is_named() {
    type Change<'c> = &'c dyn Fn(&Workspace);
    let check = |command: &[&str], change: Change<'_>, names: &str| {
        let workspace = Workspace::new();
        workspace.file("run.sh", "#!/bin/sh\necho one\n", 0o755);
        workspace.file("other.sh", "#!/bin/sh\necho two\n", 0o755);
        workspace.file("part.sh", "echo part\n", 0o644);
        symlink("run.sh", workspace.root.join("link")).unwrap();
        let before = fingerprint(&workspace.pin(command).unwrap());
        assert_eq!(
            compare(Some(&before), &workspace.pin(command).unwrap()),
            Ok(())
        );
        change(&workspace);
        let error = compare(Some(&before), &workspace.pin(command).unwrap()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Conflict);
        let path = workspace.root.join(names);
        let says = format!("`{}` has changed since", path.display());
        assert!(error.message.starts_with(&says), "{error}");
    };
    let same_length = |w: &Workspace| {
        w.file("run.sh", "#!/bin/sh\necho two\n", 0o755);
    };
    let swapped = |w: &Workspace| {
        fs::remove_file(w.root.join("link")).unwrap();
        symlink("other.sh", w.root.join("link")).unwrap();
    };
    let replaced = |w: &Workspace| {
        fs::rename(w.root.join("other.sh"), w.root.join("run.sh")).unwrap();
    };
    let script = |w: &Workspace| {
        w.file("part.sh", "echo more\n", 0o644);
    };
    let removed = |w: &Workspace| fs::remove_file(w.root.join("part.sh")).unwrap();
    let appeared = |w: &Workspace| {
        w.file("late.sh", "", 0o644);
    };
    check(&["./run.sh"], &same_length, "run.sh");
    check(&["./run.sh"], &replaced, "run.sh");
    check(&["./link"], &swapped, "run.sh");
    check(&["./link"], &same_length, "run.sh");
    check(&["sh", "part.sh"], &script, "part.sh");
    check(&["sh", "part.sh"], &removed, "part.sh");
    check(&["sh", "late.sh"], &appeared, "late.sh");
}

#[test]
fn a_tool_that_was_never_looked_at_does_not_run() {
    let workspace = Workspace::new();
    let found = workspace.pin(&["sh"]).unwrap();
    for before in [None, Some(json!({})), Some(json!({"programs": []}))] {
        assert!(compare(before.as_ref(), &found).is_err());
    }
}

#[test]
fn what_anybody_may_write_is_not_run() {
    let table: &[(&str, u32, bool)] = &[
        ("bin/run.sh", 0o755, true),
        ("bin/run.sh", 0o775, true),
        ("bin/run.sh", 0o757, false),
        ("bin", 0o777, false),
        ("bin", 0o1777, true),
        (".", 0o777, false),
    ];
    for (name, mode, fine) in table {
        let workspace = Workspace::new();
        workspace.file("bin/run.sh", "#!/bin/sh\n", 0o755);
        workspace.mode(name, *mode);
        for command in [["bin/run.sh", ""], ["sh", "bin/run.sh"]] {
            let found = workspace.pin(&command);
            assert_eq!(found.is_ok(), *fine, "{name} {mode:o}: {found:?}");
        }
    }
}

#[test]
fn text_without_an_interpreter_is_for_no_shell() {
    let workspace = Workspace::new();
    let table = [
        ("#!/bin/sh\necho hi\n", true),
        ("\u{7f}ELF\0", true),
        ("echo hi\n", false),
        ("", false),
    ];
    for (text, fine) in table {
        let path = workspace.file("run", text, 0o755);
        assert_eq!(check_format(&path).is_ok(), fine, "{text:?}");
    }
    assert_eq!(check_format(Path::new("/bin/sh")), Ok(()));
}
