//! What this machine gives to programs that are to be held.

use std::path::Path;

pub use helve_sandbox::Ability;
use helve_sandbox::NO_SANDBOX;

use crate::cage::Kind;

/// What this machine gives to sandboxes, for people who ask. Each was tried for real.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// What becomes of programs here.
    pub held: Held,
    /// One by one.
    pub abilities: Vec<Ability>,
}

/// How well programs can be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// In a sandbox; what they write lands in layers.
    Whole,
    /// In a sandbox; those that write run on copies of their folders.
    Copies,
    /// Not at all.
    Nothing,
}

impl Given {
    /// Finds out. `folder` is where what programs write is held back; what is made
    /// there for the trial is removed. Blocks.
    pub fn find(folder: &Path) -> Self {
        let abilities = helve_sandbox::abilities(folder);
        let needed = |a: &&Ability| a.lost == NO_SANDBOX;
        let sandboxed = abilities.iter().filter(needed).all(|a| a.works);
        let overlay = abilities.iter().any(|a| a.name == "overlay" && a.works);
        let held = match (sandboxed, overlay) {
            (true, true) => Held::Whole,
            (true, false) => Held::Copies,
            (false, _) => Held::Nothing,
        };
        Self { held, abilities }
    }
}

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
        let held = Given::find(folder).held;
        let kind = match held {
            Held::Whole => Kind::Overlays,
            Held::Copies => Kind::Copies,
            Held::Nothing => Kind::Nothing,
        };
        let sandboxed = held != Held::Nothing;
        Self { sandboxed, kind }
    }
}
