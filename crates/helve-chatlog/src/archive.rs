//! The messages of all exports: kept, numbered, found again.
//!
//! - *A line is for ever.* It is given once, in the order of import, also to what is later
//!   withdrawn.
//! - *A message is one*, in however many exports it is, and is shown while one of those that
//!   have it is live.
//! - *The database is the truth.* The flat files and the index are made from it. A change is
//!   one transaction there; what is derived is caught up afterwards, or at the next start.
//! - *A reading sees one state.* It looks at a [`view::View`] that never changes.
//! - *One process at a time* has an archive open.

mod ask;
mod browse;
mod error;
mod flat;
mod import;
mod index;
mod keywords;
mod kinds;
mod known;
mod lengths;
mod letters;
mod literal;
mod names;
mod normal;
mod read;
mod stage;
mod store;
mod tokens;
mod view;
mod vocabulary;

use std::fs::{DirBuilder, File, TryLockError};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, TransactionBehavior};

use crate::input::Sink;
use index::Indexer;
use known::Keys;
use store::Readers;
use view::View;

pub use error::ArchiveError;
pub use kinds::{
    ChatEntry, ChatNo, CorpusEntry, Cursor, Entry, Filter, Found, Hit, Hits, Import, ImportNote,
    ImportState, Keywords, Loaded, Malformed, Order, Pattern, PersonEntry, PersonNo, Progress,
    Question, Source, Span, Staged, Stats, Variants, Watch,
};
pub use normal::normalize;

/// Reads an export into a sink: what [`Archive::stage`] calls.
pub type Produce<'p> =
    &'p mut dyn FnMut(&mut dyn Sink) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// What is staged and not wanted for so long goes.
const STAGED_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// An archive.
pub struct Archive {
    folder: PathBuf,
    keys: Keys,
    writer: Mutex<Writer>,
    view: RwLock<Arc<View>>,
    readers: Readers,
    /// Held for as long as the archive is open.
    _lock: File,
    /// Called at each point where a crash would leave something half done.
    #[cfg(test)]
    at: Mutex<Option<tests::At>>,
}

struct Writer {
    conn: Connection,
    /// Nothing if it could not be opened or written: then everything is scanned.
    index: Option<Indexer>,
}

impl Archive {
    /// Opens the archive in a folder, or makes one.
    pub fn open(folder: &Path) -> Result<Self, ArchiveError> {
        Self::open_with(folder, Keys { mask: u64::MAX })
    }

    fn open_with(folder: &Path, keys: Keys) -> Result<Self, ArchiveError> {
        make(folder)?;
        let flats = folder.join("flat");
        let incoming = folder.join("incoming");
        let lock = lock(folder)?;
        make(&flats)?;
        make(&incoming)?;
        drop_old(&incoming)?;
        let conn = store::open(&folder.join("archive.db"))?;
        let mut view = View::build(&conn, import::open_flats(&conn, &flats, keys)?)?;
        let at = folder.join("index");
        let opened = Indexer::open(&at).and_then(|mut index| {
            let entries = index.sync(&view)?;
            Ok((index, entries))
        });
        // What looked whole and is not: once more, from nothing.
        let (index, entries) = match opened {
            Ok(both) => both,
            Err(_) => {
                let mut index = Indexer::create(&at)?;
                let entries = index.sync(&view)?;
                (index, entries)
            }
        };
        view.index = Some(entries);
        Ok(Self {
            readers: Readers::new(&folder.join("archive.db")),
            folder: folder.to_owned(),
            keys,
            writer: Mutex::new(Writer {
                conn,
                index: Some(index),
            }),
            view: RwLock::new(Arc::new(view)),
            _lock: lock,
            #[cfg(test)]
            at: Mutex::default(),
        })
    }

    /// Takes an export and keeps it aside. Nothing that can be seen changes.
    pub fn stage(&self, produce: Produce<'_>, watch: Watch<'_>) -> Result<Staged, ArchiveError> {
        let incoming = self.folder.join("incoming");
        let writing = tempfile_in(&incoming);
        let view = self.view();
        let staged = self.readers.with(|conn| {
            let out = stage::Writer::create(writing.clone())?;
            let mut stager = import::Stager::new(&view, conn, self.keys, out, watch);
            let produced = produce(&mut stager);
            stager.finish(produced)
        });
        if staged.is_err() {
            // What is left goes with the old ones.
            let _ = std::fs::remove_file(&writing);
        }
        staged
    }

