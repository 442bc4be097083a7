use std::sync::Arc;

use helve_kernel::helve_core::def::ExecutorKind;
use serde_json::json;

use crate::testing::{Echo, Rig};

#[tokio::test]
async fn the_formatter_is_found_by_the_file_and_the_project() {
    let rig = Rig::with(super::toolset().unwrap(), |_, builder| {
        builder.executor(ExecutorKind::Host, Arc::new(Echo))
    })
    .await;
    rig.write("Cargo.toml", "");
    rig.write("ruff.toml", "");
    rig.write("pyproject.toml", "");
    for def in super::programs(&rig.root, &|_| None).unwrap() {
        rig.register(def, "builtin").await;
    }
    for (path, tool) in [("a.rs", "code_format_rust"), ("b/c.PY", "code_format_ruff")] {
        rig.write(path, "x");
        for name in ["code_format", "internal_code_format", "format_code"] {
            let answer = rig.call(name, json!({"path": path})).await;
            assert_eq!(answer.meta.tool, tool);
            let given = rig.root.join(path).display().to_string();
            assert_eq!(
                answer.result.unwrap(),
                json!({"ran": tool, "with": {"path": given}})
            );
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
