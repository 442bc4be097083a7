//! The last of what a program wrote to its standard error.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// How much is kept.
const KEPT: usize = 64 * 1024;

/// The last of a text. A clone is the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = &bytes[bytes.len().saturating_sub(KEPT)..];
        let over = (kept.len() + bytes.len()).saturating_sub(KEPT);
        kept.drain(..over);
        kept.extend(bytes);
    }

    /// A line of our own.
    pub(crate) fn note(&self, line: &str) {
        self.push(format!("[helve] {line}\n").as_bytes());
    }

    pub(crate) fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The last line with something in it.
    pub(crate) fn last_line(&self) -> Option<String> {
        let text = self.text();
        let line = text
            .lines()
            .map(str::trim)
            .rfind(|l| !l.is_empty() && !l.starts_with("[helve]"))?;
        Some(line.chars().take(300).collect())
    }
}
