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
mod hub;
mod hub_approvals;
mod hub_audit;
mod hub_builtin;
mod hub_changes;
mod hub_console;
#[cfg(feature = "docker")]
mod hub_docker;
mod hub_doctor;
mod hub_errors;
mod hub_mcp;
mod hub_policy;
mod hub_runs;
mod hub_servers;
mod hub_settings;
mod hub_tokens;
mod hub_tools;
mod import;
mod memory;
mod run;
mod scripts;
mod server;
mod tidy;
