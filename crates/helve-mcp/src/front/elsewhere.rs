//! What the door needs of the servers behind the hub.

use std::sync::Arc;

use async_trait::async_trait;
use helve_kernel::Caller;
use serde_json::{Map, Value};
use tokio::sync::broadcast;

/// A list that servers have beside their tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum List {
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
    /// `prompts/list`
    Prompts,
}

/// Something that a server said without being asked.
#[derive(Debug, Clone)]
pub struct Event {
    /// The server.
    pub server: String,
    /// `notifications/…`
    pub method: String,
    /// What it said.
    pub params: Value,
}

/// The servers behind the hub.
#[async_trait]
pub trait Elsewhere: Send + Sync {
    /// The names of all of them, in the order of the configuration.
    fn servers(&self) -> Vec<String>;

    /// Why the tools of a server cannot be called just now.
    fn unavailable(&self, server: &str) -> Option<String>;

    /// Asks a server something that is not a tool call: its result, or its JSON-RPC error.
    async fn request(
        &self,
        server: &str,
        method: &str,
        params: Value,
        caller: Option<Arc<dyn Caller>>,
    ) -> Result<Map<String, Value>, Map<String, Value>>;

    /// A list of every server that can be reached, as it came.
    async fn list(&self, what: List) -> Vec<(String, Vec<Value>)>;

    /// What servers say without being asked.
    fn events(&self) -> broadcast::Receiver<Event>;
}
