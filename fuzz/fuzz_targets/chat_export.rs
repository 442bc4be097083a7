//! Fuzzes the target `chat_export`; what it does is shared with the replay.

#![no_main]

#[path = "../../crates/helve-chatlog/tests/replay/target.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target::chat_export(bytes));
