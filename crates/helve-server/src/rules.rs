//! Where rules that people decide on are kept. Who keeps configuration gives it to the hub.

use async_trait::async_trait;
use helve_kernel::{Principal, ToolError};
use serde_json::Value;

/// Where rules that people decide on are kept.
#[async_trait]
pub trait Rules: Send + Sync {
    /// A rule as it would be written down (TOML), after it was checked; an error says why it
    /// cannot be.
    fn shown(&self, rule: &Value) -> Result<String, ToolError>;

    /// Writes it down for good and lets it count at once; the record says who.
    async fn remember(&self, who: &Principal, rule: &Value) -> Result<(), ToolError>;
}
