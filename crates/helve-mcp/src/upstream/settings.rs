//! What is said about the servers behind the gateway: `.mcp.json` as people have it, and
//! Helve's own rules for each server beside it.
//!
//! Nothing here reads a file or the environment: whoever does gives the text, and says
//! what a variable stands for. A bad entry is reported and never spoils the others.

mod expand;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use helve_core::def::{Reversible, Risk};
use helve_core::name::{MAX_NAME, canonical};
use helve_core::policy::Pattern;
use serde_json::{Map, Value};

use expand::Expand;

/// A server behind the gateway.
#[derive(Debug, Clone, PartialEq)]
pub struct Upstream {
    /// Its name, as the file has it.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// Where it is, in one line, for people: as it is written, without what stands behind
    /// `${…}`.
    pub place: String,
    /// What holds for it and its tools.
    pub rules: Rules,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// A program that is started, and spoken with through its pipes.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its whole environment.
        env: BTreeMap<String, String>,
        /// Where it runs.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
    },
    /// HTTP with server-sent events, as it was in 2024.
    Sse {
        /// The address of the stream.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
    },
}

impl Reach {
    /// The word for it in a file.
    pub fn kind(&self) -> &'static str {
        match self {
            Reach::Stdio { .. } => "stdio",
            Reach::Http { .. } => "http",
            Reach::Sse { .. } => "sse",
        }
    }
}

/// What holds for a server and its tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// The risk of its tools. What a tool says of itself may raise it, and never lowers it.
    pub risk: Risk,
    /// How long a call may take.
    pub timeout: Duration,
    /// How long it may take to begin.
    pub start_timeout: Duration,
    /// How many calls may be under way at once.
    pub concurrency: usize,
    /// A connection for every client, so that nothing of one is ever seen by another.
    pub isolate: bool,
    /// After how long without a call it is ended; never if nothing is said.
    pub idle: Option<Duration>,
    /// The most bytes of one message.
    pub message_limit: usize,
    /// Tools that are not taken over, by their names there.
    pub hide: Vec<Pattern>,
    /// What becomes of tools that a known server did not have before.
    pub new_tools: NewTools,
    /// How it is logged in to.
    pub oauth: Option<OAuth>,
    /// What holds for single tools, by their names there.
    pub tools: BTreeMap<String, ToolRules>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            risk: Risk::Write,
            timeout: Duration::from_secs(60),
            start_timeout: Duration::from_secs(30),
            concurrency: 16,
            isolate: false,
            idle: None,
            message_limit: 32 * 1024 * 1024,
            hide: Vec::new(),
            new_tools: NewTools::Accept,
            oauth: None,
            tools: BTreeMap::new(),
        }
    }
}

/// What becomes of tools that a known server did not have before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NewTools {
    /// They are registered.
    #[default]
    Accept,
    /// They wait until somebody has looked at them.
    Ask,
}

/// What holds for one tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolRules {
    /// Another name.
    pub name: Option<String>,
    /// Another title.
    pub title: Option<String>,
    /// Another description.
    pub description: Option<String>,
    /// Its risk; it stands as it is.
    pub risk: Option<Risk>,
    /// It is not taken over.
    pub hide: bool,
    /// How long a call may take.
    pub timeout: Option<Duration>,
    /// Whether what it does can be undone.
    pub reversible: Option<Reversible>,
}

/// How a server is logged in to.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OAuth {
    /// The client's id there, where it was registered by hand; or the `https` address at
    /// which it describes itself.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<String>,
    /// What to ask for.
    pub scopes: Vec<String>,
    /// The hub logs in as itself, and nobody is asked: needs id and secret.
    pub client_credentials: bool,
}

impl std::fmt::Debug for OAuth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OAuth")
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// What is in a `.mcp.json`.
#[derive(Debug, Clone, Default)]
pub struct McpJson {
    /// The servers that can be used.
    pub servers: Vec<Upstream>,
    /// Servers that are switched off there.
    pub disabled: Vec<String>,
    /// What could not be read, with the name of the entry.
    pub problems: Vec<String>,
    /// What is not known, or not set.
    pub warnings: Vec<String>,
}

