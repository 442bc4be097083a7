//! Chats that somebody has exported: read, kept, found again.
//!
//! - *SQLite holds the messages*, and is the truth. The index (tantivy, by pairs of letters
//!   for Chinese), the topics and the vectors are made from it and can be made anew.
//! - *A message's number is for ever.* It is given once, and to no other.
//! - *An import is all or none*, and can be taken back.
//! - *What was written is found*: a literal search misses nothing.
//!
//! Nothing here knows a tool, a principal or a network; nothing is async.

pub mod archive;
mod corpus;
mod dates;
mod derived;
mod expand;
pub mod formats;
mod input;
mod lsa;
mod message;
mod render;
mod stop;
mod task;
mod text;
mod topics;
pub mod variants;
mod vectors;

pub use archive::{Archive, ArchiveError};
pub use corpus::{BuildError, Corpus, CorpusEntry, Hook, Progress};
pub use dates::{DateSpan, Now, dates};
pub use derived::FileError;
pub use expand::{Expanded, LlmExpansion, Named, Reason, Source, Term, expand, union};
pub use input::{DateOrder, Folder, Input, Mapping, Options, Sink, Stop};
pub use lsa::{Lsa, LsaOptions};
pub use message::{Chat, ChatKind, Kind, Message, Person, Sender};
pub use render::{Evidence, Layout, Rendered, escape, format_messages};
pub use task::{
    Analysis, Bucket, Hint, Intent, Output, Quote, Repeated, Share, Task, analyze, parse_task,
};
pub use topics::{Listed, Matched, Provenance, TagLines, TopicCount, TopicLines, Topics};
pub use vectors::{BatchError, VectorError, VectorFile, Vectors};
