//! Commits that are stopped, attacked, and taken back.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use super::*;

pub(crate) fn helper(name: &str) {
    panic!("no helper `{name}`");
}
