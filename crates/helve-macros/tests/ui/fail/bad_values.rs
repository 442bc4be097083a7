#![allow(unused)]

use helve_kernel::tool;

/// Reads.
#[tool(group, title = 5, tags = "a", triggers = ["a", 5], idempotent = true, group = "file")]
async fn read() {}

/// Writes.
#[tool(reversible = "no", compensate = "undo", serial, serial, "risk", title = "a" category = "b")]
async fn write() {}

/// Lists.
#[tool(group = )]
async fn list() {}

fn main() {}
