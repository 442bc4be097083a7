//! The words and the pure rules of Helve.
//!
//! A tool is defined once, as a [`ToolDef`]. This crate reads definitions from
//! every syntax ([`read`]) and dialect ([`dialect`]), says what is wrong with them
//! ([`lint`]), writes them in any other ([`write`]), and shows them to agents level
//! by level ([`catalog`], [`page`]).
//!
//! Nothing here is async, does I/O, reads a clock or the environment.

pub mod args;
pub mod audit;
pub mod catalog;
pub mod collection;
pub mod def;
pub mod dialect;
mod hex;
pub mod hidden;
pub mod lint;

pub mod marked;
pub mod name;
pub mod node;
pub mod openapi;
pub mod page;
pub mod policy;
pub mod read;
pub mod schema;
pub mod search;

pub mod secret;
pub mod tokens;
pub mod write;

#[cfg(test)]
mod testing;

pub use def::ToolDef;
pub use name::ToolName;
