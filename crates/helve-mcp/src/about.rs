//! The tools about tools: find one, read about one, ask what came of a run.
//!
//! They are tools like any other, so that every door has them. What they tell depends on who
//! asks: nobody learns of a tool that they could not call.

use std::sync::Arc;

use helve_core::def::Risk;
use helve_core::page;
use helve_core::search::{Fit, Query};
use helve_kernel::{
    Ctx, Entry, Kernel, Permission, Principal, RunId, Tool, ToolDef, ToolError, ToolName,
    WeakKernel, run_answer,
};
use serde_json::{Value, json};

use crate::front::{GET_TOOL_INFO, RUN_RESULT, SEARCH_TOOLS, View};

/// The tools about the tools of a kernel.
pub fn tools(kernel: &Kernel) -> Result<Vec<Tool>, ToolError> {
    let about = kernel.downgrade();
    let found = Tool::new(search_def()?, {
        let about = about.clone();
        move |ctx: Ctx, args: Value| std::future::ready(found(&about, &ctx, &args))
    });
    let info = Tool::new(info_def()?, {
        let about = about.clone();
        move |ctx: Ctx, args: Value| std::future::ready(described(&about, &ctx, &args))
    });
    let result = Tool::new(result_def()?, move |ctx: Ctx, args: Value| {
        let about = about.clone();
        async move { result(&about, &ctx, &args).await }
    });
    Ok(vec![found.open(), info.open(), result.open()])
}

fn def(name: &str, description: &str, input: Value) -> Result<ToolDef, ToolError> {
    let name = ToolName::new(name).map_err(|e| ToolError::internal(e.to_string()))?;
    let mut def = ToolDef::new(name, description);
    def.input_schema = input;
    def.risk = Some(Risk::Read);
    def.idempotent = true;
    def.category = Some("tools".to_owned());
    Ok(def)
}

fn search_def() -> Result<ToolDef, ToolError> {
    let mut def = def(
        SEARCH_TOOLS,
        "Find tools by what they do. Use it first.",
        json!({
            "type": "object",
            "properties": {
                "queries": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "One per step",
                },
                "group": {"type": "string"},
                "tag": {"type": "string"},
                "risk": {"enum": ["read", "exec_low", "exec_high", "write"]},
                "limit": {"type": "integer", "default": 5, "minimum": 1, "maximum": 50},
            },
            "required": ["queries"],
        }),
    )?;
    def.detail = Some(
        "Ask for what is to be done, in any words, English or Chinese; one query for each step \
         of a task finds more than the whole task in one. An empty list means that nothing fits. \
         `group`, `tag` and `risk` (at most) narrow it."
            .to_owned(),
    );
    Ok(def)
}

fn info_def() -> Result<ToolDef, ToolError> {
    def(
        GET_TOOL_INFO,
        "Read how a tool is called, before you call it.",
        json!({
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        }),
    )
}

fn result_def() -> Result<ToolDef, ToolError> {
    def(
        RUN_RESULT,
        "What came of a run that waited for approval. Use it when a call was pending.",
        json!({
            "type": "object",
            "properties": {"run_id": {"type": "string"}},
            "required": ["run_id"],
        }),
    )
}

/// The kernel, and who asks.
fn asked(about: &WeakKernel, ctx: &Ctx) -> Result<(Kernel, Arc<Principal>), ToolError> {
    let kernel = about.upgrade();
    let kernel = kernel.ok_or_else(|| ToolError::transient("the hub is stopping"))?;
    let who = ctx.who().cloned();
    let who = who.ok_or_else(|| ToolError::internal("nobody is known to have called"))?;
    Ok((kernel, who))
}

/// Whether somebody may know of a tool, where a view shows it.
fn may_see(who: &Principal, view: &View, entry: &Entry) -> bool {
    let (name, risk) = (entry.def.name.as_str(), entry.def.risk);
    let reached = entry.open || (who.reaches(name) && view.has(name));
    entry.enabled && reached && risk.unwrap_or(Risk::Write) <= who.max_risk
}

fn found(about: &WeakKernel, ctx: &Ctx, args: &Value) -> Result<Value, ToolError> {
    let (kernel, who) = asked(about, ctx)?;
    who.require(Permission::ToolRead)?;
    let view = View::from_value(ctx.get(View::KEY));
    let queries = args["queries"].as_array().into_iter().flatten();
    let queries = queries.filter_map(Value::as_str).map(str::to_owned);
    let allow = |name: &str| {
        let entry = kernel.find(name);
        entry.is_some_and(|entry| !entry.open && may_see(&who, &view, &entry))
    };
    let tag = args["tag"].as_str().map(str::to_owned);
    let found = kernel.search(&Query {
        group: args["group"].as_str().map(str::to_owned),
        tags: tag.into_iter().collect(),
        max_risk: args["risk"].as_str().and_then(Risk::parse),
        limit: usize::try_from(args["limit"].as_u64().unwrap_or(5)).unwrap_or(5),
        allow: Some(&allow),
        ..Query::several(queries)
    });
    let tools = found.hits.iter().filter_map(|hit| kernel.find(&hit.key));
    let tools: Vec<Value> = tools.map(|entry| line(&entry)).collect();
    let mut answer = json!({"tools": tools});
    match found.fit {
        Fit::Good => {}
        Fit::Weak => answer["hint"] = "nothing fits well; these are guesses".into(),
        Fit::Nothing => answer["hint"] = "nothing fits; try other words".into(),
    }
    Ok(answer)
}

/// Level 1 of a tool.
fn line(entry: &Entry) -> Value {
    json!({
        "name": entry.def.name.as_str(),
        "description": entry.def.description,
        "risk": entry.def.risk.map(Risk::as_str),
    })
}

fn described(about: &WeakKernel, ctx: &Ctx, args: &Value) -> Result<Value, ToolError> {
    let (kernel, who) = asked(about, ctx)?;
    who.require(Permission::ToolRead)?;
    let view = View::from_value(ctx.get(View::KEY));
    let name = args["name"].as_str().unwrap_or_default();
    let entry = kernel.find(name);
    let entry = entry.filter(|entry| may_see(&who, &view, entry));
    let Some(entry) = entry else {
        let error =
            ToolError::not_found(format!("there is no tool named `{}`", name.escape_debug()));
        return Err(error.with_hint(format!("find one with `{SEARCH_TOOLS}`")));
    };
    Ok(page::json(&entry.def))
}

async fn result(about: &WeakKernel, ctx: &Ctx, args: &Value) -> Result<Value, ToolError> {
    let (kernel, who) = asked(about, ctx)?;
    who.require(Permission::RunRead)?;
    let asked = args["run_id"].as_str().unwrap_or_default();
    let unknown = || {
        let error = ToolError::not_found(format!("there is no run `{}`", asked.escape_debug()));
        error.with_hint("give the `run_id` of an earlier call")
    };
    let id = RunId::parse(asked).ok_or_else(unknown)?;
    let run = kernel.run(&id).await.map_err(|_| unknown())?;
    let own = run.owner == who.owner && run.under == who.under;
    let theirs = own || run.under.as_ref() == Some(&who.owner);
    if !theirs && !who.may(Permission::AuditRead) {
        return Err(unknown());
    }
    Ok(json!({"state": run.state.as_str(), "answer": run_answer(&run)}))
}
