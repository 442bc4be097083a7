#![allow(unused)]

use helve_kernel::tool;

/// Runs.
#[tool]
async fn run(args: Vec<String>) {}

/// Runs one.
#[tool]
async fn run_one(args: (String, u8)) {}

/// Runs with a mark.
#[tool]
async fn run_marked(#[secret] args: Args) {}

struct Args;

fn main() {}
