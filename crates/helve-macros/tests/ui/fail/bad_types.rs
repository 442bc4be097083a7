#![allow(unused)]

use helve_kernel::tool;

struct Mine;

/// Gives what cannot be written.
#[tool]
async fn a() -> Mine {
    Mine
}

/// Fails with what is no error.
#[tool]
async fn b() -> Result<u8, Mine> {
    Err(Mine)
}

/// Has no schema.
#[tool(output)]
async fn c() -> Result<std::process::ExitCode, helve_kernel::ToolError> {
    Ok(std::process::ExitCode::SUCCESS)
}

/// Has a default of another type.
#[tool]
async fn d(#[default(true)] n: u8) -> u8 {
    n
}

/// Cannot be read.
#[tool]
async fn e(args: Mine) {}

fn main() {}
