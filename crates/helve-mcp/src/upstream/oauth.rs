//! Logging in to a server, by rmcp's OAuth: discovery, registration, PKCE, refresh.
//!
//! A token belongs to the one server that it was given for; it is kept in a file that only
//! the owner of the hub can read, and no token of the hub's own is ever sent to a server.

mod store;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
    ClientCredentialsConfig, CredentialStore as _, OAuthClientConfig, WWWAuthenticateParams,
};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

use super::settings::OAuth;
use store::FileStore;

/// How long somebody may take to log in.
const PATIENCE: Duration = Duration::from_mins(5);

/// The login at one server.
pub(crate) struct Login {
    url: String,
    settings: OAuth,
    store: FileStore,
    manager: Mutex<Option<AuthorizationManager>>,
    /// What the server said when it last wanted a login: where to go, and what to ask for.
    challenge: std::sync::Mutex<Option<String>>,
}

impl Login {
    pub(crate) fn new(
        server: &str,
        url: &str,
        settings: Option<&OAuth>,
        state: &Path,
    ) -> Arc<Self> {
        Arc::new(Self {
            url: url.to_owned(),
            settings: settings.cloned().unwrap_or_default(),
            store: FileStore::new(&state.join("oauth"), server),
            manager: Mutex::default(),
            challenge: std::sync::Mutex::default(),
        })
    }

    /// Whether there is anything to show to the server.
    pub(crate) fn is_there(&self) -> bool {
        self.settings.client_credentials || self.store.is_there()
    }

    /// The token to show, if there is one that counts.
    pub(crate) async fn token(&self) -> Option<String> {
        if !self.is_there() {
            return None;
        }
        let mut kept = self.manager.lock().await;
        if kept.is_none() {
            *kept = Some(self.fresh().await.ok()?);
        }
        let manager = kept.as_mut()?;
        if let Ok(token) = manager.get_access_token().await {
            return Some(token);
        }
        self.renew(manager, None).await.ok()?;
        manager.get_access_token().await.ok()
    }

    /// Tries to get another token after one was refused; whether it is worth asking again.
    pub(crate) async fn again(&self, challenge: Option<&str>) -> bool {
        if let Some(challenge) = challenge {
            *self.challenge() = Some(challenge.to_owned());
        }
        // More than somebody agreed to is theirs to give: the same again would not do.
        if !self.is_there() || self.lacks(challenge).is_some() {
            return false;
        }
        let mut kept = self.manager.lock().await;
        // The server may have moved to another authorization server: it is looked up anew.
        *kept = self.fresh().await.ok();
        match kept.as_mut() {
            Some(manager) => self.renew(manager, challenge).await.is_ok(),
            None => false,
        }
    }