/// What an entry may say. Everything else is reported.
const KNOWN: &[&str] = &[
    "type",
    "transport",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "timeout",
    "trust_level",
    "disabled",
    "description",
];

impl McpJson {
    /// Reads the text of a file. `variable` says what a name in `${…}` stands for, `base` is
    /// the environment that every program gets beside its own.
    pub fn read(
        text: &str,
        variable: &dyn Fn(&str) -> Option<String>,
        base: &BTreeMap<String, String>,
    ) -> Self {
        let mut read = Self::default();
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(e) => {
                read.problems.push(format!("it is not JSON: {e}"));
                return read;
            }
        };
        let Some(servers) = value.get("mcpServers") else {
            read.problems.push("it has no `mcpServers`".to_owned());
            return read;
        };
        let Some(servers) = servers.as_object() else {
            read.problems.push("`mcpServers` is not a table".to_owned());
            return read;
        };
        let mut groups: BTreeMap<String, &str> = BTreeMap::new();
        for (name, entry) in servers {
            let expand = Expand::new(variable);
            let found = entry
                .as_object()
                .ok_or_else(|| "it is not a table".to_owned())
                .and_then(|entry| upstream(name, entry, &expand, base, &mut read.warnings));
            let unset = expand.unset();
            if !unset.is_empty() {
                let names: Vec<String> = unset.iter().map(|n| format!("`${{{n}}}`")).collect();
                let names = names.join(", ");
                let warning = format!("`{name}`: {names} is not set, and stays as it is written");
                read.warnings.push(warning);
            }
            match found {
                Err(problem) => read.problems.push(format!("`{name}`: {problem}")),
                Ok(None) => read.disabled.push(name.clone()),
                Ok(Some(upstream)) => match groups.insert(group(name).unwrap_or_default(), name) {
                    None => read.servers.push(upstream),
                    Some(other) => {
                        groups.insert(group(name).unwrap_or_default(), other);
                        read.problems.push(format!(
                            "`{name}`: its tools would be called like those of `{other}`; rename one"
                        ));
                    }
                },
            }
        }
        read
    }
}

/// What the names of a server's tools begin with.
pub(crate) fn group(server: &str) -> Option<String> {
    let spelled: String = server
        .trim_start_matches('@')
        .chars()
        .map(|c| if c == '@' { '-' } else { c })
        .collect();
    let name = canonical(&spelled)?;
    let name = name.trim_end_matches('_');
    (!name.is_empty() && name.len() <= MAX_NAME / 2).then(|| name.to_owned())
}

fn upstream(
    name: &str,
    entry: &Map<String, Value>,
    expand: &Expand<'_>,
    base: &BTreeMap<String, String>,
    warnings: &mut Vec<String>,
) -> Result<Option<Upstream>, String> {
    if group(name).is_none() {
        return Err(format!(
            "a server needs a name of letters, digits, `-` and `_`, at most {} long, that begins with a letter",
            MAX_NAME / 2
        ));
    }
    for key in entry.keys().filter(|k| !KNOWN.contains(&k.as_str())) {
        warnings.push(format!("`{name}`: `{key}` is not known, and does nothing"));
    }
    if entry
        .get("disabled")
        .is_some_and(|d| d.as_bool() == Some(true))
    {
        return Ok(None);
    }
    let reach = reach(entry, expand, base)?;
    let mut rules = Rules::default();
    if let Some(timeout) = entry.get("timeout") {
        rules.timeout = milliseconds(timeout)?;
    }
    Ok(Some(Upstream {
        name: name.to_owned(),
        reach,
        place: place(entry),
        rules,
    }))
}

