//! What both benches need: a peer in Python, asked in the same run, and medians.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The number that a Python program prints. `needs` is the package that it cannot do
/// without.
pub(crate) fn python(program: &str, args: &[&Path], needs: &str) -> f64 {
    let ours = target().join("venv/bin/python");
    let python = match ours.is_file() {
        true => ours,
        false => PathBuf::from("python3"),
    };
    let ran = Command::new(&python)
        .arg("-c")
        .arg(program)
        .args(args)
        .output();
    let output = ran.unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{} needs `{needs}`; run ./test once: {error}",
        python.display()
    );
    let printed = String::from_utf8_lossy(&output.stdout);
    printed.trim().parse().unwrap()
}

/// Where the build puts things: on a disk, and with what `./test` installed.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        PathBuf::from,
    )
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
