#![allow(unused)]

use helve_kernel::{Ctx, tool};

/// Reads.
#[tool]
async fn read<T: ToString>(path: T) -> String {
    path.to_string()
}

/// Writes.
#[tool]
async fn write<'a>(_ctx: &'a Ctx) {}

/// Lists.
#[tool]
async fn list(of: impl ToString) -> String {
    of.to_string()
}

fn main() {}
