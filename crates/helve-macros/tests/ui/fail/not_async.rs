#![allow(unused)]

use helve_kernel::tool;

/// Reads.
#[tool]
fn read(path: String) -> String {
    path
}

fn main() {}
