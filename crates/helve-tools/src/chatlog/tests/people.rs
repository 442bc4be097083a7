use serde_json::{Value, json};

use super::{import, rig, talk};

#[tokio::test]
async fn a_name_that_several_have_is_not_guessed() {
    let rig = rig().await;
    let said = [
        json!({"chat": "a", "time": "2024-03-01T09:00:00Z", "sender": "Ann", "sender_id": "ann1", "text": "one"}),
        json!({"chat": "b", "time": "2024-03-01T09:00:00Z", "sender": "Ann", "sender_id": "ann2", "text": "two"}),
    ];
    let said = said.map(|line| line.to_string()).join("\n") + "\n";
    assert!(import(&rig, "two.jsonl", said).await.is_ok());
    let found = rig.data("search_person", json!({"person": "Ann"})).await;
    assert_eq!(found["person"], Value::Null);
    let ids: Vec<&str> = found["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["ann1", "ann2"]);
    let said = rig
        .refused(
            "search_by_keywords",
            json!({"keywords": ["o"], "target_person": "Ann"}),
        )
        .await;
    assert!(said.contains("ann1") && said.contains("ann2"), "{said}");
    let one = rig.data("search_person", json!({"person": "ann2"})).await;
    assert_eq!(one["messages"][0]["content"], "two");
    let nobody = rig.refused("search_person", json!({"person": "Anm"})).await;
    assert!(
        nobody.contains("not_found") && nobody.contains("Ann"),
        "{nobody}"
    );
}

#[tokio::test]
async fn a_name_that_is_given_is_known_and_taken_back() {
    let rig = talk().await;
    let given = rig
        .call("chatlog_name", json!({"person": "小明", "alias": "Ming"}))
        .await;
    assert_eq!(given.result.as_ref().unwrap()["had"], false);
    let found = rig.data("search_person", json!({"person": "ming"})).await;
    assert_eq!(found["person"]["name"], "小明");
    assert!(rig.undo(&given).await.is_ok());
    let said = rig
        .refused("search_person", json!({"person": "ming"}))
        .await;
    assert!(said.contains("nobody is called `ming`"), "{said}");
    // A name that two have makes both unclear, and is not guessed.
    for person in ["小明", "妈妈"] {
        rig.data("chatlog_name", json!({"person": person, "alias": "M"}))
            .await;
    }
    let both = rig.data("search_person", json!({"person": "M"})).await;
    let candidates = both["candidates"].as_array().map_or(0, Vec::len);
    assert_eq!((candidates, &both["person"]), (2, &Value::Null), "{both}");
    let taken = json!({"person": "小明", "alias": "M", "remove": true});
    assert_eq!(rig.data("chatlog_name", taken).await["had"], true);
    let one = rig.data("search_person", json!({"person": "M"})).await;
    assert_eq!(one["person"]["name"], "妈妈");
}

#[tokio::test]
async fn two_accounts_become_one_person_and_two_again() {
    let rig = rig().await;
    let said = |n: u32, id: &str, name: &str| json!({"chat": "a", "time": format!("2024-03-0{n}T09:00:00Z"), "sender": name, "sender_id": id, "text": format!("message {n}")});
    let all = [
        said(1, "zhang1", "张三"),
        said(2, "zhang2", "老张"),
        said(3, "li", "李四"),
        said(4, "zhang3", "三哥"),
    ];
    let all = all.map(|line| line.to_string()).join("\n") + "\n";
    assert!(import(&rig, "all.jsonl", all).await.is_ok());
    let of = async |person: &str| {
        let found = rig.data("search_person", json!({"person": person})).await;
        (
            found["person"]["id"].clone(),
            found["total_messages"].clone(),
        )
    };
    let merged = rig
        .call(
            "chatlog_merge",
            json!({"person": "zhang2", "same_as": "张三"}),
        )
        .await;
    let data = merged.result.as_ref().unwrap();
    assert_eq!(data["account"], "zhang2");
    assert_eq!(data["person"]["id"], "zhang1");
    for name in ["张三", "老张", "zhang1", "zhang2"] {
        assert_eq!(of(name).await, (json!("zhang1"), json!(2)), "{name}");
    }
    let asked = json!({"keywords": ["message"], "senders": ["老张"], "order": "oldest"});
    let found = rig.data("search_by_keywords", asked.clone()).await;
    assert_eq!(found["line_numbers"], json!([1, 2]));
    // One more, by another name of the two.
    let third = json!({"person": "三哥", "same_as": "老张"});
    assert!(rig.call("chatlog_merge", third).await.is_ok());
    assert_eq!(of("三哥").await, (json!("zhang1"), json!(3)));
    let alone = rig
        .call("chatlog_merge", json!({"person": "zhang3", "remove": true}))
        .await;
    assert!(alone.is_ok());
    assert_eq!(of("三哥").await, (json!("zhang3"), json!(1)));
    // To take that back merges it again, and to take back the first leaves each on their own.
    assert!(rig.undo(&alone).await.is_ok());
    assert_eq!(of("三哥").await, (json!("zhang1"), json!(3)));
    assert!(rig.undo(&merged).await.is_ok());
    assert_eq!(of("老张").await, (json!("zhang2"), json!(1)));
    assert_eq!(of("张三").await, (json!("zhang1"), json!(2)));
    rig.refuses(
        "chatlog_merge",
        &[
            (json!({"person": "li"}), "`same_as` is blank"),
            (
                json!({"person": "li", "same_as": "李四"}),
                "are one already",
            ),
            (
                json!({"person": "三哥", "same_as": "张三"}),
                "are one already",
            ),
            (json!({"person": "nobody", "same_as": "li"}), "not_found"),
            (
                json!({"person": "li", "remove": true}),
                "`li` is no account that was merged",
            ),
        ],
    )
    .await;
    // Merged with another meanwhile, it is no longer what it was: nothing is guessed.
    let first = rig
        .call(
            "chatlog_merge",
            json!({"person": "li", "same_as": "zhang2"}),
        )
        .await;
    let into = json!({"person": "li", "remove": true});
    assert!(rig.call("chatlog_merge", into).await.is_ok());
    let other = json!({"person": "li", "same_as": "zhang1"});
    assert!(rig.call("chatlog_merge", other).await.is_ok());
    assert!(!rig.undo(&first).await.is_ok());
    assert_eq!(of("李四").await.0, json!("zhang1"));
}