    fn challenge(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        let challenge = self.challenge.lock();
        challenge.unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The scopes that a server wants beside those that it was shown.
    fn lacks(&self, challenge: Option<&str>) -> Option<Vec<String>> {
        let url = url::Url::parse(&self.url).ok()?;
        let said = WWWAuthenticateParams::parse(challenge?, &url);
        let scopes = said.scope.as_deref().unwrap_or_default();
        let scopes = scopes.split_whitespace().map(str::to_owned).collect();
        said.is_insufficient_scope().then_some(scopes)
    }

    /// What to ask for: what is configured, and what a login that was not enough had and
    /// lacked. Nothing if the server is to say.
    async fn scopes(&self, challenge: Option<&str>) -> Vec<String> {
        let mut scopes = self.settings.scopes.clone();
        if let Some(lacks) = self.lacks(challenge) {
            let before = self.store.load().await.ok().flatten();
            let before = before.map(|b| b.granted_scopes).unwrap_or_default();
            for scope in before.into_iter().chain(lacks) {
                if !scopes.contains(&scope) {
                    scopes.push(scope);
                }
            }
        }
        scopes
    }

    async fn fresh(&self) -> Result<AuthorizationManager, AuthError> {
        let mut manager = AuthorizationManager::new(self.url.as_str()).await?;
        manager.set_credential_store(self.store.clone());
        Ok(manager)
    }

    async fn renew(
        &self,
        manager: &mut AuthorizationManager,
        challenge: Option<&str>,
    ) -> Result<(), AuthError> {
        let settings = &self.settings;
        let found = manager.resolve_metadata_from_challenge(challenge).await?;
        manager.set_metadata(found.metadata);
        if let (true, Some(id), Some(secret)) = (
            settings.client_credentials,
            &settings.client_id,
            &settings.client_secret,
        ) {
            let config = ClientCredentialsConfig::ClientSecret {
                client_id: id.clone(),
                client_secret: secret.clone(),
                scopes: settings.scopes.clone(),
                resource: Some(self.url.clone()),
            };
            manager.validate_client_credentials_metadata(&config)?;
            manager.configure_client_credentials(&config)?;
            manager.exchange_client_credentials(&config).await?;
            return Ok(());
        }
        if !manager.initialize_from_store().await? {
            return Err(AuthError::AuthorizationRequired);
        }
        if let (Some(id), Some(secret)) = (&settings.client_id, &settings.client_secret) {
            let config = OAuthClientConfig::new(id.clone(), "http://127.0.0.1/callback");
            manager.configure_client(config.with_client_secret(secret.clone()))?;
        }
        manager.refresh_token().await.map(drop)
    }

    /// Begins to log in: what somebody must open, and what to wait for then.
    pub(crate) async fn begin(self: &Arc<Self>) -> Result<LoggingIn, String> {
        let said = |e: AuthError| e.to_string();
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.map_err(|e| format!("nothing can listen for the answer: {e}"))?;
        let port = listener.local_addr().map_err(|e| e.to_string())?.port();
        let redirect = format!("http://127.0.0.1:{port}/callback");
        let mut manager = self.fresh().await.map_err(said)?;
        let challenge = self.challenge().clone();
        let found = manager.resolve_metadata_from_challenge(challenge.as_deref());
        manager.set_metadata(found.await.map_err(said)?.metadata);
        let mut request = AuthorizationRequest::new(redirect.clone())
            .with_client_name("Helve")
            .with_application_type("native")
            .with_initial_scope_selection()
            .with_scopes(self.scopes(challenge.as_deref()).await);
        request = match (&self.settings.client_id, &self.settings.client_secret) {
            // An id that is an address says where the client describes itself; servers that
            // do not read such descriptions let it register.
            (Some(id), None) if id.starts_with("https://") => {
                request.with_client_metadata_url(id.clone())
            }
            (Some(id), _) => request.with_preregistered_client(id.clone()),
            (None, _) => request,
        };
        if let Some(secret) = &self.settings.client_secret {
            request = request.with_client_secret(secret.clone());
        }
        let session = AuthorizationSession::new(manager, request).await;
        let session = session.map_err(|(_, e)| e.to_string())?;
        let url = session.get_authorization_url().to_owned();
        Ok(LoggingIn {
            login: self.clone(),
            url,
            redirect,
            listener,
            session,
        })
    }

    /// Forgets what was logged in.
    pub(crate) async fn forget(&self) -> Result<(), String> {
        *self.manager.lock().await = None;
        *self.challenge() = None;
        self.store.remove()
    }
}

/// A login that waits for somebody.
pub(crate) struct LoggingIn {
    login: Arc<Login>,
    pub(crate) url: String,
    redirect: String,
    listener: TcpListener,
    session: AuthorizationSession,
}

impl LoggingIn {
    /// Waits until somebody has logged in.
    pub(crate) async fn finish(self) -> Result<(), String> {
        let waiting = tokio::time::timeout(PATIENCE, self.wait());
        waiting
            .await
            .map_err(|_| "nobody logged in in time".to_owned())??;
        // The next request asks the store again.
        *self.login.manager.lock().await = None;
        *self.login.challenge() = None;
        Ok(())
    }

    async fn wait(&self) -> Result<(), String> {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                continue;
            };
            // Whatever else knocks (a browser asks for an icon) is not the answer.
            let Ok(Some((target, stream))) =
                tokio::time::timeout(Duration::from_secs(5), request(stream)).await
            else {
                continue;
            };
            let Some(query) = target.strip_prefix("/callback?") else {
                page(stream, 404, "There is nothing here.").await;
                continue;
            };
            let done = self
                .session
                .handle_callback_url(&format!("{}?{query}", self.redirect))
                .await;
            match done {
                Ok(_) => {
                    page(stream, 200, "Logged in. You can close this page.").await;
                    return Ok(());
                }
                Err(e) => {
                    page(stream, 400, "That did not work. The terminal says why.").await;
                    return Err(e.to_string());
                }
            }
        }
    }
}

async fn request(stream: TcpStream) -> Option<(String, TcpStream)> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    let mut total = reader.read_line(&mut first).await.ok()?;
    loop {
        let mut line = String::new();
        let read = reader.read_line(&mut line).await.ok()?;
        total += read;
        if read <= 2 || total > 64 * 1024 {
            break;
        }
    }
    let target = first.strip_prefix("GET ")?.split(' ').next()?.to_owned();
    Some((target, reader.into_inner()))
}

async fn page(mut stream: TcpStream, status: u16, text: &str) {
    let body = format!("<!doctype html><meta charset=utf-8><title>Helve</title><p>{text}</p>\n");
    let head = format!(
        "HTTP/1.1 {status} .\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
    let _ = stream.shutdown().await;
}
