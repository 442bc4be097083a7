//! Hostile programs in the sandbox, as root and as an ordinary user.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start programs to compare with, and read where they are; all of this is tests"
)]

mod ability;
mod files;
mod life;
mod limits;
mod network;
mod process;
mod support;
