#![allow(unused)]

use helve_kernel::tool;

/// Reads.
#[tool]
struct Read;

fn main() {}
