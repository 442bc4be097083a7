//! The registry as its operators use it.

use super::harness::*;
use crate::kernel::Registration;
use crate::{Call, Change, ErrorKind, Permission, Principal, Store as _, ToolDef, ToolError};
use helve_core::def::Risk;
use helve_core::dialect::{DIALECTS, Strictness};
use helve_core::search::Query;
use semver::Version;
use serde_json::{Value, json};

fn versioned(number: Option<&str>, command: &str) -> ToolDef {
    let mut def = host("a_tool", Risk::Read, command);
    def.version = number.map(|n| Version::parse(n).unwrap());
    def
}

/// Registers one after the other, and tells the version that each became.
async fn numbers(steps: &[(Option<&str>, &str)]) -> Vec<String> {
    let hub = Hub::new().await;
    let mut told = Vec::new();
    for (number, command) in steps {
        let new = registration(versioned(*number, command));
        told.push(match hub.kernel.register(&ann(), new).await {
            Ok(outcome) if outcome.changed => outcome.entry.version.to_string(),
            Ok(_) => "same".to_owned(),
            Err(e) => e.kind.to_string(),
        });
    }
    hub.record().await;
    told
}

#[tokio::test]
async fn every_change_is_a_version() {
    for (steps, told) in [
        (vec![(None, "a")], vec!["1.0.0"]),
        (
            vec![(None, "a"), (None, "b"), (None, "c")],
            vec!["1.0.0", "1.0.1", "1.0.2"],
        ),
        (vec![(None, "a"), (None, "a")], vec!["1.0.0", "same"]),
        (
            vec![(None, "a"), (Some("1.0.0"), "a")],
            vec!["1.0.0", "same"],
        ),
        (
            vec![(None, "a"), (Some("1.0.0"), "b")],
            vec!["1.0.0", "conflict"],
        ),
        (
            vec![(Some("2.1.0"), "a"), (None, "b")],
            vec!["2.1.0", "2.1.1"],
        ),
        (
            vec![(None, "a"), (Some("3.0.0"), "b"), (None, "c")],
            vec!["1.0.0", "3.0.0", "3.0.1"],
        ),
        // A lower number that is free is what its author says.
        (
            vec![(Some("2.0.0"), "a"), (Some("1.5.0"), "b"), (None, "c")],
            vec!["2.0.0", "1.5.0", "2.0.1"],
        ),
        (vec![(None, "missing")], vec!["validation"]),
    ] {
        assert_eq!(numbers(&steps).await, told, "{steps:?}");
    }
}

#[tokio::test]
async fn a_program_that_changed_is_a_version_too() {
    let hub = Hub::new().await;
    hub.register(versioned(None, "a")).await.unwrap();
    hub.executor.replaced.lock().unwrap().insert("a".to_owned());
    hub.register(versioned(None, "a")).await.unwrap();
    let versions = hub.kernel.versions(&ann(), "a_tool").await.unwrap();
    assert_eq!(versions.len(), 2);
    assert_eq!(versions[1].version, Version::new(1, 0, 1));
    assert_ne!(versions[0].hash, versions[1].hash);
    assert_eq!(
        versions[1].fingerprint,
        Some(json!({"program": "a", "replaced": true}))
    );
}

#[tokio::test]
async fn whoever_waits_for_news_of_tools_sleeps_through_calls() {
    let hub = Hub::new().await;
    hub.add(echo("b_tool", json!({})));
    let mut news = hub.kernel.tool_news();
    assert!(hub.call("b_tool", json!({})).await.is_ok());
    assert!(!news.has_changed().unwrap());
    hub.kernel
        .set_enabled(&ann(), "b_tool", false)
        .await
        .unwrap();
    assert!(news.has_changed().unwrap());
    news.mark_unchanged();
    hub.add(echo("c_tool", json!({})));
    assert!(news.has_changed().unwrap());
}

