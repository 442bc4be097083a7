//! How messages come in: staged first, where nothing can be seen of them, then made so.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use roaring::RoaringBitmap;
use rusqlite::{Connection, params};

use super::flat::{self, Builder, Flat, NO_TIME, Row};
use super::known::{self, Keys, Like, Said};
use super::normal::normalize;
use super::stage::{self, Told};
use super::view::View;
use super::{ArchiveError, Malformed, Progress, Staged, Watch, store};
use crate::input::{Sink, Stop};
use crate::message::{Chat, Message, Person, Sender};

/// How many malformed records are told in full.
const SAMPLES: usize = 20;
/// How often whoever watches is told.
const TELL: u64 = 4096;

/// Takes what is read of an export, writes it aside and counts.
pub(super) struct Stager<'s> {
    view: &'s View,
    conn: &'s Connection,
    keys: Keys,
    out: stage::Writer,
    watch: Watch<'s>,
    progress: Progress,
    seen: Seen,
    chats: HashMap<String, Option<u32>>,
    senders: HashMap<String, Option<u32>>,
    staged: Staged,
    /// What really went wrong, where the reader only knows that it had to stop.
    failed: Option<ArchiveError>,
}

impl<'s> Stager<'s> {
    pub(super) fn new(
        view: &'s View,
        conn: &'s Connection,
        keys: Keys,
        out: stage::Writer,
        watch: Watch<'s>,
    ) -> Self {
        Self {
            view,
            conn,
            keys,
            out,
            watch,
            progress: Progress::default(),
            seen: Seen::default(),
            chats: HashMap::new(),
            senders: HashMap::new(),
            staged: Staged {
                id: String::new(),
                messages: 0,
                new: 0,
                known: 0,
                malformed: 0,
                malformed_samples: Vec::new(),
                chats: 0,
                people: 0,
                first: None,
                last: None,
            },
            failed: None,
        }
    }

    pub(super) fn finish(
        mut self,
        produced: Result<(), Box<dyn std::error::Error + Send + Sync>>,
    ) -> Result<Staged, ArchiveError> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        produced.map_err(ArchiveError::Source)?;
        self.staged.id = self.out.finish()?;
        self.staged.chats = self.chats.len() as u64;
        self.staged.people = self.senders.keys().filter(|id| !id.is_empty()).count() as u64;
        Ok(self.staged)
    }

    fn count(&mut self, message: &Message) -> Result<(), ArchiveError> {
        let rows = &self.view.chats;
        let chat = *self
            .chats
            .entry(message.chat.id.clone())
            .or_insert_with(|| {
                rows.iter()
                    .find(|row| row.id == message.chat.id)
                    .map(|row| row.no)
            });
        let rows = &self.view.people;
        let sender = *self
            .senders
            .entry(message.sender.id.clone())
            .or_insert_with(|| {
                rows.iter()
                    .find(|row| row.id == message.sender.id)
                    .map(|row| row.no)
            });
        let (key, nth) = self.seen.key(self.keys, &said(message));
        let mut known = false;
        if let Some(chat) = chat {
            let like = like(message, chat, sender, nth);
            known = find(self.view, self.conn, key, &like)?.is_some();
        }
        // Twice in one export: only counted here, so the hint is enough.
        if !known && message.id.is_some() {
            known = !self.seen.met.insert(key);
        }
        match known {
            true => self.staged.known += 1,
            false => self.staged.new += 1,
        }
        self.staged.messages += 1;
        if let Some(time) = message.time {
            let (first, last) = (self.staged.first, self.staged.last);
            self.staged.first = Some(first.map_or(time, |first| first.min(time)));
            self.staged.last = Some(last.map_or(time, |last| last.max(time)));
        }
        self.out.message(message)?;
        self.progress.messages += 1;
        match self.progress.messages.is_multiple_of(TELL) {
            true => self.tell(),
            false => Ok(()),
        }
    }

    fn tell(&mut self) -> Result<(), ArchiveError> {
        match (self.watch)(self.progress).is_break() {
            true => Err(ArchiveError::Cancelled),
            false => Ok(()),
        }
    }

    fn keep(&mut self, done: Result<(), ArchiveError>) -> Result<(), Stop> {
        done.map_err(|error| {
            let told = error.to_string();
            self.failed = Some(error);
            Stop(told.into())
        })
    }
}

