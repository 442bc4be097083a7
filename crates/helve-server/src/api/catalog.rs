//! `/catalog` and `/policy`: what an agent sees, and what the rules say.

use axum::extract::State;
use helve_core::ToolDef;
use helve_core::catalog::catalog_of;
use helve_core::policy;
use helve_kernel::Permission;
use serde_json::{Map, Value, json};

use super::tools::seen;
use super::{Given, ok};
use crate::Hub;
use crate::guard::Caller;
use crate::input::{Body, Query, number};
use crate::problem::Problem;

/// The budget of a catalog where nothing is said.
const BUDGET: usize = 4000;

pub(crate) async fn show(State(hub): State<Hub>, Caller(who): Caller, query: Query) -> Given {
    let within = |text: &str| {
        let number = usize::try_from(number(text)?).ok()?;
        (1..=1_000_000).contains(&number).then_some(number)
    };
    let budget = query.read("budget", "a number of tokens, at most a million", within)?;
    let tools = hub.kernel().tools();
    // Enabled is what the registry says: the definition may have been written disabled.
    let shown: Vec<&ToolDef> = tools
        .iter()
        .filter(|e| e.enabled && !e.open && who.reaches(e.def.name.as_str()))
        .map(|e| &*e.def)
        .collect();
    let made = catalog_of(&shown, budget.unwrap_or(BUDGET));
    ok(&json!(made.map_err(|e| Problem::invalid(e.to_string()))?))
}

pub(crate) async fn policy(State(hub): State<Hub>, Caller(who): Caller, query: Query) -> Given {
    let kernel = hub.kernel();
    let mut principals: Vec<String> = vec![who.owner.clone()];
    let now = kernel.now();
    let tokens = kernel.tokens(&who).await?;
    principals.extend(
        tokens
            .iter()
            .filter(|t| t.is_live(now))
            .map(|t| t.owner.clone()),
    );
    principals.extend(query.get("principal").map(str::to_owned));
    principals.sort();
    principals.dedup();
    let tools = kernel.tools();
    let tools: Vec<(&str, _)> = tools
        .iter()
        .filter(|e| !e.open)
        .map(|e| (e.def.name.as_str(), e.def.risk))
        .collect();
    let principals: Vec<&str> = principals.iter().map(String::as_str).collect();
    let rules = kernel.policy();
    let table = policy::table(&rules, &principals, &tools);
    ok(&json!({"rules": rules.rules().len(), "table": table.to_value(), "text": table.to_string()}))
}

pub(crate) async fn explain(State(hub): State<Hub>, Caller(who): Caller, body: Body) -> Given {
    body.only(&["tool", "args", "principal"])?;
    let tool = body
        .text("tool")?
        .ok_or_else(|| Problem::invalid("`tool` is missing"))?;
    let entry = seen(&hub, &who, &tool)?;
    let empty = Map::new();
    let args = match body.0.get("args") {
        None | Some(Value::Null) => &empty,
        Some(Value::Object(args)) => args,
        Some(_) => return Err(Problem::invalid("`args` must be an object")),
    };
    let principal = body.line("principal", 128)?;
    let principal = principal.unwrap_or_else(|| who.owner.clone());
    if principal != who.owner {
        // What others may do is nobody's business who may not read the record.
        who.require(Permission::AuditRead)?;
    }
    let explained = hub.kernel().explain(&principal, &tool, args)?;
    let decision = &explained.decision;
    let rules = explained.rules.iter().map(|r| {
        json!({
            "number": r.number,
            "effect": r.effect.as_str(),
            "matched": r.matched,
            "why_not": r.why_not,
        })
    });
    ok(&json!({
        "tool": entry.def.name.as_str(),
        "risk": entry.def.risk.map(helve_core::def::Risk::as_str),
        "principal": principal,
        "effect": decision.effect.as_str(),
        "rule": decision.rule,
        "reason": decision.reason,
        "approvals": decision.approvals,
        "rules": rules.collect::<Vec<_>>(),
    }))
}
