use helve_kernel::Principal;
use serde_json::json;

use crate::testing::Rig;

#[tokio::test]
async fn what_is_noted_is_known_until_it_is_taken_away() {
    let rig = Rig::new(super::toolset().unwrap()).await;
    let update = |value: &str| json!({"key": "language", "value": value});
    rig.data("update_user_profile", update("English")).await;
    let second = rig.call("profile_update", update("中文")).await;
    assert_eq!(
        second.result.clone().unwrap(),
        json!({"key": "language", "value": "中文", "before": "English"})
    );
    rig.data("profile_update", json!({"key": "name", "value": "Ann"}))
        .await;
    let known = rig.data("get_user_profile", json!({})).await;
    assert_eq!(known["profile"], json!({"language": "中文", "name": "Ann"}));
    assert!(
        known["sources"]["name"]
            .as_str()
            .unwrap()
            .starts_with("profile, ann, 20")
    );
    assert!(rig.undo(&second).await.is_ok());
    let one = rig.data("profile_get", json!({"key": "language"})).await;
    assert_eq!(one["profile"], json!({"language": "English"}));
    rig.data("profile_update", update("")).await;
    let one = rig.data("profile_get", json!({"key": "language"})).await;
    assert_eq!(one["profile"], json!({}));
}

#[tokio::test]
async fn an_agent_works_on_the_profile_of_its_person() {
    let rig = Rig::new(super::toolset().unwrap()).await;
    let agent = Principal {
        under: Some("ann".to_owned()),
        ..Principal::agent("claude")
    };
    let noted = json!({"key": "name", "value": "Ann"});
    assert!(rig.call_as(agent, "profile_update", noted).await.is_ok());
    let known = rig.data("profile_get", json!({})).await;
    assert_eq!(known["profile"], json!({"name": "Ann"}));
    let bob = rig
        .call_as(Principal::person("bob"), "profile_get", json!({}))
        .await;
    assert_eq!(bob.result.unwrap()["profile"], json!({}));
}

#[tokio::test]
async fn bad_calls() {
    let rig = Rig::new(super::toolset().unwrap()).await;
    rig.refuses(
        "profile_update",
        &[
            (json!({"value": "x"}), "\"key\" is a required property"),
            (
                json!({"key": " ", "value": "x"}),
                "validation: `key` is blank",
            ),
            (json!({"key": "a", "value": "x".repeat(2001)}), "value"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_profile_costs_little_and_says_where_it_is_from() {
    let rig = Rig::new(super::toolset().unwrap()).await;
    rig.kernel
        .add_toolset(crate::memory::toolset().unwrap())
        .unwrap();
    for i in 0..40 {
        let value = format!("喜欢的东西 number {i}, with some words");
        let noted = json!({"key": format!("thing {i:02}"), "value": value});
        rig.data("profile_update", noted).await;
    }
    rig.data("profile_update", json!({"key": "name", "value": "Ann"}))
        .await;
    let remember = |value: &str| json!({"category": "preference", "content": format!("Speak {value} with me"), "key": "language", "value": value});
    rig.data("remember", remember("German")).await;
    let noted = rig.data("remember", remember("中文")).await;
    let known = rig.data("get_user_profile", json!({})).await;
    assert!(
        helve_core::tokens::estimate(&known.to_string()) <= 200,
        "{known}"
    );
    assert_eq!(known["profile"]["name"], "Ann");
    assert_eq!(known["profile"]["language"], "中文");
    let source = known["sources"]["language"].as_str().unwrap();
    assert!(
        source.starts_with(noted["id"].as_str().unwrap()),
        "{source}"
    );
    let shown = known["profile"].as_object().unwrap().len();
    assert_eq!(known["left_out"], 42 - shown);
    let all = rig.data("get_user_profile", json!({"all": true})).await;
    assert_eq!(all["profile"].as_object().unwrap().len(), 42);
    // What was noted in the profile goes before what was remembered.
    rig.data(
        "profile_update",
        json!({"key": "language", "value": "French"}),
    )
    .await;
    let one = rig.data("profile_get", json!({"key": "language"})).await;
    assert_eq!(one["profile"], json!({"language": "French"}));
}
