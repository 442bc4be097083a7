//! A store that forgets: for those who embed the kernel, and for tests.

/// A store that forgets.
#[derive(Debug, Default)]
pub struct MemoryStore;
