//! Tools that are requests to somewhere else, and the guard in front of every address.
//!
//! [`HttpExecutor`] makes a request of a definition and its arguments. [`Web`] sends it,
//! and follows redirects by hand. [`Guard`] decides which addresses may be reached at
//! all: each that a name stands for is looked at, and only those that were looked at
//! are connected to.
//!
//! Nothing here decides whether a tool may be called; that has happened before.

mod auth;
mod executor;
pub mod guard;
mod reply;
mod request;
mod settings;
mod web;

pub use auth::{SecretError, Secrets};
pub use executor::{HttpExecutor, failure};
pub use guard::{Guard, Lookup, Refused};
pub use web::{Answer, End, Fetched, HOPS, Outgoing, Part, Step, Web, WebError};
