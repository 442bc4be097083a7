//! What is read, and where it goes.

use std::fs::File;
use std::io::{self, Read};

use jiff::tz::TimeZone;

use crate::message::{Message, Person};

/// An export: a file, or a folder of files that belong together.
pub enum Input<'i> {
    /// One file; an archive (zip) is one as well.
    File(File),
    /// A folder.
    Folder(Box<dyn Folder + 'i>),
}

/// The files of a folder, at any depth.
pub trait Folder {
    /// Their paths within it, with `/`, in order.
    fn names(&self) -> io::Result<Vec<String>>;
    /// One of them.
    fn open(&self, name: &str) -> io::Result<Box<dyn Read + '_>>;
}

/// How an export is read where it does not say itself.
#[derive(Debug, Clone)]
pub struct Options {
    /// The zone of times that have none.
    pub zone: TimeZone,
    /// The order of day, month and year, where it must not be found out.
    pub dates: Option<DateOrder>,
    /// The name of the chat, where the export has none.
    pub chat: Option<String>,
    /// The name of the one whose export it is, where it only says "me".
    pub me: Option<String>,
    /// Which column or key is what, for tables and lines of JSON that are nobody's format.
    pub mapping: Option<Mapping>,
    /// Whether an export that ends in the middle of a message is taken up to there.
    pub accept_cut: bool,
    /// The most bytes that an archive may unpack to.
    pub max_unpacked: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            zone: TimeZone::UTC,
            dates: None,
            chat: None,
            me: None,
            mapping: None,
            accept_cut: false,
            max_unpacked: 8 << 30,
        }
    }
}

/// In which order a date is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    /// 2024-03-05.
    YearMonthDay,
    /// 5/3/2024.
    DayMonthYear,
    /// 3/5/2024.
    MonthDayYear,
}

/// The columns or keys of an export that is nobody's format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapping {
    /// Of the text; it must be there.
    pub text: String,
    /// Of the time.
    pub time: Option<String>,
    /// Of the shown name of whoever says it.
    pub sender: Option<String>,
    /// Of their account.
    pub sender_id: Option<String>,
    /// Of the conversation.
    pub chat: Option<String>,
    /// Of the message's own name.
    pub id: Option<String>,
}

/// Where what is read goes.
pub trait Sink {
    /// A message, in the order of the export.
    fn message(&mut self, message: Message) -> Result<(), Stop>;
    /// Somebody.
    fn person(&mut self, person: Person) -> Result<(), Stop>;
    /// Something that cannot be read: in which line or record (from 1), and why.
    fn malformed(&mut self, place: u64, why: String) -> Result<(), Stop>;
    /// How many bytes have been read so far.
    fn progress(&mut self, bytes: u64) -> Result<(), Stop>;
}

/// Why reading must end.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Stop(#[from] pub Box<dyn std::error::Error + Send + Sync>);
