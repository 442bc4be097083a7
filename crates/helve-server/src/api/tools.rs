//! `/tools`: the registry.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use helve_core::collection::{Document, Input};
use helve_core::dialect::{self, Dialect, Strictness};
use helve_core::lint::Severity;
use helve_core::read::Syntax;
use helve_kernel::{Entry, Principal, Registration, ToolDef};
use serde_json::{Map, Value, json};

use super::{Given, ok};
use crate::guard::Caller;
use crate::input::{Body, Query, Raw, object};
use crate::problem::{Problem, json_response};
use crate::{Hub, view};

pub(crate) async fn list(State(hub): State<Hub>, Caller(who): Caller, query: Query) -> Given {
    let limit = query.limit()?;
    let dialect = dialect(&query)?;
    let enabled = query.flag("enabled")?;
    let strict = match query.flag("strict")? {
        Some(true) => Strictness::Strict,
        _ => Strictness::Loose,
    };
    let mut tools = hub.kernel().tools();
    tools.retain(|e| {
        who.reaches(e.def.name.as_str())
            && query
                .get("cursor")
                .is_none_or(|after| e.def.name.as_str() > after)
            && query
                .get("tag")
                .is_none_or(|tag| e.def.tags.iter().any(|t| t == tag))
            && query
                .get("group")
                .is_none_or(|group| e.def.name.group() == Some(group))
            && enabled.is_none_or(|wanted| e.enabled == wanted)
    });
    let more = tools.len() > limit;
    tools.truncate(limit);
    let next = tools
        .last()
        .filter(|_| more)
        .map(|e| e.def.name.to_string());
    let items = tools.iter().map(|e| in_dialect(e, dialect, strict));
    ok(&view::page(items.collect::<Result<_, _>>()?, next))
}

fn dialect(query: &Query) -> Result<Option<&'static Dialect>, Problem> {
    let names: Vec<&str> = dialect::DIALECTS.iter().map(|d| d.name).collect();
    query.read(
        "dialect",
        &format!("one of {}", names.join(", ")),
        dialect::find,
    )
}

fn in_dialect(
    entry: &Entry,
    dialect: Option<&Dialect>,
    strict: Strictness,
) -> Result<Value, Problem> {
    match dialect {
        None => Ok(view::tool(entry)),
        Some(dialect) => dialect::encode(&entry.def, dialect, strict)
            .map(|encoded| encoded.value)
            .map_err(|e| Problem::invalid(e.to_string())),
    }
}

pub(crate) async fn show(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
    query: Query,
) -> Given {
    let entry = seen(&hub, &who, &id)?;
    ok(&in_dialect(&entry, dialect(&query)?, Strictness::Loose)?)
}

/// A tool within the caller's scopes; others do not exist for them.
pub(super) fn seen(hub: &Hub, who: &Principal, id: &str) -> Result<std::sync::Arc<Entry>, Problem> {
    let entry = hub.kernel().resolve(id)?;
    match who.reaches(entry.def.name.as_str()) {
        true => Ok(entry),
        false => Err(Problem::not_found(id)),
    }
}

pub(crate) async fn create(
    State(hub): State<Hub>,
    Caller(who): Caller,
    query: Query,
    Raw(bytes): Raw,
) -> Given {
    let def = definition(&bytes)?;
    let new = registration(def, &query, false);
    let outcome = hub.kernel().register(&who, new).await?;
    let id = outcome.entry.def.name.to_string();
    Ok(created(&view::registered(&outcome), &id))
}

pub(crate) async fn replace(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
    query: Query,
    Raw(bytes): Raw,
) -> Given {
    let def = definition(&bytes)?;
    let existing = hub.kernel().find(&id);
    let named = def.name.as_str() == id
        || existing.as_ref().is_some_and(|e| e.def.name == def.name)
        || def.aliases.iter().any(|a| *a == id);
    if !named {
        return Err(Problem::invalid(format!(
            "the body defines `{}`, and the address names `{}`",
            def.name,
            id.escape_debug()
        )));
    }
    let outcome = hub
        .kernel()
        .register(&who, registration(def, &query, true))
        .await?;
    let id = outcome.entry.def.name.to_string();
    match existing {
        Some(_) => ok(&view::registered(&outcome)),
        None => Ok(created(&view::registered(&outcome), &id)),
    }
}

