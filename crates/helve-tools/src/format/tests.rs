use std::sync::Arc;

use async_trait::async_trait;
use helve_kernel::helve_core::def::ExecutorKind;
use helve_kernel::{Executor, Permit, Registration, Reply, ToolDef, ToolError};
use serde_json::{Value, json};

use crate::testing::Rig;

/// Says what it was given.
struct Echo;

#[async_trait]
impl Executor for Echo {
    async fn inspect(&self, _: &ToolDef) -> Result<Option<Value>, ToolError> {
        Ok(None)
    }
    async fn run(&self, permit: &Permit) -> Result<Reply, ToolError> {
        Ok(Reply::new(json!({"with": permit.args()["path"]})))
    }
}

#[tokio::test]
async fn the_formatter_is_found_by_the_file_and_the_project() {
    let rig = Rig::with(super::toolset().unwrap(), |_, builder| {
        builder.executor(ExecutorKind::Host, Arc::new(Echo))
    })
    .await;
    rig.write("Cargo.toml", "");
    rig.write("ruff.toml", "");
    rig.write("pyproject.toml", "");
    for def in super::programs(&rig.root).unwrap() {
        let source = "builtin".to_owned();
        let registration = Registration {
            def,
            source,
            why: None,
            replace: true,
        };
        rig.kernel.register(&rig.me, registration).await.unwrap();
    }
    for (path, tool) in [("a.rs", "code_format_rust"), ("b/c.PY", "code_format_ruff")] {
        rig.write(path, "x");
        for name in ["code_format", "internal_code_format", "format_code"] {
            let answer = rig.call(name, json!({"path": path})).await;
            assert_eq!(answer.meta.tool, tool);
            let given = rig.root.join(path).display().to_string();
            assert_eq!(answer.result.unwrap(), json!({"with": given}));
        }
    }
    rig.refuses(
        "code_format",
        &[
            (json!({}), "\"path\" is a required property"),
            (
                json!({"path": "Makefile"}),
                "validation: `Makefile` has no ending",
            ),
            (
                json!({"path": "a.go"}),
                "dependency: the project has no formatter for `.go` files",
            ),
            (json!({"path": "../a.rs"}), "permission"),
        ],
    )
    .await;
}
