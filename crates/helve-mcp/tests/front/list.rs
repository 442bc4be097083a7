//! What is listed: which tools, in which order, under which names, described how.

use std::collections::BTreeMap;

use helve_core::def::Risk;
use helve_kernel::{NewToken, Permission, Principal};
use helve_mcp::Options;
use helve_mcp::front::{Names, View};
use serde_json::{Value, json};

use super::client::MODERN;
use super::support::{Hub, echo, patterns, person};

const ALL: [&str; 8] = [
    "file_write",
    "gate_wait",
    "note_count",
    "note_fail",
    "note_list",
    "note_read",
    "note_save",
    "run_result",
];

#[tokio::test(start_paused = true)]
async fn the_order_is_that_of_names_in_both_eras() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut legacy = hub.legacy(&who, json!({})).await;
    let mut modern = hub.modern(&who, json!({})).await;
    assert_eq!(legacy.names().await, ALL);
    assert_eq!(modern.names().await, ALL);
    let list = modern.ask("tools/list", json!({})).await;
    let told = (&list["resultType"], &list["ttlMs"], &list["cacheScope"]);
    assert_eq!(told, (&json!("complete"), &json!(0), &json!("private")));
    let list = legacy.ask("tools/list", json!({})).await;
    let keys: Vec<&String> = list.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["tools"]);
    let versions = modern.greeting["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(MODERN)), "{versions:?}");
}

