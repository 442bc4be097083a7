//! What a program wrote: its head and tail for the answer, the whole in a file.
//!
//! A stream that fits is kept as it is. Of a longer one, memory holds the first
//! and the last bytes, and an artifact of the run all of them, up to a limit past
//! which a program counts as one that never ends. The file is made only when it
//! is needed, and only for the eyes of Helve's user.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;

use helve_kernel::{Artifact, Stream};
use tokio::fs::{self, DirBuilder, File, OpenOptions};
use tokio::io::AsyncWriteExt;

/// How much of a stream an answer holds.
pub(crate) const KEPT: usize = 32 * 1024;

/// The most that a program may write to one stream.
pub(crate) const MOST: u64 = 64 * 1024 * 1024;

/// A program wrote more than [`MOST`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Endless;

/// Takes in a stream.
#[derive(Debug)]
pub(crate) struct Capture {
    stream: Stream,
    /// Half of it for the head, half for the tail.
    keep: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    whole: Whole,
}

/// Where the whole of a stream is.
#[derive(Debug)]
enum Whole {
    /// In memory; a file would go into this folder.
    Here(Option<PathBuf>),
    /// In a file.
    Filed(File),
    /// Lost, and why.
    Lost(Option<io::Error>),
}

impl Capture {
    /// Keeps up to `keep` bytes of a stream in memory, and a longer one in a file
    /// of that folder.
    pub(crate) fn new(stream: Stream, keep: usize, folder: Option<PathBuf>) -> Self {
        Self {
            stream,
            keep,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
            whole: Whole::Here(folder),
        }
    }

    /// Takes in what came next.
    pub(crate) async fn push(&mut self, bytes: &[u8]) -> Result<(), Endless> {
        let room = usize::try_from(MOST - self.total).unwrap_or(usize::MAX);
        let (bytes, rest) = bytes.split_at(bytes.len().min(room));
        self.total += bytes.len() as u64;
        self.file(bytes).await;
        let half = self.keep / 2;
        let (head, tail) = bytes.split_at(bytes.len().min(half - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(tail);
        self.tail.drain(..self.tail.len().saturating_sub(half));
        match rest {
            [] => Ok(()),
            _ => Err(Endless),
        }
    }

    /// All that came.
    pub(crate) async fn finish(mut self) -> Output {
        if let Whole::Filed(file) = &mut self.whole
            && let Err(error) = file.flush().await
        {
            self.whole = Whole::Lost(Some(error));
        }
        Output {
            stream: self.stream,
            head: self.head,
            tail: self.tail.into(),
            total: self.total,
            rest: match self.whole {
                Whole::Filed(_) => Rest::Filed,
                Whole::Lost(Some(error)) => Rest::Lost(Some(error.to_string())),
                Whole::Here(_) | Whole::Lost(None) => Rest::Lost(None),
            },
        }
    }

    /// Puts the bytes into the file, once there is more than memory keeps.
    async fn file(&mut self, bytes: &[u8]) {
        if let Whole::Here(folder) = &mut self.whole {
            if self.total <= self.keep as u64 {
                return;
            }
            self.whole = match folder.take() {
                None => Whole::Lost(None),
                Some(folder) => match self.open(folder).await {
                    Ok(file) => Whole::Filed(file),
                    Err(error) => Whole::Lost(Some(error)),
                },
            };
        }
        if let Whole::Filed(file) = &mut self.whole
            && let Err(error) = file.write_all(bytes).await
        {
            self.whole = Whole::Lost(Some(error));
        }
    }

    /// The file, with all that came before.
    async fn open(&mut self, folder: PathBuf) -> io::Result<File> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .await?;
        let path = folder.join(self.stream.as_str());
        // An earlier try of the same run may have left one.
        match fs::remove_file(&path).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(&path).await?;
        file.write_all(&self.head).await?;
        file.write_all(self.tail.make_contiguous()).await?;
        Ok(file)
    }
}

/// What a program wrote to a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    stream: Stream,
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
    rest: Rest,
}

/// Where that is which is neither head nor tail.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Rest {
    Filed,
    Lost(Option<String>),
}

impl Output {
    /// How much it wrote.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// All of it, where memory has all of it.
    pub(crate) fn whole(&self) -> Option<Vec<u8>> {
        let kept = self.head.len() + self.tail.len();
        (kept as u64 == self.total).then(|| [self.head.as_slice(), &self.tail].concat())
    }

    /// The file that holds all of it, where there is one.
    pub(crate) fn artifact(&self) -> Option<Artifact> {
        (self.rest == Rest::Filed).then(|| Artifact {
            name: self.stream.as_str().to_owned(),
            bytes: self.total,
        })
    }

    /// It as text; of a long one the head and the tail, and what is left out.
    pub(crate) fn text(&self) -> String {
        if let Some(whole) = self.whole() {
            return String::from_utf8_lossy(&whole).into_owned();
        }
        let head = &self.head[..self.head.len() - unfinished(&self.head)];
        let tail = &self.tail[continued(&self.tail)..];
        let left = self.total - (head.len() + tail.len()) as u64;
        let rest = match &self.rest {
            Rest::Filed => format!("; whole output in artifact `{}`", self.stream.as_str()),
            Rest::Lost(Some(why)) => format!("; they could not be kept: {why}"),
            Rest::Lost(None) => String::new(),
        };
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        format!("{head}\n… {left} bytes left out{rest} …\n{tail}")
    }

    /// The last lines, as many as fit into so many characters; of a longer line, its end.
    pub(crate) fn last_lines(&self, most: usize) -> String {
        let bytes = self.whole();
        let bytes = bytes.unwrap_or_else(|| self.tail[continued(&self.tail)..].to_owned());
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        let length = text.chars().count();
        if length <= most {
            return text.to_owned();
        }
        let end: String = text.chars().skip(length - most).collect();
        match end.split_once('\n') {
            Some((_, lines)) if !lines.is_empty() => lines.to_owned(),
            _ => end,
        }
    }
}

/// How many bytes at the end are the start of a character that is cut off.
fn unfinished(bytes: &[u8]) -> usize {
    let longest = bytes.len().min(3);
    let cut = (1..=longest).find(|n| bytes[bytes.len() - n] & 0xC0 != 0x80);
    let Some(cut) = cut else { return 0 };
    let needs = match bytes[bytes.len() - cut] {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        _ => 1,
    };
    match needs > cut {
        true => cut,
        false => 0,
    }
}

/// How many bytes at the start are the end of a character that is cut off.
fn continued(bytes: &[u8]) -> usize {
    let within = bytes.iter().take(3);
    within.take_while(|byte| **byte & 0xC0 == 0x80).count()
}

#[cfg(test)]
mod tests;
