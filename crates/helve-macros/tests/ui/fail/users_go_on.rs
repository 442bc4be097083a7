//! A tool that is wrong is one error: whatever uses it does not fail as well.
#![allow(unused)]

use helve_kernel::{tool, toolset};

#[tool]
async fn read(#[default(1)] a: u8) {
    drop(a);
}

fn main() {
    drop(read(1));
    drop(toolset! { name: "file", tools: [read] });
}
