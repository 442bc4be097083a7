//! Tells the linker which functions a hub uses, so that they lie side by side.
//!
//! The system brings in 64 KB of a program around each page that is touched: with what is used
//! scattered over all of the code, an idle hub holds three times as much of it as it needs.
//! `bench/layout/record.py` makes the list. Only where the linker is the one that Rust brings along on
//! this system; every other way to link stays as it is.

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
    if linker().is_some_and(|linker| linker.exists()) {
        let order = Path::new(&told("CARGO_MANIFEST_DIR").unwrap_or_default()).join("order.txt");
        for word in ["--no-warn-symbol-ordering", "--symbol-ordering-file"] {
            println!("cargo::rustc-link-arg-bins=-Xlinker");
            println!("cargo::rustc-link-arg-bins={word}");
        }
        println!("cargo::rustc-link-arg-bins=-Xlinker");
        println!("cargo::rustc-link-arg-bins={}", order.display());
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

/// The linker that comes with Rust.
#[expect(
    clippy::disallowed_methods,
    reason = "a build asks the compiler where it is, and runs no tool"
)]
fn linker() -> Option<PathBuf> {
    let rustc = told("RUSTC")?;
    let told = std::process::Command::new(rustc)
        .args(["--print", "sysroot"])
        .output()
        .ok()?;
    let sysroot = String::from_utf8(told.stdout).ok()?;
    let beneath = format!("lib/rustlib/{TARGET}/bin/gcc-ld/ld.lld");
    Some(Path::new(sysroot.trim()).join(beneath))
}
