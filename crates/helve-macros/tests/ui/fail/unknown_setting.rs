#![allow(unused)]

use helve_kernel::tool;

/// Reads.
#[tool(rsk = "read", idempotnet, timeuot = {"a": 1}, group = "file", colour = "red")]
async fn read() {}

fn main() {}
