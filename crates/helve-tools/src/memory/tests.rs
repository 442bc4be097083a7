use helve_kernel::Principal;
use serde_json::{Value, json};

use super::audit::{Problem, look, secret};
use super::{Category, Memory, Recollection};
use crate::testing::Rig;

async fn rig() -> Rig {
    Rig::with(super::toolset().unwrap(), |_, builder| {
        builder.service(std::sync::Arc::new(Recollection::default()))
    })
    .await
}

fn fact(content: &str) -> Value {
    json!({"category": "fact", "content": content})
}

async fn recalled(rig: &Rig, topic: &str) -> Vec<String> {
    let found = rig.data("recall_memory", json!({"topic": topic})).await;
    let memories = found["memories"].as_array().unwrap().iter();
    memories
        .map(|m| m["content"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn what_is_known_is_not_noted_twice() {
    let rig = rig().await;
    // What is noted first, what comes then, and what becomes of that.
    let table = [
        ("I live in Berlin.", "i live in  Berlin", "duplicate"),
        ("我对花生过敏", "我对花生过敏。", "duplicate"),
        ("我每天喝２杯咖啡", "我每天喝2杯咖啡！", "duplicate"),
        ("我喜欢吃辣", "我不喜欢吃辣", "added"),
        ("I like tea", "I do not like tea", "added"),
        ("My sister is Ann", "My sister is Anna", "added"),
    ];
    for (first, second, status) in table {
        let one = rig.data("remember", fact(first)).await;
        assert_eq!(one["status"], "added", "{first}");
        let two = rig.data("mcp__memory__remember", fact(second)).await;
        assert_eq!(two["status"], status, "{second}");
        match status {
            "duplicate" => assert_eq!(two["id"], one["id"]),
            // What is near is named, so that somebody can say which holds.
            _ => assert_eq!(two["similar"][0]["id"], one["id"], "{two}"),
        }
    }
    let all = rig.data("list_memories", json!({})).await;
    assert_eq!(all["total"], 9);
}

#[tokio::test]
async fn the_words_stay_as_they_were_said() {
    let rig = rig().await;
    let said = "  Nenn mich „Jo“ —\n bitte!\t我说的 ";
    rig.data("remember", fact(said)).await;
    let all = rig.data("list_memories", json!({})).await;
    assert_eq!(all["memories"][0]["content"], said);
}

#[tokio::test]
async fn a_key_has_one_value_and_a_history() {
    let rig = rig().await;
    let language = |content: &str, value: &str| json!({"category": "preference", "content": content, "key": "language", "value": value});
    let first = rig
        .data("remember", language("Answer in English.", "English"))
        .await;
    let again = rig
        .data("remember", language("answer in English", "english"))
        .await;
    assert_eq!(
        (&again["status"], &again["id"]),
        (&json!("duplicate"), &first["id"])
    );
    let second = rig
        .call("remember", language("以后请用中文回答", "中文"))
        .await;
    let noted = second.result.clone().unwrap();
    assert_eq!(noted["status"], "superseded");
    assert_eq!(noted["replaced"], json!([first["id"]]));
    assert_eq!(recalled(&rig, "language").await, ["以后请用中文回答"]);
    let now = rig
        .data("list_memories", json!({"category": "preference"}))
        .await;
    assert_eq!(now["total"], 1);
    let history = rig.data("list_memories", json!({"history": true})).await;
    assert_eq!(history["memories"][1]["superseded_by"], noted["id"]);
    // The same key of another kind is another thing.
    let opinion = json!({"category": "opinion", "content": "English is fine", "key": "language"});
    assert_eq!(rig.data("remember", opinion).await["status"], "added");
    assert!(rig.undo(&second).await.is_ok());
    let back = rig
        .data("list_memories", json!({"category": "preference"}))
        .await;
    assert_eq!(back["memories"][0]["content"], "Answer in English.");
    // What is replaced by name.
    let old = rig.data("remember", fact("I work at Acme")).await;
    let new = json!({"category": "fact", "content": "I work at Initech", "replaces": old["id"]});
    assert_eq!(
        rig.data("remember", new).await["replaced"],
        json!([old["id"]])
    );
    assert_eq!(
        recalled(&rig, "where do I work").await,
        ["I work at Initech"]
    );
}

#[tokio::test]
async fn what_was_said_is_found_in_other_words() {
    let rig = rig().await;
    let said = [
        "我对花生过敏，外出吃饭要小心",
        "我住在上海浦东，每天骑自行车上班",
        "我的猫叫小橘，今年三岁",
        "I prefer short answers without bullet points",
        "My daughter Mia plays the violin on Tuesdays",
        "我觉得开会太多会影响写代码",
    ];
    for content in said {
        rig.data("remember", fact(content)).await;
    }
    let table = [
        ("有什么东西不能吃，过敏吗", 0),
        ("过敏", 0),
        ("请问他平时出去外面吃饭的时候有没有什么东西会让他过敏", 0),
        ("他怎么去上班", 1),
        ("住在哪里", 1),
        ("猫的名字", 2),
        ("how long should an answer be", 3),
        ("violin lessons of the daughter", 4),
        ("Mia", 4),
        ("对会议的看法：开会", 5),
        ("小橘", 2),
    ];
    for (asked, wanted) in table {
        let found = recalled(&rig, asked).await;
        assert_eq!(
            found.first().map(String::as_str),
            Some(said[wanted]),
            "{asked}: {found:?}"
        );
    }
    assert_eq!(
        recalled(&rig, "quantum chromodynamics").await,
        [] as [&str; 0]
    );
    let only = json!({"query": "answers", "type": "preference"});
    assert_eq!(rig.data("search_memory", only).await["memories"], json!([]));
}

#[tokio::test]
async fn what_is_forgotten_is_not_found_until_it_is_brought_back() {
    let rig = rig().await;
    let noted = rig.data("remember", fact("我的旧地址是南京路五号")).await;
    rig.data(
        "add_memory",
        json!({"content": "我的新地址是淮海路", "importance": 0.9}),
    )
    .await;
    assert_eq!(recalled(&rig, "南京路").await.len(), 1);
    let gone = rig.call("forget", json!({"memory_id": noted["id"]})).await;
    assert_eq!(gone.result.as_ref().unwrap()["done"], true);
    assert_eq!(recalled(&rig, "南京路").await, [] as [&str; 0]);
    rig.refuses(
        "forget",
        &[(json!({"memory_id": noted["id"]}), "there is no memory")],
    )
    .await;
    assert!(rig.undo(&gone).await.is_ok());
    assert_eq!(recalled(&rig, "南京路").await, ["我的旧地址是南京路五号"]);

    let looked = rig
        .data("memory_delete_by_query", json!({"query": "地址"}))
        .await;
    assert_eq!(
        (
            &looked["done"],
            looked["memories"].as_array().unwrap().len()
        ),
        (&json!(false), 2)
    );
    assert_eq!(rig.data("get_memory_stats", json!({})).await["total"], 2);
    let one = json!({"query": "地址", "dry_run": false, "max_delete": 1});
    let one = rig.data("forget", one).await;
    assert_eq!((&one["done"], &one["left"]), (&json!(true), &json!(1)));
    assert_eq!(rig.data("get_memory_stats", json!({})).await["total"], 1);
    // Not what is only like it.
    let none = rig
        .data("forget", json!({"query": "住址", "dry_run": false}))
        .await;
    assert_eq!(none["memories"], json!([]));
}

#[tokio::test]
async fn with_a_memory_goes_what_it_replaced() {
    let rig = rig().await;
    let noted = |value: &str| json!({"category": "preference", "content": format!("call me {value}"), "key": "name", "value": value});
    rig.data("remember", noted("Al")).await;
    rig.data("remember", noted("Bo")).await;
    let last = rig.data("remember", noted("Cy")).await;
    let gone = rig.data("forget", json!({"memory_id": last["id"]})).await;
    assert_eq!(gone["memories"].as_array().unwrap().len(), 3);
    let left = rig.data("list_memories", json!({"history": true})).await;
    assert_eq!(left["total"], 0);
}

#[tokio::test]
async fn nobody_sees_the_memories_of_another() {
    let rig = rig().await;
    let noted = rig.data("remember", fact("I am Ann")).await;
    let bob = || Principal::person("bob");
    let found = rig
        .call_as(bob(), "recall_memory", json!({"topic": "Ann"}))
        .await;
    assert_eq!(found.result.unwrap()["of"], 0);
    let gone = rig
        .call_as(bob(), "forget", json!({"memory_id": noted["id"]}))
        .await;
    assert!(gone.text().contains("there is no memory"));
    let agent = Principal {
        under: Some("ann".to_owned()),
        ..Principal::agent("claude")
    };
    let found = rig
        .call_as(agent, "recall_memory", json!({"topic": "Ann"}))
        .await;
    assert_eq!(found.result.unwrap()["of"], 1);
}

#[tokio::test]
async fn pages_of_memories_end() {
    let rig = rig().await;
    for i in 0..7 {
        rig.data("remember", fact(&format!("thing number {i}")))
            .await;
    }
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = rig
            .data("list_memories", json!({"limit": 3, "after": after}))
            .await;
        let memories = page["memories"].as_array().unwrap().clone();
        seen.extend(
            memories
                .iter()
                .map(|m| m["content"].as_str().unwrap().to_owned()),
        );
        after = page["next"].as_str().unwrap().to_owned();
        if after.is_empty() {
            break;
        }
    }
    let wanted: Vec<String> = (0..7).rev().map(|i| format!("thing number {i}")).collect();
    assert_eq!(seen, wanted);
}

#[test]
fn secrets_are_seen() {
    let table = [
        ("my key is sk-abcdefghijklmnop1234", true),
        ("token=ghp_0123456789abcdefghij", true),
        ("-----BEGIN RSA PRIVATE KEY-----", true),
        ("the wifi password is hunter22", true),
        ("银行卡密码是123456", true),
        ("password: correct horse", true),
        ("I forgot my password again", false),
        ("密码太多了，记不住", false),
        ("sk-i resort in March", false),
        ("ask me about eyJ", false),
    ];
    for (text, wanted) in table {
        assert_eq!(secret(text).is_some(), wanted, "{text}");
    }
}

#[test]
fn a_look_through_finds_what_is_wrong() {
    let memory = |id: &str, content: &str, created: &str| Memory {
        id: id.to_owned(),
        category: Category::Fact,
        content: content.to_owned(),
        key: String::new(),
        value: String::new(),
        importance: 0.5,
        created: created.to_owned(),
        by: "ann".to_owned(),
        run: String::new(),
        superseded_by: String::new(),
    };
    let all = [
        memory(
            "a",
            "I like jazz music in the evening",
            "2026-01-01T00:00:00Z",
        ),
        memory(
            "b",
            "I like jazz music in the evening!",
            "2026-01-02T00:00:00Z",
        ),
        memory(
            "c",
            "I like jazz music in the evenings",
            "2026-01-02T00:00:00Z",
        ),
        memory("d", "我今天很忙", "2026-01-02T00:00:00Z"),
        memory("e", "I was born in Oslo", "2020-01-01T00:00:00Z"),
        memory("f", "the password is hunter22", "2026-02-20T00:00:00Z"),
        memory("g", "I have two cats", "2026-02-20T00:00:00Z"),
    ];
    let all: Vec<&Memory> = all.iter().collect();
    let now = "2026-03-01T00:00:00Z".parse().unwrap();
    let found = look(&all, now, 365);
    let found: Vec<(Problem, String)> = found
        .into_iter()
        .map(|f| (f.problem, f.ids.join(" ")))
        .collect();
    let wanted = [
        (Problem::Duplicate, "a b"),
        (Problem::Similar, "a c"),
        (Problem::Similar, "b c"),
        (Problem::Stale, "d"),
        (Problem::Stale, "e"),
        (Problem::Secret, "f"),
    ];
    assert_eq!(found, wanted.map(|(p, ids)| (p, ids.to_owned())));
}

#[tokio::test]
async fn bad_calls() {
    let rig = rig().await;
    rig.refuses(
        "remember",
        &[
            (
                json!({"content": "x"}),
                "\"category\" is a required property",
            ),
            (json!({"category": "mood", "content": "x"}), "category"),
            (json!({"category": "fact", "content": ""}), "content"),
            (fact("!?。"), "validation: `content` has no letter in it"),
            (
                json!({"category": "fact", "content": "x", "value": "y"}),
                "a `value` needs a `key`",
            ),
            (
                fact("my key is sk-abcdefghijklmnop1234"),
                "not for remembering",
            ),
            (
                json!({"category": "fact", "content": "x", "replaces": "mem_1"}),
                "not_found: there is no memory `mem_1`",
            ),
            (
                json!({"category": "fact", "content": "x".repeat(4001)}),
                "content",
            ),
        ],
    )
    .await;
    rig.refuses(
        "recall_memory",
        &[(json!({"topic": "。"}), "no letter in what is asked")],
    )
    .await;
    rig.refuses(
        "forget",
        &[
            (json!({}), "neither `memory_id` nor `query`"),
            (json!({"query": "…"}), "`query` has no letter in it"),
            (json!({"query": "a", "memory_id": "b"}), "not both"),
        ],
    )
    .await;
}
