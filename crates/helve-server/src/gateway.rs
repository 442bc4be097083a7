//! What the doors ask of the gateway to other MCP servers. Who has one gives it to the hub;
//! the doors know nothing of the protocol.

use async_trait::async_trait;
use helve_kernel::{Principal, ToolError};
use serde_json::Value;

/// The servers behind a hub.
#[async_trait]
pub trait Gateway: Send + Sync {
    /// All servers, as they are shown.
    fn servers(&self) -> Vec<Value>;

    /// One server.
    fn server(&self, name: &str) -> Result<Value, ToolError>;

    /// Starts it if need be, looks at its tools, and says how long it takes to answer.
    async fn test(&self, name: &str) -> Result<Value, ToolError>;

    /// The definitions that wait for somebody to look at them.
    fn waiting(&self, server: Option<&str>) -> Result<Vec<Value>, ToolError>;

    /// Takes over what waits, of one tool or of all of a server; the tools' names. With
    /// `seen`, only if it is still what was looked at.
    async fn accept(
        &self,
        who: &Principal,
        server: &str,
        tool: Option<&str>,
        seen: Option<&str>,
    ) -> Result<Vec<String>, ToolError>;

    /// Begins to log in; the address that somebody must open.
    async fn login(&self, name: &str) -> Result<String, ToolError>;

    /// Reads the configuration of the servers again; what could not be used.
    async fn reload(&self) -> Result<Vec<String>, ToolError>;
}