impl Sink for Stager<'_> {
    fn message(&mut self, message: Message) -> Result<(), Stop> {
        let done = self.count(&message);
        self.keep(done)
    }

    fn person(&mut self, person: Person) -> Result<(), Stop> {
        let done = self.out.person(&person).map_err(ArchiveError::from);
        self.keep(done)
    }

    fn malformed(&mut self, place: u64, why: String) -> Result<(), Stop> {
        self.staged.malformed += 1;
        if self.staged.malformed_samples.len() < SAMPLES {
            self.staged.malformed_samples.push(Malformed { place, why });
        }
        Ok(())
    }

    fn progress(&mut self, bytes: u64) -> Result<(), Stop> {
        self.progress.bytes = bytes;
        let done = self.tell();
        self.keep(done)
    }
}

/// What has been met in one export. It is all that grows with an export, so it is small: most
/// messages are there once.
#[derive(Default)]
struct Seen {
    /// What there was at least once.
    met: HashSet<u64>,
    /// How often more there was each that has no name.
    again: HashMap<u64, u32>,
    /// The lines of those that have one.
    named: HashMap<u64, u32>,
}

impl Seen {
    /// The key of a message, and the how-manieth of its like it is.
    fn key(&mut self, keys: Keys, said: &Said<'_>) -> (u64, u32) {
        let key = keys.of(said);
        if said.id.is_some() {
            return (key, 0);
        }
        let nth = match self.met.insert(key) {
            true => 0,
            false => {
                let again = self.again.entry(key).or_default();
                *again += 1;
                *again
            }
        };
        (keys.nth(key, nth), nth)
    }
}

fn said(message: &Message) -> Said<'_> {
    Said {
        chat: &message.chat.id,
        id: message.id.as_deref(),
        sender: &message.sender.id,
        time: message.time,
        kind: message.kind,
        text: &message.text,
    }
}

fn like(message: &Message, chat: u32, sender: Option<u32>, nth: u32) -> Like<'_> {
    Like {
        chat,
        id: message.id.as_deref(),
        sender,
        time: message.time,
        kind: message.kind,
        text: &message.text,
        nth,
    }
}

/// The line of a message that is in the archive.
fn find(
    view: &View,
    conn: &Connection,
    key: u64,
    like: &Like<'_>,
) -> Result<Option<u32>, ArchiveError> {
    for flat in &view.flats {
        for line in flat.with_key(key) {
            if known::is_same(conn, line, like)? {
                return Ok(Some(line));
            }
        }
    }
    Ok(None)
}

/// What an apply did.
pub(super) struct Applied {
    /// All lines of the export.
    pub(super) lines: RoaringBitmap,
    /// How many of them are new.
    pub(super) new: u64,
}

/// Writes what is staged into the database, within the transaction of whoever calls, and
/// into new flat files beyond those that are there.
pub(super) fn apply(
    view: &View,
    conn: &Connection,
    keys: Keys,
    (incoming, id): (&Path, &str),
    flats: &Path,
    watch: Watch<'_>,
) -> Result<Applied, ArchiveError> {
    let first = store::last_line(conn)?
        .checked_add(1)
        .ok_or(ArchiveError::Full)?;
    let mut state = Applying {
        view,
        conn,
        keys,
        folder: flats,
        seen: Seen::default(),
        chats: Vec::new(),
        senders: Vec::new(),
        builder: Builder::new(first),
        applied: Applied {
            lines: RoaringBitmap::new(),
            new: 0,
        },
    };
    let mut done = 0;
    stage::read(incoming, id, &mut |told| {
        match told {
            Told::Chat(chat) => state.chat(chat)?,
            Told::Sender(sender) => state.sender(sender)?,
            Told::Person(person) => state.person(&person)?,
            Told::Message(record) => {
                state.message(&record)?;
                done += 1;
                if done % TELL == 0
                    && watch(Progress {
                        bytes: 0,
                        messages: done,
                    })
                    .is_break()
                {
                    return Err(ArchiveError::Cancelled);
                }
            }
        }
        Ok(())
    })?;
    if !state.builder.is_empty() {
        state.builder.write(flats)?;
    }
    Ok(state.applied)
}

struct Applying<'a> {
    view: &'a View,
    conn: &'a Connection,
    keys: Keys,
    folder: &'a Path,
    seen: Seen,
    /// The chats and senders of the export: the number here, and the id.
    chats: Vec<(u32, String)>,
    senders: Vec<(u32, String)>,
    builder: Builder,
    applied: Applied,
}

