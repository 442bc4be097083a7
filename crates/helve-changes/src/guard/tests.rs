//! What may be written, as a table.

use super::*;
use crate::state::{Meta, State, Symlink};

fn meta() -> Meta {
    Meta {
        mode: 0o755,
        uid: 0,
        gid: 0,
        xattrs: Vec::new(),
    }
}

fn state(word: &str) -> State {
    match word {
        "none" => State::Absent,
        "dir" => State::Dir(meta()),
        "link" => State::Symlink(Symlink {
            target: "x".into(),
            uid: 0,
            gid: 0,
        }),
        _ => State::Fifo(meta()),
    }
}

/// `verdict before after path` against allowed paths.
fn check(allowed: &[&str], cases: &[(&str, &str, &str, &str)]) {
    let allowed = Allowed::new(allowed.iter().map(PathBuf::from));
    for (verdict, before, after, path) in cases {
        let change = Change {
            path: path.into(),
            before: state(before),
            after: state(after),
            renamed_from: None,
        };
        let changeset = Changeset::new(vec!["/".into()], vec![change]);
        let found = match allowed.check(&changeset) {
            Ok(()) => "ok",
            Err(Error::Outside { .. }) => "outside",
            Err(Error::Protected { .. }) => "protected",
            Err(_) => "error",
        };
        assert_eq!(found, *verdict, "{path} with {allowed:?}");
    }
}

#[test]
fn a_folder_around_is_not_enough() {
    check(
        &["/w"],
        &[
            ("ok", "none", "file", "/w/a"),
            ("outside", "none", "file", "/w2/a"),
            ("outside", "none", "file", "/etc/passwd"),
            ("outside", "dir", "dir", "/"),
            ("protected", "none", "file", "/w/.git/hooks/pre-commit"),
            ("protected", "none", "dir", "/w/.git/hooks"),
            ("protected", "file", "none", "/w/.git/config"),
            (
                "protected",
                "none",
                "file",
                "/w/deep/.git/modules/x/hooks/update",
            ),
            (
                "protected",
                "none",
                "file",
                "/w/.git/worktrees/x/config.worktree",
            ),
            ("protected", "none", "file", "/w/.git"),
            ("protected", "none", "link", "/w/.git"),
            ("protected", "dir", "none", "/w/.git"),
            ("ok", "none", "dir", "/w/.git"),
            ("ok", "none", "file", "/w/.git/index"),
            ("ok", "none", "file", "/w/.git/refs/heads/config"),
            ("protected", "none", "file", "/w/.GIT/Config"),
            ("protected", "none", "file", "/w/.g\u{200c}it/config"),
            ("protected", "none", "file", "/w/git~1/config"),
            ("protected", "none", "file", "/w/.ｇｉｔ/config"),
            ("protected", "none", "file", "/w/.bashrc"),
            ("protected", "none", "link", "/w/home/.zshenv"),
            ("protected", "none", "file", "/w/.mcp.json"),
            ("protected", "none", "file", "/w/.helve/objects/ab/cd"),
            ("protected", "none", "file", "/w/.ssh/authorized_keys"),
            ("protected", "none", "link", "/w/.vscode"),
            ("ok", "none", "dir", "/w/.vscode"),
            ("ok", "none", "file", "/w/.vscode/extensions.json"),
            ("protected", "none", "file", "/w/.vscode/tasks.json"),
            ("protected", "none", "file", "/w/.config/fish/config.fish"),
            ("ok", "none", "file", "/w/.gitmodules"),
            ("ok", "none", "file", "/w/bashrc"),
        ],
    );
}

#[test]
fn its_own_name_is() {
    check(
        &[
            "/w/.git/hooks",
            "/w/.bashrc",
            "/w/.ssh/config",
            "/w/not/yet/there",
        ],
        &[
            ("ok", "none", "file", "/w/.git/hooks/pre-commit"),
            ("ok", "none", "dir", "/w/.git/hooks"),
            ("outside", "none", "file", "/w/.git/config"),
            ("ok", "file", "file", "/w/.bashrc"),
            ("ok", "none", "file", "/w/.ssh/config"),
            ("outside", "none", "file", "/w/.ssh/id"),
            ("ok", "none", "dir", "/w/not/yet"),
            ("outside", "dir", "dir", "/w/not/yet"),
            ("outside", "none", "file", "/w/not"),
        ],
    );
    check(
        &["/w/.git"],
        &[
            ("protected", "none", "file", "/w/.git/hooks/x"),
            ("ok", "dir", "none", "/w/.git"),
        ],
    );
}