#[tokio::test]
async fn a_tool_is_switched_off_and_on() {
    let hub = Hub::new().await;
    hub.register(versioned(None, "echo")).await.unwrap();
    hub.add(echo("b_tool", json!({})));
    for tool in ["a_tool", "b_tool"] {
        let mut changes = hub.kernel.changes();
        hub.kernel.set_enabled(&ann(), tool, false).await.unwrap();
        hub.kernel.set_enabled(&ann(), tool, false).await.unwrap();
        assert_eq!(changes.recv().await.unwrap(), Change::Tool(tool.to_owned()));
        let said = told(&hub.call(tool, json!({})).await);
        assert_eq!(said, format!("not_found: `{tool}` is disabled"));
        hub.kernel.set_enabled(&ann(), tool, true).await.unwrap();
        assert!(hub.call(tool, json!({})).await.is_ok());
    }
    let events = hub.events().await;
    let count = |event: &str| events.iter().filter(|e| *e == event).count();
    assert_eq!(
        (count("tool.disabled"), count("tool.enabled")),
        (2, 2),
        "once each"
    );
    // What is switched off stays so when it is changed.
    hub.kernel
        .set_enabled(&ann(), "a_tool", false)
        .await
        .unwrap();
    hub.register(versioned(None, "other")).await.unwrap();
    assert!(!hub.kernel.resolve("a_tool").unwrap().enabled);
    assert!(!hub.store.tools().await.unwrap()[0].enabled);
}

#[tokio::test]
async fn a_tool_from_code_stays_as_somebody_left_it() {
    let hub = Hub::new().await;
    let off = json!({"enabled": false});
    hub.add(echo("b_on", json!({})));
    hub.add(echo("b_off", off.clone()));
    hub.kernel.set_enabled(&ann(), "b_on", false).await.unwrap();
    hub.kernel.set_enabled(&ann(), "b_off", true).await.unwrap();
    let kernel = hub.restarted(|b| b).await;
    kernel
        .add_tools([
            echo("b_on", json!({})),
            echo("b_off", off),
            echo("b_new", json!({})),
        ])
        .unwrap();
    let enabled = |tool: &str| kernel.resolve(tool).unwrap().enabled;
    assert_eq!(
        (enabled("b_on"), enabled("b_off"), enabled("b_new")),
        (false, true, true)
    );
    // And can be left otherwise.
    kernel.set_enabled(&ann(), "b_on", true).await.unwrap();
    let kernel = hub.restarted(|b| b).await;
    kernel.add_tool(echo("b_on", json!({}))).unwrap();
    assert!(kernel.resolve("b_on").unwrap().enabled);
}

