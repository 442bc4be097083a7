//! A tool of a server as a tool of ours. The server's own words travel with it, untouched;
//! what the operator says about it goes before them.

use helve_core::ToolName;
use helve_core::audit::Hash;
use helve_core::def::{Executor, ExecutorKind, Reversible, Risk, ToolDef};
use helve_core::name::{MAX_NAME, in_group, is_foreign, spelled};
use helve_core::schema::Schema;
use serde_json::{Map, Value, json};

use super::book::Flag;
use super::link::headers;
use super::settings::{Rules, ToolRules, Upstream, group};

/// Where the tools of a server come from, for the registry.
pub(crate) fn source(server: &str) -> String {
    format!("mcp:{server}")
}

/// The server and the tool there that stand behind a definition, and its own words.
pub(crate) fn behind(def: &ToolDef) -> Option<(&str, &str, Option<&Value>)> {
    let mcp = def.metadata.get("mcp")?;
    Some((
        mcp["server"].as_str()?,
        mcp["tool"].as_str()?,
        mcp.get("definition"),
    ))
}

/// Makes a definition; why not, where it cannot be one. With what is left out of it.
pub(crate) fn define(upstream: &Upstream, raw: &Value) -> Result<(ToolDef, Vec<String>), String> {
    let tool = raw["name"].as_str().ok_or("it has no name")?;
    let rules = &upstream.rules;
    let own = rules.tools.get(tool).cloned().unwrap_or_default();
    let (name, group) = name(&upstream.name, tool, own.name.as_deref())?;
    let schema = match raw.get("inputSchema") {
        Some(schema) if schema.is_object() => schema.clone(),
        Some(_) => return Err("its `inputSchema` is no schema".to_owned()),
        None => return Err("it has no `inputSchema`".to_owned()),
    };
    compiles(&schema).map_err(|e| format!("its `inputSchema` cannot be used: {e}"))?;
    headers::marked(&schema)?;
    let mut notes = Vec::new();
    let output = raw.get("outputSchema").filter(|s| s.is_object()).cloned();
    let output = output.filter(|schema| match compiles(schema) {
        Ok(()) => true,
        Err(e) => {
            notes.push(format!(
                "its `outputSchema` cannot be used, so results are not checked: {e}"
            ));
            false
        }
    });
    let said = |key: &str| {
        raw[key]
            .as_str()
            .map(str::trim)
            .filter(|t| !t.is_empty())
            .map(str::to_owned)
    };
    let title = own
        .title
        .clone()
        .or(said("title"))
        .or_else(|| raw["annotations"]["title"].as_str().map(str::to_owned));
    let description = own.description.clone().or(said("description"));
    let description = description.or(title.clone());
    let description =
        description.unwrap_or_else(|| format!("`{tool}` of the MCP server `{}`", upstream.name));
    let mut def = ToolDef::new(name, description);
    def.title = title;
    def.input_schema = schema;
    def.output_schema = output;
    def.category = Some(upstream.name.clone());
    def.tags = vec!["mcp".to_owned(), group.clone()];
    def.aliases = aliases(&upstream.name, tool, def.name.as_str());
    def.risk = Some(risk(rules, &own, &raw["annotations"]));
    def.reversible = own.reversible.clone().unwrap_or(Reversible::No);
    def.idempotent = false;
    def.timeout = Some(own.timeout.unwrap_or(rules.timeout));
    let mut settings = Map::new();
    settings.insert("server".to_owned(), upstream.name.as_str().into());
    settings.insert("tool".to_owned(), tool.into());
    def.executor = Some(Executor {
        kind: ExecutorKind::Mcp,
        settings,
    });
    let mcp = json!({"server": upstream.name, "tool": tool, "definition": raw});
    def.metadata.insert("mcp".to_owned(), mcp);
    Ok((def, notes))
}

fn compiles(schema: &Value) -> Result<(), String> {
    match Schema::compile(schema) {
        Ok(_) => Ok(()),
        Err(issues) => Err(issues
            .first()
            .map(|i| i.message.clone())
            .unwrap_or_default()),
    }
}

/// What the operator says stands. What the server says of itself may raise a risk, and
/// never lowers it: a stranger's word is no reason to ask less.
fn risk(rules: &Rules, own: &ToolRules, annotations: &Value) -> Risk {
    if let Some(risk) = own.risk {
        return risk;
    }
    let mut risk = rules.risk;
    if annotations["readOnlyHint"] == false {
        risk = risk.max(Risk::ExecLow);
    }
    if annotations["destructiveHint"] == true {
        risk = risk.max(Risk::ExecHigh);
    }
    risk
}

/// The canonical name, and the group that it is in.
fn name(server: &str, tool: &str, own: Option<&str>) -> Result<(ToolName, String), String> {
    let group = group(server).ok_or("its server has no usable name")?;
    if let Some(own) = own {
        let name = ToolName::new(own).map_err(|e| format!("the name in the configuration: {e}"))?;
        return Ok((name, group));
    }
    if tool.is_empty() || tool.len() > 1024 {
        return Err("its name is empty, or longer than 1,024 bytes".to_owned());
    }
    let spelled = spelled(tool).ok_or_else(|| {
        let shown: String = tool.chars().take(80).collect();
        format!(
            "its name `{}` has characters that no name may have",
            shown.escape_debug()
        )
    })?;
    let whole = in_group(&group, &spelled);
    let name = match whole.len() <= MAX_NAME {
        true => whole,
        // Two long names that begin alike must not become one.
        false => {
            let hash = Hash::of(tool.as_bytes()).to_string();
            let hash: String = hash
                .chars()
                .filter(char::is_ascii_hexdigit)
                .take(8)
                .collect();
            format!("{}_{hash}", &whole[..MAX_NAME - 9])
        }
    };
    Ok((ToolName::new(name).map_err(|e| e.to_string())?, group))
}

fn aliases(server: &str, tool: &str, name: &str) -> Vec<String> {
    let mut aliases = Vec::new();
    let sdk = format!("mcp__{server}__{tool}");
    if is_foreign(&sdk) {
        aliases.push(sdk);
    }
    // Only a spelling that can never be the canonical name of another.
    if is_foreign(tool) && tool != name && ToolName::new(tool).is_err() {
        aliases.push(tool.to_owned());
    }
    aliases
}

/// How many marks of one definition are told: the rest says nothing new.
const FLAGS: usize = 16;

/// What in a server's own words should be looked at before it is used.
pub(crate) fn flags(raw: &Value) -> Vec<Flag> {
    let found = helve_core::hidden::in_value(raw).into_iter().take(FLAGS);
    found
        .map(|s| Flag {
            pointer: s.pointer.clone(),
            kind: s.kind.as_str().to_owned(),
            says: format!("{}: `{}`", s.kind.says(), s.excerpt),
        })
        .collect()
}