    /// An import as it stands; nothing if it was never applied.
    pub fn import(&self, id: &str) -> Result<Option<Import>, ArchiveError> {
        self.readers.with(|conn| store::import(conn, id))
    }

    /// All imports, in the order in which they were applied.
    pub fn imports(&self) -> Result<Vec<Import>, ArchiveError> {
        self.readers.with(store::imports)
    }

    /// Makes what is staged part of the archive, all or none.
    pub fn apply(
        &self,
        id: &str,
        about: &ImportNote,
        watch: Watch<'_>,
    ) -> Result<Import, ArchiveError> {
        let incoming = self.staged(id)?;
        let mut writer = self.writer();
        match store::import(&writer.conn, id)?.map(|import| import.state) {
            Some(ImportState::Live) => return Err(ArchiveError::Applied(id.to_owned())),
            Some(ImportState::Withdrawn) => return Err(ArchiveError::Withdrawn(id.to_owned())),
            None => {}
        }
        let view = self.view();
        let flats = self.folder.join("flat");
        let last = store::last_line(&writer.conn)?;
        let write = |writer: &mut Writer, watch: Watch<'_>| {
            let behavior = TransactionBehavior::Immediate;
            let transaction = writer.conn.transaction_with_behavior(behavior)?;
            let from = (incoming.as_path(), id);
            let applied = import::apply(&view, &transaction, self.keys, from, &flats, watch)?;
            self.reach("written")?;
            store::insert_import(
                &transaction,
                &store::NewImport {
                    id,
                    file: &about.file,
                    format: &about.format,
                    applied: now(),
                    new: applied.new,
                    malformed: about.malformed,
                    lines: &applied.lines,
                },
            )?;
            store::step(&transaction)?;
            transaction.commit()?;
            Ok::<_, ArchiveError>(())
        };
        if let Err(error) = write(&mut writer, watch) {
            // The transaction is undone; its files are beyond the last line and go too.
            import::read_flats(&flats, last)?;
            return Err(error);
        }
        self.reach("committed")?;
        // It may take a second: to see it in the database takes less.
        let _ = writer
            .conn
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        // What the database holds in memory is needed for the index now.
        let _ = writer.conn.execute_batch("PRAGMA shrink_memory");
        self.renew(&mut writer)?;
        let _ = std::fs::remove_file(&incoming);
        store::import(&writer.conn, id)?.ok_or_else(|| ArchiveError::NoImport(id.to_owned()))
    }

    /// Takes an import back: what no other live import has is no longer shown.
    pub fn withdraw(&self, id: &str) -> Result<Import, ArchiveError> {
        self.turn(id, ImportState::Live)
    }

    /// Shows a withdrawn import again, under the same lines.
    pub fn restore(&self, id: &str) -> Result<Import, ArchiveError> {
        self.turn(id, ImportState::Withdrawn)
    }

    fn turn(&self, id: &str, from: ImportState) -> Result<Import, ArchiveError> {
        let mut writer = self.writer();
        let id = id.to_owned();
        let import = store::import(&writer.conn, &id)?;
        let import = import.ok_or_else(|| ArchiveError::NoImport(id.clone()))?;
        match (import.state, from) {
            (ImportState::Withdrawn, ImportState::Live) => return Err(ArchiveError::Withdrawn(id)),
            (ImportState::Live, ImportState::Withdrawn) => {
                return Err(ArchiveError::NotWithdrawn(id));
            }
            _ => {}
        }
        self.change(&mut writer, |conn| {
            conn.execute("UPDATE imports SET live = 1 - live WHERE id = ?", [&id])?;
            Ok(())
        })?;
        let import = store::import(&writer.conn, &id)?;
        import.ok_or(ArchiveError::NoImport(id))
    }

    /// Drops what is staged.
    pub fn discard(&self, id: &str) -> Result<(), ArchiveError> {
        let path = self.staged(id)?;
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                Err(ArchiveError::NotStaged(id.to_owned()))
            }
            done => done.map_err(ArchiveError::file(path)),
        }
    }

    /// Writes messages as an export, one per line, in the order of their lines. Gives how many.
    pub fn export(&self, filter: &Filter, out: &mut dyn Write) -> Result<u64, ArchiveError> {
        let view = self.view();
        self.readers
            .with(|conn| read::export(&view, conn, filter, out))
    }

    /// The archive in figures.
    pub fn stats(&self) -> Result<Stats, ArchiveError> {
        let view = self.view();
        let chats = view.chat_entries().to_vec();
        let mut kinds = [0; flat::KINDS.len()];
        for line in &view.visible {
            kinds[usize::from(flat::number_of(view.kind(line)))] += 1;
        }
        let kinds = flat::KINDS
            .into_iter()
            .zip(kinds)
            .filter(|(_, count)| *count > 0);
        let index_bytes = size(&self.folder.join("index")) + size(&self.folder.join("flat"));
        Ok(Stats {
            messages: view.visible.len(),
            senders: names::person_entries(&view),
            kinds: kinds.collect(),
            first: chats.iter().filter_map(|chat| chat.first).min(),
            last: chats.iter().filter_map(|chat| chat.last).max(),
            chats,
            sessions: view.session_count(),
            bytes: size(&self.folder),
            index_bytes,
            imports: self.imports()?,
        })
    }

    /// Whom a name means.
    pub fn people(&self, name: &str) -> Found<PersonEntry> {
        names::people(&self.view(), name)
    }

    /// A person by number.
    pub fn person(&self, no: PersonNo) -> Option<PersonEntry> {
        let view = self.view();
        let known = view.people.iter().any(|row| row.no == no.0);
        known.then(|| names::person(&view, view.stands_for(no.0)))
    }

    /// Which chat a name means.
    pub fn chats(&self, name: &str) -> Found<ChatEntry> {
        names::chats(&self.view(), name)
    }

    /// A chat by number.
    pub fn chat(&self, no: ChatNo) -> Option<ChatEntry> {
        self.view()
            .chat_entries()
            .iter()
            .find(|chat| chat.no == no)
            .cloned()
    }

    /// Gives a person another name.
    pub fn add_alias(&self, person: PersonNo, alias: &str) -> Result<(), ArchiveError> {
        let alias = alias.trim();
        if alias.is_empty() {
            return Err(ArchiveError::BlankName);
        }
        self.known(person)?;
        self.change(&mut self.writer(), |conn| {
            import::add_alias(conn, person.0, alias, true)
        })
    }

    /// Takes another name away. Gives whether the person had it.
    pub fn remove_alias(&self, person: PersonNo, alias: &str) -> Result<bool, ArchiveError> {
        self.known(person)?;
        let mut had = 0;
        self.change(&mut self.writer(), |conn| {
            let which = rusqlite::params![person.0, alias.trim()];
            had = conn.execute("DELETE FROM aliases WHERE person = ? AND alias = ?", which)?;
            Ok(())
        })?;
        Ok(had > 0)
    }

    /// An account by its id, whoever stands for it, and the account that it was merged into.
    pub fn account(&self, id: &str) -> Option<(PersonNo, Option<String>)> {
        let view = self.view();
        let row = view.people.iter().find(|row| row.id == id)?;
        let into = row
            .same_as
            .and_then(|no| view.people.iter().find(|row| row.no == no));
        Some((PersonNo(row.no), into.map(|into| into.id.clone())))
    }

    /// Says that two are one: `one` is from now on `same_as` the other.
    pub fn merge(&self, one: PersonNo, same_as: PersonNo) -> Result<(), ArchiveError> {
        self.known(one)?;
        self.known(same_as)?;
        let view = self.view();
        let (one, into) = (view.stands_for(one.0), view.stands_for(same_as.0));
        if one == into {
            return Ok(());
        }
        self.change(&mut self.writer(), |conn| {
            conn.execute("UPDATE people SET same_as = ? WHERE no = ?", [into, one])?;
            Ok(())
        })
    }

    /// Takes a merge back: this one is themselves again.
    pub fn split(&self, one: PersonNo) -> Result<(), ArchiveError> {
        self.known(one)?;
        self.change(&mut self.writer(), |conn| {
            conn.execute("UPDATE people SET same_as = NULL WHERE no = ?", [one.0])?;
            Ok(())
        })
    }

    /// Messages that have words as part of their text.
    pub fn keywords(&self, ask: &Keywords) -> Result<Hits, ArchiveError> {
        keywords::search(&self.view(), ask)
    }

    /// Messages that match a regular expression, in time that grows with the text only.
    /// `stop` is asked now and then whether it is enough.
    pub fn pattern(&self, ask: &Pattern, stop: &dyn Fn() -> bool) -> Result<Hits, ArchiveError> {
        let view = self.view();
        self.readers
            .with(|conn| read::pattern(&view, conn, ask, stop))
    }

    /// All messages that a filter lets through, by time; [`Order::Relevance`] is as
    /// [`Order::Newest`].
    pub fn browse(
        &self,
        filter: &Filter,
        order: Order,
        limit: usize,
        after: Option<Cursor>,
    ) -> Result<Hits, ArchiveError> {
        browse::page(&self.view(), filter, order, limit, after)
    }

    /// Messages that may answer a question, best first.
    pub fn ask(&self, question: &Question) -> Result<Vec<Hit>, ArchiveError> {
        ask::answer(&self.view(), question)
    }

    /// Messages by line, with so many of the same chat before and after each.
    pub fn load(&self, lines: &[u64], before: u32, after: u32) -> Result<Loaded, ArchiveError> {
        let view = self.view();
        self.readers
            .with(|conn| read::load(&view, conn, self.keys, lines, before, after))
    }

    /// Shows every message, by chat and time. Gives the generation that was seen.
    pub fn each(&self, f: &mut dyn FnMut(CorpusEntry<'_>) -> ControlFlow<()>) -> u64 {
        let view = self.view();
        read::each(&view, f);
        view.generation
    }

    /// Grows with each change that can be seen.
    pub fn generation(&self) -> u64 {
        self.view().generation
    }

    fn view(&self) -> Arc<View> {
        self.view
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn staged(&self, id: &str) -> Result<PathBuf, ArchiveError> {
        match stage::is_id(id) {
            true => Ok(self.folder.join("incoming").join(id)),
            false => Err(ArchiveError::BadId(id.to_owned())),
        }
    }

    fn known(&self, person: PersonNo) -> Result<(), ArchiveError> {
        match person.0 != 0 && self.view().people.iter().any(|row| row.no == person.0) {
            true => Ok(()),
            false => Err(ArchiveError::NoPerson(person)),
        }
    }

    /// One change of the database that can be seen.
    fn change(
        &self,
        writer: &mut Writer,
        change: impl FnOnce(&Connection) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let transaction = writer
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        change(&transaction)?;
        store::step(&transaction)?;
        transaction.commit()?;
        self.reach("committed")?;
        self.renew(writer)
    }

    /// Shows what the database has now. The index follows if it can: without it, texts are
    /// read instead, and the next start brings it up to date.
    fn renew(&self, writer: &mut Writer) -> Result<(), ArchiveError> {
        let last = store::last_line(&writer.conn)?;
        let at = self.folder.join("flat");
        let mut flats = match import::read_new(&self.view().flats, &at, last)? {
            Some(flats) => flats,
            None => import::open_flats(&writer.conn, &at, self.keys)?,
        };
        if flats.len() > flat::MOST_SMALL + last as usize / flat::MOST_LINES {
            flat::compact(&flats, &at)?;
            flats = import::open_flats(&writer.conn, &at, self.keys)?;
        }
        let mut view = View::build(&writer.conn, flats)?;
        if let Some(index) = &mut writer.index {
            match index.sync(&view) {
                Ok(entries) => view.index = Some(entries),
                Err(_) => writer.index = None,
            }
        }
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
        Ok(())
    }

    #[cfg(not(test))]
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "tests fail here"
    )]
    fn reach(&self, _: &'static str) -> Result<(), ArchiveError> {
        Ok(())
    }

    #[cfg(test)]
    fn reach(&self, point: &'static str) -> Result<(), ArchiveError> {
        let mut at = self.at.lock().unwrap();
        match at.as_mut().is_none_or(|at| at(point)) {
            true => Ok(()),
            false => Err(ArchiveError::Cancelled),
        }
    }
}

fn make(folder: &Path) -> Result<(), ArchiveError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(ArchiveError::file(folder))
}

fn lock(folder: &Path) -> Result<File, ArchiveError> {
    let path = folder.join("lock");
    let file = File::create(&path).map_err(ArchiveError::file(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ArchiveError::Busy(folder.to_owned())),
        Err(TryLockError::Error(source)) => Err(ArchiveError::File { path, source }),
    }
}

/// Drops what was staged long ago, and what was never finished.
fn drop_old(incoming: &Path) -> Result<(), ArchiveError> {
    for entry in std::fs::read_dir(incoming).map_err(ArchiveError::file(incoming))? {
        let entry = entry?;
        let is_whole = entry.file_name().to_str().is_some_and(stage::is_id);
        let age = entry.metadata()?.modified()?.elapsed().unwrap_or_default();
        if !is_whole || age > STAGED_FOR {
            std::fs::remove_file(entry.path()).map_err(ArchiveError::file(entry.path()))?;
        }
    }
    Ok(())
}

/// A name for a file that is being staged, which no other has.
fn tempfile_in(folder: &Path) -> PathBuf {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let no = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    folder.join(format!("writing-{no}"))
}

/// The bytes of all files in a folder.
fn size(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => size(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
