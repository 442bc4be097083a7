//! The configuration: `helve.toml` of the workspace over the user's own.
//!
//! A key that nobody knows is an error with the nearest name, and a policy that
//! cannot be read stops the hub: a rule that is not understood must not be skipped.

mod changes;
mod chatlog;
mod databases;
mod docker;
mod identity;
mod mcp;
mod network;
mod scripts;
mod toolsets;
mod upstream;
mod web;

use std::path::{Path, PathBuf};
use std::time::Duration;

use helve_core::name::nearest;
use helve_core::policy::{Pattern, Policy};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::exit::Failure;
use crate::state::State;
use crate::{env, load};
use changes::{Changes, Record, Sandbox};
use chatlog::{Chatlog, ModelTable};
use databases::Databases;
use docker::Docker;
use identity::IdentityTable;
pub(crate) use mcp::DiscloseWord;
use mcp::Mcp;
use network::{Network, Secrets};
pub(crate) use network::{Secret, Source};
use scripts::Scripts;
pub(crate) use scripts::{ScriptFolder, real};
pub(crate) use toolsets::{Language, Toolsets};
use web::Web;

/// The configuration of a hub.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// Folders with tools, from the workspace [default: `tools`].
    pub tools: Option<Vec<PathBuf>>,
    /// Which of the built-in tools are there, and what they may touch.
    pub toolsets: Toolsets,
    /// What runs tools in other languages, and what those in a folder may do.
    pub scripts: Scripts,
    /// Databases that the tools know by these names.
    pub databases: Databases,
    /// How exported chats are searched.
    pub chatlog: Chatlog,
    /// A language model that may help where a tool is asked to use one (`use_llm`).
    pub model: Option<ModelTable>,
    /// Where the hub listens, and how much it takes.
    pub server: Server,
    /// How people are asked.
    pub approvals: Approvals,
    /// What is kept of files that runs changed.
    pub changes: Changes,
    /// The record of what was done.
    pub record: Record,
    /// The walls around programs.
    pub sandbox: Sandbox,
    /// The container engine, and what may run in it.
    pub docker: Docker,
    /// What tools may reach.
    pub network: Network,
    /// Searching the web, and reading its pages.
    pub web: Web,
    /// Where secrets come from, by their names: `env:NAME`, `file:PATH`, or a table with the hosts that they may be sent to.
    pub secrets: Secrets,
    /// An identity provider whose tokens (JWTs) count beside the hub's own.
    pub identity: Option<IdentityTable>,
    /// What MCP clients see, and how they wait for people.
    pub mcp: Mcp,
    /// Who may call what: rules that allow, ask or deny; the strictest wins.
    #[schemars(with = "Vec<serde_json::Map<String, Value>>")]
    pub policy: Vec<Value>,
}

/// Where the hub listens, and how much it takes.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Server {
    /// The address and port [default: `127.0.0.1:7717`].
    pub listen: Option<String>,
    /// Names beside its address by which it may be called, with their ports.
    pub hosts: Vec<String>,
    /// The most bytes of a request [default: 1048576].
    pub body_limit: Option<usize>,
    /// Requests a second that a token may make for long [default: 200].
    pub rate: Option<u32>,
    /// Requests that a token may make at once [default: 400].
    pub burst: Option<u32>,
}

/// How people are asked.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Approvals {
    /// How long a question stays open, like `1h` [default: `1h`].
    pub ask_for: Option<String>,
    /// How long a granted one may wait to be used [default: `10m`].
    pub grant_for: Option<String>,
    /// Who may decide, as patterns of owners; an empty list is nobody [default: everybody with `approval:decide`].
    pub approvers: Option<Vec<String>>,
    /// An address that is told of every approval with a POST.
    pub webhook: Option<String>,
}

/// Where the hub listens if nothing else is said.
pub(crate) const LISTEN: &str = "127.0.0.1:7717";

