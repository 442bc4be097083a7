//! Names for single things: runs, approvals, tokens. A type for each, so that
//! one is never taken for another.

use std::fmt;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// A new one. Ids made later sort later.
            pub fn fresh() -> Self {
                Self(format!(concat!($prefix, "{}"), uuid::Uuid::now_v7().simple()))
            }

            /// Reads one; nothing but what [`Self::fresh`] makes is taken.
            pub fn parse(text: &str) -> Option<Self> {
                let digits = text.strip_prefix($prefix)?;
                let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
                (digits.len() == 32 && digits.bytes().all(hex)).then(|| Self(text.to_owned()))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

ids! {
    /// One call of one tool.
    RunId "run_";
    /// A question put to people.
    ApprovalId "apr_";
    /// A question of a tool.
    QuestionId "qst_";
    /// A token; not its secret.
    TokenId "tok_";
}
