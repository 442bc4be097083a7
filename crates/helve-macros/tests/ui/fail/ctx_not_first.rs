#![allow(unused)]

use helve_kernel::{Ctx, tool};

/// Reads.
#[tool]
async fn read(path: String, ctx: &Ctx) -> String {
    path
}

/// Writes.
#[tool]
async fn write(ctx: &Ctx, again: &helve_kernel::Ctx) {}

/// Lists.
#[tool]
async fn list(
    /// Who asks.
    ctx: &Ctx,
) {
}

fn main() {}
