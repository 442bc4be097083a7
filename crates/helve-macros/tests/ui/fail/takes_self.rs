#![allow(unused)]

use helve_kernel::tool;

/// Reads.
#[tool]
async fn read(&self, path: String) -> String {
    path
}

struct Files;

impl Files {
    /// Writes.
    #[tool]
    async fn write(&mut self) {}
}

fn main() {}
