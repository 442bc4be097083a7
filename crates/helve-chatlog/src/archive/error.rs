//! What can go wrong with an archive.

use std::io;
use std::path::PathBuf;

use super::{ChatNo, PersonNo};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// Another process has it.
    #[error("another process has the archive `{}` open; stop it first", .0.display())]
    Busy(PathBuf),
    /// A newer version of this program wrote it.
    #[error("the archive has version {found}, this program knows {known}; use a newer program")]
    Newer {
        /// Of the archive.
        found: i64,
        /// Of this program.
        known: i64,
    },
    /// No import is prepared under that id.
    #[error("nothing is staged as `{0}`; stage the export first")]
    NotStaged(String),
    /// It was never applied.
    #[error("no import has the id `{0}`")]
    NoImport(String),
    /// It is there already.
    #[error("the import `{0}` is applied already")]
    Applied(String),
    /// It was applied once and taken back.
    #[error("the import `{0}` was withdrawn; restore it instead")]
    Withdrawn(String),
    /// It is not withdrawn.
    #[error("the import `{0}` is not withdrawn")]
    NotWithdrawn(String),
    /// An id of an import is letters and digits.
    #[error("`{0}` is no id of an import")]
    BadId(String),
    /// No such person.
    #[error("no person has the number {}", .0.0)]
    NoPerson(PersonNo),
    /// No such chat.
    #[error("no chat has the number {}", .0.0)]
    NoChat(ChatNo),
    /// A name without letters.
    #[error("a name must not be blank")]
    BlankName,
    /// A search without anything to look for.
    #[error("a keyword must not be blank; give at least one with a letter, digit or sign")]
    BlankKeyword,
    /// The pattern is wrong.
    #[error("the pattern cannot be used")]
    Pattern(#[source] Box<regex::Error>),
    /// The cursor is of an older state.
    #[error("the archive has changed since that page; search again from the start")]
    StaleCursor,
    /// The cursor is of another search.
    #[error("the cursor belongs to another search; search again from the start")]
    ForeignCursor,
    /// More messages than there are numbers.
    #[error("the archive is full: it can hold four billion messages")]
    Full,
    /// Whoever watched it said so.
    #[error("stopped on request")]
    Cancelled,
    /// The export could not be read.
    #[error("the export could not be read")]
    Source(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A file of the archive.
    #[error("the archive's file `{}` cannot be used", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What was staged is not as it was written.
    #[error("what is staged as `{0}` is damaged; discard it and stage the export again")]
    Damaged(String),
    /// The database.
    #[error("the archive's database cannot be used")]
    Database(#[from] rusqlite::Error),
    /// The index.
    #[error("the archive's index cannot be used; it is made anew at the next start")]
    Index(#[from] tantivy::TantivyError),
    /// Somewhere else.
    #[error("the archive cannot be used")]
    Io(#[from] io::Error),
}

impl ArchiveError {
    /// An error of a file, with its name.
    pub(super) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
