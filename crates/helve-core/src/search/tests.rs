use proptest::prelude::*;

use super::{Document, Field, Fit, Found, Index, Meaning, Query};
use crate::ToolDef;
use crate::def::Risk;

fn tool(name: &str, description: &str) -> Document {
    Document {
        key: name.into(),
        name: name.into(),
        description: description.into(),
        ..Document::default()
    }
}

fn hub() -> Vec<Document> {
    let lines = include_str!("../../testdata/search/tools.tsv").lines();
    let rows = lines.map(|l| l.split_once('\t').unwrap());
    rows.map(|(name, description)| tool(name, description))
        .collect()
}

fn index(tools: &[Document]) -> Index {
    let mut index = Index::new();
    tools.iter().for_each(|t| index.upsert(t));
    index
}

fn keys(found: &Found) -> Vec<&str> {
    found.hits.iter().map(|h| h.key.as_str()).collect()
}

fn first(index: &Index, text: &str) -> String {
    let found = index.search(&Query::new(text));
    found.hits.first().map_or(String::new(), |h| h.key.clone())
}

#[test]
fn requests_find_their_tool() {
    let index = index(&hub());
    for (text, wanted) in [
        (
            "Will it rain in Oslo tomorrow? I need the forecast.",
            "weather_forecast",
        ),
        ("please translate this letter to German", "text_translate"),
        (
            "what is 20 dollars in euros, currency conversion",
            "currency_convert",
        ),
        ("run the tests", "test_run"),
        ("where is my package", "package_track"),
        ("is there a virus in this file", "malware_scan"),
        ("solve the quadratic equation", "math_solve_equation"),
        ("帮我 translate 这段话", "text_translate"),
    ] {
        assert_eq!(first(&index, text), wanted, "{text}");
    }
}

#[test]
fn chinese_requests_find_english_tools() {
    let index = index(&hub());
    let (mut all, mut best, mut among) = (0, 0, 0);
    for line in include_str!("../../testdata/search/chinese.tsv").lines() {
        let (text, wanted) = line.split_once('\t').unwrap();
        let found = index.search(&Query::new(text));
        let place = keys(&found).iter().position(|k| *k == wanted);
        all += 1;
        best += usize::from(place == Some(0));
        among += usize::from(place.is_some_and(|p| p < 5));
    }
    assert_eq!(all, 100);
    assert!(best >= 85, "{best} of {all} come first");
    assert!(among >= 95, "{among} of {all} are among five");
}

#[test]
fn english_requests_find_chinese_tools() {
    let index = index(&[
        tool("tool_a", "查询城市的天气预报"),
        tool("tool_b", "发送电子邮件"),
        tool("tool_c", "计算房贷的月供"),
    ]);
    assert_eq!(first(&index, "weather forecast"), "tool_a");
    assert_eq!(first(&index, "send an email"), "tool_b");
}

#[test]
fn names_come_first() {
    let mut tools = hub();
    tools.push(tool("file_read_lines", "Something else altogether"));
    tools.push(Document {
        aliases: vec!["openDocument".into()],
        ..tool("viewer", "Show a page")
    });
    tools.push(tool("reader", "file read file read file read file_read"));
    let index = index(&tools);
    for text in [
        "file_read",
        "fileRead",
        "File-Read",
        "use `file_read` on notes.md",
    ] {
        assert_eq!(first(&index, text), "file_read", "{text}");
    }
    let found = index.search(&Query::new("file_rea"));
    assert_eq!(keys(&found)[..2], ["file_read", "file_read_lines"]);
    assert_eq!(first(&index, "opendocument"), "viewer");
    assert_eq!(index.search(&Query::new("file_read")).hits[0].score, 1.0);
}

#[test]
fn slips_are_forgiven() {
    let index = index(&hub());
    for (text, wanted) in [
        ("wether forcast", "weather_forecast"),
        ("transalte text", "text_translate"),
        ("restaraunt", "restaurant_find"),
        ("earthquaks", "earthquake_list"),
    ] {
        assert_eq!(first(&index, text), wanted, "{text}");
    }
}

#[test]
fn nothing_fits() {
    let index = index(&hub());
    for text in [
        "",
        "   ",
        "?!...",
        "the of and",
        "xqzzv blorptang wuggle",
        "\u{202e}\u{200b}",
    ] {
        let found = index.search(&Query::new(text));
        assert_eq!((found.fit, found.hits.len()), (Fit::Nothing, 0), "{text}");
    }
    let known = index.search(&Query::new("translate a text into French"));
    assert_eq!(known.fit, Fit::Good);
    assert!(Index::new().search(&Query::new("weather")).hits.is_empty());
}

