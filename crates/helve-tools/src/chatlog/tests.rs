use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::routing::post;
use helve_http::guard::Place;
use helve_http::{Guard, SecretError, Secrets, Web};
use helve_kernel::Answer;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::{ChatLog, Keeper, Meaning, Settings};
use crate::model::Model;
use crate::testing::Rig;

#[cfg(feature = "local-model")]
mod local_model;
mod people;
mod times;

async fn rig_with(meaning: Meaning, model: Option<Arc<Model>>) -> (Rig, Arc<ChatLog>) {
    let mut made = None;
    let rig = Rig::with(super::toolset().unwrap(), |root, builder| {
        let log = Arc::new(ChatLog::new(Settings {
            folder: root.join(".helve/chatlog"),
            zone: TimeZone::UTC,
            meaning,
            model,
        }));
        made = Some(log.clone());
        let keeper = Arc::new(Keeper(log.clone()));
        builder.service(log).rows(ChatLog::SOURCE, keeper)
    })
    .await;
    (rig, made.unwrap())
}

async fn rig() -> Rig {
    rig_with(Meaning::Lsa, None).await.0
}

/// A small chat, in lines of JSON.
fn lines(said: &[(&str, &str, &str, &str)]) -> String {
    let line = |(chat, time, sender, text): &(&str, &str, &str, &str)| {
        json!({"chat": chat, "time": time, "sender": sender, "text": text}).to_string()
    };
    said.iter().map(line).collect::<Vec<_>>().join("\n") + "\n"
}

const TALK: &[(&str, &str, &str, &str)] = &[
    (
        "team",
        "2024-03-01T09:00:00Z",
        "Ann",
        "Good morning, who has the keys?",
    ),
    (
        "team",
        "2024-03-01T09:01:00Z",
        "Bo",
        "I left them in the red box",
    ),
    ("team", "2024-03-01T09:02:00Z", "Ann", "Found them, thanks"),
    (
        "team",
        "2024-03-02T18:00:00Z",
        "Cy",
        "Shall we eat at the noodle bar tonight?",
    ),
    (
        "team",
        "2024-03-02T18:01:00Z",
        "Ann",
        "I am allergic to peanuts, so ask first",
    ),
    (
        "家人",
        "2024-03-03T08:00:00Z",
        "小明",
        "我昨天买了一台咖啡机",
    ),
    ("家人", "2024-03-03T08:01:00Z", "妈妈", "多少钱？"),
    (
        "家人",
        "2024-03-03T08:02:00Z",
        "小明",
        "三百块，做拿铁很好喝",
    ),
    ("家人", "2024-04-10T20:00:00Z", "妈妈", "周末去看外婆吧"),
];

async fn import(rig: &Rig, name: &str, content: impl AsRef<[u8]>) -> Answer {
    rig.write(name, content);
    rig.call("chatlog_import", json!({"path": name})).await
}

async fn talk() -> Rig {
    let rig = rig().await;
    let answer = import(&rig, "talk.jsonl", lines(TALK)).await;
    assert_eq!(answer.result.unwrap()["new"], 9);
    rig
}

#[tokio::test]
async fn an_import_is_taken_back_and_comes_again() {
    let rig = rig().await;
    let answer = import(&rig, "talk.jsonl", lines(TALK)).await;
    let data = answer.result.clone().unwrap();
    assert_eq!(data["format"], "jsonl");
    assert_eq!((&data["messages"], &data["new"]), (&json!(9), &json!(9)));
    assert_eq!(data["first"], "2024-03-01T09:00:00+00:00");
    let total =
        async |rig: &Rig| rig.data("get_chatlog_stats", json!({})).await["total_messages"].clone();
    assert_eq!(total(&rig).await, 9);
    let again = rig
        .data("chatlog_import", json!({"path": "talk.jsonl"}))
        .await;
    assert_eq!(again["already"], true);

    let undone = rig.undo(&answer).await;
    assert!(undone.is_ok(), "{:?}", undone.result);
    assert_eq!(total(&rig).await, 0);
    let none = rig
        .data("search_by_keywords", json!({"keywords": ["keys"]}))
        .await;
    assert_eq!(none["total_matches"], 0);
    assert!(rig.undo(&undone).await.is_ok());
    let found = rig
        .data("search_by_keywords", json!({"keywords": ["keys"]}))
        .await;
    assert_eq!(found["line_numbers"], json!([1]), "a number is for ever");

    // A longer export of the same chat brings what is new.
    let mut more = TALK.to_vec();
    more.push(("team", "2024-03-05T10:00:00Z", "Bo", "One more thing"));
    let more = import(&rig, "more.jsonl", lines(&more))
        .await
        .result
        .unwrap();
    assert_eq!((&more["new"], &more["known"]), (&json!(1), &json!(9)));
    assert_eq!(total(&rig).await, 10);
}