impl Applying<'_> {
    fn chat(&mut self, chat: Chat) -> Result<(), ArchiveError> {
        let no = self.conn.query_row(
            "INSERT INTO chats (id, name, kind) VALUES (?1, ?2, ?3)
             ON CONFLICT (id) DO UPDATE SET
                 name = CASE ?2 WHEN '' THEN name ELSE ?2 END,
                 kind = CASE ?3 WHEN 0 THEN kind ELSE ?3 END
             RETURNING no",
            params![chat.id, chat.name, store::chat_kind_number(chat.kind)],
            |row| row.get(0),
        )?;
        self.chats.push((no, chat.id));
        Ok(())
    }

    fn sender(&mut self, sender: Sender) -> Result<(), ArchiveError> {
        if sender.id.is_empty() {
            self.senders.push((0, sender.id));
            return Ok(());
        }
        let no = named(self.conn, &sender.id, &sender.name)?;
        if sender.is_self == Some(true) {
            self.conn
                .execute("UPDATE people SET is_self = 1 WHERE no = ?", [no])?;
        }
        self.senders.push((no, sender.id));
        Ok(())
    }

    fn person(&mut self, person: &Person) -> Result<(), ArchiveError> {
        if person.id.is_empty() {
            return Ok(());
        }
        let no = named(self.conn, &person.id, &person.name)?;
        for alias in person
            .aliases
            .iter()
            .filter(|alias| !alias.trim().is_empty())
        {
            add_alias(self.conn, no, alias, false)?;
        }
        Ok(())
    }

    fn message(&mut self, record: &stage::Record) -> Result<(), ArchiveError> {
        let damaged = || ArchiveError::Io(std::io::Error::other("a record names nobody"));
        let (chat, chat_id) = self.chats.get(record.chat).ok_or_else(damaged)?;
        let (sender, sender_id) = self.senders.get(record.sender).ok_or_else(damaged)?;
        let said = Said {
            chat: chat_id,
            id: record.id.as_deref(),
            sender: sender_id,
            time: record.time,
            kind: record.kind,
            text: &record.text,
        };
        let (key, nth) = self.seen.key(self.keys, &said);
        let like = Like {
            chat: *chat,
            id: record.id.as_deref(),
            sender: Some(*sender),
            time: record.time,
            kind: record.kind,
            text: &record.text,
            nth,
        };
        if let Some(line) = find(self.view, self.conn, key, &like)? {
            self.applied.lines.insert(line);
            return Ok(());
        }
        let line = self.builder.next();
        if record.id.is_some() {
            let mut hint = key;
            while let Some(other) = self.seen.named.get(&hint) {
                if known::is_same(self.conn, *other, &like)? {
                    return Ok(());
                }
                // Two names with one hash: the next place, as a table of hashes does.
                hint = hint.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
            }
            self.seen.named.insert(hint, line);
        }
        self.conn
            .prepare_cached(
                "INSERT INTO messages (line, chat, sender, time, kind, nth, id, text, reply_to)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![
                line,
                chat,
                sender,
                record.time,
                flat::number_of(record.kind),
                nth,
                record.id,
                record.text,
                record.reply_to
            ])?;
        self.builder.push(&Row {
            chat: *chat,
            sender: *sender,
            time: record.time.unwrap_or(NO_TIME),
            kind: record.kind,
            key,
            text: &normalize(&record.text),
        });
        self.applied.lines.insert(line);
        self.applied.new += 1;
        if self.builder.is_full() {
            let next = self.builder.next();
            if next == u32::MAX {
                return Err(ArchiveError::Full);
            }
            std::mem::replace(&mut self.builder, Builder::new(next)).write(self.folder)?;
        }
        Ok(())
    }
}

