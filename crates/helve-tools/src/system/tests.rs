use std::collections::BTreeMap;
use std::sync::Arc;

use helve_kernel::helve_core::def::{Executor as Runs, ExecutorKind, Risk};
use helve_kernel::{Principal, Tool, ToolDef, ToolName};
use serde_json::json;

use super::Surroundings;
use crate::testing::{Echo, Rig};

async fn rig() -> Rig {
    let variables = [
        ("HOME", Some("/root")),
        ("LANG", None),
        ("MY_TOKEN", Some("x")),
    ];
    let variables: BTreeMap<String, Option<String>> = variables
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.map(str::to_owned)))
        .collect();
    let around = Arc::new(Surroundings {
        workspace: "/ws".to_owned(),
        version: "1.2.3".to_owned(),
        memory: 7,
        variables,
    });
    let rig = Rig::with(super::toolset().unwrap(), |_, builder| {
        builder
            .service(around)
            .executor(ExecutorKind::Host, Arc::new(Echo))
    })
    .await;
    let mut def = ToolDef::new(
        ToolName::new("project_test").unwrap(),
        "Runs the tests. Use it often.",
    );
    def.risk = Some(Risk::ExecLow);
    let mut runs = Runs::of(ExecutorKind::Host);
    runs.settings.insert("command".into(), json!(["/bin/true"]));
    def.executor = Some(runs);
    def.input_schema = json!({"type": "object", "properties": {"only": {"type": "string"}}, "additionalProperties": false});
    rig.register(def, "api").await;
    let plain = ToolDef::new(
        ToolName::new("plain_one").unwrap(),
        "Is no program. Use it never.",
    );
    rig.kernel
        .add_tool(Tool::of_args(plain, |_| async { Ok(json!(1)) }))
        .unwrap();
    rig
}

#[tokio::test]
async fn a_registered_command_runs_as_itself() {
    let rig = rig().await;
    let args = json!({"command": "project_test", "arguments": {"only": "a; rm -rf /"}});
    for name in [
        "system_execute",
        "internal_system_execute",
        "execute_command",
    ] {
        let answer = rig.call(name, args.clone()).await;
        assert_eq!(
            answer.meta.tool, "project_test",
            "the run is the command's own"
        );
        assert_eq!(
            answer.result.unwrap(),
            json!({"ran": "project_test", "with": {"only": "a; rm -rf /"}})
        );
    }
}

#[tokio::test]
async fn nothing_else_runs() {
    let rig = rig().await;
    rig.refuses(
        "system_execute",
        &[
            (json!({}), "\"command\" is a required property"),
            (
                json!({"command": "rm -rf /"}),
                "validation: argument `command`",
            ),
            (
                json!({"command": "project_tset"}),
                "the nearest are project_test",
            ),
            (
                json!({"command": "plain_one"}),
                "`plain_one` is no registered command",
            ),
            (
                json!({"command": "system_execute", "arguments": {"command": "project_test"}}),
                "is no registered command",
            ),
            (
                json!({"command": "project_test", "arguments": {"command": "x"}}),
                "validation",
            ),
        ],
    )
    .await;
    let outside = Principal {
        scopes: vec![helve_kernel::helve_core::policy::Pattern::new("system_*")],
        ..Principal::person("bob")
    };
    let answer = rig
        .call_as(
            outside,
            "system_execute",
            json!({"command": "project_test"}),
        )
        .await;
    assert!(answer.text().starts_with("not_found"), "{}", answer.text());
}

#[tokio::test]
async fn the_machine_and_its_variables() {
    let rig = rig().await;
    let info = rig.data("system_info", json!({})).await;
    assert_eq!(
        (&info["workspace"], &info["helve"], &info["memory_bytes"]),
        (&json!("/ws"), &json!("1.2.3"), &json!(7))
    );
    let all = rig.data("system_env", json!({})).await;
    assert_eq!(
        all,
        json!({"names": ["HOME", "LANG", "MY_TOKEN"], "values": {"HOME": "/root"}}),
        "a secret is not shown, though it was granted"
    );
    let some = rig.data("get_env", json!({"name": "L*"})).await;
    assert_eq!(some, json!({"names": ["LANG"], "values": {}}));
}
