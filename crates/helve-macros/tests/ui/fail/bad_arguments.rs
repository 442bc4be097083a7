#![allow(unused)]

use helve_kernel::tool;

/// Reads.
#[tool]
async fn read(
    #[defualt(5)] a: u8,
    #[default] b: u8,
    #[default()] c: u8,
    #[default(1)]
    #[default(2)]
    d: u8,
    #[secret = true] e: u8,
    #[path(yes)] f: String,
    #[serde(flatten)] g: Vec<u8>,
    #[cfg(test)] h: u8,
) {
}

fn main() {}