/// The number of a person; a new shown name takes the place of the old, which stays as
/// another name.
fn named(conn: &Connection, id: &str, name: &str) -> Result<u32, ArchiveError> {
    conn.execute(
        "INSERT INTO people (id, name) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING",
        [id, name],
    )?;
    let (no, old): (u32, String) =
        conn.query_row("SELECT no, name FROM people WHERE id = ?", [id], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    if !name.is_empty() && old != name {
        conn.execute(
            "UPDATE people SET name = ?2 WHERE no = ?1",
            params![no, name],
        )?;
        if !old.is_empty() {
            add_alias(conn, no, &old, false)?;
        }
    }
    Ok(no)
}

/// Gives a person another name.
pub(super) fn add_alias(
    conn: &Connection,
    person: u32,
    alias: &str,
    by_operator: bool,
) -> Result<(), ArchiveError> {
    conn.execute(
        "INSERT INTO aliases VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET by_operator = max(by_operator, ?3)",
        params![person, alias, by_operator],
    )?;
    Ok(())
}

/// Opens the flat files, and makes anew those that are missing, damaged or of a state that
/// was never committed.
pub(super) fn open_flats(
    conn: &Connection,
    folder: &Path,
    keys: Keys,
) -> Result<Vec<Arc<Flat>>, ArchiveError> {
    let last = store::last_line(conn)?;
    if let Some(flats) = read_flats(folder, last)? {
        return Ok(flats);
    }
    std::fs::remove_dir_all(folder).map_err(ArchiveError::file(folder))?;
    std::fs::create_dir_all(folder).map_err(ArchiveError::file(folder))?;
    let mut query = conn.prepare(
        "SELECT c.id, m.id, p.id, m.time, m.kind, m.text, m.chat, m.sender, m.nth
         FROM messages m CROSS JOIN chats c ON c.no = m.chat CROSS JOIN people p ON p.no = m.sender
         ORDER BY m.line",
    )?;
    let mut rows = query.query([])?;
    let mut builder = Builder::new(1);
    while let Some(row) = rows.next()? {
        let text = row.get_ref(5)?.as_str().map_err(rusqlite::Error::from)?;
        let (chat, id, sender): (String, Option<String>, String) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        let (time, kind) = (row.get::<_, Option<i64>>(3)?, flat::kind_of(row.get(4)?));
        let said = Said {
            chat: &chat,
            id: id.as_deref(),
            sender: &sender,
            time,
            kind,
            text,
        };
        builder.push(&Row {
            chat: row.get(6)?,
            sender: row.get(7)?,
            time: time.unwrap_or(NO_TIME),
            kind,
            key: keys.nth(keys.of(&said), row.get(8)?),
            text: &normalize(text),
        });
        if builder.is_full() {
            let next = builder.next();
            std::mem::replace(&mut builder, Builder::new(next)).write(folder)?;
        }
    }
    if !builder.is_empty() {
        builder.write(folder)?;
    }
    read_flats(folder, last)?.ok_or_else(|| {
        ArchiveError::Io(std::io::Error::other(
            "the texts cannot be read back as written",
        ))
    })
}

/// The flat files, if together they hold every line up to the last and each once. Files
/// beyond the last are of an import that did not come to its end.
pub(super) fn read_flats(folder: &Path, last: u32) -> Result<Option<Vec<Arc<Flat>>>, ArchiveError> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .and_then(|entries| {
            entries
                .map(|entry| Ok(entry?.path()))
                .collect::<Result<_, _>>()
        })
        .map_err(ArchiveError::file(folder))?;
    names.sort_unstable();
    let (mut flats, mut next) = (Vec::new(), 1);
    for path in names {
        let first = path
            .file_stem()
            .and_then(|stem| stem.to_str()?.parse::<u32>().ok());
        let is_flat = path
            .extension()
            .is_some_and(|extension| extension == "flat");
        if !is_flat || first.is_none_or(|first| first > last) {
            std::fs::remove_file(&path).map_err(ArchiveError::file(&path))?;
            continue;
        }
        match Flat::open(&path) {
            Some(flat) if flat.first == next && flat.count > 0 => {
                next += flat.count;
                flats.push(Arc::new(flat));
            }
            _ => return Ok(None),
        }
    }
    Ok((next == last + 1).then_some(flats))
}

/// The flat files after an import: those that are open, and the new ones.
pub(super) fn read_new(
    open: &[Arc<Flat>],
    folder: &Path,
    last: u32,
) -> Result<Option<Vec<Arc<Flat>>>, ArchiveError> {
    let mut flats = open.to_vec();
    let mut next = flats.last().map_or(1, |flat| flat.first + flat.count);
    while next <= last {
        match Flat::open(&folder.join(format!("{next:010}.flat"))) {
            Some(flat) if flat.first == next && flat.count > 0 => {
                next += flat.count;
                flats.push(Arc::new(flat));
            }
            _ => return Ok(None),
        }
    }
    Ok((next == last + 1).then_some(flats))
}
