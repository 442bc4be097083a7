//! Tools and their versions.

use super::*;
use crate::store::{Registered, Version};

pub fn a_version(tool: &str, number: &str) -> Version {
    Version {
        tool: tool.to_owned(),
        version: number.parse().unwrap(),
        hash: Hash::of(number.as_bytes()),
        definition: json!({"name": tool, "description": "Reads. 中", "version": number}),
        fingerprint: Some(json!({"program": "cat", "sha256": "00"})),
        by: "ann".to_owned(),
        at: At(1_000),
        why: Some("asked for".to_owned()),
    }
}

async fn add(store: &Kept, version: &Version, source: &str, enabled: bool) -> bool {
    let record = record("tool.registered", &version.tool);
    let source = source.to_owned();
    store
        .add_version(version.clone(), source, enabled, record)
        .await
        .unwrap()
}

async fn remove(store: &Kept, tool: &str) -> bool {
    let record = record("tool.removed", tool);
    store.remove_tool(tool, record).await.unwrap()
}

async fn select(store: &Kept, tool: &str, number: &str) -> bool {
    let record = record("tool.selected", tool);
    let number = number.parse().unwrap();
    store.select_version(tool, &number, record).await.unwrap()
}

async fn enable(store: &Kept, tool: &str, enabled: bool) -> bool {
    let record = record("tool.enabled", tool);
    store.set_enabled(tool, enabled, record).await.unwrap()
}

/// `verb` answers as `wanted` says, and is on the record where that is `true`.
async fn check(store: &Kept, wanted: bool, verb: impl Future<Output = bool>) {
    let answer = adds(store, u64::from(wanted), async { Ok(verb.await) }).await;
    assert_eq!(answer, wanted);
}

pub async fn versions_are_added_once(store: Kept) {
    let one = a_version("file_read", "1.0.0");
    let two = Version {
        fingerprint: None,
        why: None,
        ..a_version("file_read", "1.10.0")
    };
    let older = a_version("file_read", "1.9.0");
    check(&store, true, add(&store, &one, "api", true)).await;
    check(&store, true, add(&store, &two, "tools/read.md", false)).await;

    let other = Version {
        hash: Hash::of(b"other"),
        ..two.clone()
    };
    check(&store, false, add(&store, &other, "api", true)).await;
    check(&store, false, add(&store, &one, "api", true)).await;
    let now = Registered {
        current: two.clone(),
        enabled: true,
        source: "tools/read.md".to_owned(),
    };
    assert_eq!(store.tools().await.unwrap(), [now]);

    // In the order in which they came, whatever their numbers say.
    check(&store, true, add(&store, &older, "api", true)).await;
    let versions = store.versions("file_read").await.unwrap();
    assert_eq!(versions, [one, two, older.clone()]);
    assert_eq!(store.tools().await.unwrap()[0].current, older);
    assert_eq!(store.versions("file_write").await.unwrap(), []);
}

pub async fn a_removed_tool_comes_back(store: Kept) {
    let one = a_version("file_read", "1.0.0");
    let two = a_version("file_read", "2.0.0");
    check(&store, false, remove(&store, "file_read")).await;
    check(&store, true, add(&store, &one, "api", false)).await;
    check(&store, true, remove(&store, "file_read")).await;
    assert_eq!(store.tools().await.unwrap(), []);
    let versions = store.versions("file_read").await.unwrap();
    assert_eq!(versions, std::slice::from_ref(&one));

    check(&store, false, remove(&store, "file_read")).await;
    check(&store, false, select(&store, "file_read", "1.0.0")).await;
    check(&store, false, enable(&store, "file_read", true)).await;
    check(&store, false, add(&store, &one, "api", true)).await;
    assert_eq!(store.tools().await.unwrap(), []);

    // It was disabled, and so it stays.
    check(&store, true, add(&store, &two, "api", true)).await;
    let now = Registered {
        current: two,
        enabled: false,
        source: "api".to_owned(),
    };
    assert_eq!(store.tools().await.unwrap(), [now]);
}

pub async fn an_old_version_is_selected(store: Kept) {
    let one = a_version("file_read", "1.0.0");
    let two = a_version("file_read", "2.0.0");
    add(&store, &one, "api", true).await;
    add(&store, &two, "api", true).await;
    add(&store, &a_version("file_write", "3.0.0"), "api", true).await;
    for (tool, number, wanted) in [
        ("file_read", "1.0.0", true),
        ("file_read", "3.0.0", false),
        ("file_read", "1.0.0+build", false),
        ("file_gone", "1.0.0", false),
    ] {
        check(&store, wanted, select(&store, tool, number)).await;
        assert_eq!(store.tools().await.unwrap()[0].current, one, "{number}");
    }
    // Neither is a version lost nor a number free again.
    let versions = store.versions("file_read").await.unwrap();
    assert_eq!(versions, [one, two.clone()]);
    check(&store, false, add(&store, &two, "api", true)).await;
    check(&store, true, select(&store, "file_read", "2.0.0")).await;
    assert_eq!(store.tools().await.unwrap()[0].current, two);
}

pub async fn tools_are_enabled_and_disabled(store: Kept) {
    add(&store, &a_version("file_read", "1.0.0"), "api", true).await;
    for (tool, enabled, wanted) in [
        ("file_read", true, false),
        ("file_read", false, true),
        ("file_read", false, false),
        ("file_read", true, true),
        ("file_gone", true, false),
    ] {
        check(&store, wanted, enable(&store, tool, enabled)).await;
        if wanted {
            assert_eq!(store.tools().await.unwrap()[0].enabled, enabled);
        }
    }
    // A new version leaves a disabled tool disabled.
    enable(&store, "file_read", false).await;
    add(&store, &a_version("file_read", "2.0.0"), "api", true).await;
    assert!(!store.tools().await.unwrap()[0].enabled);
}

pub async fn tools_are_listed_by_name(store: Kept) {
    for tool in ["web_get", "file_read", "file_list"] {
        add(&store, &a_version(tool, "1.0.0"), "api", true).await;
    }
    let tools = store.tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|t| t.current.tool.as_str()).collect();
    assert_eq!(names, ["file_list", "file_read", "web_get"]);
}
