//! The hashes of files, without reading an unchanged one twice.
//!
//! A file counts as unchanged while its device, inode, size and both times are the
//! same; nobody but the system sets the second of them. A hash is remembered only
//! when the file has been left alone for a while: a second change within one tick
//! of the file system's clock would go unseen.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use helve_core::audit::Hash;
use sha2::{Digest, Sha256};

/// Hashes of files that have not changed since they were read.
#[derive(Debug, Default)]
pub(crate) struct Hashes(Mutex<HashMap<Stamp, Hash>>);

/// What differs when a file does: device, inode, size, and both times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Stamp(u64, u64, u64, (i64, i64), (i64, i64));

/// How long a file must have been left alone for its hash to be remembered.
const SETTLED: Duration = Duration::from_secs(2);

/// How many hashes are remembered.
const MOST: usize = 4096;

impl Hashes {
    /// The hash of a file's content.
    pub(crate) fn of(&self, path: &Path) -> io::Result<Hash> {
        let mut file = File::open(path)?;
        let before = file.metadata()?;
        let stamp = Stamp::of(&before);
        if let Some(hash) = self.known().get(&stamp) {
            return Ok(*hash);
        }
        let hash = hash(&mut file, before.len())?;
        if Stamp::of(&file.metadata()?) == stamp && settled(&before) {
            let mut known = self.known();
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(stamp, hash);
        }
        Ok(hash)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Stamp, Hash>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stamp {
    fn of(file: &Metadata) -> Self {
        Self(
            file.dev(),
            file.ino(),
            file.size(),
            (file.mtime(), file.mtime_nsec()),
            (file.ctime(), file.ctime_nsec()),
        )
    }
}

/// Files up to this size are read in one piece.
const SMALL: u64 = 64 * 1024;

fn hash(file: &mut File, length: u64) -> io::Result<Hash> {
    if length <= SMALL {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        return Ok(Hash::of(&bytes));
    }
    let mut sum = Sha256::new();
    let mut piece = vec![0; 256 * 1024];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            n => sum.update(&piece[..n]),
        }
    }
    let hex: String = sum.finalize().iter().map(|b| format!("{b:02x}")).collect();
    Hash::parse(&hex).ok_or_else(|| io::Error::other("a hash that is none"))
}

fn settled(file: &Metadata) -> bool {
    let Ok(changed) = u64::try_from(file.ctime()) else {
        return false;
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.is_ok_and(|now| now > Duration::from_secs(changed.saturating_add(1)) + SETTLED)
}

#[cfg(test)]
mod tests;