#[test]
fn every_field_is_searched_and_told() {
    let whole = Document {
        key: "k".into(),
        name: "namedword".into(),
        aliases: vec!["aliasword".into()],
        title: Some("titleword".into()),
        description: "descword".into(),
        triggers: vec!["triggerword".into()],
        examples: vec!["exampleword".into()],
        tags: vec!["tagword".into()],
        group: Some("groupword".into()),
        server: Some("serverword".into()),
        category: Some("categoryword".into()),
        params: vec![("paramword".into(), "saidword".into())],
        detail: Some("detailword".into()),
        risk: None,
    };
    let mut index = index(&[whole, tool("other", "nothing of the kind")]);
    assert!(index.learn("learnedword", "k"));
    for (word, field) in [
        ("namedword", Field::Name),
        ("aliasword", Field::Alias),
        ("titleword", Field::Title),
        ("descword", Field::Description),
        ("triggerword", Field::Trigger),
        ("exampleword", Field::Example),
        ("tagword", Field::Tag),
        ("groupword", Field::Server),
        ("serverword", Field::Server),
        ("categoryword", Field::Category),
        ("paramword", Field::Parameter),
        ("saidword", Field::ParameterText),
        ("detailword", Field::Detail),
        ("learnedword", Field::Learned),
    ] {
        let found = index.search(&Query::new(word));
        assert_eq!(keys(&found), ["k"], "{word}");
        assert_eq!(found.hits[0].why[0].word, word);
        assert_eq!(found.hits[0].why[0].fields, [field], "{word}");
    }
}

#[test]
fn filters_leave_out() {
    let with = |name: &str, group: &str, tag: &str, risk| Document {
        group: Some(group.into()),
        tags: vec![tag.into()],
        risk,
        ..tool(name, "Copy a report")
    };
    let index = index(&[
        with("a", "files", "Safe", Some(Risk::Read)),
        with("b", "files", "wild", Some(Risk::Write)),
        with("c", "mail", "safe", None),
    ]);
    let ask = |change: &dyn Fn(&mut Query<'_>)| {
        let mut query = Query::new("copy report");
        change(&mut query);
        let found = index.search(&query);
        keys(&found).join(" ")
    };
    assert_eq!(ask(&|_| {}), "a b c");
    assert_eq!(ask(&|q| q.group = Some("Files".into())), "a b");
    assert_eq!(ask(&|q| q.tags = vec!["safe".into()]), "a c");
    assert_eq!(ask(&|q| q.max_risk = Some(Risk::ExecHigh)), "a");
    assert_eq!(ask(&|q| q.allow = Some(&|key| key != "a")), "b c");
    assert_eq!(ask(&|q| q.limit = 1), "a");
    assert_eq!(ask(&|q| q.limit = 0), "");
    // What is hidden cannot be had by its name either.
    let hidden = Query {
        allow: Some(&|key| key != "a"),
        ..Query::new("a")
    };
    assert!(!keys(&index.search(&hidden)).contains(&"a"));
}

#[test]
fn several_texts_take_turns() {
    let index = index(&hub());
    let texts = [
        "weather forecast",
        "send an email",
        "xqzzv blorptang",
        "translate text",
    ];
    let found = index.search(&Query::several(texts.map(str::to_owned)));
    assert_eq!(
        keys(&found)[..3],
        ["weather_forecast", "email_send", "text_translate"]
    );
    assert_eq!(
        found.hits[..3].iter().map(|h| h.text).collect::<Vec<_>>(),
        [0, 1, 3]
    );
    assert_eq!(found.texts[2], Fit::Nothing);
    let mut once = keys(&found);
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), found.hits.len());
}

#[test]
fn what_went_well_is_learned() {
    let mut index = index(&hub());
    let text = "give granny her weekly glimpse of the nebula";
    assert!(index.learn(text, "moon_phase"));
    assert_eq!(first(&index, "granny nebula glimpse"), "moon_phase");
    assert!(!index.learn(text, "no_such_tool"));
    for i in 0..100 {
        index.learn(&format!("phrase{i}"), "moon_phase");
    }
    assert_eq!(index.learned("moon_phase").count(), 32);
    assert_eq!(
        index.search(&Query::new("granny nebula glimpse")).fit,
        Fit::Nothing
    );
    // A new definition does not forget; a removed tool does.
    index.upsert(&tool("moon_phase", "Phases"));
    assert_eq!(index.learned("moon_phase").last(), Some("phrase99"));
    assert!(index.remove("moon_phase"));
    index.upsert(&tool("moon_phase", "Phases"));
    assert_eq!(index.learned("moon_phase").count(), 0);
}

struct Model;

impl Meaning for Model {
    fn nearest(&self, text: &str, _most: usize) -> Vec<(String, f32)> {
        match text.contains("umbrella") {
            true => vec![
                ("weather_forecast".into(), 0.7),
                ("gone".into(), 0.9),
                ("chess_move".into(), 0.1),
            ],
            false => Vec::new(),
        }
    }
}

#[test]
fn a_model_can_join() {
    let index = index(&hub());
    let ask = |text: &str| {
        let found = index.search(&Query {
            meaning: Some(&Model),
            ..Query::new(text)
        });
        (found.fit, keys(&found).join(" "))
    };
    assert_eq!(
        ask("umbrella"),
        (Fit::Good, "weather_forecast chess_move".into())
    );
    assert_eq!(ask("xqzzv").0, Fit::Nothing);
}