#[tokio::test]
async fn every_name_of_a_tool_answers() {
    let rig = talk().await;
    let messages =
        json!([{"line_number": 1, "sender": "Ann", "content": "Good morning, who has the keys?"}]);
    let table = [
        ("get_chatlog_stats", json!({})),
        ("search_person", json!({"person": "Ann"})),
        ("list_topics", json!({})),
        ("search_by_topics", json!({"topics": ["咖啡机"]})),
        ("search_by_keywords", json!({"keywords": ["keys"]})),
        ("load_messages", json!({"line_numbers": [1]})),
        ("expand_query", json!({"question": "What did Ann eat?"})),
        ("search_semantic", json!({"query": "keys"})),
        (
            "filter_by_person",
            json!({"messages": messages, "target_person": "Ann"}),
        ),
        ("format_messages", json!({"messages": messages})),
        ("parse_task", json!({"task": "Summarize what Ann said"})),
        (
            "retrieve_evidence",
            json!({"question": "Where are the keys?"}),
        ),
        ("analyze_evidence", json!({"messages": messages})),
    ];
    for (name, args) in table {
        for name in [name.to_owned(), format!("mcp__chatlog__{name}")] {
            let answer = rig.call(&name, args.clone()).await.to_value();
            assert_eq!(answer["ok"], true, "{name}: {answer}");
            assert_eq!(answer["meta"]["available"], true, "{name}");
            assert!(answer["meta"]["source"].is_string(), "{name}");
            assert!(answer["meta"]["timing_ms"].is_number(), "{name}");
        }
    }
}

