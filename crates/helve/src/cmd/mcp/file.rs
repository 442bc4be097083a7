//! `.mcp.json`, changed in place: what is not understood stays as it is.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::exit::Failure;
use crate::hub::MCP_FILE;
use crate::{out, save};

/// The file, as it is.
pub(super) struct File {
    path: PathBuf,
    whole: Value,
}

impl File {
    /// Reads it; one that is not there is empty.
    pub(super) fn read(root: &Path) -> Result<Self, Failure> {
        let path = root.join(MCP_FILE);
        let whole = match std::fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text)
                .map_err(|e| wrong(&path, &format!("it is not JSON: {e}")))?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => json!({"mcpServers": {}}),
            Err(e) => return Err(wrong(&path, &e.to_string())),
        };
        let mut file = Self { path, whole };
        file.servers()?;
        Ok(file)
    }

    /// Its servers.
    pub(super) fn servers(&mut self) -> Result<&mut Map<String, Value>, Failure> {
        let path = self.path.clone();
        let whole = self.whole.as_object_mut();
        let whole = whole.ok_or_else(|| wrong(&path, "it is not a table"))?;
        let servers = whole.entry("mcpServers").or_insert_with(|| json!({}));
        let servers = servers.as_object_mut();
        servers.ok_or_else(|| wrong(&path, "`mcpServers` is not a table"))
    }

    /// Writes it, whole.
    pub(super) fn write(&self) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(&self.whole).map_err(Failure::output)?;
        save::file(&self.path, &format!("{text}\n"))
    }
}

fn wrong(path: &Path, why: &str) -> Failure {
    let text = format!("`{}` cannot be used: {}", path.display(), out::visible(why));
    Failure::input(text).hint("mend it by hand, or move it away")
}
