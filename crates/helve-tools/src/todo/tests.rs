use helve_kernel::Principal;
use serde_json::json;

use crate::testing::Rig;

async fn rig() -> Rig {
    Rig::new(super::toolset().unwrap()).await
}

#[tokio::test]
async fn a_list_from_the_first_note_to_the_last() {
    let rig = rig().await;
    let one = rig.data("todo_add", json!({"content": " read "})).await;
    assert_eq!(
        one,
        json!({"id": 1, "content": "read", "status": "pending", "priority": "medium"})
    );
    rig.data("add_todo", json!({"content": "fix", "priority": "high"}))
        .await;
    rig.data("todo_update", json!({"id": 1, "status": "completed"}))
        .await;
    let open = rig.data("todo_list", json!({"status": "pending"})).await;
    assert_eq!(
        open,
        json!({
            "todos": [{"id": 2, "content": "fix", "status": "pending", "priority": "high"}],
            "open": 1,
        })
    );
}

#[tokio::test]
async fn a_list_that_is_written_anew_comes_back_when_that_is_undone() {
    let rig = rig().await;
    let todos = |content: &str| json!({"todos": [{"content": content, "status": "in_progress"}]});
    rig.data("write_todos", todos("old")).await;
    let second = rig.call("todo_write", todos("new")).await;
    assert!(second.is_ok(), "{:?}", second.result);
    assert_eq!(
        rig.data("read_todos", json!({})).await["todos"][0]["content"],
        "new"
    );
    assert!(rig.undo(&second).await.is_ok());
    assert_eq!(
        rig.data("todo_read", json!({})).await["todos"][0]["content"],
        "old"
    );
}

#[tokio::test]
async fn nobody_sees_the_list_of_another() {
    let rig = rig().await;
    rig.data("todo_add", json!({"content": "mine"})).await;
    let bob = Principal::person("bob");
    let theirs = rig.call_as(bob, "todo_list", json!({})).await;
    assert_eq!(theirs.result.unwrap(), json!({"todos": [], "open": 0}));
}

#[tokio::test]
async fn bad_calls() {
    let rig = rig().await;
    rig.refuses(
        "todo_add",
        &[
            (json!({}), "validation: \"content\" is a required property"),
            (json!({"content": 5.5}), "`content`"),
            (
                json!({"content": "  "}),
                "validation: `content` is blank; say what is to be done",
            ),
            (json!({"content": "a", "priority": "urgent"}), "`priority`"),
            (json!({"content": "x".repeat(2001)}), "`content`"),
        ],
    )
    .await;
    rig.refuses(
        "todo_update",
        &[
            (
                json!({"id": 7}),
                "not_found: there is no entry 7 on the list",
            ),
            (json!({"id": 0}), "`id`"),
        ],
    )
    .await;
    rig.refuses(
        "todo_write",
        &[
            (json!({"todos": [{"content": ""}]}), "content"),
            (json!({"todos": "all"}), "`todos`"),
        ],
    )
    .await;
    assert_eq!(rig.data("todo_read", json!({})).await["todos"], json!([]));
}

/// However many note something at once, all of it is there, under numbers of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn notes_made_at_once_are_all_there() {
    let rig = rig().await;
    let add = |n: usize| rig.call("todo_add", json!({"content": format!("note {n}")}));
    let answers = futures_util::future::join_all((0..40).map(add)).await;
    for answer in &answers {
        assert!(answer.is_ok(), "{}", answer.text());
    }
    let list = rig.data("todo_list", json!({})).await;
    let ids = list["todos"].as_array().unwrap().iter();
    let ids: Vec<u64> = ids.map(|todo| todo["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (1..=40).collect::<Vec<u64>>());
}
