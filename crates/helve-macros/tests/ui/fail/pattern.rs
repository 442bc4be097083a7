#![allow(unused)]

use helve_kernel::tool;

/// Adds.
#[tool]
async fn add((a, b): (i32, i32), _: bool, ref c: i32, args @ _: i32) -> i32 {
    a + b
}

fn main() {}