impl Config {
    /// Reads the workspace's file over the user's, under the environment. What the
    /// user forbids stays forbidden: rules of both hold, of approvers and of a secret the
    /// user's, and either can require a sandbox, or ends that are synced.
    pub(crate) fn load(root: &Path) -> Result<Self, Failure> {
        let home = env::config_home();
        let users = home.map(|home| home.join("helve").join("config.toml"));
        let mut config = Self::of_files(users.as_deref(), root)?;
        config.server.listen = env::listen().or(config.server.listen);
        Ok(config)
    }

    fn of_files(users: Option<&Path>, root: &Path) -> Result<Self, Failure> {
        let mut value = Value::Object(serde_json::Map::new());
        let mut rules = Vec::new();
        let mut approvers = None;
        let mut require_sandbox = false;
        let mut sync_ends = false;
        let mut allow = Vec::new();
        let mut images = Vec::new();
        let mut off = Vec::new();
        let mut secrets = Secrets::default();
        let workspace = root.join("helve.toml");
        for path in users.into_iter().chain([workspace.as_path()]) {
            if let Some(found) = load::toml_file(path)? {
                // Each file must be sound by itself, so that an error names the right one.
                let alone = read(&found).map_err(|problem| wrong(path, &problem))?;
                alone.policy().map_err(|problem| wrong(path, &problem))?;
                if let (Some(name), true) = (alone.secrets.command(), path == workspace) {
                    // A workspace may be a stranger's, and would run what it likes.
                    let problem = format!(
                        "`secrets.{name}` names a program, which only the user's own file may"
                    );
                    return Err(wrong(path, &problem)
                        .hint("put it into `helve/config.toml` of your own configuration"));
                }
                rules.extend(alone.policy);
                allow.extend(alone.network.allow);
                images.extend(alone.docker.images);
                off.extend(alone.toolsets.off);
                secrets.add(alone.secrets);
                approvers = approvers.or(alone.approvals.approvers);
                require_sandbox |= alone.sandbox.require_sandbox;
                sync_ends |= alone.record.sync_ends;
                merge(&mut value, found);
            }
        }
        let remembered = State::of(root).rules();
        if let Some(found) = load::toml_file(&remembered)? {
            let alone = read(&found).map_err(|problem| wrong(&remembered, &problem))?;
            alone
                .policy()
                .map_err(|problem| wrong(&remembered, &problem))?;
            // Rules are all that may stand there.
            if found
                .as_object()
                .is_some_and(|keys| keys.keys().any(|key| key != "policy"))
            {
                return Err(wrong(&remembered, "only `[[policy]]` belongs here"));
            }
            rules.extend(alone.policy);
        }
        let mut config = read(&value).map_err(|problem| wrong(root, &problem))?;
        config.policy = rules;
        config.approvals.approvers = approvers;
        config.sandbox.require_sandbox = require_sandbox;
        config.record.sync_ends = sync_ends;
        config.network.allow = allow;
        config.docker.images = images;
        config.toolsets.off = off;
        config.secrets = secrets;
        Ok(config)
    }

    /// Reads that one file, over nothing.
    pub(crate) fn of_file(path: &Path) -> Result<Self, Failure> {
        let missing = || Failure::input(format!("`{}` is not there", path.display()));
        let found = load::toml_file(path)?.ok_or_else(missing)?;
        let config = read(&found).map_err(|problem| wrong(path, &problem))?;
        config.policy().map_err(|problem| wrong(path, &problem))?;
        Ok(config)
    }

    /// The rules.
    pub(crate) fn policy(&self) -> Result<Policy, String> {
        Policy::from_value(&Value::Array(self.policy.clone())).map_err(|e| format!("policy: {e}"))
    }

    /// The folders with tools.
    pub(crate) fn tools(&self, root: &Path) -> Vec<PathBuf> {
        match &self.tools {
            Some(folders) => folders.iter().map(|f| root.join(f)).collect(),
            None => vec![root.join("tools")],
        }
    }