fn reach(
    entry: &Map<String, Value>,
    expand: &Expand<'_>,
    base: &BTreeMap<String, String>,
) -> Result<Reach, String> {
    let kind = match text(entry, "type")?.or(text(entry, "transport")?) {
        Some(kind) => kind,
        None if entry.contains_key("command") => "stdio".to_owned(),
        None if entry.contains_key("url") => "http".to_owned(),
        None => return Err("it has neither `command` nor `url`".to_owned()),
    };
    match kind.as_str() {
        "stdio" => {
            let command = text(entry, "command")?.ok_or("`command` is missing")?;
            let command = expand.text(&command);
            if command.is_empty() {
                return Err("`command` is empty".to_owned());
            }
            let args = match entry.get("args") {
                None | Some(Value::Null) => Vec::new(),
                Some(Value::Array(args)) => args
                    .iter()
                    .map(|a| a.as_str().map(|a| expand.text(a)))
                    .collect::<Option<_>>()
                    .ok_or("`args` must be a list of texts")?,
                Some(_) => return Err("`args` must be a list of texts".to_owned()),
            };
            let mut env = base.clone();
            env.extend(table(entry, "env", expand)?);
            let cwd = text(entry, "cwd")?.map(|c| PathBuf::from(expand.text(&c)));
            Ok(Reach::Stdio {
                command,
                args,
                env,
                cwd,
            })
        }
        "http" | "streamable-http" | "streamable_http" | "streamableHttp" | "sse" => {
            let url = text(entry, "url")?.ok_or("`url` is missing")?;
            let url = expand.text(&url);
            if !url.starts_with("http://") && !url.starts_with("https://") {
                return Err("`url` must begin with http:// or https://".to_owned());
            }
            let headers = table(entry, "headers", expand)?;
            Ok(match kind == "sse" {
                true => Reach::Sse { url, headers },
                false => Reach::Http { url, headers },
            })
        }
        other => Err(format!(
            "`type` is `{other}`; there are `stdio`, `http` and `sse`"
        )),
    }
}

fn place(entry: &Map<String, Value>) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match entry.get("url") {
        Some(url) => without_secrets(&text(url)),
        None => {
            let args = entry
                .get("args")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            let words = entry.get("command").into_iter().chain(args).map(text);
            words.collect::<Vec<_>>().join(" ")
        }
    }
}

/// An address without what may be a secret in it: a password, a query.
pub fn without_secrets(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let host = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let from = rest[..host].rfind('@').map_or(0, |at| at + 1);
    let until = rest.find(['?', '#']).unwrap_or(rest.len());
    format!("{scheme}://{}", &rest[from..until])
}

fn text(entry: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match entry.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{key}` must be a text")),
    }
}

fn table(
    entry: &Map<String, Value>,
    key: &str,
    expand: &Expand<'_>,
) -> Result<Vec<(String, String)>, String> {
    let wrong = || format!("`{key}` must be a table of texts");
    let Some(value) = entry.get(key).filter(|v| !v.is_null()) else {
        return Ok(Vec::new());
    };
    let table = value.as_object().ok_or_else(wrong)?;
    let pairs = table.iter().map(|(name, value)| match value {
        Value::String(text) => Ok((name.clone(), expand.text(text))),
        Value::Number(number) => Ok((name.clone(), number.to_string())),
        Value::Bool(flag) => Ok((name.clone(), flag.to_string())),
        _ => Err(wrong()),
    });
    pairs.collect()
}

/// Files have milliseconds; whoever writes a number below a thousand means seconds.
fn milliseconds(value: &Value) -> Result<Duration, String> {
    let wrong = || "`timeout` must be a number of milliseconds above zero".to_owned();
    let number = value
        .as_f64()
        .filter(|n| *n > 0.0 && *n <= 1e10)
        .ok_or_else(wrong)?;
    Ok(match number < 1000.0 {
        true => Duration::from_secs_f64(number),
        false => Duration::from_secs_f64(number / 1000.0),
    })
}

#[cfg(test)]
mod tests;
