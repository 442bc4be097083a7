//! Logging in where a server asks for it: as a person with a browser would, or as a
//! program with a secret.

use std::sync::Arc;

use reqwest::redirect;
use rmcp::transport::auth::{
    AuthClient, AuthorizationCallback, AuthorizationManager, AuthorizationRequest,
    AuthorizationSession, ClientCredentialsConfig,
};
use serde_json::Value;

use crate::Outcome;
use crate::upstream::Challenge;

/// Nobody listens there: the suite's servers send the browser back at once, and where to is enough.
const REDIRECT: &str = "http://localhost:3000/callback";

/// What the suite expects of a client that is known by the address of its description.
const DESCRIPTION: &str = "https://conformance-test.local/client-metadata.json";

/// Tokens, and how they are renewed.
pub(crate) struct Login(AuthClient<reqwest::Client>);

impl Login {
    /// Logs in, or asks for the scope that an earlier login lacks.
    pub(crate) async fn after(
        earlier: Option<Self>,
        url: &str,
        asked: &Challenge,
        context: &Value,
    ) -> Outcome<Self> {
        match (earlier, &asked.scope) {
            (Some(login), Some(scope)) => {
                let manager = Arc::clone(&login.0.auth_manager);
                let manager = manager.lock().await;
                let there = manager.request_scope_upgrade(scope).await?;
                let back = agree(&there).await?;
                let back = AuthorizationCallback::from_redirect_url(&back)?;
                let issuer = back.issuer.as_deref();
                manager
                    .exchange_code_for_token_with_issuer(&back.code, &back.csrf_token, issuer)
                    .await?;
                Ok(login)
            }
            _ => Self::new(url, asked, context).await,
        }
    }

    async fn new(url: &str, asked: &Challenge, context: &Value) -> Outcome<Self> {
        let mut manager = AuthorizationManager::new(url).await?;
        let found = manager
            .resolve_metadata_from_challenge(Some(&asked.header))
            .await?;
        manager.set_metadata(found.metadata);
        // A program of its own, without a person: the suite says so in the scenario's name.
        if context["name"] == "auth/client-credentials-basic" {
            let word = |name: &str| context[name].as_str().unwrap_or_default().to_owned();
            let config = ClientCredentialsConfig::ClientSecret {
                client_id: word("client_id"),
                client_secret: word("client_secret"),
                scopes: Vec::new(),
                resource: Some(url.to_owned()),
            };
            manager.validate_client_credentials_metadata(&config)?;
            manager.configure_client_credentials(&config)?;
            manager.exchange_client_credentials(&config).await?;
            return Ok(Self(AuthClient::new(reqwest::Client::new(), manager)));
        }
        let mut request = AuthorizationRequest::new(REDIRECT)
            .with_client_name("helve-conformance-client")
            .with_client_metadata_url(DESCRIPTION);
        if let (Some(id), Some(secret)) = (
            context["client_id"].as_str(),
            context["client_secret"].as_str(),
        ) {
            request = request
                .with_preregistered_client(id)
                .with_client_secret(secret);
        }
        let session = AuthorizationSession::new(manager, request)
            .await
            .map_err(|(_, error)| error)?;
        let back = agree(session.get_authorization_url()).await?;
        session.handle_callback_url(&back).await?;
        Ok(Self(AuthClient::new(
            reqwest::Client::new(),
            session.auth_manager,
        )))
    }

    /// The HTTP client that carries the token.
    pub(crate) fn client(&self) -> AuthClient<reqwest::Client> {
        self.0.clone()
    }
}

/// Follows the link and says yes; where the browser is sent back to.
async fn agree(link: &str) -> Outcome<String> {
    let browser = reqwest::Client::builder()
        .redirect(redirect::Policy::none())
        .build()?;
    let answer = browser.get(link).send().await?;
    let back = answer
        .headers()
        .get("location")
        .ok_or("the authorization server sends nobody back")?;
    Ok(back.to_str()?.to_owned())
}
