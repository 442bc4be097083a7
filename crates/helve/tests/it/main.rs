//! The command as people and programs use it.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs)]

mod bad_input;
mod catalog;
mod check;
mod convert;
mod crash;
mod docs;
mod full_disk;
mod help;
mod run;
mod server;
mod tidy;