#[tokio::test]
async fn a_version_comes_back() {
    let hub = Hub::new().await;
    hub.register(versioned(None, "echo")).await.unwrap();
    hub.register(versioned(None, "other")).await.unwrap();
    assert_eq!(told(&hub.call("a_tool", json!({})).await), r#"ok: "done""#);
    let (first, second) = (Version::new(1, 0, 0), Version::new(1, 0, 1));
    let why = Some("it was better".to_owned());
    let entry = hub
        .kernel
        .roll_back(&ann(), "a_tool", &first, why)
        .await
        .unwrap();
    assert_eq!(entry.version, first);
    assert!(told(&hub.call("a_tool", json!({"say": "x"})).await).contains("\"say\":\"x\""));
    let record = hub.record().await;
    let rolled = record
        .iter()
        .find(|r| r["event"] == "tool.rolled_back")
        .unwrap();
    assert_eq!(rolled["details"]["why"], "it was better");
    assert_eq!(rolled["details"]["hash"], entry.hash.to_string());
    let none = Version::new(9, 0, 0);
    let error = hub
        .kernel
        .roll_back(&ann(), "a_tool", &none, None)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert_eq!(error.hint.unwrap(), "it has `1.0.0`, `1.0.1`");
    // And forward again, and a new one after the highest.
    hub.kernel
        .roll_back(&ann(), "a_tool", &second, None)
        .await
        .unwrap();
    hub.kernel
        .roll_back(&ann(), "a_tool", &first, None)
        .await
        .unwrap();
    hub.register(versioned(None, "third")).await.unwrap();
    let entry = hub.kernel.resolve("a_tool").unwrap();
    assert_eq!(entry.version, Version::new(1, 0, 2));
}

#[tokio::test]
async fn a_tool_is_removed_and_comes_back() {
    let hub = Hub::new().await;
    hub.register(versioned(None, "a")).await.unwrap();
    hub.kernel
        .set_enabled(&ann(), "a_tool", false)
        .await
        .unwrap();
    hub.kernel.remove(&ann(), "a_tool").await.unwrap();
    assert!(hub.kernel.find("a_tool").is_none());
    assert!(hub.kernel.find("internal_a_tool").is_none());
    let gone = hub.kernel.remove(&ann(), "a_tool").await.unwrap_err();
    assert_eq!(gone.kind, ErrorKind::NotFound);
    // A roll-back does not bring it back past its removal.
    let first = Version::new(1, 0, 0);
    let error = hub
        .kernel
        .roll_back(&ann(), "a_tool", &first, None)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    hub.register(versioned(None, "a")).await.unwrap();
    let entry = hub.kernel.resolve("a_tool").unwrap();
    assert_eq!(
        (entry.version.to_string(), entry.enabled),
        ("1.0.1".to_owned(), true)
    );
    // The store says the same as memory.
    let kept = hub.store.tools().await.unwrap();
    assert_eq!((kept.len(), kept[0].enabled), (1, true));
    let again = hub.restarted(|b| b).await;
    assert!(again.resolve("a_tool").unwrap().enabled);
}

#[tokio::test]
async fn what_cannot_be_registered_changes_nothing() {
    let hub = Hub::new().await;
    hub.add(echo("b_tool", json!({"aliases": ["bee"]})));
    hub.register(versioned(None, "a")).await.unwrap();
    let with = |change: fn(&mut ToolDef)| {
        let mut def = host("c_tool", Risk::Read, "a");
        change(&mut def);
        registration(def)
    };
    let again = Registration {
        replace: false,
        ..registration(versioned(None, "b"))
    };
    let from_a_file = Registration {
        source: "tools/a/tool.toml".to_owned(),
        ..registration(versioned(None, "b"))
    };
    for (new, kind, said) in [
        (
            with(|d| d.aliases = vec!["bee".to_owned()]),
            "conflict",
            "`c_tool` answers to `bee`",
        ),
        (
            with(|d| d.aliases = vec!["a_tool".to_owned()]),
            "conflict",
            "and so does `a_tool`",
        ),
        (
            registration(def("b_tool", json!({}))),
            "conflict",
            "part of the program",
        ),
        (again, "conflict", "is registered already"),
        (from_a_file, "conflict", "is registered from `api` already"),
        (with(|d| d.description.clear()), "validation", "description"),
        (
            with(|d| d.input_schema = json!({"type": 5})),
            "validation",
            "schema",
        ),
    ] {
        let before = hub.record().await.len();
        let error = hub.kernel.register(&ann(), new).await.unwrap_err();
        assert_eq!(error.kind.as_str(), kind, "{error}");
        assert!(error.message.contains(said), "{said}: {error}");
        assert_eq!(hub.record().await.len(), before);
    }
    assert!(hub.kernel.find("c_tool").is_none());
    assert_eq!(
        hub.kernel.resolve("bee").unwrap().def.name.as_str(),
        "b_tool"
    );
    let error = hub.kernel.remove(&ann(), "b_tool").await.unwrap_err();
    assert_eq!(
        error.message,
        "a tool that is part of the program cannot be removed"
    );
}

#[tokio::test]
async fn a_store_that_fails_leaves_the_registry_as_it_was() {
    let hub = Hub::new().await;
    hub.register(versioned(None, "echo")).await.unwrap();
    for verb in [
        "add_version",
        "set_enabled",
        "remove_tool",
        "select_version",
    ] {
        hub.store.fail(verb);
    }
    assert!(hub.register(versioned(None, "other")).await.is_err());
    assert!(
        hub.kernel
            .set_enabled(&ann(), "a_tool", false)
            .await
            .is_err()
    );
    assert!(hub.kernel.remove(&ann(), "a_tool").await.is_err());
    let first = Version::new(1, 0, 0);
    assert!(
        hub.kernel
            .roll_back(&ann(), "a_tool", &first, None)
            .await
            .is_err()
    );
    hub.store.mend();
    let entry = hub.kernel.resolve("a_tool").unwrap();
    assert_eq!(
        (entry.version.to_string(), entry.enabled),
        ("1.0.0".to_owned(), true)
    );
    assert!(hub.call("a_tool", json!({})).await.is_ok());
}

#[tokio::test]
async fn a_registration_is_seen_through_though_its_maker_has_gone() {
    let hub = Hub::new().await;
    let gate = hub.store.hold("add_version");
    let mut changes = hub.kernel.changes();
    let kernel = hub.kernel.clone();
    let registering = tokio::spawn(async move {
        let new = registration(versioned(None, "a"));
        kernel.register(&ann(), new).await
    });
    gate.arrival().await;
    registering.abort();
    gate.open();
    assert_eq!(
        changes.recv().await.unwrap(),
        Change::Tool("a_tool".to_owned())
    );
    assert!(hub.kernel.find("a_tool").is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn registrations_at_once_make_one_version_each() {
    let hub = Hub::new().await;
    let all = (0..20).map(|n| {
        let kernel = hub.kernel.clone();
        tokio::spawn(async move {
            let new = registration(versioned(None, &format!("program{n}")));
            kernel
                .register(&ann(), new)
                .await
                .unwrap()
                .entry
                .version
                .patch
        })
    });
    let all = futures_util::future::join_all(all).await;
    let mut patches: Vec<u64> = all.into_iter().map(Result::unwrap).collect();
    patches.sort_unstable();
    assert_eq!(patches, (0..20).collect::<Vec<u64>>());
}

#[tokio::test]
async fn only_who_may_changes_a_tool() {
    let hub = Hub::new().await;
    hub.register(versioned(None, "a")).await.unwrap();
    let reader = with_only("dan", &[Permission::ToolRead, Permission::ToolExecute]);
    let elsewhere = scoped("dan", &["b_*"]);
    let first = Version::new(1, 0, 0);
    for who in [&reader, &elsewhere, &Principal::agent("bot")] {
        let new = registration(versioned(None, "b"));
        let tries: Vec<Result<(), ToolError>> = vec![
            hub.kernel.register(who, new).await.map(drop),
            hub.kernel.set_enabled(who, "a_tool", false).await.map(drop),
            hub.kernel
                .roll_back(who, "a_tool", &first, None)
                .await
                .map(drop),
            hub.kernel.remove(who, "a_tool").await,
        ];
        for tried in tries {
            assert_eq!(tried.unwrap_err().kind, ErrorKind::Permission);
        }
    }
    assert!(hub.kernel.versions(&reader, "a_tool").await.is_ok());
    assert!(hub.kernel.versions(&elsewhere, "a_tool").await.is_err());
}

#[tokio::test]
async fn tools_are_found_by_tag_and_group_and_shown_in_every_dialect() {
    let hub = Hub::new().await;
    hub.add(echo("file_read", json!({"tags": ["disk", "safe"]})));
    hub.add(echo("file_write", json!({"tags": ["disk"]})));
    hub.add(echo("web_get", json!({"tags": ["safe"]})));
    hub.add(echo("web_old", json!({"enabled": false})));
    let names = |tools: Vec<std::sync::Arc<crate::Entry>>| -> Vec<String> {
        tools.iter().map(|e| e.def.name.to_string()).collect()
    };
    assert_eq!(names(hub.kernel.by_tag("safe")), ["file_read", "web_get"]);
    assert_eq!(names(hub.kernel.by_tag("none")), Vec::<String>::new());
    assert_eq!(
        names(hub.kernel.by_group("file")),
        ["file_read", "file_write"]
    );
    assert_eq!(names(hub.kernel.by_group("fil")), Vec::<String>::new());
    for dialect in DIALECTS {
        let specs = hub.kernel.specs(dialect, Strictness::Loose).unwrap();
        assert_eq!(
            specs.len(),
            3,
            "{}: the disabled one is not shown",
            dialect.name
        );
        let text = specs[0].value.to_string();
        let name = ["file_read", "read"].iter().any(|n| text.contains(n));
        assert!(name, "{}: {text}", dialect.name);
    }
    let openai = helve_core::dialect::find("openai").unwrap();
    let specs = hub.kernel.specs(openai, Strictness::Loose).unwrap();
    let shown: Vec<&Value> = specs.iter().map(|s| &s.value["function"]["name"]).collect();
    assert_eq!(shown, ["file_read", "file_write", "web_get"]);
    let catalog = hub.kernel.catalog(2000).unwrap();
    assert!(!format!("{catalog:?}").contains("web_old"));
}

#[tokio::test]
async fn a_call_that_runs_keeps_its_version() {
    let hub = Hub::new().await;
    hub.register(versioned(None, "wait")).await.unwrap();
    let kernel = hub.kernel.clone();
    let calling =
        tokio::spawn(async move { kernel.call(Call::new(ann(), "a_tool", json!({}))).await });
    hub.executor.gate.arrival().await;
    hub.register(versioned(None, "other")).await.unwrap();
    hub.executor.gate.open();
    assert_eq!(calling.await.unwrap().meta.version.unwrap(), "1.0.0");
}

/// A file keeps its number while its content changes; each change is a version, and
/// looking at it again is none.
#[tokio::test]
async fn a_file_that_is_looked_at_again_changes_nothing() {
    let hub = Hub::new().await;
    let look = async |number: Option<&str>, command: &str| {
        let mut new = registration(versioned(number, command));
        new.source = "tools/a/tool.toml".to_owned();
        new.replace = true;
        let outcome = hub.kernel.register(&ann(), new).await.unwrap();
        (outcome.changed, outcome.entry.version.to_string())
    };
    let told = |changed: bool, version: &str| (changed, version.to_owned());
    assert_eq!(look(Some("1.0.0"), "a").await, told(true, "1.0.0"));
    assert_eq!(look(Some("1.0.0"), "b").await, told(true, "1.0.1"));
    assert_eq!(look(Some("1.0.0"), "b").await, told(false, "1.0.1"));
    // Rolled back, it stays so until the file says something else.
    let first = Version::new(1, 0, 0);
    hub.kernel
        .roll_back(&ann(), "a_tool", &first, None)
        .await
        .unwrap();
    assert_eq!(look(Some("1.0.0"), "b").await, told(false, "1.0.0"));
    assert_eq!(look(Some("1.0.0"), "c").await, told(true, "1.0.2"));
    assert_eq!(look(Some("2.0.0"), "c").await, told(true, "2.0.0"));
}

/// A folder of tools is looked at again and again: that must not accept a program that
/// somebody replaced behind a file.
#[tokio::test]
async fn a_program_that_changed_behind_a_file_waits_for_an_edit() {
    let hub = Hub::new().await;
    let look = async |number: Option<&str>, command: &str| {
        let mut new = registration(versioned(number, command));
        new.source = "tools/a/tool.toml".to_owned();
        let outcome = hub.kernel.register(&ann(), new).await;
        outcome.map(|o| (o.changed, o.entry.version.to_string()))
    };
    let replace = |command: &str| {
        let mut replaced = hub.executor.replaced.lock().unwrap();
        if !replaced.remove(command) {
            replaced.insert(command.to_owned());
        }
    };
    look(Some("1.0.0"), "a").await.unwrap();
    let pinned = hub.kernel.resolve("a_tool").unwrap().fingerprint.clone();
    replace("a");
    for _ in 0..2 {
        let error = look(Some("1.0.0"), "a").await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Conflict);
        let said = "`a_tool`: a program behind it has changed since it was registered";
        assert!(error.message.starts_with(said), "{error}");
    }
    let entry = hub.kernel.resolve("a_tool").unwrap();
    assert_eq!(entry.fingerprint, pinned);
    // As it was, it is known again.
    replace("a");
    let known = look(Some("1.0.0"), "a").await.unwrap();
    assert_eq!(known, (false, "1.0.0".to_owned()));
    // An edit accepts it.
    replace("a");
    let edited = look(Some("1.1.0"), "a").await.unwrap();
    assert_eq!(edited, (true, "1.1.0".to_owned()));
    let entry = hub.kernel.resolve("a_tool").unwrap();
    assert_ne!(entry.fingerprint, pinned);
    // Nor does a changed program undo a roll-back.
    look(Some("1.1.0"), "b").await.unwrap();
    let back = Version::new(1, 1, 0);
    let rolled = hub.kernel.roll_back(&ann(), "a_tool", &back, None).await;
    rolled.unwrap();
    replace("b");
    let error = look(Some("1.1.0"), "b").await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict);
}

fn registering_agent() -> Principal {
    let mut bot = Principal::agent("agent:bot");
    bot.permissions.push(Permission::ToolRegister);
    bot
}

#[tokio::test]
async fn what_an_agent_registers_waits_for_a_person() {
    let hub = Hub::new().await;
    let bot = registering_agent();
    let put = async |who: &Principal, def: ToolDef| {
        let outcome = hub.kernel.register(who, registration(def)).await.unwrap();
        let warned = outcome.warnings.iter().any(|w| w.contains("by an agent"));
        (outcome.entry.enabled, warned)
    };
    assert_eq!(put(&bot, versioned(None, "a")).await, (false, true));
    assert!(!hub.store.tools().await.unwrap()[0].enabled);
    let said = told(&hub.call("a_tool", json!({})).await);
    assert_eq!(said, "not_found: `a_tool` is disabled");
    let error = hub.kernel.set_enabled(&bot, "a_tool", true).await;
    assert_eq!(error.unwrap_err().kind, ErrorKind::Permission);
    // Nor by what its definition says.
    let mut off = versioned(None, "a");
    off.enabled = false;
    put(&bot, off).await;
    assert_eq!(put(&bot, versioned(None, "a")).await, (false, true));

    let enable = async || hub.kernel.set_enabled(&ann(), "a_tool", true).await;
    enable().await.unwrap();
    let mut described = versioned(None, "a");
    described.description = "Does something. Use it in other tests.".to_owned();
    assert_eq!(put(&bot, described.clone()).await, (true, false), "words");
    let changes: [fn(&mut ToolDef); 3] = [
        |def| def.executor = versioned(None, "b").executor,
        |def| def.risk = Some(Risk::Write),
        |def| def.input_schema["properties"]["more"] = json!({"type": "string"}),
    ];
    for change in changes {
        enable().await.unwrap();
        change(&mut described);
        assert_eq!(put(&bot, described.clone()).await, (false, true));
    }
    // What was put aside is not fetched back.
    let first = Version::new(1, 0, 0);
    let versions = hub.kernel.versions(&ann(), "a_tool").await.unwrap();
    let newest = versions.last().unwrap().version.clone();
    let back = hub.kernel.roll_back(&ann(), "a_tool", &first, None).await;
    back.unwrap();
    enable().await.unwrap();
    let error = hub.kernel.roll_back(&bot, "a_tool", &newest, None).await;
    assert_eq!(error.unwrap_err().kind, ErrorKind::Permission);
    // To switch off is always right.
    let off = hub.kernel.set_enabled(&bot, "a_tool", false).await;
    assert!(!off.unwrap().enabled);
}

#[tokio::test]
async fn tools_are_found_by_their_server() {
    let hub = Hub::new().await;
    for (name, source) in [("a_tool", "mcp:harbour"), ("b_tool", "api")] {
        let new = Registration {
            source: source.to_owned(),
            ..registration(host(name, Risk::Read, name))
        };
        hub.kernel.register(&ann(), new).await.unwrap();
    }
    let keys = |query: &Query<'_>| -> Vec<String> {
        let found = hub.kernel.search(query);
        found.hits.into_iter().map(|hit| hit.key).collect()
    };
    assert_eq!(keys(&Query::new("harbour")), ["a_tool"]);
    let only = Query {
        group: Some("harbour".to_owned()),
        ..Query::new("tool")
    };
    assert_eq!(keys(&only), ["a_tool"]);
}
