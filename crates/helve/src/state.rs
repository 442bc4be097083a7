//! The hub's own folder: `.helve/`, which only its owner can read.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use helve_core::audit::SigningKey;
use helve_store::SqliteStore;
use serde_json::{Value, json};

use crate::exit::Failure;

/// The folder, and what is where in it.
#[derive(Debug, Clone)]
pub(crate) struct State(PathBuf);

impl State {
    /// The folder of a workspace, which may not be there yet.
    pub(crate) fn of(root: &Path) -> Self {
        Self(root.join(".helve"))
    }

    /// Makes it, if it is not there.
    pub(crate) fn create(root: &Path) -> Result<Self, Failure> {
        let state = Self::of(root);
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&state.0);
        made.and_then(|()| fs::set_permissions(&state.0, fs::Permissions::from_mode(0o700)))
            .and_then(|()| {
                let ignore = state.0.join(".gitignore");
                if ignore.exists() {
                    Ok(())
                } else {
                    private(&ignore, b"*\n")
                }
            })
            .map_err(|e| {
                Failure::output(format!("`{}` cannot be made: {e}", state.0.display()))
                    .hint("Helve keeps its state there; is the folder writable?")
            })?;
        Ok(state)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.0.join("hub.db")
    }

    pub(crate) fn artifacts(&self) -> PathBuf {
        self.0.join("artifacts")
    }

    /// Chats that were imported.
    pub(crate) fn chatlog(&self) -> PathBuf {
        self.0.join("chatlog")
    }

    /// Where what runs change is held, and what was there before.
    pub(crate) fn changes(&self) -> PathBuf {
        self.0.join("changes")
    }

    /// Rules that people remembered.
    pub(crate) fn rules(&self) -> PathBuf {
        self.0.join("rules.toml")
    }

    /// Where `helve mcp` finds the hub.
    pub(crate) fn socket(&self) -> PathBuf {
        self.0.join("mcp.sock")
    }

    pub(crate) fn checkpoints(&self) -> PathBuf {
        self.0.join("checkpoints.jsonl")
    }

    /// The file of a token that this machine keeps for itself.
    pub(crate) fn token(&self, name: &str) -> PathBuf {
        self.0.join("tokens").join(name)
    }

    pub(crate) fn read_token(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.token(name)).ok()?;
        Some(text.trim().to_owned())
    }

    pub(crate) fn write_token(&self, name: &str, secret: &str) -> Result<(), Failure> {
        let path = self.token(name);
        let folder = path.parent().unwrap_or(&self.0);
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder);
        made.and_then(|()| private(&path, format!("{secret}\n").as_bytes()))
            .map_err(|e| unwritable(&path, &e))
    }

    /// 32 bytes of chance, made at the first use.
    pub(crate) fn key(&self, name: &str) -> Result<[u8; 32], Failure> {
        let path = self.0.join("keys").join(name);
        if let Ok(bytes) = fs::read(&path) {
            return bytes.try_into().map_err(|_| {
                let hint = "restore it from a backup; without it old records cannot be checked";
                Failure::input(format!("the key `{}` is damaged", path.display())).hint(hint)
            });
        }
        let mut key = [0; 32];
        getrandom::fill(&mut key)
            .map_err(|e| Failure::output(format!("the system gives no random numbers: {e}")))?;
        let folder = path.parent().unwrap_or(&self.0);
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder);
        made.and_then(|()| private(&path, &key))
            .map_err(|e| unwritable(&path, &e))?;
        Ok(key)
    }

    /// The key that signs the record.
    pub(crate) fn signing_key(&self) -> Result<SigningKey, Failure> {
        Ok(SigningKey::from_bytes(&self.key("audit")?))
    }

    /// The last checkpoint, as it stands beside the key that signed it.
    pub(crate) fn signed(&self) -> Result<Option<String>, Failure> {
        let path = self.0.join("keys/signed");
        match fs::read_to_string(&path) {
            Ok(line) => Ok(Some(line)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => {
                let path = path.display();
                Err(Failure::input(format!("`{path}` cannot be read: {e}")))
            }
        }
    }

    pub(crate) fn set_signed(&self, line: &str) -> Result<(), Failure> {
        let path = self.0.join("keys/signed");
        private(&path, format!("{line}\n").as_bytes()).map_err(|e| unwritable(&path, &e))
    }

    /// Where the running hub listens, if one does. A hub that was killed leaves its
    /// word behind, and anybody may listen there by now; but nobody has its store open.
    pub(crate) fn running(&self) -> Option<String> {
        match SqliteStore::is_open(&self.database()) {
            true => self.last_address(),
            false => None,
        }
    }

    /// Where a hub said that it listens. One that stopped in order takes its word back.
    pub(crate) fn last_address(&self) -> Option<String> {
        let text = fs::read_to_string(self.0.join("hub.json")).ok()?;
        let value: Value = serde_json::from_str(&text).ok()?;
        Some(value["url"].as_str()?.to_owned())
    }

    pub(crate) fn set_running(&self, url: &str) -> Result<(), Failure> {
        let path = self.0.join("hub.json");
        let value = json!({"url": url, "pid": std::process::id()});
        private(&path, format!("{value}\n").as_bytes()).map_err(|e| unwritable(&path, &e))
    }

    pub(crate) fn set_stopped(&self) {
        // Whoever finds it looks whether the store is open first.
        let _ = fs::remove_file(self.0.join("hub.json"));
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::output(format!("`{}` cannot be written: {error}", path.display()))
}

/// Writes a file that only its owner can read: whole, or not at all, whoever else
/// writes it at the same time.
fn private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    // It is made for its owner alone.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}
