//! `/tools`: the registry.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use helve_core::collection::{Document, Input};
use helve_core::dialect::{self, Dialect, Strictness};
use helve_core::lint::{self, Issue, Severity};
use helve_core::name::nearest;
use helve_core::read::Syntax;
use helve_kernel::{Entry, Outcome, Principal, Registration, ToolDef};
use serde_json::{Map, Value, json};

use super::{Given, ok};
use crate::guard::Caller;
use crate::input::{Body, Id, Query, Raw, object};
use crate::problem::{Problem, json_response, shown};
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
    // The tools about tools are no part of what they tell about.
    tools.retain(|e| {
        !e.open
            && who.reaches(e.def.name.as_str())
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
    Id(id): Id,
    query: Query,
) -> Given {
    let entry = seen(&hub, &who, &id)?;
    ok(&in_dialect(&entry, dialect(&query)?, Strictness::Loose)?)
}

/// A tool within the caller's scopes; others do not exist for them.
pub(crate) fn seen(hub: &Hub, who: &Principal, id: &str) -> Result<Arc<Entry>, Problem> {
    let entry = hub.kernel().find(id);
    let entry = entry.filter(|e| who.reaches(e.def.name.as_str()));
    entry.ok_or_else(|| unknown(hub, who, id))
}

/// One answer for what is not there and for what is not there for the caller, with
/// the nearest of those that are.
pub(super) fn unknown(hub: &Hub, who: &Principal, id: &str) -> Problem {
    let tools = hub.kernel().tools();
    let names = tools
        .iter()
        .filter(|e| who.reaches(e.def.name.as_str()))
        .flat_map(|e| {
            let aliases = e.def.aliases.iter().map(String::as_str);
            std::iter::once(e.def.name.as_str()).chain(aliases)
        });
    let near = nearest(id, names, 5);
    let detail = format!("there is no tool named `{}`", shown(id));
    let problem = Problem::new(StatusCode::NOT_FOUND, "not_found", detail);
    match near.is_empty() {
        true => problem.hint("`GET /catalog` shows what there is"),
        false => {
            let near: Vec<String> = near.iter().map(|n| format!("`{n}`")).collect();
            problem.hint(format!("the nearest are {}", near.join(", ")))
        }
    }
}

pub(crate) async fn create(
    State(hub): State<Hub>,
    Caller(who): Caller,
    query: Query,
    Raw(bytes): Raw,
) -> Given {
    let def = definition(&bytes)?;
    let new = registration(def, &query, false)?;
    let outcome = register(&hub, &who, new).await?;
    let id = outcome.entry.def.name.to_string();
    Ok(created(&view::registered(&outcome), &id))
}

pub(crate) async fn replace(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Id(id): Id,
    query: Query,
    Raw(bytes): Raw,
) -> Given {
    let def = definition(&bytes)?;
    let name = def.name.to_string();
    let existing = hub.kernel().find(&name);
    let existing = existing.filter(|e| e.def.name == def.name);
    let answers = hub
        .kernel()
        .find(&id)
        .is_some_and(|e| e.def.name == def.name);
    if name != id && !answers && !def.aliases.contains(&id) {
        return Err(Problem::invalid(format!(
            "the body defines `{name}`, and the address names `{}`",
            shown(&id)
        )));
    }
    let new = registration(def, &query, true)?;
    let outcome = register(&hub, &who, new).await?;
    match existing {
        Some(_) => ok(&view::registered(&outcome)),
        None => Ok(created(&view::registered(&outcome), &name)),
    }
}

pub(crate) async fn change(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Id(id): Id,
    query: Query,
    Raw(bytes): Raw,
) -> Given {
    let entry = seen(&hub, &who, &id)?;
    if bytes.is_empty() {
        return Err(Problem::invalid("the patch is missing"));
    }
    let patch = object(&bytes)?;
    let mut value = entry.def.to_value();
    if let Value::Object(map) = &mut value {
        // A new version gets the next number, unless the patch says another.
        map.shift_remove("version");
        merge(map, &patch);
    }
    let def = ToolDef::from_value(&value).map_err(|issues| unsound(issues.iter()))?;
    if def.name != entry.def.name {
        return Err(Problem::invalid(
            "a tool keeps its `name`; register another instead",
        ));
    }
    let new = registration(def, &query, true)?;
    ok(&view::registered(&register(&hub, &who, new).await?))
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

pub(crate) async fn remove(State(hub): State<Hub>, Caller(who): Caller, Id(id): Id) -> Given {
    seen(&hub, &who, &id)?;
    hub.kernel().remove(&who, &id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(crate) async fn enable(State(hub): State<Hub>, Caller(who): Caller, Id(id): Id) -> Given {
    set_enabled(&hub, &who, &id, true).await
}

pub(crate) async fn disable(State(hub): State<Hub>, Caller(who): Caller, Id(id): Id) -> Given {
    set_enabled(&hub, &who, &id, false).await
}

async fn set_enabled(hub: &Hub, who: &Principal, id: &str, enabled: bool) -> Given {
    seen(hub, who, id)?;
    let entry = hub.kernel().set_enabled(who, id, enabled).await?;
    ok(&view::tool(&entry))
}

pub(crate) async fn versions(State(hub): State<Hub>, Caller(who): Caller, Id(id): Id) -> Given {
    let current = seen(&hub, &who, &id)?;
    let versions = hub.kernel().versions(&who, &id).await?;
    let items = versions.iter().map(|v| view::version(v, &current));
    ok(&view::page(items.collect(), None))
}

pub(crate) async fn roll_back(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Id(id): Id,
    body: Body,
) -> Given {
    body.only(&["version", "why"])?;
    let version = body
        .text("version")?
        .ok_or_else(|| Problem::invalid("`version` is missing"))?;
    let version = semver::Version::parse(&version)
        .map_err(|e| Problem::invalid(format!("`version` is not a semantic version: {e}")))?;
    let why = body.line("why", WHY)?;
    seen(&hub, &who, &id)?;
    let entry = hub.kernel().roll_back(&who, &id, &version, why).await?;
    ok(&view::tool(&entry))
}

/// The most characters of a reason that goes on record.
pub(crate) const WHY: usize = 1000;

fn registration(def: ToolDef, query: &Query, replace: bool) -> Result<Registration, Problem> {
    let line = |text: &str| {
        let fits = text.chars().count() <= WHY && !text.contains(char::is_control);
        fits.then(|| text.to_owned())
    };
    Ok(Registration {
        def,
        source: "api".to_owned(),
        why: query.read("why", "one line of at most 1,000 characters", line)?,
        replace,
    })
}

/// What is wrong with a definition, each with its place and what to do.
fn unsound<'i>(issues: impl Iterator<Item = &'i Issue>) -> Problem {
    let mut problem = Problem::invalid("the tool would not be sound");
    problem.errors = issues
        .map(|i| json!({"code": i.rule.code, "pointer": i.pointer, "message": i.message, "fix": i.fix}))
        .collect();
    problem
}

async fn register(hub: &Hub, who: &Principal, new: Registration) -> Result<Outcome, Problem> {
    // The kernel refuses the same, in one sentence.
    let issues = lint::check(&new.def, &lint::Context::default());
    let errors = || issues.iter().filter(|i| i.rule.severity == Severity::Error);
    if errors().next().is_some() {
        return Err(unsound(errors()));
    }
    Ok(hub.kernel().register(who, new).await?)
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
