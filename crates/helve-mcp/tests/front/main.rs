//! The front door, as its clients meet it: over a pair of streams and over HTTP, in both
//! eras of the protocol, before a hub in memory.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    unreachable_pub,
    missing_docs,
    reason = "tests"
)]

mod approval;
mod approval_modern;
mod call;
mod cancel;
mod changed;
mod client;
mod direct;
mod disclose;
mod http;
mod list;
mod sdk;
mod stdio;
mod support;
mod talk;
mod tasks;
mod verbatim;
