//! The folded texts and the columns of all messages, in files that are only read.
//!
//! Each file holds some lines in a row: columns of fixed width, the keys by which a message
//! is known again, and the texts one after another. It is made from the database, mapped
//! into memory, and made anew if its hash is not what it says. A byte that no text has
//! stands after each, so a scan of the whole never finds something across two messages.

use std::fs::File;
use std::hash::Hasher as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memchr::memmem::Finder;
use tantivy::directory::{Directory as _, MmapDirectory, OwnedBytes};

use super::ArchiveError;
use crate::message::Kind;

const MAGIC: &[u8; 8] = b"HLVFLAT1";
const HEADER: usize = 40;
/// After each text; never part of UTF-8.
const END: u8 = 0xFF;
/// The most lines of one file: what is being written is in memory.
pub(super) const MOST_LINES: usize = 1 << 17;
const MOST_TEXT: usize = 64 << 20;
/// With so many small files they are put together: a line is found by going through them.
pub(super) const MOST_SMALL: usize = 32;
/// How a time that is not known is written.
pub(super) const NO_TIME: i64 = i64::MIN;

/// One line, as it goes into a file.
pub(super) struct Row<'r> {
    pub(super) chat: u32,
    pub(super) sender: u32,
    pub(super) time: i64,
    pub(super) kind: Kind,
    pub(super) key: u64,
    /// Folded.
    pub(super) text: &'r str,
}

/// A file that is being made.
#[derive(Default)]
pub(super) struct Builder {
    first: u32,
    times: Vec<u8>,
    ends: Vec<u8>,
    chats: Vec<u8>,
    senders: Vec<u8>,
    kinds: Vec<u8>,
    keys: Vec<(u64, u32)>,
    text: Vec<u8>,
}

