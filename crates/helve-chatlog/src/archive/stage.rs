//! What was read of an export, kept aside until somebody says that it shall be so.
//!
//! One record per line: a letter, then JSON. Chats and senders are told once and meant by
//! number afterwards. The name of the file is the hash of what is in it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::ArchiveError;
use crate::message::{Chat, Kind, Message, Person, Sender};

/// A message, with its chat and sender by number.
pub(super) struct Record {
    pub(super) chat: usize,
    pub(super) sender: usize,
    pub(super) id: Option<String>,
    pub(super) time: Option<i64>,
    pub(super) kind: Kind,
    pub(super) text: String,
    pub(super) reply_to: Option<String>,
}

/// The fields in the order of the file: keys would be most of it.
type Fields<T> = (usize, usize, Option<T>, Option<i64>, Kind, T, Option<T>);

/// A staged file that is being written.
pub(super) struct Writer {
    path: PathBuf,
    out: BufWriter<Hashed>,
    chats: HashMap<Chat, usize>,
    senders: HashMap<Sender, usize>,
    line: Vec<u8>,
}

impl Writer {
    pub(super) fn create(path: PathBuf) -> Result<Self, ArchiveError> {
        let file = File::create(&path).map_err(ArchiveError::file(&path))?;
        let hashed = Hashed {
            file,
            hash: Sha256::new(),
        };
        Ok(Self {
            path,
            out: BufWriter::with_capacity(1 << 16, hashed),
            chats: HashMap::new(),
            senders: HashMap::new(),
            line: Vec::new(),
        })
    }

    pub(super) fn person(&mut self, person: &Person) -> io::Result<()> {
        self.record(b'p', person)
    }

    pub(super) fn message(&mut self, message: &Message) -> io::Result<()> {
        let chat = match self.chats.get(&message.chat) {
            Some(no) => *no,
            None => {
                self.record(b'c', &message.chat)?;
                let no = self.chats.len();
                self.chats.insert(message.chat.clone(), no);
                no
            }
        };
        let sender = match self.senders.get(&message.sender) {
            Some(no) => *no,
            None => {
                self.record(b's', &message.sender)?;
                let no = self.senders.len();
                self.senders.insert(message.sender.clone(), no);
                no
            }
        };
        let fields: Fields<&str> = (
            chat,
            sender,
            message.id.as_deref(),
            message.time,
            message.kind,
            &message.text,
            message.reply_to.as_deref(),
        );
        self.record(b'm', &fields)
    }

    fn record(&mut self, letter: u8, value: &impl Serialize) -> io::Result<()> {
        self.line.clear();
        self.line.push(letter);
        serde_json::to_writer(&mut self.line, value)?;
        self.line.push(b'\n');
        self.out.write_all(&self.line)
    }

    /// Ends the file and gives it its name.
    pub(super) fn finish(self) -> Result<String, ArchiveError> {
        let Self { path, out, .. } = self;
        let finish = || {
            let Hashed { file, hash } = out.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.sync_all()?;
            Ok(hex(&hash.finalize()))
        };
        let id = finish().map_err(ArchiveError::file(&path))?;
        let name = path.with_file_name(&id);
        std::fs::rename(&path, &name).map_err(ArchiveError::file(&name))?;
        Ok(id)
    }
}

/// Hashes what it writes.
struct Hashed {
    file: File,
    hash: Sha256,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// What a staged file tells, in its order.
pub(super) enum Told {
    Chat(Chat),
    Sender(Sender),
    Person(Person),
    Message(Record),
}

/// Reads a staged file, and fails if it is not what its name says: at the end, so whoever
/// reads must not have done anything that cannot be undone.
pub(super) fn read(
    path: &Path,
    id: &str,
    told: &mut dyn FnMut(Told) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let file = match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(ArchiveError::NotStaged(id.to_owned()));
        }
        file => file.map_err(ArchiveError::file(path))?,
    };
    let damaged = || ArchiveError::Damaged(id.to_owned());
    let mut hash = Sha256::new();
    let mut input = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.by_ref().read_until(b'\n', &mut line);
        if read.map_err(ArchiveError::file(path))? == 0 {
            break;
        }
        hash.update(&line);
        let (letter, json) = line.split_first().ok_or_else(damaged)?;
        told(parse(*letter, json).ok_or_else(damaged)?)?;
    }
    match hex(&hash.finalize()) == id {
        true => Ok(()),
        false => Err(damaged()),
    }
}

fn parse(letter: u8, json: &[u8]) -> Option<Told> {
    Some(match letter {
        b'c' => Told::Chat(serde_json::from_slice(json).ok()?),
        b's' => Told::Sender(serde_json::from_slice(json).ok()?),
        b'p' => Told::Person(serde_json::from_slice(json).ok()?),
        b'm' => {
            let fields: Fields<String> = serde_json::from_slice(json).ok()?;
            let (chat, sender, id, time, kind, text, reply_to) = fields;
            Told::Message(Record {
                chat,
                sender,
                id,
                time,
                kind,
                text,
                reply_to,
            })
        }
        _ => return None,
    })
}

/// Whether a text can be the id of an import: it becomes the name of a file.
pub(super) fn is_id(id: &str) -> bool {
    id.len() == 64 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
