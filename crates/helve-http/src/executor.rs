//! The executor: a definition, arguments and secrets in, an answer out.

use std::sync::Arc;

use async_trait::async_trait;
use helve_core::ToolDef;
use helve_core::secret::redact;
use helve_kernel::{Executor, Permit, Reply, ToolError};
use reqwest::Method;
use serde_json::Value;

use crate::auth::{Credentials, NoSecrets, Secrets};
use crate::guard::{Guard, Place};
use crate::request::{self, Request};
use crate::settings::Settings;
use crate::web::{Outgoing, Web, WebError};
use crate::{Refused, reply};

/// Runs tools that are requests.
#[derive(Clone)]
pub struct HttpExecutor {
    web: Arc<Web>,
    secrets: Arc<dyn Secrets>,
}

impl HttpExecutor {
    /// An executor that reaches what the guard lets it, and knows no secrets.
    pub fn new(guard: Guard) -> Self {
        Self {
            web: Arc::new(Web::new(guard)),
            secrets: Arc::new(NoSecrets),
        }
    }

    /// The same, with secrets.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Arc<dyn Secrets>) -> Self {
        self.secrets = secrets;
        self
    }

    /// The secrets that a request needs, for where it goes.
    async fn credentials(
        &self,
        settings: &Settings,
        place: &Place,
    ) -> Result<Credentials, ToolError> {
        let mut credentials = Credentials::default();
        let secret =
            |e: crate::SecretError| ToolError::dependency(e.to_string()).with_hint(e.hint());
        for auth in &settings.auth {
            let value = match self.secrets.secret(&auth.secret, place).await {
                Err(crate::SecretError::Unknown(_)) if auth.optional => continue,
                value => value.map_err(secret)?,
            };
            if settings.url.scheme() == "http" && !self.web.guard().is_granted(place) {
                return Err(ToolError::denied(format!(
                    "not sent: the secret `{}` would go to `{}` for everybody to read",
                    auth.secret, place.host
                ))
                .with_hint(
                    "use https in `url`, or let an operator grant the host in `[network]`",
                ));
            }
            credentials
                .add(auth, value.trim_end_matches(['\r', '\n']))
                .map_err(secret)?;
        }
        Ok(credentials)
    }

    async fn perform(&self, permit: &Permit, hidden: &mut Vec<String>) -> Result<Reply, ToolError> {
        let settings = Settings::of(permit.def())?;
        let request = request::build(&settings, permit.args())?;
        let place = self
            .web
            .guard()
            .place(&request.url)
            .map_err(|e| refused(&e))?;
        let credentials = self.credentials(&settings, &place).await?;
        hidden.extend(credentials.hidden.iter().cloned());
        let method = request.method.clone();
        let outgoing = outgoing(request, &credentials, settings.max_bytes);
        let fetched = self.web.fetch(outgoing).await;
        let fetched = fetched.map_err(|e| failure(&e, &method))?;
        reply::reply(fetched, hidden, permit.artifacts()).await
    }
}

/// The request with its secrets.
fn outgoing(request: Request, credentials: &Credentials, max_bytes: u64) -> Outgoing {
    let mut headers = request.headers;
    headers.extend(credentials.headers.iter().cloned());
    headers.extend(credentials.cookie_header(&request.cookies));
    let mut url = request.url;
    for (name, value) in &credentials.query {
        let pair = format!("{}={}", request::encode(name), request::encode(value));
        let all = match url.query() {
            Some(query) => format!("{query}&{pair}"),
            None => pair,
        };
        url.set_query(Some(&all));
    }
    Outgoing {
        method: request.method,
        url,
        headers,
        body: request.body,
        max_bytes,
    }
}

/// What is told of a place that is not reached.
pub(crate) fn refused(refused: &Refused) -> ToolError {
    let error = match refused {
        Refused::Range { .. }
        | Refused::Scheme(_)
        | Refused::Credentials
        | Refused::Unlisted(_) => ToolError::denied(refused.to_string()),
        passing if passing.is_passing() => ToolError::transient(refused.to_string()),
        _ => ToolError::dependency(refused.to_string()),
    };
    match refused.hint() {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// What is told of a request that came to nothing.
pub fn failure(error: &WebError, method: &Method) -> ToolError {
    let reads = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    match error {
        WebError::Refused(why) => refused(why),
        WebError::Unreachable { .. } => ToolError::transient(error.to_string())
            .with_hint("nothing was sent; is the service up?"),
        WebError::Broken { .. } if reads => ToolError::transient(error.to_string()),
        // Not transient: it may have happened.
        WebError::Broken { .. } => {
            ToolError::dependency(format!("{error}; whether it took effect is unknown"))
                .with_hint("look whether it did before it is tried again")
        }
        WebError::TooLong(_) => ToolError::dependency(error.to_string())
            .with_hint("ask for less, by a page or a filter"),
        WebError::TooManyRedirects => ToolError::dependency(error.to_string()),
        WebError::Redirect { .. } => ToolError::denied(error.to_string())
            .with_hint("write the address that it leads to in `url` of the tool, if that is meant"),
    }
}

#[async_trait]
impl Executor for HttpExecutor {
    async fn inspect(&self, def: &ToolDef) -> Result<Option<Value>, ToolError> {
        Settings::of(def).map(|_| None)
    }

    fn holds(&self, _: &ToolDef) -> Result<(), String> {
        Err("it acts on another system, where nothing is held back".to_owned())
    }

    async fn run(&self, permit: &Permit) -> Result<Reply, ToolError> {
        let mut hidden = Vec::new();
        let ran = tokio::select! {
            biased;
            () = permit.stop().cancelled() => None,
            ran = self.perform(permit, &mut hidden) => Some(ran),
        };
        let Some(ran) = ran else {
            return Err(ToolError::timeout(
                "stopped before the server answered; whether it took effect is unknown",
            ));
        };
        ran.map_err(|mut error| {
            error.message = redact(&error.message, &hidden).into_owned();
            error.hint = error.hint.map(|hint| redact(&hint, &hidden).into_owned());
            error
        })
    }
}

impl std::fmt::Debug for HttpExecutor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpExecutor")
            .field("web", &self.web)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
