//! What can be wrong with a definition, and how it is said.
//!
//! *Errors* make a definition unusable. *Warnings* are the quality rules of the
//! systems that Helve unites; `--strict` makes errors of them. Each rule is one
//! row of [`rules::RULES`], and every finding names its rule, its place and what
//! to do about it.

mod check;
pub mod fix;
mod hidden;
mod naming;
mod quality;
pub mod rules;
mod vendor;

pub use check::{Context, check, check_collection};
pub use hidden::is_hidden;
pub use rules::Rule;
pub(crate) use vendor::openai_sizes;
pub use vendor::{VENDORS, Vendor};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The tool works, and could be better.
    Warning,
    /// The tool cannot be used.
    Error,
}

/// A finding about one definition, before its file is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Issue {
    /// The rule that was broken.
    pub rule: &'static Rule,
    /// Where: a JSON pointer into the canonical definition.
    pub pointer: String,
    /// What is wrong, one sentence.
    pub message: String,
    /// What to do.
    pub fix: Option<String>,
    /// Whether it can be done without a person.
    pub safe: bool,
    /// The tool of the same collection that it is about, too.
    pub other: Option<usize>,
}

impl Issue {
    /// A finding of `rule` at `pointer`.
    pub fn new(
        rule: &'static Rule,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            rule,
            pointer: pointer.into(),
            message: message.into(),
            fix: None,
            safe: false,
            other: None,
        }
    }

    /// The same, with what to do.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

#[cfg(test)]
mod tests;
