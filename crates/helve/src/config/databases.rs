//! `[databases.<name>]`: the connections that the database tools know by name.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use helve_tools::database::{Access, Connection, Databases as Opened, Password};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Config;
use crate::secrets::Configured;

/// The connections, by name.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Databases(BTreeMap<String, Database>);

/// A database.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Database {
    /// `sqlite:data/app.db`, from the workspace, or `postgres://user@host/database`; without a password in it.
    pub url: String,
    /// The name of a secret in `[secrets]` [default: none].
    #[serde(default)]
    pub password: Option<String>,
    /// What may be done: `read` or `write` [default: `read`].
    #[serde(default)]
    pub access: AccessWord,
}

/// What may be done with a database.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AccessWord {
    #[default]
    Read,
    Write,
}

impl Databases {
    /// The databases, as tools use them. Nothing is opened yet.
    pub(crate) fn open(&self, root: &Path, config: &Config) -> Result<Opened, String> {
        let secrets = config.secrets.read()?;
        let mut connections = Vec::new();
        for (name, database) in &self.0 {
            let password = match &database.password {
                None => None,
                Some(secret) => {
                    let missing = || format!("`databases.{name}`: `[secrets]` has no `{secret}`");
                    let source = secrets.get(secret).ok_or_else(missing)?.source.clone();
                    let configured = Arc::new(Configured::new(root, BTreeMap::new()));
                    let speak: Password = Arc::new(move || {
                        let (configured, source) = (configured.clone(), source.clone());
                        Box::pin(async move { configured.value(&source).await })
                    });
                    Some(speak)
                }
            };
            connections.push(Connection {
                name: name.clone(),
                url: database.url.clone(),
                password,
                access: match database.access {
                    AccessWord::Read => Access::Read,
                    AccessWord::Write => Access::Write,
                },
            });
        }
        Opened::new(root, connections).map_err(|e| e.to_string())
    }
}
