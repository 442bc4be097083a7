//! `[network]` and `[secrets]`: what may be reached although it is not public, and where
//! the values of secrets come from.

use std::collections::BTreeMap;

use helve_http::Guard;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// What may be reached.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Network {
    /// Addresses, ranges and names that may be reached although they are not public, like `127.0.0.1:8080`, `10.0.0.0/8` or `internal.example`.
    pub allow: Vec<String>,
}

impl Network {
    /// What is wrong with it.
    pub(super) fn problem(&self) -> Option<String> {
        let wrong = Guard::parse(&self.allow).err()?;
        Some(format!("`network.allow`: {wrong}"))
    }

    /// The guard in front of every address.
    pub(crate) fn guard(&self) -> Guard {
        // Checked when it was read.
        Guard::parse(&self.allow).unwrap_or_else(|_| Guard::new([]))
    }
}

/// Where a secret comes from, by its name.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Secrets(
    #[schemars(with = "BTreeMap<String, Written>")] pub(super) BTreeMap<String, Value>,
);

/// How a secret is written: `env:NAME`, `file:PATH`, or a table.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "it is only there for the schema")]
enum Written {
    /// `env:NAME` for a variable, `file:PATH` for a file.
    From(String),
    /// With the hosts that it may be sent to.
    Table {
        /// `env:NAME` for a variable, `file:PATH` for a file.
        from: Option<String>,
        /// A program that prints it, one word for each argument; only in the user's own file.
        command: Option<Vec<String>>,
        /// The hosts that it may be sent to, with their ports where those are not the usual ones [default: all].
        hosts: Option<Vec<String>>,
    },
}

/// A secret that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Secret {
    pub(crate) source: Source,
    /// Where it may go; anywhere, if that is not said.
    pub(crate) hosts: Option<Vec<String>>,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Env(String),
    File(String),
    Command(Vec<String>),
}

impl Secrets {
    /// All of them. What is wrong is never repeated: it may be the secret itself.
    pub(crate) fn read(&self) -> Result<BTreeMap<String, Secret>, String> {
        let mut all = BTreeMap::new();
        for (name, value) in &self.0 {
            let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
            if !(1..=64).contains(&name.len()) || !name.chars().all(plain) {
                return Err(
                    "`secrets` has a name that is none; use letters, digits and `_`".to_owned(),
                );
            }
            let secret = secret(value).map_err(|problem| format!("`secrets.{name}` {problem}"))?;
            all.insert(name.clone(), secret);
        }
        Ok(all)
    }

    /// Takes in those of another file. What stands here already holds as a whole.
    pub(super) fn add(&mut self, others: Self) {
        for (name, secret) in others.0 {
            self.0.entry(name).or_insert(secret);
        }
    }

    /// The first that is a program.
    pub(super) fn command(&self) -> Option<String> {
        let all = self.read().ok()?;
        let is_command = |s: &Secret| matches!(s.source, Source::Command(_));
        all.into_iter()
            .find(|(_, s)| is_command(s))
            .map(|(name, _)| name)
    }
}

fn secret(value: &Value) -> Result<Secret, String> {
    const HOW: &str = "must say where it comes from: `\"env:NAME\"`, `\"file:PATH\"`, or a table with `from` \
                       or `command`, and `hosts`";
    let table = match value {
        Value::String(text) => {
            let source = source(text).ok_or(HOW)?;
            return Ok(Secret {
                source,
                hosts: None,
            });
        }
        Value::Object(table) => table,
        _ => return Err(HOW.to_owned()),
    };
    if table
        .keys()
        .any(|key| !["from", "command", "hosts"].contains(&key.as_str()))
    {
        return Err("has a key that is none of `from`, `command` and `hosts`".to_owned());
    }
    let texts = |key: &str| -> Result<Option<Vec<String>>, String> {
        let Some(value) = table.get(key) else {
            return Ok(None);
        };
        let list = value
            .as_array()
            .map(|l| l.iter().map(|v| v.as_str().map(str::to_owned)));
        let list = list.and_then(Iterator::collect::<Option<Vec<String>>>);
        list.map(Some)
            .ok_or_else(|| format!("must have a list of texts as `{key}`"))
    };
    let from = table
        .get("from")
        .map(|v| v.as_str().and_then(source).ok_or(HOW));
    let source = match (from.transpose()?, texts("command")?) {
        (Some(source), None) => source,
        (None, Some(command)) if !command.is_empty() => Source::Command(command),
        _ => return Err(HOW.to_owned()),
    };
    let hosts = texts("hosts")?;
    let bad = |host: &String| host.is_empty() || host.contains(['/', '*', '@', ' ']);
    if hosts.iter().flatten().any(bad) {
        return Err(
            "has a host that is none; write `api.example.com` or `127.0.0.1:8080`".to_owned(),
        );
    }
    Ok(Secret { source, hosts })
}

fn source(text: &str) -> Option<Source> {
    let (kind, rest) = text.split_once(':')?;
    match kind {
        _ if rest.is_empty() => None,
        "env" => {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
            rest.bytes()
                .all(plain)
                .then(|| Source::Env(rest.to_owned()))
        }
        "file" => Some(Source::File(rest.to_owned())),
        _ => None,
    }
}
