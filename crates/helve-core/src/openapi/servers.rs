//! Where a service is: the nearest `servers`, with its variables filled in.

use serde_json::{Map, Value};

use super::Options;

/// The base address of an operation.
pub(super) fn base(
    root: &Value,
    item: &Map<String, Value>,
    operation: &Map<String, Value>,
    options: &Options<'_>,
) -> Result<String, String> {
    if let Some(given) = options.base_url {
        return sound(given);
    }
    let lists = [
        operation.get("servers"),
        item.get("servers"),
        root.get("servers"),
    ];
    let mut lists = lists.into_iter().flatten().filter_map(Value::as_array);
    let server = lists.find_map(|list| list.first());
    // What is not said is `/`, from where the document came.
    let url = server
        .and_then(|s| s.get("url"))
        .and_then(Value::as_str)
        .unwrap_or("/");
    let filled = filled(url, server.and_then(|s| s.get("variables")))?;
    let lower = filled.to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        return sound(&filled);
    }
    let source = options.source.and_then(origin);
    match (source, filled.starts_with('/') && !filled.starts_with("//")) {
        (Some(origin), true) => sound(&format!("{origin}{filled}")),
        _ => Err(format!(
            "its server `{}` is no whole address; give one with `--base-url`",
            shown(&filled)
        )),
    }
}

/// The host of a base address, with its port where it has one.
pub(super) fn host(base: &str) -> String {
    let rest = base.split_once("://").map_or(base, |(_, rest)| rest);
    rest.split('/')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase()
}

fn origin(url: &str) -> Option<&str> {
    let start = url.find("://")? + 3;
    let end = url[start..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |e| start + e);
    Some(&url[..end])
}

/// Variables stand for their defaults: nobody is asked, so nothing else can.
fn filled(url: &str, variables: Option<&Value>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = url;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        let variable = variables.and_then(|v| v.get(name));
        let default = variable.and_then(|v| v.get("default"));
        let default = match default {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => {
                return Err(format!(
                    "its server's variable `{}` has no default; give the address with `--base-url`",
                    shown(name)
                ));
            }
        };
        out.push_str(before);
        out.push_str(&default);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// An address that can be a base, without what an executor refuses.
fn sound(url: &str) -> Result<String, String> {
    let url = url.trim();
    let bad = |why: &str| Err(format!("its server `{}` {why}", shown(url)));
    let lower = url.to_ascii_lowercase();
    let Some(rest) = lower
        .strip_prefix("https://")
        .or_else(|| lower.strip_prefix("http://"))
    else {
        return bad("does not begin with https:// or http://; give one with `--base-url`");
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    if authority.contains('@') {
        // Not repeated: there may be a password in it.
        return Err(
            "its server has a user or a password in its address; name a secret instead".to_owned(),
        );
    }
    if authority.is_empty() {
        return bad("has no host");
    }
    if url.contains(['?', '#', '{', '}', '\\']) {
        return bad("has a query, a fragment or a placeholder; give one with `--base-url`");
    }
    if url.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return bad("has characters that no address has");
    }
    if rest
        .split('/')
        .skip(1)
        .any(|part| part == "." || part == "..")
    {
        return bad("has `.` or `..` in its path");
    }
    Ok(url.trim_end_matches('/').to_owned())
}

/// At most so much of it, visible, and never a password.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(80).collect();
    match short.contains('@') {
        true => "…".to_owned(),
        false => short.escape_debug().to_string(),
    }
}
