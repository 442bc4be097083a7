//! A function with plain arguments needs nothing but the kernel: here even the
//! names of the other crates, and of some types, mean something else.
#![allow(dead_code, non_camel_case_types)]

use helve_kernel::helve_core::lint;

mod serde {}
mod schemars {}
mod serde_json {}
mod helve_core {}
mod std {}
mod core {}

struct Tool;
struct ToolDef;
struct Value;
struct String;

/// Adds. Use it for sums.
#[helve_kernel::tool(
    risk = "read",
    title = "Add",
    tags = ["sums"],
    timeout = 5,
    retry,
    version = "1.0.0",
    prerequisites = [{condition = "there are numbers"}],
    related = ["subtract"],
    example(params = {"a": 1}),
    output
)]
async fn add(
    /// One.
    a: i32,
    /// The other.
    #[default(2)]
    b: i32,
) -> i32 {
    a + b
}

fn main() {
    let set = helve_kernel::toolset! { name: "sums", description: "Sums.", tools: [add] };
    for tool in set.iter().flat_map(|s| s.tools()) {
        let issues = lint::check(&tool.def, &lint::Context::default());
        assert!(issues.iter().all(|i| i.rule.severity == lint::Severity::Warning), "{issues:?}");
    }
    assert!(set.is_ok_and(|s| s.tools().len() == 1));
}