    /// What is wrong with the folders that the configuration names.
    pub(crate) fn missing_tools(&self, root: &Path) -> Vec<String> {
        let named = self.tools.iter().flatten();
        let missing = named.filter(|folder| !root.join(folder).is_dir());
        missing
            .map(|f| format!("`tools` names `{}`, which is no folder", f.display()))
            .collect()
    }

    /// How approvals are asked for and granted.
    pub(crate) fn approval_rules(&self) -> helve_kernel::ApprovalRules {
        let default = helve_kernel::ApprovalRules::default();
        // Checked when it was read.
        let time = |text: &Option<String>| text.as_deref().and_then(duration);
        helve_kernel::ApprovalRules {
            ask_for: time(&self.approvals.ask_for).unwrap_or(default.ask_for),
            grant_for: time(&self.approvals.grant_for).unwrap_or(default.grant_for),
            approvers: self
                .approvals
                .approvers
                .as_ref()
                .map(|list| list.iter().map(Pattern::new).collect()),
        }
    }
}

/// The schema of the file, for editors.
#[cfg(test)]
pub(crate) fn schema() -> Value {
    let mut schema = schemars::schema_for!(Config).to_value();
    schema["title"] = "helve.toml".into();
    schema
}

fn wrong(path: &Path, problem: &str) -> Failure {
    let failure = Failure::input(format!("`{}`: {problem}", path.display()));
    failure.hint("`helve doctor` checks the whole configuration")
}

fn read(value: &Value) -> Result<Config, String> {
    let config: Config = serde_path_to_error::deserialize(value).map_err(|e| {
        let message = e.inner().to_string();
        match message.starts_with("unknown field") || e.path().iter().next().is_none() {
            true => with_nearest(&message),
            false => format!("`{}`: {message}", e.path()),
        }
    })?;
    for (name, text) in [
        ("ask_for", &config.approvals.ask_for),
        ("grant_for", &config.approvals.grant_for),
    ] {
        if let Some(text) = text
            && duration(text).is_none()
        {
            return Err(format!(
                "`approvals.{name}` cannot be `{text}`; write it like `30m` or `1h`"
            ));
        }
    }
    config.secrets.read()?;
    if let Some(problem) = config
        .network
        .problem()
        .or_else(|| config.toolsets.problem())
        .or_else(|| config.scripts.problem())
        .or_else(|| config.chatlog_problem())
        .or_else(|| config.web.problem())
    {
        return Err(problem);
    }
    if let Some(problem) = config
        .changes
        .problem()
        .or_else(|| config.docker.problem())
        .or_else(|| config.mcp.problem())
        .or_else(|| config.identity.as_ref()?.problem())
    {
        return Err(problem);
    }
    let web = |url: &String| !url.starts_with("http://") && !url.starts_with("https://");
    if config.approvals.webhook.as_ref().is_some_and(web) {
        return Err(
            "`approvals.webhook` must be an address that begins with http:// or https://"
                .to_owned(),
        );
    }
    Ok(config)
}

/// `unknown field `x`, expected one of …`, with the nearest of those.
fn with_nearest(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let (Some(found), true) = (quoted.next(), message.starts_with("unknown field")) else {
        return message.to_owned();
    };
    let known: Vec<&str> = quoted.collect();
    match nearest(found, known.iter().copied(), 1).first() {
        Some(near) => format!("unknown key `{found}`; did you mean `{near}`?"),
        None => format!("unknown key `{found}`; there are {}", known.join(", ")),
    }
}

/// What stands in `over` goes before what stands in `under`.
fn merge(under: &mut Value, over: Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                merge(under.entry(key).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over,
    }
}

/// `90s`, `30m`, `1h`, `2d`.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let unit = text.chars().last()?;
    let number: u64 = text[..text.len() - unit.len_utf8()].trim().parse().ok()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 24 * 3600,
        _ => return None,
    };
    let whole = number.checked_mul(seconds)?;
    (1..=3660 * 24 * 3600)
        .contains(&whole)
        .then(|| Duration::from_secs(whole))
}

#[cfg(test)]
mod tests;
