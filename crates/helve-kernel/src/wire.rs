//! What a server elsewhere answered, word for word.
//!
//! The kernel has a shape of its own for answers. A call that is passed on keeps the
//! foreign one beside it, so that a front door which speaks the same protocol can give
//! it on unharmed: every key, in its order, also those that nobody here knows.

use serde_json::{Map, Value};

/// An answer in the words of the Model Context Protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wire {
    /// The `result` of `tools/call`.
    Result(Map<String, Value>),
    /// The `error` of the JSON-RPC answer: `code`, `message`, `data`.
    Error(Map<String, Value>),
}