#[tokio::test]
async fn words_are_found_with_what_was_said_around_them() {
    let rig = talk().await;
    let found = rig
        .data(
            "search_by_keywords",
            json!({"keywords": ["咖啡", "keys"], "order": "oldest", "context": 1}),
        )
        .await;
    assert_eq!(found["line_numbers"], json!([1, 6]));
    assert_eq!(found["keyword_breakdown"], json!({"keys": 1, "咖啡": 1}));
    let shown: Vec<(u64, bool)> = found["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| (m["line_number"].as_u64().unwrap(), m["context"] == true))
        .collect();
    assert_eq!(shown, [(1, false), (2, true), (6, false), (7, true)]);
    // The arguments beside the words, and what is left of the two messages of Ann and Xiaoming.
    let table = [
        (
            json!({"keywords": ["e"], "target_person": "Ann"}),
            json!([1, 3, 5]),
        ),
        (
            json!({"keywords": ["e"], "senders": ["Ann", "Bo"]}),
            json!([1, 2, 3, 5]),
        ),
        (
            json!({"keywords": ["e"], "chats": ["team"], "since": "2024-03-02"}),
            json!([4, 5]),
        ),
        (
            json!({"keywords": ["e"], "until": "2024-03-01"}),
            json!([1, 2, 3]),
        ),
        (
            json!({"keywords": ["e"], "until": "2024-03-01T09:01:30Z"}),
            json!([1, 2]),
        ),
        (
            json!({"keywords": ["the", "box"], "match_all": true}),
            json!([2]),
        ),
        (json!({"keywords": ["ＫＥＹＳ"]}), json!([1])),
        (
            json!({"keywords": ["^(Found|I left)"], "regex": true}),
            json!([2, 3]),
        ),
        (json!({"keywords": ["台"]}), json!([6])),
    ];
    for (mut args, lines) in table {
        args["order"] = "oldest".into();
        let found = rig.data("search_by_keywords", args.clone()).await;
        assert_eq!(found["line_numbers"], lines, "{args}");
    }
    let first = rig
        .data(
            "search_by_keywords",
            json!({"keywords": ["e"], "order": "oldest", "max_results": 2}),
        )
        .await;
    assert_eq!(
        (&first["line_numbers"], &first["total_matches"]),
        (&json!([1, 2]), &json!(5))
    );
    let rest =
        json!({"keywords": ["e"], "order": "oldest", "max_results": 9, "cursor": first["next"]});
    assert_eq!(
        rig.data("search_by_keywords", rest).await["line_numbers"],
        json!([3, 4, 5])
    );
}

#[tokio::test]
async fn messages_are_shown_sorted_out_and_set() {
    let rig = talk().await;
    let loaded = rig
        .data(
            "load_messages",
            json!({"line_numbers": [2, 99], "context_before": 1, "context_after": 1, "include_metadata": true, "max_content_chars": 6}),
        )
        .await;
    assert_eq!(loaded["missing"], json!([99]));
    let second = &loaded["messages"][1];
    assert_eq!(
        (
            &second["content"],
            &second["cut"],
            &second["chat"],
            &second["sender"]
        ),
        (&json!("I left"), &json!(20), &json!("team"), &json!("Bo"))
    );
    let all = rig
        .data("load_messages", json!({"line_numbers": [1, 2, 3, 4, 5]}))
        .await;
    let kept = rig
        .data(
            "filter_by_person",
            json!({"messages": all["messages"], "target_person": "ann"}),
        )
        .await;
    assert_eq!(
        kept["reasons"],
        json!({"1": "sender", "3": "sender", "5": "sender"})
    );
    assert_eq!(kept["removed"], 2);
    let set = rig
        .data(
            "format_messages",
            json!({"messages": all["messages"], "format": "timeline", "max_chars": 120}),
        )
        .await;
    let text = set["text"].as_str().unwrap();
    assert!(
        text.contains("2024-03-01") && text.contains("keys"),
        "{text}"
    );
    assert_eq!(
        set["shown"].as_u64().unwrap() + set["left_out"].as_u64().unwrap(),
        5
    );
    assert!(set["left_out"].as_u64().unwrap() > 0, "{set}");
}

#[tokio::test]
async fn a_question_finds_its_answer() {
    let rig = talk().await;
    let table = [
        ("Where did Bo leave the keys?", 2),
        ("Is Ann allergic to something?", 5),
        ("小明买了什么", 6),
        ("咖啡機多少錢", 8),
    ];
    for (question, line) in table {
        let found = rig
            .data(
                "retrieve_evidence",
                json!({"question": question, "max_results": 3}),
            )
            .await;
        let lines = found["line_numbers"].as_array().unwrap();
        assert!(lines.contains(&json!(line)), "{question}: {lines:?}");
    }
    let taken = rig
        .data(
            "expand_query",
            json!({"question": "What did Ann eat on 2024-03-02?"}),
        )
        .await;
    assert_eq!(taken["people"][0]["name"], "Ann");
    let words = taken["keywords"].to_string();
    assert!(words.contains("eat") && !words.contains("Ann"), "{words}");
    let parsed = rig
        .data(
            "parse_task",
            json!({"task": "How many messages did Ann send in March 2024?"}),
        )
        .await;
    assert_eq!(
        (&parsed["intent"], &parsed["people"][0]["name"]),
        (&json!("how_many"), &json!("Ann"))
    );
    let counted = rig
        .data("analyze_evidence", json!({"line_numbers": [1, 2, 3]}))
        .await;
    assert_eq!(counted["by_person"][0]["sender"], "Ann");
    assert_eq!(counted["messages"], 3);
}

#[tokio::test]
async fn what_is_exported_is_read_again_the_same() {
    let rig = talk().await;
    let done = rig
        .call("chatlog_export", json!({"path": "out/all.jsonl"}))
        .await;
    assert_eq!(done.result.as_ref().unwrap()["messages"], 9);
    let (second, _) = rig_with(Meaning::None, None).await;
    second.write("all.jsonl", rig.read("out/all.jsonl"));
    let taken = second
        .data("chatlog_import", json!({"path": "all.jsonl"}))
        .await;
    assert_eq!(
        (&taken["new"], &taken["format"]),
        (&json!(9), &json!("helve_jsonl"))
    );
    second
        .data("chatlog_export", json!({"path": "again.jsonl"}))
        .await;
    assert_eq!(second.read("again.jsonl"), rig.read("out/all.jsonl"));
    assert!(rig.undo(&done).await.is_ok());
    assert!(!rig.root.join("out/all.jsonl").exists());
    let some = json!({"path": "some.jsonl", "chats": ["家人"], "senders": ["妈妈"]});
    assert_eq!(rig.data("chatlog_export", some).await["messages"], 2);
}

/// Who exported, by the messages.
fn selves(messages: &[Value]) -> BTreeSet<&str> {
    let senders = messages.iter().map(|message| &message["sender"]);
    let own = senders.filter(|sender| sender["is_self"] == true);
    own.map(|sender| sender["id"].as_str().unwrap()).collect()
}

/// The names that messages give to a chat or a person, by its id.
fn names<'m>(messages: &'m [Value], of: &str) -> BTreeMap<&'m str, BTreeSet<&'m str>> {
    let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for named in messages.iter().map(|message| &message[of]) {
        let id = named["id"].as_str().unwrap();
        names
            .entry(id)
            .or_default()
            .insert(named["name"].as_str().unwrap());
    }
    names
}

