#![allow(unused)]

use helve_kernel::tool;

/// Reads.
#[tool(name = "File.Read")]
async fn read() {}

/// Writes.
#[tool]
async fn writeFile() {}

/// Lists.
#[tool(group = "my files")]
async fn list() {}

/// Finds.
#[tool(group = "file")]
async fn Find() {}

/// Counts.
#[tool(name = "1st")]
async fn count() {}

/// Sorts.
#[tool(name = "")]
async fn sort() {}

/// Shows.
#[tool(group = "file", name = "file_show")]
async fn show() {}

/// Has a name of sixty-five characters.
#[tool]
async fn a2345678901234567890123456789012345678901234567890123456789012345() {}

/// Has a name that only looks right.
#[tool(name = "filе")]
async fn look() {}

fn main() {}