impl Builder {
    pub(super) fn new(first: u32) -> Self {
        Self {
            first,
            ..Self::default()
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.kinds.len() >= MOST_LINES || self.text.len() >= MOST_TEXT
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The line after the last.
    pub(super) fn next(&self) -> u32 {
        self.first + count(self.kinds.len())
    }

    pub(super) fn push(&mut self, row: &Row<'_>) {
        self.keys.push((row.key, count(self.kinds.len())));
        self.times.extend(row.time.to_le_bytes());
        self.chats.extend(row.chat.to_le_bytes());
        self.senders.extend(row.sender.to_le_bytes());
        self.kinds.push(number_of(row.kind));
        self.text.extend(row.text.as_bytes());
        self.ends.extend(count(self.text.len()).to_le_bytes());
        self.text.push(END);
    }

    /// Writes the file, durably and all at once.
    pub(super) fn write(mut self, folder: &Path) -> Result<PathBuf, ArchiveError> {
        self.keys.sort_unstable();
        let keys: Vec<u8> = self
            .keys
            .iter()
            .flat_map(|(key, _)| key.to_le_bytes())
            .collect();
        let lines: Vec<u8> = self
            .keys
            .iter()
            .flat_map(|(_, at)| at.to_le_bytes())
            .collect();
        let parts = [
            &self.times,
            &keys,
            &self.ends,
            &self.chats,
            &self.senders,
            &lines,
            &self.kinds,
            &self.text,
        ];
        let mut hasher = std::hash::DefaultHasher::new();
        parts.iter().for_each(|part| hasher.write(part));
        let path = folder.join(format!("{:010}.flat", self.first));
        let made = folder.join(format!("{:010}.new", self.first));
        let write = || {
            let mut file = File::create(&made)?;
            file.write_all(MAGIC)?;
            file.write_all(&u64::from(self.first).to_le_bytes())?;
            file.write_all(&(self.kinds.len() as u64).to_le_bytes())?;
            file.write_all(&(self.text.len() as u64).to_le_bytes())?;
            file.write_all(&hasher.finish().to_le_bytes())?;
            parts.iter().try_for_each(|part| file.write_all(part))?;
            file.sync_all()?;
            std::fs::rename(&made, &path)?;
            File::open(folder)?.sync_all()
        };
        write().map_err(ArchiveError::file(&path))?;
        Ok(path)
    }
}

/// Puts small files that follow each other into one. Whatever happens half way, the files no
/// longer fit together then, and are made anew at the next start.
pub(super) fn compact(flats: &[Arc<Flat>], folder: &Path) -> Result<(), ArchiveError> {
    let mut from = 0;
    while from < flats.len() {
        let (mut to, mut lines, mut text) = (from, 0, 0);
        while let Some(flat) = flats.get(to)
            && (to == from
                || lines + flat.count as usize <= MOST_LINES
                    && text + flat.text_bytes() <= MOST_TEXT)
        {
            lines += flat.count as usize;
            text += flat.text_bytes();
            to += 1;
        }
        if to - from > 1 {
            let mut builder = Builder::new(flats[from].first);
            flats[from..to]
                .iter()
                .for_each(|flat| flat.copy_to(&mut builder));
            builder.write(folder)?;
            for gone in &flats[from + 1..to] {
                let path = folder.join(format!("{:010}.flat", gone.first));
                std::fs::remove_file(&path).map_err(ArchiveError::file(&path))?;
            }
        }
        from = to;
    }
    Ok(())
}

/// A file that is there.
pub(super) struct Flat {
    pub(super) first: u32,
    pub(super) count: u32,
    /// Columns begin here, in this order.
    keys: usize,
    ends: usize,
    chats: usize,
    senders: usize,
    lines: usize,
    kinds: usize,
    text: usize,
    bytes: OwnedBytes,
}

impl Flat {
    /// Opens a file; nothing if it is not what it says it is.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let mut file = File::open(path).ok()?;
        let mut header = [0; HEADER];
        file.read_exact(&mut header).ok()?;
        let number = |at: usize| u64_at(&header, at);
        if &header[..8] != MAGIC {
            return None;
        }
        let (first, lines, text) = (number(8), number(16), number(24));
        let mut hasher = std::hash::DefaultHasher::new();
        let mut buffer = vec![0; 1 << 18];
        let mut length = HEADER as u64;
        loop {
            match file.read(&mut buffer).ok()? {
                0 => break,
                read => {
                    length += read as u64;
                    hasher.write(&buffer[..read]);
                }
            }
        }
        let expected = lines
            .checked_mul(33)?
            .checked_add(text)?
            .checked_add(HEADER as u64)?;
        if hasher.finish() != number(32) || length != expected {
            return None;
        }
        let folder = MmapDirectory::open(path.parent()?).ok()?;
        let bytes = folder
            .open_read(Path::new(path.file_name()?))
            .ok()?
            .read_bytes()
            .ok()?;
        let n = usize::try_from(lines).ok()?;
        let keys = HEADER + n * 8;
        Some(Self {
            first: u32::try_from(first).ok()?,
            count: u32::try_from(lines).ok()?,
            keys,
            ends: keys + n * 8,
            chats: keys + n * 12,
            senders: keys + n * 16,
            lines: keys + n * 20,
            kinds: keys + n * 24,
            text: keys + n * 25,
            bytes,
        })
    }

    pub(super) fn chat(&self, at: u32) -> u32 {
        u32_at(&self.bytes, self.chats + at as usize * 4)
    }

    pub(super) fn sender(&self, at: u32) -> u32 {
        u32_at(&self.bytes, self.senders + at as usize * 4)
    }

    pub(super) fn time(&self, at: u32) -> i64 {
        u64_at(&self.bytes, HEADER + at as usize * 8).cast_signed()
    }

    pub(super) fn kind(&self, at: u32) -> Kind {
        kind_of(self.bytes[self.kinds + at as usize])
    }

    fn copy_to(&self, builder: &mut Builder) {
        let mut keys = vec![0; self.count as usize];
        for at in 0..self.count as usize {
            let line = u32_at(&self.bytes, self.lines + at * 4);
            keys[line as usize] = u64_at(&self.bytes, self.keys + at * 8);
        }
        for (at, key) in (0..self.count).zip(keys) {
            builder.push(&Row {
                chat: self.chat(at),
                sender: self.sender(at),
                time: self.time(at),
                kind: self.kind(at),
                key,
                text: &String::from_utf8_lossy(self.text(at)),
            });
        }
    }

    fn end(&self, at: u32) -> usize {
        u32_at(&self.bytes, self.ends + at as usize * 4) as usize
    }

    fn start(&self, at: u32) -> usize {
        at.checked_sub(1).map_or(0, |before| self.end(before) + 1)
    }

    /// How many bytes its text has.
    pub(super) fn length(&self, at: u32) -> usize {
        self.end(at) - self.start(at)
    }

    pub(super) fn text(&self, at: u32) -> &[u8] {
        &self.all_text()[self.start(at)..self.end(at)]
    }

    pub(super) fn text_bytes(&self) -> usize {
        self.bytes.len() - self.text - self.count as usize
    }

    fn all_text(&self) -> &[u8] {
        &self.bytes[self.text..]
    }

    /// The lines with that key, as lines of the archive.
    pub(super) fn with_key(&self, key: u64) -> impl Iterator<Item = u32> + '_ {
        let at = |i: u32| u64_at(&self.bytes, self.keys + i as usize * 8);
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            match at(middle) < key {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        (low..self.count)
            .take_while(move |i| at(*i) == key)
            .map(|i| self.first + u32_at(&self.bytes, self.lines + i as usize * 4))
    }

    /// Tells of each line whose text has the needle, in order.
    pub(super) fn scan(&self, needle: &Finder<'_>, found: &mut dyn FnMut(u32)) {
        let text = self.all_text();
        let (mut from, mut line) = (0, 0);
        while let Some(hit) = needle.find(&text[from..]) {
            line = self.line_at(line, from + hit);
            found(self.first + line);
            from = self.end(line) + 1;
            line += 1;
        }
    }

    /// The line in which a place of the text is, not before `from`.
    fn line_at(&self, from: u32, place: usize) -> u32 {
        // Hits are often near each other: steps that double, and then by halves.
        let (mut low, mut step) = (from, 1);
        while low + step < self.count && self.end(low + step) <= place {
            low += step;
            step *= 2;
        }
        let mut high = (low + step).min(self.count - 1);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.end(middle) <= place {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(four)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}

/// A count that the bounds above keep small.
fn count(n: usize) -> u32 {
    u32::try_from(n).expect("a file of texts stays far below four gigabytes")
}

/// The kinds by their numbers in files and in the database.
pub(super) const KINDS: [Kind; 12] = [
    Kind::Text,
    Kind::Image,
    Kind::Voice,
    Kind::Video,
    Kind::Sticker,
    Kind::File,
    Kind::Link,
    Kind::Location,
    Kind::Call,
    Kind::Money,
    Kind::System,
    Kind::Other,
];

pub(super) fn number_of(kind: Kind) -> u8 {
    match kind {
        Kind::Text => 0,
        Kind::Image => 1,
        Kind::Voice => 2,
        Kind::Video => 3,
        Kind::Sticker => 4,
        Kind::File => 5,
        Kind::Link => 6,
        Kind::Location => 7,
        Kind::Call => 8,
        Kind::Money => 9,
        Kind::System => 10,
        Kind::Other => 11,
    }
}

pub(super) fn kind_of(number: u8) -> Kind {
    KINDS
        .get(usize::from(number))
        .copied()
        .unwrap_or(Kind::Other)
}