/// Every format: its fixture goes in through the tool, and comes out as the words that were
/// written down by hand.
#[tokio::test]
async fn every_format_comes_out_as_it_went_in() {
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../helve-chatlog/testdata/formats");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let stem = name.split('.').next().unwrap().to_owned();
        let expected = folder.join(format!("{stem}.expected.jsonl"));
        if name.contains(".expected.") || !path.is_file() || !expected.exists() {
            continue;
        }
        let rig = rig_with(Meaning::None, None).await.0;
        // Some take the name of the chat from that of the file.
        let called = match stem.as_str() {
            "memotrace_csv" => "老张.csv",
            "pywxdump_csv" => "wxid_ann_0_5000.csv",
            "whatsapp_txt" => "WhatsApp Chat with Trip.txt",
            "csv" => "Trip.csv",
            "jsonl" => "room.jsonl",
            _ => &name,
        };
        let args = json!({"path": called, "timezone": "Asia/Shanghai"});
        rig.write(called, std::fs::read(&path).unwrap());
        let taken = rig.data("chatlog_import", args).await;
        assert_eq!(taken["new"], taken["messages"], "{name}");
        rig.data("chatlog_export", json!({"path": "out.jsonl"}))
            .await;
        let read = |text: &str| -> Vec<Value> {
            let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
            lines
                .filter(|line: &Value| line.get("person").is_none())
                .collect()
        };
        let wanted = read(&std::fs::read_to_string(&expected).unwrap());
        let given = read(&rig.read("out.jsonl"));
        assert_eq!(given.len(), wanted.len(), "{name}");
        // Who exported is known of a person, not of a message.
        assert_eq!(selves(&given), selves(&wanted), "{name}");
        // A chat and a person have one name here: one of those that the export gives them.
        for of in ["chat", "sender"] {
            let told = names(&wanted, of);
            for (id, one) in names(&given, of) {
                assert!(
                    one.len() == 1 && one.is_subset(&told[id]),
                    "{name}: {id} {one:?}"
                );
            }
        }
        for (given, wanted) in given.iter().zip(&wanted) {
            let (mut given, mut wanted) = (given.clone(), wanted.clone());
            for of in ["chat", "sender"] {
                for side in [&mut given, &mut wanted] {
                    let named = side[of].as_object_mut().unwrap();
                    named.remove("name");
                    named.remove("is_self");
                }
            }
            assert_eq!(given, wanted, "{name}");
        }
        // And each text is found again.
        for message in wanted
            .iter()
            .filter(|m| !m["text"].as_str().unwrap().trim().is_empty())
        {
            let found = rig
                .data(
                    "search_by_keywords",
                    json!({"keywords": [message["text"]], "max_results": 5000}),
                )
                .await;
            assert!(
                found["total_matches"].as_u64().unwrap() > 0,
                "{name}: {message}"
            );
        }
        seen += 1;
    }
    assert!(seen >= 14, "only {seen} fixtures were found");
}

struct NoSecrets;

#[async_trait]
impl Secrets for NoSecrets {
    async fn secret(&self, name: &str, _: &Place) -> Result<String, SecretError> {
        Err(SecretError::Unknown(name.to_owned()))
    }
}

