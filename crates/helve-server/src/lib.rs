//! The front doors of a hub that speak HTTP.
//!
//! Every request goes through [`guard`]: the host it was sent to, the page it came
//! from, who sent it and whether they may, all of it out of one table of routes
//! ([`routes`]). The same table writes the OpenAPI document, so that what is
//! documented is what is there.
//!
//! Nothing here holds SQL or decides policy.

mod api;
mod console;
mod gateway;
mod guard;
mod identity;
mod input;
mod lanes;
mod metrics;
mod openapi;
mod page;
mod paths;
mod problem;
mod rate;
mod routes;
mod rules;
mod schemas;
mod stream;
mod view;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use helve_kernel::{Answer, Call, Keeping, Kernel, Principal};
use tokio_util::sync::CancellationToken;

use console::{Followed, Saved, Sessions};
use metrics::Metrics;
use rate::Rates;

pub use console::{Colour, Painter};
pub use gateway::Gateway;
pub use identity::{Identity, IdentitySettings};
pub use lanes::Lanes;
pub use openapi::document as openapi_document;
pub use rules::Rules;

/// How a server behaves.
#[derive(Clone)]
pub struct Settings {
    /// The names by which it may be asked for, with their ports: what a `Host`
    /// header may say. A page elsewhere that found its way to this address says another.
    pub hosts: Vec<String>,
    /// The most bytes of a request.
    pub body_limit: usize,
    /// How many requests a token may make in a second, for long; and all together
    /// who show none that counts.
    pub rate: u32,
    /// How many it may make at once.
    pub burst: u32,
    /// For how long what was there before a run is kept.
    pub keeping: Keeping,
    /// An identity provider whose tokens count beside our own.
    pub identity: Option<Arc<Identity>>,
    /// How often a stream with nothing to tell shows that it is still there.
    pub keep_alive: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            body_limit: 1024 * 1024,
            rate: 200,
            burst: 400,
            keeping: Keeping::default(),
            identity: None,
            keep_alive: Duration::from_secs(15),
        }
    }
}

/// A hub, as the front doors see it. A clone is the same hub.
#[derive(Clone)]
pub struct Hub(Arc<Inner>);

struct Inner {
    kernel: Kernel,
    settings: Settings,
    metrics: Metrics,
    rates: Rates,
    strangers: Rates,
    closing: CancellationToken,
    gateway: OnceLock<Arc<dyn Gateway>>,
    rules: OnceLock<Arc<dyn Rules>>,
    painter: OnceLock<Arc<dyn Painter>>,
    sessions: Sessions,
    followed: Followed,
    saved: Saved,
}

impl Hub {
    /// Puts doors around a kernel.
    pub fn new(kernel: Kernel, settings: Settings) -> Self {
        let rates = Rates::new(settings.rate, settings.burst);
        let strangers = Rates::new(settings.rate, settings.burst);
        Self(Arc::new(Inner {
            kernel,
            settings,
            metrics: Metrics::default(),
            rates,
            strangers,
            closing: CancellationToken::new(),
            gateway: OnceLock::new(),
            rules: OnceLock::new(),
            painter: OnceLock::new(),
            sessions: Sessions::default(),
            followed: Followed::default(),
            saved: Saved::default(),
        }))
    }

    /// The same, with MCP servers behind it.
    #[must_use]
    pub fn with_gateway(self, gateway: Arc<dyn Gateway>) -> Self {
        let _ = self.0.gateway.set(gateway);
        self
    }

    pub(crate) fn gateway(&self) -> Option<&Arc<dyn Gateway>> {
        self.0.gateway.get()
    }

    /// The same, with a place for rules that people decide on.
    #[must_use]
    pub fn with_rules(self, rules: Arc<dyn Rules>) -> Self {
        let _ = self.0.rules.set(rules);
        self
    }

    pub(crate) fn rules(&self) -> Option<&Arc<dyn Rules>> {
        self.0.rules.get()
    }

    /// The same, with colours for code.
    #[must_use]
    pub fn with_painter(self, painter: Arc<dyn Painter>) -> Self {
        let _ = self.0.painter.set(painter);
        self
    }

    pub(crate) fn painter(&self) -> Option<&Arc<dyn Painter>> {
        self.0.painter.get()
    }

    /// Where somebody can sign in to the console with that token: once, for ten minutes.
    /// It begins at the hub's address.
    pub fn sign_in_link(&self, secret: &str) -> Option<String> {
        let code = self.0.sessions.invite(secret).ok()?;
        Some(format!("/console/enter/{code}"))
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    pub(crate) fn followed(&self) -> &Followed {
        &self.0.followed
    }

    pub(crate) fn saved(&self) -> &Saved {
        &self.0.saved
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.0.kernel
    }

    /// Ends every open stream, so that the server can stop.
    pub fn close(&self) {
        self.0.closing.cancel();
    }

    /// All routes.
    pub fn router(&self) -> Router {
        self.router_with(Router::new())
    }

    /// All routes, and doors of other protocols beside them. A request comes to one of
    /// those only after its token was looked at, with the principal in its extensions.
    pub fn router_with(&self, doors: Router) -> Router {
        routes::router(self, doors)
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn rates(&self) -> &Rates {
        &self.0.rates
    }

    /// The bucket of all who show no token that counts.
    pub(crate) fn strangers(&self) -> &Rates {
        &self.0.strangers
    }

    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.0.closing
    }

    /// Whether a token that was admitted still counts.
    pub(crate) fn admits(&self, who: &Principal) -> bool {
        let end = |token| self.kernel().token_end(token);
        who.token.as_ref().is_none_or(|token| end(token).is_some())
    }

    /// A call, counted.
    pub(crate) async fn call(&self, call: Call) -> Answer {
        let answer = self.kernel().call(call).await;
        self.metrics().called(&answer);
        answer
    }
}

#[cfg(test)]
mod tests;
