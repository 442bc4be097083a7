//! Helve as an MCP server, and as a gateway to other MCP servers.
//!
//! Nothing here decides policy: every call of a tool goes to the kernel.

pub mod upstream;

pub use upstream::{Upstream, UpstreamError, Upstreams};