#[test]
fn ties_stand_by_name() {
    let mut tools: Vec<Document> = (0..300)
        .map(|i| tool(&format!("t{i:03}"), "Copy a report"))
        .collect();
    let forward = index(&tools);
    tools.reverse();
    let backward = index(&tools);
    let query = Query::new("copy the report");
    assert_eq!(forward.search(&query), backward.search(&query));
    assert_eq!(keys(&forward.search(&query))[..3], ["t000", "t001", "t002"]);
}

#[test]
fn a_definition_becomes_a_document() {
    let def = ToolDef::from_value(&serde_json::json!({
        "name": "crop_yield", "description": "Predict a yield", "risk": "read",
        "input_schema": {"type": "object", "properties": {
            "field": {"type": "object", "description": "The acre", "properties": {
                "soil": {"type": "string", "enum": ["loam", "clay"]}}}}},
        "triggers": ["before sowing"], "examples": [{"scenario": "Wheat next year", "params": {}}]
    }));
    let document = Document::of(&def.unwrap());
    assert_eq!(document.group.as_deref(), Some("crop"));
    assert_eq!(document.examples, ["Wheat next year"]);
    let params = [
        ("field".into(), "The acre".into()),
        ("soil".into(), " loam clay".into()),
    ];
    assert_eq!(document.params, params);
    assert_eq!(first(&index(&[document]), "clay soil"), "crop_yield");
}

#[test]
fn hostile_input_is_only_input() {
    let mut index = index(&hub());
    let long = "weather ".repeat(130_000);
    assert_eq!(first(&index, &long), "weather_forecast");
    for text in [
        "a".repeat(1 << 20),
        "天".repeat(1 << 18),
        "?".repeat(1 << 20),
        "\u{202e}\u{200d}".repeat(1 << 16),
        "e\u{301}".repeat(1 << 16),
        "\0\u{ffff}\u{10ffff}".repeat(1000),
        "a_".repeat(1 << 18),
        "aB".repeat(1 << 18),
    ] {
        index.search(&Query::new(text.as_str()));
        index.upsert(&tool("huge", &text));
        index.learn(&text, "huge");
        index.search(&Query::new("weather"));
    }
    let many = vec!["weather".to_owned(); 10_000];
    assert_eq!(
        index.search(&Query::several(many)).texts.len(),
        super::MAX_TEXTS
    );
    assert!(index.remove("huge"));
    assert_eq!(index.len(), hub().len());
}

#[derive(Debug, Clone)]
enum Change {
    Put(usize, usize),
    Take(usize),
    Learn(usize, usize),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (0..12usize, 0..74usize).prop_map(|(k, d)| Change::Put(k, d)),
        2 => (0..12usize).prop_map(Change::Take),
        1 => (0..12usize, 0..74usize).prop_map(|(k, d)| Change::Learn(k, d)),
    ]
}

proptest! {
    #[test]
    fn a_changed_index_is_a_fresh_one(changes in prop::collection::vec(change(), 1..60), words in "[a-z ]{0,30}") {
        let tools = hub();
        let mut changed = Index::new();
        let mut there: Vec<(Document, Vec<String>)> = Vec::new();
        for change in changes {
            match change {
                Change::Put(key, which) => {
                    let document = Document { key: format!("k{key}"), ..tools[which].clone() };
                    changed.upsert(&document);
                    match there.iter_mut().find(|t| t.0.key == document.key) {
                        Some(known) => known.0 = document,
                        None => there.push((document, Vec::new())),
                    }
                }
                Change::Take(key) => {
                    let key = format!("k{key}");
                    let had = there.iter().any(|t| t.0.key == key);
                    prop_assert_eq!(changed.remove(&key), had);
                    there.retain(|t| t.0.key != key);
                }
                Change::Learn(key, which) => {
                    let key = format!("k{key}");
                    changed.learn(&tools[which].description, &key);
                    if let Some(known) = there.iter_mut().find(|t| t.0.key == key) {
                        known.1.retain(|p| *p != tools[which].description);
                        known.1.push(tools[which].description.clone());
                    }
                }
            }
        }
        there.sort_by(|a, b| b.0.key.cmp(&a.0.key));
        let mut fresh = Index::new();
        for (document, learned) in &there {
            fresh.upsert(document);
            for phrase in learned {
                fresh.learn(phrase, &document.key);
            }
        }
        prop_assert_eq!(changed.len(), fresh.len());
        for text in ["search for a file", "明天的天气", "create a quizz. Then send an email", words.as_str()] {
            let query = Query::new(text);
            prop_assert_eq!(changed.search(&query), fresh.search(&query), "{}", text);
        }
    }

    #[test]
    fn any_text_is_answered(text in any::<String>(), other in any::<String>()) {
        let mut index = index(&[tool(&text, &other), tool("b", &text)]);
        let found = index.search(&Query::new(other.as_str()));
        prop_assert!(found.hits.iter().all(|h| (0.0..=1.0).contains(&h.score)));
        index.remove(&text);
        index.search(&Query::new(text.as_str()));
    }
}
