//! The database: the messages as they were written, who and where, and what was imported.
//!
//! It is the truth; all other files are made from it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use roaring::RoaringBitmap;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{ArchiveError, Import, ImportState};
use crate::message::ChatKind;

/// The version of the tables.
const VERSION: i64 = 1;

const TABLES: &str = "
    CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), generation INTEGER NOT NULL);
    INSERT INTO state VALUES (1, 0);
    CREATE TABLE chats (no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
        kind INTEGER NOT NULL);
    CREATE TABLE people (no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
        is_self INTEGER NOT NULL DEFAULT 0, same_as INTEGER);
    INSERT INTO people (no, id, name) VALUES (0, '', '');
    CREATE TABLE aliases (person INTEGER NOT NULL, alias TEXT NOT NULL,
        by_operator INTEGER NOT NULL, PRIMARY KEY (person, alias)) WITHOUT ROWID;
    CREATE TABLE messages (line INTEGER PRIMARY KEY, chat INTEGER NOT NULL,
        sender INTEGER NOT NULL, time INTEGER, kind INTEGER NOT NULL, nth INTEGER NOT NULL,
        id TEXT, text TEXT NOT NULL, reply_to TEXT);
    CREATE TABLE imports (no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, file TEXT NOT NULL,
        format TEXT NOT NULL, live INTEGER NOT NULL, applied INTEGER NOT NULL,
        messages INTEGER NOT NULL, new INTEGER NOT NULL, malformed INTEGER NOT NULL,
        lines BLOB NOT NULL);
";

/// Connections that read.
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            idle: Mutex::default(),
        }
    }

    /// Reads, with a connection of its own.
    pub(super) fn with<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let conn = match idle {
            Some(conn) => conn,
            None => {
                let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY
                    | rusqlite::OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let conn = Connection::open_with_flags(&self.path, flags)?;
                conn.busy_timeout(Duration::from_secs(5))?;
                conn
            }
        };
        let result = read(&conn);
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(conn);
        result
    }
}

/// Opens the database to write, and makes its tables.
pub(super) fn open(path: &Path) -> Result<Connection, ArchiveError> {
    let conn = Connection::open(path)?;
    conn.busy_timeout(Duration::from_secs(5))?;
    conn.pragma_update(None, "journal_mode", "WAL")?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    let found: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match found {
        0 => conn.execute_batch(&format!(
            "BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;"
        ))?,
        VERSION => {}
        found => {
            return Err(ArchiveError::Newer {
                found,
                known: VERSION,
            });
        }
    }
    Ok(conn)
}

pub(super) fn generation(conn: &Connection) -> Result<u64, ArchiveError> {
    let number: i64 = conn.query_row("SELECT generation FROM state", [], |row| row.get(0))?;
    Ok(number.cast_unsigned())
}

/// Says that something visible changes. Within the transaction that changes it.
pub(super) fn step(conn: &Connection) -> Result<(), ArchiveError> {
    conn.execute("UPDATE state SET generation = generation + 1", [])?;
    Ok(())
}

/// The last line that was ever given.
pub(super) fn last_line(conn: &Connection) -> Result<u32, ArchiveError> {
    let last: Option<u32> =
        conn.query_row("SELECT max(line) FROM messages", [], |row| row.get(0))?;
    Ok(last.unwrap_or(0))
}

/// The lines that some live import has.
pub(super) fn visible(conn: &Connection) -> Result<RoaringBitmap, ArchiveError> {
    let mut query = conn.prepare("SELECT lines FROM imports WHERE live = 1")?;
    let mut rows = query.query([])?;
    let mut all = RoaringBitmap::new();
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?;
        all |= RoaringBitmap::deserialize_from(bytes)?;
    }
    Ok(all)
}

/// An import to write.
pub(super) struct NewImport<'i> {
    pub(super) id: &'i str,
    pub(super) file: &'i str,
    pub(super) format: &'i str,
    pub(super) applied: i64,
    pub(super) new: u64,
    pub(super) malformed: u64,
    pub(super) lines: &'i RoaringBitmap,
}