/// A model behind an address: it answers as OpenAI's does.
async fn model(name: &str) -> Arc<Model> {
    async fn chat(body: String) -> String {
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["messages"][0]["role"], "system");
        let content = json!({"keywords": ["latte", "keys"], "topics": ["coffee"], "people": [], "line_numbers": [2]});
        let answer = json!({"choices": [{"message": {"role": "assistant", "content": format!("```json\n{content}\n```")}}]});
        answer.to_string()
    }
    /// As near as the letters that texts share.
    async fn embed(body: String) -> String {
        let body: Value = serde_json::from_str(&body).unwrap();
        let vector = |text: &Value| {
            let mut vector = vec![0.0_f32; 64];
            for c in text.as_str().unwrap().to_lowercase().chars() {
                vector[c as usize % 64] += 1.0;
            }
            vector
        };
        let texts = body["input"].as_array().unwrap();
        let data: Vec<Value> = texts
            .iter()
            .enumerate()
            .map(|(i, text)| json!({"index": i, "embedding": vector(text)}))
            .collect();
        json!({"data": data}).to_string()
    }
    let app = Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/embeddings", post(embed));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    Arc::new(Model {
        url: format!("http://{address}/v1").parse().unwrap(),
        name: name.to_owned(),
        key: None,
        web: Web::new(Guard::parse(&[address.to_string()]).unwrap()),
        secrets: Arc::new(NoSecrets),
    })
}

#[tokio::test]
async fn a_model_adds_and_takes_nothing_away() {
    let (rig, _) = rig_with(Meaning::Lsa, Some(model("answers").await)).await;
    import(&rig, "talk.jsonl", lines(TALK)).await;
    let asked =
        |use_llm: bool| json!({"question": "Who makes coffee at home?", "use_llm": use_llm});
    let texts = |data: &Value| -> Vec<String> {
        let words = data["keywords"].as_array().unwrap().iter();
        words
            .map(|word| word["text"].as_str().unwrap().to_owned())
            .collect()
    };
    let without = rig.data("expand_query", asked(false)).await;
    let answer = rig.call("expand_query", asked(true)).await.to_value();
    assert_eq!(answer["meta"]["source"], "offline+llm");
    let with = texts(&answer["data"]);
    assert!(texts(&without).iter().all(|word| with.contains(word)));
    assert!(with.contains(&"latte".to_owned()), "{with:?}");
    let all = rig
        .data("load_messages", json!({"line_numbers": [1, 2, 3]}))
        .await;
    let kept = rig
        .data(
            "filter_by_person",
            json!({"messages": all["messages"], "target_person": "Ann", "use_llm": true}),
        )
        .await;
    assert_eq!(
        kept["reasons"],
        json!({"1": "sender", "2": "llm", "3": "sender"})
    );
    // Without one, what needs none is still there, and it is said.
    let plain = talk().await;
    let answer = plain.call("expand_query", asked(true)).await.to_value();
    assert_eq!(answer["meta"]["source"], "offline");
    assert!(
        answer["data"]["problem"]
            .as_str()
            .unwrap()
            .contains("no model is configured")
    );
}

