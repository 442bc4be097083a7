//! Helve as an MCP server, and as a gateway to other MCP servers.
//!
//! [`Front`] is the door: it speaks the protocol with clients, over standard input and
//! output or over HTTP, and takes every call to the kernel. What it gives on from servers
//! elsewhere ([`Upstreams`]) leaves as it came, word for word.
//!
//! Nothing here decides policy.

pub mod about;
pub mod front;
pub mod upstream;

pub use front::{Front, Options};
pub use upstream::{Upstream, UpstreamError, Upstreams};

/// Standard input and output of this process, as a client started it.
pub fn standard_streams() -> (
    rmcp::transport::io::StdioReader,
    rmcp::transport::io::StdioWriter,
) {
    rmcp::transport::stdio_pipes()
}
