//! Chats that somebody has exported, for questions about them.
//!
//! The archive is the hub's: everybody who may call these tools sees all of it. What is found
//! is told by line numbers, which stay for ever; `meta` says how it was found (`source`) and
//! whether there is anything to search (`available`).

mod export;
mod given;
mod import;
mod messages;
mod names;
mod question;
mod search;
mod service;
#[cfg(test)]
mod tests;
mod times;
mod topics;
mod vectors;

use helve_kernel::{Sourced, ToolError, Toolset, ToolsetError, toolset};
use serde_json::{Map, Value};

pub use given::{By, Given, Said};
pub use service::{ChatLog, Keeper, Meaning, Settings};
pub use times::Range;

use service::Opened;

/// The set.
pub fn toolset() -> Result<Toolset, ToolsetError> {
    toolset! {
        name: "chatlog",
        description: "Chats that were exported, searched",
        tags: ["chat", "messages"],
        tools: [
            import::import, export::export, search::stats, search::person,
            names::name, names::merge, topics::topics, topics::by_topics,
            search::search, messages::load, question::expand, question::semantic, messages::filter,
            messages::format, question::task, question::evidence, question::analyze,
        ],
    }
}

/// A result, with how it was found.
fn sourced<T>(opened: &Opened, source: impl Into<String>, data: T) -> Sourced<T> {
    about(opened.archive.generation() > 0, source, data)
}

fn about<T>(available: bool, source: impl Into<String>, data: T) -> Sourced<T> {
    let mut about = Map::new();
    about.insert("available".to_owned(), available.into());
    about.insert("source".to_owned(), Value::String(source.into()));
    Sourced { data, about }
}

/// Text that must say something.
fn asked(text: &str, name: &str) -> Result<String, ToolError> {
    let text = text.trim();
    match text.is_empty() {
        true => Err(ToolError::validation(format!("`{name}` is blank"))
            .with_hint("say in words what is looked for")),
        false => Ok(text.to_owned()),
    }
}
