//! Whether a chain is whole, and the one that was signed.
//!
//! A [`Verifier`] takes entries one by one and keeps none of them, so that a chain of
//! millions is checked as it comes out of a store. What is broken stays broken: after
//! the first error, every later call answers with it.

use super::{Checkpoint, Entry, Head, PublicKey, canonical};

/// Where a chain is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A line that is no entry.
    #[error("line {line} is not an entry")]
    NotAnEntry {
        /// The line, from 1.
        line: usize,
    },
    /// A number that does not follow.
    #[error("entry {found} stands where entry {wanted} should")]
    Gap {
        /// What should stand there.
        wanted: u64,
        /// What does.
        found: u64,
    },
    /// A hash that does not fit.
    #[error("entry {seq} was changed, or one before it")]
    Changed {
        /// Its number.
        seq: u64,
    },
    /// The end is not where it should be.
    #[error("the chain ends at entry {found}, not at entry {wanted} as was recorded")]
    WrongEnd {
        /// Where it should end.
        wanted: u64,
        /// Where it does.
        found: u64,
    },
    /// A checkpoint that names another key.
    #[error(
        "the checkpoint at entry {seq} was signed with the key `{key}`, not with the one that was given"
    )]
    ForeignKey {
        /// Its number.
        seq: u64,
        /// The key that it names.
        key: PublicKey,
    },
    /// A checkpoint whose signature does not hold.
    #[error("the checkpoint at entry {seq} was changed, or was never signed with its key")]
    NotSigned {
        /// Its number.
        seq: u64,
    },
    /// An entry that fits the chain, but is not the one that was signed.
    #[error(
        "entry {seq} is not the one that was signed: the record was written anew, or the checkpoint belongs to another one"
    )]
    Forked {
        /// Its number.
        seq: u64,
    },
    /// Less than was signed.
    #[error(
        "entry {signed} was signed, but the record ends at entry {found}: it was cut off, or this is an older copy"
    )]
    CutOff {
        /// The last entry that was signed.
        signed: u64,
        /// Where the record ends.
        found: u64,
    },
    /// A checkpoint about entries that were not given.
    #[error(
        "the checkpoint at entry {seq} cannot be compared, because the entries begin after entry {start}; leave it out, or begin earlier"
    )]
    BeforeStart {
        /// Its number.
        seq: u64,
        /// The last entry before those that were given.
        start: u64,
    },
}

/// A chain that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// Where it ends.
    pub head: Head,
    /// How many checkpoints it was held against.
    pub checkpoints: usize,
    /// The last entry that a checkpoint covers; what comes after is whole, but not
    /// signed. 0 without checkpoints.
    pub covered: u64,
}

/// Checks exported lines from `start` on. With `end`, which was kept elsewhere, a
/// chain that was cut off or replaced as a whole is found out, too.
pub fn verify<'l>(
    lines: impl IntoIterator<Item = &'l str>,
    start: Head,
    end: Option<Head>,
) -> Result<Head, Broken> {
    let mut verifier = Verifier::at(start);
    for line in lines {
        verifier.line(line)?;
    }
    let head = verifier.finish()?.head;
    match end {
        Some(end) if end.seq != head.seq => Err(Broken::WrongEnd {
            wanted: end.seq,
            found: head.seq,
        }),
        Some(end) if end.hash != head.hash => Err(Broken::Changed { seq: head.seq }),
        _ => Ok(head),
    }
}

/// Checks exported lines from `start` on against checkpoints, in any order, that
/// `key` must have signed.
pub fn verify_with<'l>(
    lines: impl IntoIterator<Item = &'l str>,
    start: Head,
    checkpoints: &[Checkpoint],
    key: &PublicKey,
) -> Result<Verified, Broken> {
    let mut verifier = Verifier::new(start, checkpoints, key)?;
    for line in lines {
        verifier.line(line)?;
    }
    verifier.finish()
}

/// A check that goes on entry by entry.
#[derive(Debug, Clone)]
pub struct Verifier {
    head: Head,
    lines: usize,
    /// What was signed, the last first, without what has been passed.
    ahead: Vec<Head>,
    checkpoints: usize,
    covered: u64,
    broken: Option<Broken>,
}

impl Verifier {
    /// Begins after `start`. Every checkpoint must be signed with `key`, and none may
    /// be about an entry before `start`.
    pub fn new(start: Head, checkpoints: &[Checkpoint], key: &PublicKey) -> Result<Self, Broken> {
        for checkpoint in checkpoints {
            let seq = checkpoint.seq;
            if checkpoint.key != *key {
                let key = checkpoint.key;
                return Err(Broken::ForeignKey { seq, key });
            }
            if !checkpoint.verify(key) {
                return Err(Broken::NotSigned { seq });
            }
            if seq < start.seq {
                let start = start.seq;
                return Err(Broken::BeforeStart { seq, start });
            }
        }
        let mut verifier = Self::at(start);
        verifier.ahead = checkpoints.iter().map(Checkpoint::head).collect();
        verifier
            .ahead
            .sort_by_key(|head| std::cmp::Reverse(head.seq));
        verifier.checkpoints = checkpoints.len();
        verifier.covered = verifier.ahead.first().map_or(0, |last| last.seq);
        verifier.compare()?;
        Ok(verifier)
    }

    /// Begins after `start`, without checkpoints.
    fn at(start: Head) -> Self {
        Self {
            head: start,
            lines: 0,
            ahead: Vec::new(),
            checkpoints: 0,
            covered: 0,
            broken: None,
        }
    }

    /// Where the chain stands so far.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Takes the next entry as its exported line, and gives back what it says.
    pub fn line(&mut self, line: &str) -> Result<Entry, Broken> {
        self.lines += 1;
        match Entry::from_line(line) {
            Some(entry) => self.entry(&entry).map(|()| entry),
            None => Err(self.stop(Broken::NotAnEntry { line: self.lines })),
        }
    }

    /// Takes the next entry.
    pub fn entry(&mut self, entry: &Entry) -> Result<(), Broken> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        self.step(entry).map_err(|broken| self.stop(broken))
    }

    /// Says whether all of it holds: nothing was broken on the way, and nothing that
    /// was signed is missing at the end.
    pub fn finish(self) -> Result<Verified, Broken> {
        if let Some(broken) = self.broken {
            return Err(broken);
        }
        match self.ahead.first() {
            Some(last) => Err(Broken::CutOff {
                signed: last.seq,
                found: self.head.seq,
            }),
            None => Ok(Verified {
                head: self.head,
                checkpoints: self.checkpoints,
                covered: self.covered,
            }),
        }
    }

    fn step(&mut self, entry: &Entry) -> Result<(), Broken> {
        let found = entry.seq;
        if self.head.seq.checked_add(1) != Some(found) {
            let wanted = self.head.seq.saturating_add(1);
            return Err(Broken::Gap { wanted, found });
        }
        let next = canonical(&entry.record).map(|record| self.head.after(&record));
        match next {
            Ok(next) if next.hash == entry.hash => self.head = next,
            _ => return Err(Broken::Changed { seq: entry.seq }),
        }
        self.compare()
    }

    /// Holds where the chain stands against what was signed about it.
    fn compare(&mut self) -> Result<(), Broken> {
        while let Some(signed) = self.ahead.pop_if(|signed| signed.seq == self.head.seq) {
            if signed.hash != self.head.hash {
                return Err(Broken::Forked { seq: signed.seq });
            }
        }
        Ok(())
    }

    fn stop(&mut self, broken: Broken) -> Broken {
        self.broken.get_or_insert(broken).clone()
    }
}

#[cfg(test)]
mod tests;
