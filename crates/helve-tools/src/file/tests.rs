//! The file tools, through a kernel.

mod attacks;
mod bad;
mod changing;
mod looking;

use serde_json::{Value, json};

use crate::testing::Rig;

async fn rig() -> Rig {
    Rig::new(super::toolset().unwrap()).await
}

/// The paths of a list of things.
fn paths(list: &Value) -> Vec<&str> {
    let list = list.as_array().unwrap();
    list.iter()
        .map(|one| one["path"].as_str().unwrap())
        .collect()
}

/// Every tool answers to the names that other systems have for it.
#[tokio::test]
async fn every_name_leads_to_its_tool() {
    let rig = rig().await;
    rig.write("a.txt", "one\n");
    let (a, dir) = (json!({"path": "a.txt"}), json!({"path": "."}));
    for (names, args) in [
        (
            &["file_read", "read_file", "internal_file_read"][..],
            a.clone(),
        ),
        (&["file_stat", "file_info", "get_file_info"], a),
        (
            &[
                "file_list",
                "list_directory",
                "list_files",
                "internal_file_list",
            ],
            dir,
        ),
        (&["file_glob", "glob"], json!({"pattern": "*"})),
        (
            &["file_grep", "grep", "search_file_content"],
            json!({"pattern": "one"}),
        ),
        (
            &["file_write", "write_file", "internal_file_write"],
            json!({"path": "b", "content": "b"}),
        ),
        (
            &["file_append", "append_file"],
            json!({"path": "b", "content": "b"}),
        ),
        (
            &["file_mkdir", "create_directory", "make_directory"],
            json!({"path": "d"}),
        ),
    ] {
        for name in names {
            rig.data(name, args.clone()).await;
        }
    }
    for (at, name) in ["file_edit", "edit_file"].iter().enumerate() {
        let args = json!({"path": "a.txt", "old_string": "one", "new_string": "one one", "replace_all": at > 0});
        rig.data(name, args).await;
    }
    for (at, name) in ["file_copy", "copy_file", "internal_file_copy"]
        .iter()
        .enumerate()
    {
        rig.data(
            name,
            json!({"source": "b", "destination": format!("c{at}")}),
        )
        .await;
    }
    for (at, name) in ["file_move", "move_file", "rename_file"].iter().enumerate() {
        rig.data(
            name,
            json!({"src": format!("c{at}"), "dst": format!("m{at}")}),
        )
        .await;
    }
    for (at, name) in ["file_delete", "delete_file", "internal_file_delete"]
        .iter()
        .enumerate()
    {
        rig.data(name, json!({"path": format!("m{at}")})).await;
    }
    assert_eq!(rig.read("a.txt"), "one one one one\n");
}