#[tokio::test(start_paused = true)]
async fn pages_give_all_tools_once() {
    for page in [1, 3, 8] {
        let hub = Hub::with(Options {
            page,
            ..Options::default()
        })
        .await;
        let who = hub.agent("a", "ann").await;
        let mut client = hub.legacy(&who, json!({})).await;
        let (mut names, mut params) = (Vec::new(), json!({}));
        loop {
            let list = client.ask("tools/list", params.clone()).await;
            let tools = list["tools"].as_array().unwrap();
            assert!(!tools.is_empty() && tools.len() <= page, "{list}");
            names.extend(tools.iter().map(|t| super::support::text(&t["name"])));
            match list.get("nextCursor") {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => break,
            }
        }
        assert_eq!(names, ALL, "page {page}");
        let (code, _) = client.refused("tools/list", json!({"cursor": "3"})).await;
        assert_eq!(code, -32602);
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_of_nothing_still_goes_on() {
    let hub = Hub::with(Options {
        page: 0,
        ..Options::default()
    })
    .await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    let list = client.ask("tools/list", json!({})).await;
    assert_eq!(list["tools"].as_array().unwrap().len(), 1);
    assert!(list["nextCursor"].is_string(), "{list}");
}

#[tokio::test(start_paused = true)]
async fn only_what_somebody_reaches() {
    let hub = Hub::new().await;
    let ann = Principal::person("ann");
    let low = NewToken {
        max_risk: Risk::Read,
        ..NewToken::agent("low")
    };
    let blind = person("blind", &[Permission::ToolExecute]);
    for (who, wanted) in [
        (
            hub.scoped("a", &["note_*"]).await,
            &[
                "note_count",
                "note_fail",
                "note_list",
                "note_read",
                "note_save",
                "run_result",
            ][..],
        ),
        (hub.scoped("b", &["gate_wait"]).await, &["gate_wait"]),
        (hub.scoped("c", &["nothing"]).await, &[]),
        (
            hub.bearer(&ann, low).await,
            &[
                "gate_wait",
                "note_count",
                "note_fail",
                "note_list",
                "note_read",
            ],
        ),
        (hub.bearer(&ann, blind).await, &[]),
    ] {
        let mut client = hub.legacy(&who, json!({})).await;
        assert_eq!(client.names().await, wanted, "{}", who.owner);
    }
}

#[tokio::test(start_paused = true)]
async fn one_list_is_never_that_of_another_who_reaches_more() {
    let hub = Hub::new().await;
    let more = hub.scoped("more", &["note_read", "note_count"]).await;
    let less = hub.scoped("less", &["note_read"]).await;
    for _ in 0..2 {
        let mut client = hub.legacy(&more, json!({})).await;
        assert_eq!(client.names().await, ["note_count", "note_read"]);
        let mut client = hub.legacy(&less, json!({})).await;
        assert_eq!(client.names().await, ["note_read"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_view_shows_its_tools_under_its_names() {
    let view = |names| View {
        tools: patterns(&["note_*", "gate_*"]),
        hide: patterns(&["note_f*", "note_save"]),
        names,
        ..View::default()
    };
    let views = [
        ("own", view(Names::Helve)),
        ("inside", view(Names::Internal)),
        ("far", view(Names::Mcp)),
    ];
    let views: BTreeMap<String, View> = views
        .into_iter()
        .map(|(name, view)| (name.to_owned(), view))
        .collect();
    let hub = Hub::with(Options {
        views,
        ..Options::default()
    })
    .await;
    let who = hub.agent("a", "ann").await;
    assert!(hub.front.session(Some("other"), who.clone()).is_none());
    for (view, wait, read) in [
        ("own", "gate_wait", "note_read"),
        ("inside", "internal_gate_wait", "internal_note_read"),
        ("far", "mcp__gate__wait", "mcp__note__read"),
    ] {
        let mut client = hub.legacy_in(Some(view), &who, json!({})).await;
        let names = client.names().await;
        assert_eq!(names.len(), 4, "{names:?}");
        assert_eq!((names[0].as_str(), names[3].as_str()), (wait, read));
        let result = client.call(read, json!({"text": "x"})).await;
        assert_eq!(result["structuredContent"], json!({"text": "x"}));
        assert_eq!(result["_meta"]["helve/run"]["tool"], "note_read");
        // What it does not show cannot be called in it either, under any name.
        for hidden in [
            "note_save",
            "internal_note_save",
            "mcp__note__save",
            "file_write",
        ] {
            let params = json!({"name": hidden, "arguments": {}});
            let (code, _) = client.refused("tools/call", params).await;
            assert_eq!(code, -32602, "{hidden}");
        }
    }
    assert_eq!(
        hub.kernel.store().approvals(None, None, 9).await.unwrap(),
        []
    );
}

async fn described(hub: &Hub, tool: &str) -> Value {
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    let tools = client.tools().await;
    let found = tools.into_iter().find(|t| t["name"] == tool);
    found.unwrap()
}

#[tokio::test(start_paused = true)]
async fn hints_follow_risk_and_reversibility() {
    let hub = Hub::new().await;
    for (tool, reads, destroys) in [
        ("note_read", json!(true), json!(null)),
        ("file_write", json!(false), json!(false)),
        ("note_save", json!(false), json!(true)),
    ] {
        let hints = described(&hub, tool).await["annotations"].clone();
        assert_eq!(hints["readOnlyHint"], reads, "{tool}: {hints}");
        match destroys {
            Value::Null => assert_ne!(hints["destructiveHint"], json!(true), "{tool}: {hints}"),
            destroys => assert_eq!(hints["destructiveHint"], destroys, "{tool}: {hints}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_structured_fits_the_schema_that_was_listed() {
    let hub = Hub::new().await;
    let object = json!({"output_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}});
    let old = json!({"output_schema": {
        "anyOf": [{"$ref": "#/definitions/flag"}, {"type": "object"}],
        "definitions": {"flag": {"type": "boolean"}},
    }});
    let none = echo("shape_none", json!({}));
    let tools = [echo("shape_object", object), echo("shape_old", old), none];
    hub.kernel.add_tools(tools).unwrap();
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    for (tool, structured, wrapped) in [
        ("note_count", json!({"result": 3}), true),
        ("note_list", json!({"result": ["a", "b"]}), true),
        ("shape_old", json!({"result": {"text": "x"}}), true),
        ("shape_object", json!({"text": "x"}), false),
    ] {
        let schema = described(&hub, tool).await["outputSchema"].clone();
        assert_eq!(schema["type"], "object", "{tool}");
        assert_eq!(schema["properties"].get("result").is_some(), wrapped);
        let result = client.call(tool, json!({"text": "x"})).await;
        assert_eq!(result["structuredContent"], structured, "{tool}");
        let compiled = helve_core::schema::Schema::compile(&schema).unwrap();
        assert!(compiled.accepts(&structured), "{tool}: {schema}");
        assert!(
            !compiled.accepts(&json!({"result": null, "text": 1})),
            "{tool}"
        );
    }
    assert_eq!(
        described(&hub, "shape_none").await.get("outputSchema"),
        None
    );
}
