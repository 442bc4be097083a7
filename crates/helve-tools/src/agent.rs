//! What an agent asks of the hub itself: what it did so far, and which servers are behind it.
//!
//! Finding and reading about tools (`search_tools`, `get_tool_info`) is part of the hub's own
//! doors, and not here.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use helve_kernel::helve_core::def::ExecutorKind;
use helve_kernel::helve_core::name::nearest;
use helve_kernel::store::RunFilter;
use helve_kernel::{
    Ctx, DefineTool, Entry, Kernel, Led, Principal, Run, RunState, ToolError, Toolset,
    ToolsetError, WeakKernel, tool,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// The set.
pub fn toolset() -> Result<Toolset, ToolsetError> {
    let tools = vec![
        <logs as DefineTool>::tool(),
        <servers as DefineTool>::tool(),
        <mcp_call as DefineTool>::tool().leading(led),
    ];
    let says = "What an agent asks of the hub itself".to_owned();
    Toolset::new("agent", Some(says), vec!["agent".to_owned()], tools)
}

/// A server behind the hub, as an agent is told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// `idle`, `starting`, `running` or `failed`.
    pub state: String,
    /// Why it does not run; empty where it does.
    pub why: String,
    /// How many tools it has.
    pub tools: usize,
}

/// Who tells of the servers behind the hub.
pub struct Servers(Box<dyn Fn() -> Vec<Server> + Send + Sync>);

impl Servers {
    /// Asks this whenever somebody wants to know.
    pub fn new(look: impl Fn() -> Vec<Server> + Send + Sync + 'static) -> Self {
        Self(Box::new(look))
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Servers")
    }
}

/// A run of one's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Line {
    /// The run.
    pub run_id: String,
    /// The tool.
    pub tool: String,
    /// How it stands.
    pub state: String,
    /// When it was called (RFC 3339).
    pub called: String,
    /// Why it failed; empty where it did not.
    pub error: String,
}

/// What was done so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lines {
    /// The last first.
    pub runs: Vec<Line>,
}

/// The servers behind the hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Behind {
    /// By name.
    pub servers: Vec<Server>,
}

/// How many runs are read at once.
const PAGE: usize = 200;

/// Shows the last calls and what came of them. Use it to see what was done, or why it failed.
///
/// Only what was called in the same name, the last first. `run_result` has the whole answer
/// of one.
#[tool(
    group = "agent",
    title = "What was done so far",
    category = "Agent",
    risk = "read",
    idempotent,
    output,
    aliases = ["get_session_logs"],
    triggers = ["When a call failed and it is not clear why", "When work goes on after a break"],
    related = [("agent_servers", "tells of servers behind the hub")],
    example(scenario = "What went wrong", params = {"state": "failed", "limit": 5}, expected = "The last calls that failed, and why")
)]
async fn logs(
    ctx: &Ctx,
    /// How many, at most.
    #[default(20)]
    #[schemars(range(min = 1, max = 200))]
    limit: usize,
    /// Only those in this state, like `failed`; empty for all.
    #[default("")]
    state: String,
) -> Result<Lines, ToolError> {
    let kernel = ctx.service::<WeakKernel>()?.upgrade();
    let kernel = kernel.ok_or_else(|| ToolError::transient("the hub is stopping"))?;
    let who = ctx
        .who()
        .ok_or_else(|| ToolError::internal("nobody is known to have called"))?;
    let state = match state.as_str() {
        "" => None,
        word => Some(RunState::parse(word).ok_or_else(|| {
            let known: Vec<&str> = RunState::ALL.iter().map(|s| s.as_str()).collect();
            ToolError::validation(format!("`{}` is no state", word.escape_debug()))
                .with_hint(format!("it is one of {}", known.join(", ")))
        })?),
    };
    let mut own = Vec::new();
    let mut before = None;
    // A person's runs come with those of the agents under them, which are not meant.
    while own.len() < limit {
        let filter = RunFilter {
            owner: Some(who.owner.clone()),
            state,
            before: before.take(),
            ..RunFilter::default()
        };
        let page = kernel.store().runs(filter, PAGE).await;
        let page = page.map_err(|e| ToolError::dependency(e.to_string()))?;
        let whole = page.len() == PAGE;
        before = page.last().map(|run| run.id.clone());
        let theirs = |run: &Run| run.owner == who.owner && run.under == who.under;
        own.extend(page.into_iter().filter(theirs));
        if !whole {
            break;
        }
    }
    own.truncate(limit);
    let runs = own.into_iter().map(|run| {
        let answer = run.answer.unwrap_or_default();
        Line {
            run_id: run.id.to_string(),
            tool: run.tool,
            state: run.state.as_str().to_owned(),
            called: run.created.to_string(),
            error: answer["error"]["message"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        }
    });
    Ok(Lines {
        runs: runs.collect(),
    })
}

/// Lists the MCP servers behind the hub. Use it when a tool of one of them is missing or fails.
///
/// Their tools are tools of the hub: `search_tools` finds them like any other.
#[tool(
    group = "agent",
    title = "Servers behind the hub",
    category = "Agent",
    risk = "read",
    idempotent,
    output,
    aliases = ["list_mcp_servers"],
    triggers = ["When a tool of a server is missing or fails"],
    related = [("agent_mcp_call", "calls a tool of one")],
    example(scenario = "Which are there", params = {}, expected = "Names, and whether they run")
)]
#[expect(clippy::unused_async, reason = "every tool is")]
async fn servers(ctx: &Ctx) -> Result<Behind, ToolError> {
    let look = ctx.service::<Servers>()?;
    Ok(Behind {
        servers: (look.0)(),
    })
}

