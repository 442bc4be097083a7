//! Where tokens of servers are kept: a file for each, which only its owner can read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use rmcp::transport::auth::{
    AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials,
};
use tokio::sync::Mutex;

use crate::upstream::file;

/// A file with the tokens of one server. A clone is the same.
#[derive(Clone)]
pub(super) struct FileStore {
    path: PathBuf,
    refreshing: Arc<Mutex<()>>,
}

impl FileStore {
    pub(super) fn new(folder: &Path, server: &str) -> Self {
        // A name of a server is no name of a file.
        let plain = |c: char| match c.is_ascii_alphanumeric() || c == '-' || c == '_' {
            true => c,
            false => '_',
        };
        let name: String = server.chars().map(plain).collect();
        Self {
            path: folder.join(format!("{name}.json")),
            refreshing: Arc::default(),
        }
    }

    pub(super) fn is_there(&self) -> bool {
        self.path.exists()
    }

    pub(super) fn remove(&self) -> Result<(), String> {
        match std::fs::remove_file(&self.path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(format!("the tokens cannot be removed: {e}"))
            }
            _ => Ok(()),
        }
    }
}

fn wrong(e: impl std::fmt::Display) -> AuthError {
    AuthError::CredentialStoreError(e.to_string())
}

#[async_trait]
impl CredentialStore for FileStore {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        match std::fs::read(&self.path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(wrong),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(wrong(e)),
        }
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let text = serde_json::to_vec_pretty(&credentials).map_err(wrong)?;
        file::write(&self.path, &text).map_err(wrong)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.remove().map_err(wrong)
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let guard = self.refreshing.clone().lock_owned().await;
        Ok(Some(CredentialRefreshGuard::new(guard)))
    }
}
