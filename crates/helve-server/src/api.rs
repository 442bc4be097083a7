//! The handlers, by what they are about.

pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod catalog;
pub(crate) mod changes;
pub(crate) mod meta;
pub(crate) mod questions;
pub(crate) mod runs;
pub(crate) mod search;
pub(crate) mod tokens;
pub(crate) mod tools;
pub(crate) mod upstreams;

use axum::http::StatusCode;
use axum::response::Response;
use helve_kernel::{Permission, Principal, StoreError};
use serde_json::Value;

use crate::problem::{Problem, json_response};

/// Where RFC 9728 has word of a resource.
pub(crate) const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource";

pub(crate) type Given = Result<Response, Problem>;

fn ok(value: &Value) -> Given {
    Ok(json_response(StatusCode::OK, value))
}

pub(crate) fn kept(error: &StoreError) -> Problem {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    Problem::new(status, "dependency", error.to_string()).hint("`helve doctor` tells more")
}

/// Whether somebody may look at what belongs to an owner: their own, that of agents
/// under them, or everything with the right to read the record.
pub(crate) fn may_see(who: &Principal, owner: &str, under: Option<&str>) -> bool {
    who.may(Permission::AuditRead) || owner == who.owner || under == Some(who.owner.as_str())
}
