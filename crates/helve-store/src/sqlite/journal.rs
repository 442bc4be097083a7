//! A file into which calls are written before they are in the tables.
//!
//! An entry is one small write at the next place, where a commit of the database is many
//! pages. The file has its size from the start, so that to make it durable needs no news of
//! the file system. It has two halves: while one is written, what is in the other gets into
//! the tables, and then that one is free again.
//!
//! An entry tells the epoch of the store (one for each time that it was opened) and its
//! number, and a check over both and its text. So what an earlier use of the same place left
//! is never taken for what follows, and an entry of which only a part reached the disk is
//! none.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use helve_core::audit::Hash;

use super::file::private;

/// How long a half is.
const HALF: u64 = 2 << 20;

/// How long an entry may be. What is longer goes to the tables at once.
const MOST: usize = 256 << 10;

const PAGE: usize = 4_096;

/// Length, check, epoch, number.
const HEADER: usize = 4 + CHECK + 8 + 8;
const CHECK: usize = 16;

/// An entry on its way: room for what stands before its text, and then the text.
#[derive(Debug)]
pub(super) struct Entering(Vec<u8>);

impl Entering {
    /// One whose text is what `write` adds.
    pub(super) fn new<E>(write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<Self, E> {
        let mut bytes = Vec::with_capacity(2048);
        bytes.resize(HEADER, 0);
        write(&mut bytes)?;
        Ok(Self(bytes))
    }

    fn length(&self) -> usize {
        self.0.len() - HEADER
    }

    fn framed(&mut self, epoch: u64, number: u64) -> &[u8] {
        let length = self.length() as u32;
        let (head, checked) = self.0.split_at_mut(4 + CHECK);
        checked[..8].copy_from_slice(&epoch.to_le_bytes());
        checked[8..16].copy_from_slice(&number.to_le_bytes());
        head[..4].copy_from_slice(&length.to_le_bytes());
        head[4..].copy_from_slice(&check(checked));
        &self.0
    }
}

/// Whether all of an entry reached the disk. That nobody has changed it is not asked here:
/// the chain of the record tells.
fn check(checked: &[u8]) -> [u8; CHECK] {
    let mut check = [0; CHECK];
    check[..4].copy_from_slice(&crc32fast::hash(checked).to_le_bytes());
    check
}

fn holds(found: &[u8; CHECK], checked: &[u8]) -> bool {
    // As it was at first.
    let before = || Hash::of(checked).as_bytes()[..CHECK] == *found;
    *found == check(checked) || before()
}

/// An entry that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) epoch: u64,
    pub(super) number: u64,
    pub(super) text: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Journal {
    file: Arc<File>,
    epoch: u64,
    /// Which half is written, and how far.
    half: usize,
    at: u64,
    /// The last number in each half; 0 where nothing in it is needed.
    last: [u64; 2],
}

impl Journal {
    /// Opens the file, or makes it, and reads what is in it.
    pub(super) fn open(path: &Path) -> io::Result<(Self, Vec<Entry>)> {
        let file = private(path)?;
        let length = file.metadata()?.len();
        if length != 2 * HALF {
            // What is in one that was cut is read as far as it goes.
            file.set_len(2 * HALF)?;
            if length == 0 {
                // Written, and not only reserved: the first write to a reserved block is news.
                wipe(&file)?;
            }
            file.sync_all()?;
            if let Some(folder) = path.parent() {
                File::open(folder)?.sync_all()?;
            }
        }
        let mut halves = [read_half(&file, 0)?, read_half(&file, HALF)?];
        halves.sort_by_key(|entries| entries.first().map(|e| (e.epoch, e.number)));
        let journal = Self {
            file: Arc::new(file),
            epoch: 0,
            half: 0,
            at: 0,
            last: [0; 2],
        };
        Ok((journal, halves.into_iter().flatten().collect()))
    }

    /// Begins anew: what was read is in the tables.
    pub(super) fn begin(&mut self, epoch: u64) {
        self.epoch = epoch;
        self.rewind();
    }

    /// Begins at the beginning: all of it is in the tables.
    pub(super) fn rewind(&mut self) {
        (self.half, self.at, self.last) = (0, 0, [0; 2]);
    }

