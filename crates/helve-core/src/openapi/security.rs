//! Who asks: from security schemes to the names of secrets. Never a value.

use serde_json::{Map, Value, json};

use super::naming::snake;
use super::{Needed, Reading};
use crate::dialect::Loss;

/// One row of `auth`, and what its secret must be.
struct Row {
    table: Value,
    what: String,
}

/// The `auth` of an operation: a table, a list of them, or nothing.
pub(super) fn auth(
    reading: &mut Reading<'_>,
    operation: &Map<String, Value>,
    host: &str,
    losses: &mut Vec<Loss>,
) -> Result<Option<Value>, String> {
    let root = reading.root;
    let security = operation.get("security").or_else(|| root.get("security"));
    let Some(choices) = security.and_then(Value::as_array) else {
        return Ok(None);
    };
    let empty = |c: &Value| c.as_object().is_some_and(Map::is_empty);
    let optional = choices.iter().any(empty);
    let mut why = String::new();
    let mut found = None;
    for choice in choices.iter().filter(|c| !empty(c)) {
        match rows(reading, choice, optional) {
            Ok(rows) => {
                found = Some(rows);
                break;
            }
            Err(reason) => why = reason,
        }
    }
    let Some(rows) = found else {
        return match choices.is_empty() || optional {
            true => Ok(None),
            false => Err(why),
        };
    };
    if choices.iter().filter(|c| !empty(c)).count() > 1 {
        losses.push(Loss::changed(
            "/executor/auth",
            "of several ways to sign in, it takes the first that it can",
        ));
    }
    let mut tables = Vec::new();
    for row in rows {
        if row.what.starts_with("an access token") {
            losses.push(Loss::changed("/executor/auth", "signing in by OAuth is not done here: the secret is a token that was got elsewhere"));
        }
        let name = row.table["secret"].as_str().unwrap_or_default().to_owned();
        let needed = reading.secrets.entry(name.clone()).or_insert(Needed {
            name,
            what: row.what,
            hosts: Vec::new(),
        });
        if !needed.hosts.iter().any(|h| h == host) {
            needed.hosts.push(host.to_owned());
        }
        tables.push(row.table);
    }
    Ok(match tables.len() {
        0 => None,
        1 => tables.pop(),
        _ => Some(Value::Array(tables)),
    })
}

/// All schemes of one choice, which count together.
fn rows(reading: &Reading<'_>, choice: &Value, optional: bool) -> Result<Vec<Row>, String> {
    let Some(choice) = choice.as_object() else {
        return Err("its `security` is no object".to_owned());
    };
    let schemes = reading.root.pointer("/components/securitySchemes");
    let mut rows = Vec::new();
    for (i, name) in choice.keys().enumerate() {
        let scheme = schemes.and_then(|s| s.get(name));
        let scheme = scheme
            .ok_or_else(|| format!("its security scheme `{}` is not there", name.escape_debug()))?;
        let scheme = reading.follow(scheme)?;
        rows.push(row(reading, name, scheme, i, optional)?);
    }
    Ok(rows)
}

fn row(
    reading: &Reading<'_>,
    name: &str,
    scheme: &Value,
    i: usize,
    optional: bool,
) -> Result<Row, String> {
    let text = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
    let (table, what) = match (text("type"), text("scheme").to_ascii_lowercase().as_str()) {
        ("http", "bearer") => (json!({"scheme": "bearer"}), "a bearer token".to_owned()),
        ("http", "basic") => (json!({"scheme": "basic"}), "`user:password`".to_owned()),
        ("oauth2" | "openIdConnect", _) => {
            (json!({"scheme": "bearer"}), "an access token".to_owned())
        }
        ("apiKey", _) => {
            let (place, key) = (text("in"), text("name"));
            if !matches!(place, "header" | "query" | "cookie") || key.is_empty() {
                return Err(format!(
                    "its security scheme `{}` says not where its key goes",
                    name.escape_debug()
                ));
            }
            (
                json!({"scheme": place, "name": key}),
                format!("the key for the {place} `{key}`"),
            )
        }
        (kind, _) => {
            return Err(format!(
                "signing in by `{}` is not supported",
                kind.escape_debug()
            ));
        }
    };
    let own: String = snake(name).chars().take(40).collect();
    let secret = match (reading.options.secret, i) {
        (Some(given), 0) => given.to_owned(),
        (Some(given), _) => format!("{given}_{own}"),
        (None, _) => format!("{}_{own}", reading.group),
    };
    let mut table = table;
    table["secret"] = Value::String(secret);
    if optional {
        table["optional"] = Value::Bool(true);
    }
    Ok(Row { table, what })
}
