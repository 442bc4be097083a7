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
    assert_eq!(
        known,
        json!({"profile": {"language": "中文", "name": "Ann"}})
    );
    assert!(rig.undo(&second).await.is_ok());
    let one = rig.data("profile_get", json!({"key": "language"})).await;
    assert_eq!(one, json!({"profile": {"language": "English"}}));
    rig.data("profile_update", update("")).await;
    let one = rig.data("profile_get", json!({"key": "language"})).await;
    assert_eq!(one, json!({"profile": {}}));
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
    assert_eq!(
        rig.data("profile_get", json!({})).await,
        json!({"profile": {"name": "Ann"}})
    );
    let bob = rig
        .call_as(Principal::person("bob"), "profile_get", json!({}))
        .await;
    assert_eq!(bob.result.unwrap(), json!({"profile": {}}));
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