pub(crate) async fn change(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
    query: Query,
    Raw(bytes): Raw,
) -> Given {
    let entry = seen(&hub, &who, &id)?;
    let patch = object(&bytes)?;
    let mut value = entry.def.to_value();
    if let Value::Object(map) = &mut value {
        // A new version gets the next number, unless the patch says another.
        map.shift_remove("version");
        merge(map, &patch);
    }
    let def = ToolDef::from_value(&value).map_err(|issues| {
        let mut problem = Problem::invalid("the tool would not be sound");
        problem.errors = issues
            .iter()
            .map(|i| json!({"code": i.rule.code, "pointer": i.pointer, "message": i.message, "fix": i.fix}))
            .collect();
        problem
    })?;
    if def.name != entry.def.name {
        return Err(Problem::invalid(
            "a tool keeps its `name`; register another instead",
        ));
    }
    let outcome = hub
        .kernel()
        .register(&who, registration(def, &query, true))
        .await?;
    ok(&view::registered(&outcome))
}

/// RFC 7396.
fn merge(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (key, change) in patch {
        match change {
            Value::Null => {
                target.shift_remove(key);
            }
            Value::Object(inner) => {
                let place = target.entry(key.clone()).or_insert(Value::Null);
                if !place.is_object() {
                    *place = Value::Object(Map::new());
                }
                if let Value::Object(place) = place {
                    merge(place, inner);
                }
            }
            other => {
                target.insert(key.clone(), other.clone());
            }
        }
    }
}

pub(crate) async fn remove(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
) -> Given {
    hub.kernel().remove(&who, &id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(crate) async fn enable(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
) -> Given {
    ok(&view::tool(
        &*hub.kernel().set_enabled(&who, &id, true).await?,
    ))
}

pub(crate) async fn disable(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
) -> Given {
    ok(&view::tool(
        &*hub.kernel().set_enabled(&who, &id, false).await?,
    ))
}

pub(crate) async fn versions(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
) -> Given {
    let current = seen(&hub, &who, &id)?;
    let versions = hub.kernel().versions(&who, &id).await?;
    let items = versions.iter().map(|v| view::version(v, &current));
    ok(&view::page(items.collect(), None))
}

pub(crate) async fn roll_back(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
    body: Body,
) -> Given {
    body.only(&["version", "why"])?;
    let version = body
        .text("version")?
        .ok_or_else(|| Problem::invalid("`version` is missing"))?;
    let version = semver::Version::parse(&version)
        .map_err(|e| Problem::invalid(format!("`version` is not a semantic version: {e}")))?;
    let why = body.text("why")?;
    ok(&view::tool(
        &*hub.kernel().roll_back(&who, &id, &version, why).await?,
    ))
}

fn registration(def: ToolDef, query: &Query, replace: bool) -> Registration {
    Registration {
        def,
        source: "api".to_owned(),
        why: query.get("why").map(str::to_owned),
        replace,
    }
}

/// The one tool in a body, whatever its dialect.
fn definition(bytes: &[u8]) -> Result<ToolDef, Problem> {
    object(bytes)?;
    let mut document = Document::read(&Input::alone("body", bytes, Syntax::Json));
    let errors = |d: &Document| -> Vec<Value> {
        let errors = d.findings.iter().filter(|f| f.severity == Severity::Error);
        errors
            .map(|f| json!({"code": f.code, "pointer": f.pointer, "message": f.message, "fix": f.fix}))
            .collect()
    };
    let found = errors(&document);
    if !found.is_empty() {
        let mut problem = Problem::invalid("the body does not define a tool");
        problem.errors = found;
        return Err(problem);
    }
    match (document.tools.pop(), document.tools.is_empty()) {
        (Some(tool), true) => Ok(tool.def),
        (None, _) => Err(Problem::invalid("the body defines no tool")
            .hint("it needs at least `name`, `description` and `input_schema`, or the fields of another dialect")),
        _ => Err(Problem::invalid("the body defines more than one tool; register them one by one")),
    }
}

fn created(value: &Value, id: &str) -> Response {
    let mut response = json_response(StatusCode::CREATED, value);
    if let Ok(place) = format!("/tools/{id}").parse() {
        response
            .headers_mut()
            .insert(axum::http::header::LOCATION, place);
    }
    response
}
