//! `/search`: tools by what they do.

use axum::extract::State;
use helve_core::def::Risk;
use helve_core::search;
use serde_json::{Value, json};

use super::{Given, ok};
use crate::Hub;
use crate::guard::Caller;
use crate::input::Body;
use crate::problem::Problem;

/// How many are found where nothing is said, and at most.
const LIMIT: usize = 10;
const MOST: f64 = 100.0;

pub(crate) async fn find(State(hub): State<Hub>, Caller(who): Caller, body: Body) -> Given {
    body.only(&["queries", "group", "tags", "risk", "limit"])?;
    let queries = body.texts("queries")?.unwrap_or_default();
    if queries.is_empty() || queries.len() > search::MAX_TEXTS {
        let most = search::MAX_TEXTS;
        return Err(Problem::invalid(format!(
            "`queries` must have 1 to {most} texts"
        )));
    }
    let max_risk = match body.text("risk")? {
        None => None,
        Some(word) => Some(Risk::parse(&word).ok_or_else(|| {
            Problem::invalid("`risk` must be read, exec_low, exec_high or write")
        })?),
    };
    let limit = match body.0.get("limit") {
        None | Some(Value::Null) => LIMIT,
        Some(value) => {
            // Whole numbers in any spelling: `10.0` is one.
            let number = value.as_f64().filter(|n| n.fract() == 0.0);
            let number = number
                .filter(|n| (1.0..=MOST).contains(n))
                .map(|n| n as usize);
            number.ok_or_else(|| Problem::invalid(format!("`limit` must be 1 to {MOST}")))?
        }
    };
    let kernel = hub.kernel();
    let allow = |name: &str| who.reaches(name);
    let found = kernel.search(&search::Query {
        group: body.text("group")?,
        tags: body.texts("tags")?.unwrap_or_default(),
        max_risk,
        limit,
        allow: Some(&allow),
        ..search::Query::several(queries)
    });
    let hits = found.hits.iter().filter_map(|hit| {
        let entry = kernel.find(&hit.key)?;
        Some(json!({
            "tool": hit.key,
            "description": entry.def.description,
            "risk": entry.def.risk.map(Risk::as_str),
            "score": hit.score,
            "query": hit.text,
            "why": hit.why,
        }))
    });
    let hits: Vec<Value> = hits.collect();
    ok(&json!({"hits": hits, "fit": found.fit, "fits": found.texts}))
}
