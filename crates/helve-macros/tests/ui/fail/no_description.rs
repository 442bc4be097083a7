#![allow(unused)]

use helve_kernel::tool;

#[tool(risk = "read")]
async fn read() {}

///
#[tool]
async fn write() {}

#[doc = include_str!("no_description.rs")]
#[tool]
async fn list() {}

#[tool(description = " ")]
async fn find() {}

fn main() {}
