#![allow(unused)]

use std::path::Path;

use helve_kernel::{Ctx, tool};

/// Reads.
#[tool]
async fn read(path: &str, other: &Path, list: &[u8], number: &u8) {}

/// Writes.
#[tool]
async fn write(ctx: Ctx) {}

/// Lists.
#[tool]
async fn list(ctx: &mut Ctx) {}

fn main() {}