pub(super) fn insert_import(conn: &Connection, import: &NewImport<'_>) -> Result<(), ArchiveError> {
    let mut lines = Vec::with_capacity(import.lines.serialized_size());
    import.lines.serialize_into(&mut lines)?;
    conn.execute(
        "INSERT INTO imports (id, file, format, live, applied, messages, new, malformed, lines)
         VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?)",
        params![
            import.id,
            import.file,
            import.format,
            import.applied,
            import.lines.len().cast_signed(),
            import.new.cast_signed(),
            import.malformed.cast_signed(),
            lines
        ],
    )?;
    Ok(())
}

const IMPORT: &str =
    "SELECT id, file, format, live, applied, messages, new, malformed FROM imports";

fn import_of(row: &Row<'_>) -> rusqlite::Result<Import> {
    let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
    Ok(Import {
        id: row.get(0)?,
        file: row.get(1)?,
        format: row.get(2)?,
        state: match row.get(3)? {
            true => ImportState::Live,
            false => ImportState::Withdrawn,
        },
        applied: row.get(4)?,
        messages: number(5)?,
        new: number(6)?,
        malformed: number(7)?,
    })
}

pub(super) fn import(conn: &Connection, id: &str) -> Result<Option<Import>, ArchiveError> {
    let one = conn.query_row(&format!("{IMPORT} WHERE id = ?"), [id], import_of);
    Ok(one.optional()?)
}

pub(super) fn imports(conn: &Connection) -> Result<Vec<Import>, ArchiveError> {
    let mut query = conn.prepare(&format!("{IMPORT} ORDER BY no"))?;
    let all = query.query_map([], import_of)?;
    Ok(all.collect::<Result<_, _>>()?)
}

/// A chat as it is kept.
#[derive(Debug, Clone)]
pub(super) struct ChatRow {
    pub(super) no: u32,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) kind: ChatKind,
}

pub(super) fn chats(conn: &Connection) -> Result<Vec<ChatRow>, ArchiveError> {
    let mut query = conn.prepare("SELECT no, id, name, kind FROM chats ORDER BY no")?;
    let all = query.query_map([], |row| {
        Ok(ChatRow {
            no: row.get(0)?,
            id: row.get(1)?,
            name: row.get(2)?,
            kind: chat_kind(row.get(3)?),
        })
    })?;
    Ok(all.collect::<Result<_, _>>()?)
}

/// A person as they are kept.
#[derive(Debug, Clone)]
pub(super) struct PersonRow {
    pub(super) no: u32,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) is_self: bool,
    pub(super) same_as: Option<u32>,
    pub(super) aliases: Vec<String>,
}

pub(super) fn people(conn: &Connection) -> Result<Vec<PersonRow>, ArchiveError> {
    let mut query =
        conn.prepare("SELECT no, id, name, is_self, same_as FROM people ORDER BY no")?;
    let all = query.query_map([], |row| {
        Ok(PersonRow {
            no: row.get(0)?,
            id: row.get(1)?,
            name: row.get(2)?,
            is_self: row.get(3)?,
            same_as: row.get(4)?,
            aliases: Vec::new(),
        })
    })?;
    let mut all: Vec<PersonRow> = all.collect::<Result<_, _>>()?;
    let mut query = conn.prepare("SELECT person, alias FROM aliases ORDER BY person, alias")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let person: u32 = row.get(0)?;
        if let Ok(at) = all.binary_search_by_key(&person, |p| p.no) {
            all[at].aliases.push(row.get(1)?);
        }
    }
    Ok(all)
}

pub(super) fn chat_kind(number: u8) -> ChatKind {
    match number {
        1 => ChatKind::Private,
        2 => ChatKind::Group,
        _ => ChatKind::Unknown,
    }
}

pub(super) fn chat_kind_number(kind: ChatKind) -> u8 {
    match kind {
        ChatKind::Unknown => 0,
        ChatKind::Private => 1,
        ChatKind::Group => 2,
    }
}
