//! What this machine gives to programs that are to be held.

use std::path::Path;

use helve_sandbox::abilities;

use crate::cage::Kind;

/// What this machine gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ground {
    /// Whether programs run in a sandbox.
    pub(crate) sandboxed: bool,
    /// What holds back what they write.
    pub(crate) kind: Kind,
}

impl Ground {
    /// All that can be asked for.
    pub(crate) const WHOLE: Self = Self {
        sandboxed: true,
        kind: Kind::Overlays,
    };

    /// Finds out, by trying each; `folder` is where what programs write is held back.
    pub(crate) fn find(folder: &Path) -> Self {
        let found = abilities(folder);
        let needed = |a: &&helve_sandbox::Ability| a.lost == helve_sandbox::NO_SANDBOX;
        let sandboxed = found.iter().filter(needed).all(|a| a.works);
        let overlay = found.iter().any(|a| a.name == "overlay" && a.works);
        let kind = match (sandboxed, overlay) {
            (true, true) => Kind::Overlays,
            (true, false) => Kind::Copies,
            (false, _) => Kind::Nothing,
        };
        Self { sandboxed, kind }
    }
}
