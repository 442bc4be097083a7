//! Names: which tool answers, and which call is nobody's.

use super::harness::*;
use crate::{Call, Permission, Principal, RegistryError, Tool};
use helve_core::def::Risk;
use serde_json::json;

async fn hub() -> Hub {
    let hub = Hub::new().await;
    hub.add(echo("file_read", json!({"aliases": ["read_file"]})));
    for name in [
        "file_write",
        "file_list",
        "file_move",
        "file_stat",
        "web_get",
    ] {
        hub.add(echo(name, json!({})));
    }
    hub.add(echo(
        "file_old",
        json!({"enabled": false, "input_schema": {"type": "object", "properties": {}}}),
    ));
    hub
}

#[tokio::test]
async fn a_tool_answers_to_every_form_of_its_name() {
    let hub = hub().await;
    for name in [
        "file_read",
        "read_file",
        "internal_file_read",
        "mcp__file__read",
        "mcp__helve__file_read",
    ] {
        let answer = hub.call(name, json!({})).await;
        assert!(answer.is_ok(), "{name}: {answer:?}");
        assert_eq!(answer.meta.tool, "file_read");
    }
}

#[tokio::test]
async fn what_is_not_quite_the_name_is_nobodys() {
    let hub = hub().await;
    for name in [
        "File_Read",
        "file_read ",
        " file_read",
        "file_read\n",
        "file_read\0",
        "file-read",
        "fіle_read", // a Cyrillic letter
        "file_read;ls",
        "mcp__file__read__x",
        "internal_internal_file_read",
        "",
        "$(ls)",
    ] {
        let answer = hub.call(name, json!({})).await;
        let error = answer.result.unwrap_err();
        assert_eq!(error.kind.as_str(), "not_found", "{name}");
        assert!(!error.message.contains(['\n', '\0']), "{name}");
        assert_eq!(answer.meta.run_id, None);
    }
    let events = hub.events().await;
    assert_eq!(events, ["call.refused"; 12]);
}

#[tokio::test]
async fn an_unknown_name_is_told_the_nearest_five() {
    let hub = hub().await;
    let hint = |answer: crate::Answer| answer.result.unwrap_err().hint.unwrap();
    let near = hint(hub.call("file_reed", json!({})).await);
    assert!(near.starts_with("the nearest are `file_read`, "), "{near}");
    assert_eq!(near.matches('`').count(), 10, "{near}");
    let far = hint(hub.call("zzz", json!({})).await);
    assert_eq!(far, "ask for the catalog to see what there is");
}

#[tokio::test]
async fn nobody_is_told_names_outside_their_scopes() {
    let hub = hub().await;
    let call = Call::new(scoped("eve", &["web_*"]), "file_reed", json!({}));
    let error = hub.kernel.call(call).await.result.unwrap_err();
    assert!(!error.hint.unwrap().contains("file_"));
}

#[tokio::test]
async fn a_disabled_tool_is_not_called() {
    let hub = hub().await;
    let answer = hub.call("file_old", json!({})).await;
    assert_eq!(told(&answer), "not_found: `file_old` is disabled");
}

#[tokio::test]
async fn a_command_cannot_be_smuggled_in() {
    let hub = Hub::new().await;
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let (tool, count) = counting("file_read", json!({"input_schema": schema}));
    hub.add(tool);
    let args = json!({"path": "a", "command": "rm -rf /"});
    let answer = hub.call("file_read", args).await;
    let said = told(&answer);
    assert!(said.contains("argument `command` is not known"), "{said}");
    assert_eq!(count.get(), 0);
}

#[tokio::test]
async fn the_first_of_two_with_one_name_stays() {
    let hub = Hub::new().await;
    hub.add(Tool::of_args(def("a_tool", json!({})), |_| async {
        Ok(json!("first"))
    }));
    let again = hub.kernel.add_tool(echo("a_tool", json!({})));
    assert!(matches!(again, Err(RegistryError::NameTaken { .. })));
    let alias = echo("b_tool", json!({"aliases": ["a_tool"]}));
    assert!(
        hub.kernel
            .add_tools([echo("c_tool", json!({})), alias])
            .is_err()
    );
    assert!(hub.kernel.find("c_tool").is_none(), "all of them, or none");
    assert_eq!(told(&hub.call("a_tool", json!({})).await), r#"ok: "first""#);
}

#[tokio::test]
async fn a_derived_name_comes_back_when_its_holder_goes() {
    let hub = Hub::new().await;
    hub.register(host("file_read", Risk::Read, "ok"))
        .await
        .unwrap();
    let mut other = host("other_tool", Risk::Read, "ok");
    other.aliases = vec![
        "internal_file_read".to_owned(),
        "mcp__file__read".to_owned(),
    ];
    hub.register(other).await.unwrap();
    let holder = |name: &str| hub.kernel.resolve(name).unwrap().def.name.to_string();
    assert_eq!(holder("internal_file_read"), "other_tool");
    hub.kernel.remove(&ann(), "other_tool").await.unwrap();
    assert_eq!(holder("internal_file_read"), "file_read");
    assert_eq!(holder("mcp__file__read"), "file_read");
    assert_eq!(holder("mcp__helve__file_read"), "file_read");
}

#[tokio::test]
async fn permission_scope_and_ceiling_come_before_the_tool() {
    let hub = Hub::new().await;
    let (read, reads) = counting("a_read", json!({}));
    let (write, writes) = counting("a_write", json!({"risk": "write"}));
    hub.add(read);
    hub.add(write);
    let low = Principal {
        max_risk: Risk::ExecLow,
        ..ann()
    };
    let none = scoped("ann", &[]);
    for (who, tool, told_as) in [
        (
            with_only("ann", &[Permission::ToolRead]),
            "a_read",
            "`ann` has no permission",
        ),
        (scoped("ann", &["b_*"]), "a_read", "outside the scopes"),
        (none, "a_read", "outside the scopes"),
        (
            low,
            "a_write",
            "has risk `write`, and the token allows at most `exec_low`",
        ),
    ] {
        let answer = hub.kernel.call(Call::new(who, tool, json!({}))).await;
        let said = told(&answer);
        assert!(said.starts_with("permission: "), "{said}");
        assert!(said.contains(told_as), "{said}");
    }
    assert_eq!((reads.get(), writes.get()), (0, 0));
    assert_eq!(hub.events().await, ["call.refused"; 4]);
}
