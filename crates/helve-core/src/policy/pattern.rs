//! Patterns with `*` and `?`. Only the last star is ever tried again.

use std::fmt;

/// `file_*`, `/etc/*`, `agent:?`. Everything but `*` and `?` is itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Takes a pattern; an empty one matches only the empty text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The pattern, as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the whole text fits.
    pub fn matches(&self, text: &str) -> bool {
        let pattern: Vec<char> = self.0.chars().collect();
        let text: Vec<char> = text.chars().collect();
        let (mut p, mut t) = (0, 0);
        // Where the last star stood, and how much it has taken so far.
        let mut star: Option<(usize, usize)> = None;
        while t < text.len() {
            match pattern.get(p) {
                Some('*') => {
                    star = Some((p, t));
                    p += 1;
                }
                Some(c) if *c == '?' || *c == text[t] => {
                    p += 1;
                    t += 1;
                }
                _ => match star {
                    Some((at, taken)) => {
                        star = Some((at, taken + 1));
                        p = at + 1;
                        t = taken + 1;
                    }
                    None => return false,
                },
            }
        }
        pattern[p..].iter().all(|c| *c == '*')
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
