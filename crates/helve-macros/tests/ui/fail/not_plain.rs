#![allow(unused)]

use helve_kernel::tool;

/// Reads.
#[tool]
async unsafe extern "C" fn read() {}

fn main() {}
