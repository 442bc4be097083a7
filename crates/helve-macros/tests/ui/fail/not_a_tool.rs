#![allow(unused)]

use helve_kernel::toolset;

struct Read {}

fn main() {
    drop(toolset! { name: "file", tools: [Read] });
}
