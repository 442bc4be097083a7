#![allow(unused)]

use helve_kernel::tool;

/// Reads.
#[tool(risk = "raed", version = "1.0", timeout = "30", reversible = "maybe", aliases = ["a b"])]
async fn read() {}

/// Writes.
#[tool(timeout = 0, reversible = true, compensate = "Undo it", version = 1)]
async fn write() {}

/// Lists.
#[tool(timeout = -5, risk = read, risk, compensate = "undo")]
async fn list() {}

fn main() {}
