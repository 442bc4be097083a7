//! The `helve` command.

fn main() {}
