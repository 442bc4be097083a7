//! Every form of a function. The lints that users turn on stay quiet.
#![deny(warnings, missing_docs, unreachable_pub, unused)]

use helve_kernel::helve_core::lint::{self, Severity};
use helve_kernel::{Ctx, DefineTool, Tool, ToolError, tool, toolset};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Args {
    /// The text.
    text: String,
}

#[derive(Serialize)]
struct Answer {
    text: String,
}

/// Echoes a struct.
#[tool]
async fn a(args: Args) -> Result<Answer, ToolError> {
    let text = args.text;
    Ok(Answer { text })
}

/// Echoes a struct, and knows who asks.
#[tool]
async fn b(ctx: &Ctx, args: Args) -> String {
    format!("{:?} {}", ctx.principal(), args.text)
}

/// Repeats a text.
#[tool]
async fn c(
    _ctx: &helve_kernel::Ctx,
    /// The text.
    text: String,
    /// How often.
    #[default(2)]
    times: usize,
) -> String {
    text.repeat(times)
}

/// Adds.
#[tool]
async fn d(
    /// One.
    x: i32,
    /// The other.
    #[allow(unused_mut)]
    mut y: Option<i32>,
) -> i32 {
    x + y.unwrap_or_default()
}

/// Does nothing.
#[tool()]
async fn e() {}

/// Says who asks.
#[tool]
async fn f(ctx: &Ctx) -> Option<String> {
    ctx.principal().map(str::to_owned)
}

fn main() {
    let tools = toolset! { name: "all", tools: [a, b, c, d, e, f] };
    let tools: Vec<Tool> = tools.into_iter().flat_map(|t| t.into_tools()).collect();
    let names: Vec<&str> = tools.iter().map(|t| t.def.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d", "e", "f"]);
    for tool in &tools {
        let issues = lint::check(&tool.def, &lint::Context::default());
        assert!(issues.iter().all(|i| i.rule.severity == Severity::Warning), "{issues:?}");
    }
    drop(d(1, None));
    assert_eq!(a::tool().def.description, "Echoes a struct.");
}
