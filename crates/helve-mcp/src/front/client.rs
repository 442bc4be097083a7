//! What is known of a client.

use helve_kernel::Principal;
use rmcp::model::ErrorCode;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

/// Whose something is that a client comes back for. Two people may each have an agent of
/// the same name, and these are not one.
pub(crate) fn party(who: &Principal) -> String {
    match &who.under {
        Some(person) => format!("{} under {person}", who.owner),
        None => who.owner.clone(),
    }
}

pub(crate) fn protocol(ctx: &RequestContext<RoleServer>) -> String {
    let version = ctx.protocol_version();
    version.map_or_else(|| "2025-03-26".to_owned(), |v| v.as_str().to_owned())
}

/// What the client says in this request that it can do.
pub(crate) fn said_capabilities(ctx: &RequestContext<RoleServer>) -> Option<Value> {
    let key = "io.modelcontextprotocol/clientCapabilities";
    ctx.meta.0.0.get(key).cloned()
}

/// What it is known to be able to do.
pub(crate) fn known_capabilities(ctx: &RequestContext<RoleServer>) -> Option<Value> {
    serde_json::to_value(ctx.client_capabilities()?).ok()
}

pub(crate) fn has_tasks(ctx: &RequestContext<RoleServer>) -> bool {
    ctx.client_capabilities()
        .is_some_and(|c| c.supports_tasks())
}

/// The client's own name: an agent that acts for whoever has the token.
pub(crate) fn client_name(ctx: &RequestContext<RoleServer>) -> Option<String> {
    let info = ctx.client_info()?;
    let name: String = info.name.chars().take(64).collect();
    (!name.is_empty()).then_some(name)
}

/// What the protocol says to a client that has not what is needed.
pub(crate) fn not_here(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None)
}
