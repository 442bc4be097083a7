//! Fuzzes the target `openapi`; what it does is shared with the replay.

#![no_main]

#[path = "../../crates/helve-core/tests/replay/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::body_of("openapi")(bytes));
