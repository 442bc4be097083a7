//! Tells the linker which functions a hub uses, so that they lie side by side.
//!
//! The system brings in 64 KB of a program around each page that is touched: with what is used
//! scattered over all of the code, an idle hub holds three times as much of it as it needs.
//! `bench/layout/record.py` makes the list. Only where the linker is the one that Rust brings along on
//! this system; every other way to link stays as it is.

use std::env::var;
use std::path::{Path, PathBuf};

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn main() {
    println!("cargo::rerun-if-changed=order.txt");
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| var(name).is_ok_and(|v| v == value);
    let chosen = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let chosen = chosen.contains("linker") || chosen.contains("fuse-ld");
    if !is("PROFILE", "release") || !is("TARGET", TARGET) || chosen || var("RUSTC_LINKER").is_ok() {
        return;
    }
    if linker().is_some_and(|linker| linker.exists()) {
        let order = Path::new(&var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("order.txt");
        println!(
            "cargo::rustc-link-arg-bins=-Wl,--symbol-ordering-file={},--no-warn-symbol-ordering",
            order.display()
        );
    }
}

/// The linker that comes with Rust.
#[expect(
    clippy::disallowed_methods,
    reason = "a build asks the compiler where it is, and runs no tool"
)]
fn linker() -> Option<PathBuf> {
    let rustc = var("RUSTC").ok()?;
    let told = std::process::Command::new(rustc)
        .args(["--print", "sysroot"])
        .output()
        .ok()?;
    let sysroot = String::from_utf8(told.stdout).ok()?;
    let beneath = format!("lib/rustlib/{TARGET}/bin/gcc-ld/ld.lld");
    Some(Path::new(sysroot.trim()).join(beneath))
}