/// Calls a tool of an MCP server by the server's own name for it. Use it where only that is known.
///
/// The call becomes one of the hub's tool: with its policy, its approval and its record.
#[tool(
    name = "agent_mcp_call",
    title = "Call a tool of a server",
    category = "Agent",
    risk = "write",
    aliases = ["call_mcp_tool"],
    triggers = ["When a prompt names a server and a tool"],
    related = [("agent_servers", "tells the servers")],
    example(
        scenario = "A tool of a server",
        params = {"server": "github", "tool_name": "search_issues", "arguments": {"query": "bug"}},
        expected = "What the server answers"
    )
)]
#[expect(
    clippy::unused_async,
    reason = "a tool that leads to others has no work of its own"
)]
async fn mcp_call(
    /// The server.
    #[schemars(length(min = 1, max = 128))]
    server: String,
    /// The tool, as the server calls it.
    #[schemars(length(min = 1, max = 128))]
    tool_name: String,
    /// Its arguments, by name.
    #[default(Map::new())]
    arguments: Map<String, Value>,
) -> Result<Value, ToolError> {
    drop((server, tool_name, arguments));
    Err(ToolError::internal("it leads to no tool"))
}

async fn led(kernel: Kernel, who: Arc<Principal>, args: Map<String, Value>) -> Led {
    let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
    let (server, wanted) = (text("server"), text("tool_name"));
    let tools = kernel.tools();
    let of_server: Vec<(&Arc<Entry>, &str)> = tools
        .iter()
        .filter(|entry| who.reaches(entry.def.name.as_str()))
        .filter_map(|entry| {
            let executor = entry.def.executor.as_ref()?;
            let of = |key: &str| executor.settings.get(key).and_then(Value::as_str);
            let theirs = executor.kind == ExecutorKind::Mcp && of("server") == Some(server);
            theirs.then_some((entry, of("tool")?))
        })
        .collect();
    if let Some((entry, _)) = of_server.iter().find(|(_, name)| *name == wanted) {
        let arguments = args.get("arguments").cloned().unwrap_or_default();
        return Ok((entry.def.name.to_string(), arguments));
    }
    let names = of_server.iter().map(|(_, name)| *name);
    let near = nearest(wanted, names, 5);
    let problem = match of_server.is_empty() {
        true => format!("there is no server `{}`", server.escape_debug()),
        false => format!("`{server}` has no tool `{}`", wanted.escape_debug()),
    };
    Err(
        ToolError::not_found(problem).with_hint(match near.is_empty() {
            true => {
                "`agent_servers` tells the servers, `search_tools` finds their tools".to_owned()
            }
            false => format!("the nearest are {}", near.join(", ")),
        }),
    )
}