#[tokio::test]
async fn vectors_of_a_model_are_made_in_the_background() {
    let (rig, log) = rig_with(Meaning::Model(model("vectors").await), None).await;
    import(&rig, "talk.jsonl", lines(TALK)).await;
    let asked = json!({"query": "allergic to peanuts", "top_k": 1});
    // Each question is asked after what there is by then.
    let found = loop {
        let found = rig.data("search_semantic", asked.clone()).await;
        if found["embedded"] == found["of"] {
            break found;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(found["line_numbers"], json!([5]));
    let fused = rig
        .call("retrieve_evidence", json!({"question": "peanuts"}))
        .await
        .to_value();
    assert_eq!(fused["meta"]["source"], "index+model");
    assert_eq!(fused["data"]["line_numbers"][0], 5);
    log.close().await;
}

#[tokio::test]
async fn vectors_are_there_after_a_restart() {
    let endpoint = model("vectors").await;
    let (rig, log) = rig_with(Meaning::Model(endpoint), None).await;
    import(&rig, "talk.jsonl", lines(TALK)).await;
    let asked = json!({"query": "allergic to peanuts", "top_k": 1});
    while rig.data("search_semantic", asked.clone()).await["embedded"] != 9 {
        tokio::task::yield_now().await;
    }
    // As another hub would find them: closed, and opened by the first who asks.
    log.close().await;
    let found = rig.data("search_semantic", asked).await;
    assert_eq!(
        (&found["line_numbers"], &found["embedded"]),
        (&json!([5]), &json!(9))
    );
}

#[tokio::test]
async fn bad_calls() {
    let rig = talk().await;
    rig.refuses(
        "search_by_keywords",
        &[
            (json!({"keywords": []}), "keywords"),
            (
                json!({"keywords": [" "]}),
                "validation: there is no keyword",
            ),
            (
                json!({"keywords": ["a"], "target_person": "Zed"}),
                "not_found: nobody is called `Zed`",
            ),
            (
                json!({"keywords": ["a"], "chats": ["nowhere"]}),
                "not_found: there is no chat `nowhere`",
            ),
            (
                json!({"keywords": ["a"], "since": "soonish"}),
                "`since` is no time",
            ),
            (
                json!({"keywords": ["("], "regex": true}),
                "the pattern cannot be used",
            ),
            (
                json!({"keywords": ["a"], "cursor": "x"}),
                "the cursor belongs to another search",
            ),
        ],
    )
    .await;
    rig.refuses(
        "load_messages",
        &[
            (json!({"line_numbers": []}), "line_numbers"),
            (
                json!({"line_numbers": [4_000_000]}),
                "not_found: there is no message 4000000",
            ),
            (json!({"line_numbers": [0]}), "not_found"),
            (json!({"line_numbers": [-1]}), "line_numbers"),
            (json!({"line_numbers": [u64::MAX]}), "not_found"),
        ],
    )
    .await;
    rig.refuses(
        "search_person",
        &[(json!({"person": " "}), "nobody is called")],
    )
    .await;
    rig.refuses(
        "expand_query",
        &[(json!({"question": " "}), "`question` is blank")],
    )
    .await;
    rig.refuses(
        "search_by_topics",
        &[(json!({"topics": [""]}), "there is no topic")],
    )
    .await;
    rig.refuses("analyze_evidence", &[(json!({}), "there are no messages")])
        .await;
    let none = rig_with(Meaning::None, None).await.0;
    none.refuses(
        "search_semantic",
        &[(json!({"query": "x"}), "vectors = \"lsa\"")],
    )
    .await;
}

#[tokio::test]
async fn bad_exports_leave_nothing() {
    let rig = rig().await;
    let cut = lines(TALK);
    let cut = &cut.as_bytes()[..cut.len() - 20];
    let both: &[(&str, &str)] = &[("1/2/2024, 10:00 - Ann: hi\n", "can be read in two ways")];
    let table: Vec<(&str, Vec<u8>, &str)> = vec![
        (
            "cut.jsonl",
            cut.to_vec(),
            "it ends in the middle of a message",
        ),
        ("empty.txt", Vec::new(), "no message in it"),
        (
            "prose.txt",
            b"Once upon a time.\n".repeat(30),
            "no known export",
        ),
        ("dates.txt", both[0].0.repeat(3).into_bytes(), both[0].1),
        ("bad.zip", b"PK\x03\x04 not a zip".to_vec(), "validation"),
    ];
    for (name, content, wanted) in table {
        let answer = import(&rig, name, content).await;
        let said = answer.text();
        assert!(!answer.is_ok() && said.contains(wanted), "{name}: {said}");
    }
    rig.refuses(
        "chatlog_import",
        &[
            (json!({"path": "nowhere.txt"}), "not_found"),
            (json!({"path": "../outside.txt"}), "outside"),
            (
                json!({"path": "empty.txt", "timezone": "Mars/Base"}),
                "there is no time zone `Mars/Base`",
            ),
        ],
    )
    .await;
    assert_eq!(
        rig.data("get_chatlog_stats", json!({})).await["total_messages"],
        0
    );
    let taken = json!({"path": "cut.jsonl", "accept_cut": true});
    let taken = rig.data("chatlog_import", taken).await;
    assert_eq!(
        (&taken["messages"], &taken["malformed"]),
        (&json!(8), &json!(1))
    );
}
