//! A connection to a server: over HTTP, in whichever era the server speaks.

use std::error::Error;

use rmcp::model::*;
use rmcp::service::{RequestContext, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, StreamableHttpClientTransportConfig,
};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _, ErrorData};
use serde_json::json;

use crate::login::Login;
use crate::{Outcome, made_up};

/// A server that answers.
pub(crate) type Upstream = RunningService<RoleClient, Person>;

/// Connects, with a login if there is one. The newer era is tried first, as a gateway does
/// that is told nothing; in a scenario of an older one the suite's server knows only that.
pub(crate) async fn connect(url: &str, version: &str, login: Option<&Login>) -> Outcome<Upstream> {
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    let lifecycle = match version >= ProtocolVersion::V_2026_07_28.as_str() {
        true => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: None,
        },
        false => ClientLifecycleMode::Initialize,
    };
    let running = match login {
        Some(login) => {
            let transport = StreamableHttpClientTransport::with_client(login.client(), config);
            Person.serve_with_lifecycle(transport, lifecycle).await?
        }
        None => {
            let transport =
                StreamableHttpClientTransport::with_client(reqwest::Client::new(), config);
            Person.serve_with_lifecycle(transport, lifecycle).await?
        }
    };
    Ok(running)
}

/// What a server wants before it goes on.
pub(crate) struct Challenge {
    pub(crate) header: String,
    /// The scope that is missing, if a login was there and is not enough.
    pub(crate) scope: Option<String>,
}

/// The challenge that an error carries, however deep.
pub(crate) fn challenge(error: &(dyn Error + 'static)) -> Option<Challenge> {
    if let Some(error) = error.downcast_ref::<AuthRequiredError>() {
        let header = error.www_authenticate_header.clone();
        return Some(Challenge {
            header,
            scope: None,
        });
    }
    if let Some(error) = error.downcast_ref::<InsufficientScopeError>() {
        let header = error.www_authenticate_header.clone();
        let scope = error.required_scope.clone();
        return Some(Challenge { header, scope });
    }
    // rmcp's own wrappers say who they hold, but not as their source.
    if let Some(rmcp::service::ClientInitializeError::TransportError { error, .. }) =
        error.downcast_ref()
    {
        return challenge(error.error.as_ref());
    }
    if let Some(rmcp::ServiceError::TransportSend(error)) = error.downcast_ref() {
        return challenge(error.error.as_ref());
    }
    error.source().and_then(challenge)
}

/// Whoever sits before the client: agrees to everything, with what is suggested.
pub(crate) struct Person;

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation =
            Some(ElicitationCapability::new().with_form(FormElicitationCapability::new()));
        ClientConfig::new(
            capabilities,
            Implementation::new("helve-conformance-client", "1.0.0"),
        )
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let schema = json!(request)["requestedSchema"].take();
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(made_up::value(&schema)))
    }
}
