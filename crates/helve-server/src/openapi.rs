//! The description of all routes, made from their table.

use serde_json::{Map, Value, json};

use crate::routes::{Access, ROUTES, Route};
use crate::schemas;

/// The OpenAPI 3.1 document.
pub fn document() -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths
            .entry(route.path)
            .or_insert_with(|| Value::Object(Map::new()));
        path[route.method] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Helve",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A tool hub for AI agents: every call validated, decided, recorded.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas::all(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

fn operation(route: &Route) -> Value {
    let mut responses = Map::new();
    for (status, schema) in route.gives {
        responses.insert(status.to_string(), given(*status, schema));
    }
    for status in refusals(route) {
        responses
            .entry(status.to_string())
            .or_insert_with(|| refused(status));
    }
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.says,
        "tags": [route.path.split('/').nth(1).unwrap_or_default()],
        "parameters": parameters(route),
        "responses": responses,
    });
    match route.access {
        Access::Open => operation["security"] = json!([]),
        Access::Needs(permission) => {
            operation["security"] = json!([{"token": []}]);
            operation["description"] = format!("Needs the permission `{permission}`.").into();
        }
    }
    if let Some(schema) = route.body {
        let mut kinds = Map::new();
        let mut names = vec!["application/json"];
        if schema == "Patch" {
            names.push("application/merge-patch+json");
        }
        for name in names {
            kinds.insert(name.into(), json!({"schema": reference(schema)}));
        }
        operation["requestBody"] = json!({"required": schemas::needed(schema), "content": kinds});
    }
    operation
}

/// The statuses that say no: those of the route, and those of its check.
fn refusals(route: &Route) -> Vec<u16> {
    let mut all = route.refuses.to_vec();
    all.extend([403, 421, 500]);
    if route.access != Access::Open {
        // Whatever is kept may be out of reach.
        all.extend([401, 429, 503]);
    }
    if route.body.is_some() {
        all.extend([408, 413, 415, 422]);
    }
    if route.method != "get" {
        all.push(504);
    }
    // Parameters that nobody knows are refused everywhere.
    all.push(400);
    if route.path.contains('{') {
        all.push(404);
    }
    all.sort_unstable();
    all.dedup();
    all
}

fn parameters(route: &Route) -> Vec<Value> {
    let mut all = Vec::new();
    for part in route.path.split('/') {
        if let Some(name) = part.strip_prefix('{').and_then(|p| p.strip_suffix('}')) {
            let schema = match (name, route.path.split('/').nth(1)) {
                ("id", Some("runs")) => "RunId",
                ("id", Some("approvals")) => "ApprovalId",
                ("id", Some("tokens")) => "TokenId",
                _ => "Name",
            };
            let schema = reference(schema);
            all.push(json!({"name": name, "in": "path", "required": true, "schema": schema}));
        }
    }
    for parameter in route.query {
        all.push(json!({
            "name": parameter.name,
            "in": "query",
            "description": parameter.says,
            "schema": reference(parameter.schema),
        }));
    }
    if ["call_tool", "create_run"].contains(&route.id) {
        all.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "description": "The same call under the same key runs once.",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
        }));
    }
    if route.id == "run_logs" {
        all.push(json!({
            "name": "Last-Event-ID",
            "in": "header",
            "description": "The last event that was seen; counts for more than `after`.",
            "schema": reference("Text"),
        }));
    }
    all
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

fn given(status: u16, schema: &str) -> Value {
    let says = match status {
        201 => "Made.",
        202 => "Accepted; not over yet.",
        204 => "Done.",
        503 => "Not able to work.",
        _ => "Here it is.",
    };
    let mut answer = json!({"description": says});
    if (status == 201 && schema == "Registered") || schema == "Answer" {
        answer["headers"] = header("Location", "Where it is.", "string");
    }
    let links = links(schema);
    if !links.is_empty() {
        answer["links"] = Value::Object(links);
    }
    let content = match schema {
        "" => return answer,
        "Metrics" => json!({"text/plain": {"schema": reference("Text")}}),
        "Html" => json!({"text/html": {"schema": reference("Text")}}),
        "Lines" => json!({"application/x-ndjson": {"schema": reference("Text")}}),
        "File" => json!({"application/octet-stream": {}}),
        "Diff" => json!({
            "application/json": {"schema": reference("Diff")},
            "text/plain": {"schema": reference("Text")},
            "text/x-diff": {"schema": reference("Text")},
        }),
        "Logs" => json!({
            "text/event-stream": {"schema": reference("LogEvent")},
            "application/json": {"schema": reference("Logs")},
        }),
        schema => json!({"application/json": {"schema": reference(schema)}}),
    };
    answer["content"] = content;
    answer
}

fn header(name: &str, says: &str, kind: &str) -> Value {
    json!({name: {"description": says, "required": true, "schema": {"type": kind}}})
}

/// Where one goes from an answer.
fn links(schema: &str) -> Map<String, Value> {
    let to: &[(&str, &str)] = match schema {
        "Registered" => &[("get_tool", "/tool/id"), ("call_tool", "/tool/id")],
        "Answer" => &[
            ("get_run", "/meta/run_id"),
            ("run_logs", "/meta/run_id"),
            ("cancel_run", "/meta/run_id"),
            ("run_diff", "/meta/run_id"),
            ("undo_run", "/meta/run_id"),
            ("get_approval", "/meta/approval_id"),
            ("approve", "/meta/approval_id"),
            ("deny", "/meta/approval_id"),
        ],
        "TokenCreated" => &[("revoke_token", "/id")],
        _ => &[],
    };
    let link = |(operation, pointer): &(&str, &str)| {
        let id = format!("$response.body#{pointer}");
        let link = json!({"operationId": operation, "parameters": {"id": id}});
        ((*operation).to_owned(), link)
    };
    to.iter().map(link).collect()
}

fn refused(status: u16) -> Value {
    let says = match status {
        400 => "The request cannot be understood.",
        401 => "No token, or none that counts.",
        403 => "The token does not allow it.",
        404 => "There is no such thing, or not for this token.",
        408 => "The body did not come in time.",
        409 => "It does not go with what is there.",
        413 => "The body is too long.",
        415 => "The body is not JSON.",
        421 => "The hub does not answer to that host.",
        422 => "The request is understood and wrong.",
        429 => "Too many requests.",
        503 => "The hub cannot do it now.",
        504 => "Something that the hub asked did not answer in time.",
        _ => "The hub failed.",
    };
    let problem = json!({"application/problem+json": {"schema": reference("Problem")}});
    let mut answer = json!({"description": says, "content": problem});
    match status {
        401 => answer["headers"] = header("WWW-Authenticate", "How to say who calls.", "string"),
        429 => answer["headers"] = header("Retry-After", "In how many seconds.", "integer"),
        _ => {}
    }
    answer
}

#[cfg(test)]
mod tests;
