//! Tells the linker which functions a hub uses, so that they lie side by side.
//!
//! The system brings in 64 KB of a program around each page that is touched: with what is used
//! scattered over all of the code, an idle hub holds three times as much of it as it needs.
//! `bench/layout/record.py` makes the list. Only on the system that it was made on, and where the
//! linker is the one that Rust chooses and takes such a list; every other way to link stays as it is.

use std::path::{Path, PathBuf};

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn main() {
    println!("cargo::rerun-if-changed=order.txt");
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| told(name).is_some_and(|told| told == value);
    let flags = told("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let chosen =
        flags.contains("link") || flags.contains("fuse-ld") || told("RUSTC_LINKER").is_some();
    if !is("PROFILE", "release") || !is("TARGET", TARGET) || chosen {
        return;
    }
    let order = told("CARGO_MANIFEST_DIR").map(|at| Path::new(&at).join("order.txt"));
    let words = order.map(|order| {
        let option = "--symbol-ordering-file=".to_owned() + &order.display().to_string();
        ["-Xlinker", "--no-warn-symbol-ordering", "-Xlinker", &option].map(str::to_owned)
    });
    if let Some(words) = words.filter(|words| links(words).is_some_and(|links| links)) {
        for word in words {
            println!("cargo::rustc-link-arg-bins={word}");
        }
    }
}

/// What cargo says of this build.
#[expect(
    clippy::disallowed_methods,
    reason = "cargo tells a build in no other way"
)]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Whether the linker takes these words: a program that does nothing is linked with them.
#[expect(
    clippy::disallowed_methods,
    reason = "a build tries its compiler, and runs no tool"
)]
fn links(words: &[String]) -> Option<bool> {
    let folder = PathBuf::from(told("OUT_DIR")?);
    let source = folder.join("nothing.rs");
    std::fs::write(&source, "fn main() {}\n").ok()?;
    let mut compiler = std::process::Command::new(told("RUSTC")?);
    compiler.arg("--edition=2024").arg(&source).arg("-o");
    compiler.arg(folder.join("nothing"));
    for word in words {
        compiler.arg(format!("-Clink-arg={word}"));
    }
    let tried = compiler.output().ok()?;
    Some(tried.status.success())
}
