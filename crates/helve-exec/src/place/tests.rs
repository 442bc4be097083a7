//! Ways out of the workspace.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

#[test]
fn a_folder_in_the_workspace_or_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    for name in ["data/sub", "data2", "outside/deep"] {
        fs::create_dir_all(top.join(name)).unwrap();
    }
    fs::write(top.join("data/file"), "").unwrap();
    symlink(top.join("outside"), top.join("data/out")).unwrap();
    symlink(top.join("data/sub"), top.join("data/in")).unwrap();
    let data = root(&top.join("data")).unwrap();
    let outside = top.join("outside").display().to_string();

    type Row<'r> = (Option<&'r str>, &'r [&'r str], Result<&'r str, &'r str>);
    let table: &[Row<'_>] = &[
        (None, &[], Ok("data")),
        (Some("."), &[], Ok("data")),
        (Some("sub"), &[], Ok("data/sub")),
        (Some("in"), &[], Ok("data/sub")),
        (Some("../data/sub"), &[], Ok("data/sub")),
        (Some(".."), &[], Err("outside the workspace")),
        (Some("../data2"), &[], Err("outside the workspace")),
        (Some("out"), &[], Err("outside the workspace")),
        (Some("out/deep"), &["sub"], Err("outside the workspace")),
        (Some("/"), &[], Err("outside the workspace")),
        (Some("/proc/self/root"), &[], Err("outside the workspace")),
        (Some("out/deep"), &["out"], Ok("outside/deep")),
        (Some("out/deep"), &[&outside], Ok("outside/deep")),
        (Some("../data2"), &["../gone"], Err("outside the workspace")),
        (Some("gone"), &[], Err("does not exist")),
        (Some("file"), &[], Err("not a folder")),
    ];
    for (setting, allowed, wanted) in table {
        let allowed: Vec<AllowedPath> = allowed
            .iter()
            .map(|path| AllowedPath {
                path: (*path).to_owned(),
                access: None,
            })
            .collect();
        match (cwd(*setting, &allowed, &data), wanted) {
            (Ok(found), Ok(wanted)) => assert_eq!(found, top.join(wanted)),
            (Err(error), Err(says)) => assert!(error.message.contains(says), "{error}"),
            (found, wanted) => panic!("{setting:?}: {found:?}, not {wanted:?}"),
        }
    }
}