    /// The file, for whoever makes it durable.
    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// Writes an entry; `false` where there is no room for it now.
    pub(super) fn put(&mut self, number: u64, entry: &mut Entering) -> io::Result<bool> {
        let length = HEADER + entry.length();
        if entry.length() > MOST {
            return Ok(false);
        }
        let (mut half, mut at) = (self.half, self.at);
        if at + length as u64 > HALF {
            (half, at) = (1 - half, 0);
            if self.last[half] != 0 {
                return Ok(false);
            }
        }
        let bytes = entry.framed(self.epoch, number);
        self.file.write_all_at(bytes, offset(half) + at)?;
        (self.half, self.at) = (half, at + length as u64);
        self.last[half] = number;
        Ok(true)
    }

    /// All up to that number is durable in the tables.
    pub(super) fn done(&mut self, number: u64) {
        for last in &mut self.last {
            if *last <= number {
                *last = 0;
            }
        }
    }

    /// Leaves nothing to read: whoever puts an older copy of the tables back means that.
    pub(super) fn clear(&self) -> io::Result<()> {
        self.file.write_all_at(&[0; HEADER], offset(0))?;
        self.file.write_all_at(&[0; HEADER], offset(1))
    }
}

/// Leaves no byte of what was in the file. By pages: where the system keeps more in one piece,
/// each write to it goes through all of that.
pub(super) fn wipe(file: &File) -> io::Result<()> {
    for at in (0..2 * HALF).step_by(PAGE) {
        file.write_all_at(&[0; PAGE], at)?;
    }
    file.sync_data()
}

fn offset(half: usize) -> u64 {
    half as u64 * HALF
}

/// The entries of a half that follow from each other.
fn read_half(file: &File, start: u64) -> io::Result<Vec<Entry>> {
    let mut first = [0; HEADER];
    file.read_exact_at(&mut first, start)?;
    if first == [0; HEADER] {
        return Ok(Vec::new());
    }
    let mut bytes = vec![0; HALF as usize];
    file.read_exact_at(&mut bytes, start)?;
    let mut rest = bytes.as_slice();
    let mut entries: Vec<Entry> = Vec::new();
    while let Some((entry, after)) = unframed(rest) {
        let follows = |last: &Entry| {
            last.epoch == entry.epoch && last.number.checked_add(1) == Some(entry.number)
        };
        if !entries.last().is_none_or(follows) {
            break;
        }
        entries.push(entry);
        rest = after;
    }
    Ok(entries)
}

fn unframed(bytes: &[u8]) -> Option<(Entry, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (check, rest) = rest.split_first_chunk::<CHECK>()?;
    let length = u32::from_le_bytes(*length) as usize;
    let (checked, after) = rest.split_at_checked(16 + length)?;
    if !holds(check, checked) {
        return None;
    }
    let (epoch, rest) = checked.split_first_chunk::<8>()?;
    let (number, text) = rest.split_first_chunk::<8>()?;
    let entry = Entry {
        epoch: u64::from_le_bytes(*epoch),
        number: u64::from_le_bytes(*number),
        text: text.to_vec(),
    };
    Some((entry, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &[u8]) -> Vec<u8> {
        let write = |out: &mut Vec<u8>| {
            out.extend_from_slice(text);
            io::Result::Ok(())
        };
        Entering::new(write).unwrap().framed(3, 9).to_vec()
    }

    #[test]
    fn no_byte_of_an_entry_can_be_another() {
        let bytes = entry(b"what was said");
        let (found, after) = unframed(&bytes).unwrap();
        assert_eq!((found.epoch, found.number, after.len()), (3, 9, 0));
        assert_eq!(found.text, b"what was said");
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_eq!(unframed(&other), None, "{at}");
        }
    }

    /// As the first journals had it.
    #[test]
    fn an_entry_with_the_former_check_is_read() {
        let mut bytes = entry(b"what was said");
        let former = Hash::of(&bytes[4 + CHECK..]);
        bytes[4..4 + CHECK].copy_from_slice(&former.as_bytes()[..CHECK]);
        let (found, _) = unframed(&bytes).unwrap();
        assert_eq!(found.text, b"what was said");
    }
}
