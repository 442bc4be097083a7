#![allow(unused)]

use helve_kernel::{Ctx, tool};

#[tool(risk = "none", timeout = "soon", name = "Read")]
fn read<T>(path: &str, ctx: &Ctx) {}

fn main() {}
