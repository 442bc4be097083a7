//! Why an export cannot be read, and what to do about it.

use std::io;

use super::archive::Refused;
use crate::Stop;

/// Why an export cannot be read. What the sink got before is not to be kept.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is no format that is known.
    #[error(
        "no known export: {seen}; for a table or lines of JSON, give a `mapping` of its columns or keys"
    )]
    Unknown {
        /// What was seen.
        seen: String,
    },
    /// There is nothing in it.
    #[error("there is no message in it; export the chat again")]
    Empty,
    /// It ends in the middle of a message.
    #[error(
        "it ends in the middle of a message, at {place}; export it again, or set `accept_cut` to take what comes before"
    )]
    Cut {
        /// The line or record, from 1.
        place: u64,
    },
    /// Its letters cannot be made out.
    #[error("its letters cannot be made out: {why}; save it as UTF-8 and try again")]
    Encoding {
        /// What speaks against it.
        why: String,
    },
    /// It would unpack to more than is allowed, or holds an archive itself.
    #[error("not unpacked: {why}; unpack it yourself and give the folder")]
    TooLarge {
        /// Which limit.
        why: String,
    },
    /// Every date fits two orders.
    #[error(
        "its dates, such as `{sample}`, can be read in two ways; set `dates` to `day_month_year`, `month_day_year` or `year_month_day`"
    )]
    Ambiguous {
        /// A date of it.
        sample: String,
    },
    /// The mapping names a column that is not there.
    #[error("the `mapping` names `{column}`, which it does not have; it has {nearest}")]
    BadMapping {
        /// The column or key.
        column: String,
        /// Those that it has, the nearest first.
        nearest: String,
    },
    /// It breaks the rules of its own format.
    #[error("it cannot be read, at {place}: {why}; export it again")]
    Broken {
        /// The line or record, from 1.
        place: u64,
        /// What is wrong there.
        why: String,
    },
    /// One file of a folder or an archive cannot be read.
    #[error("`{file}`: {why}")]
    In {
        /// Its path there.
        file: String,
        /// What is wrong with it.
        why: Box<ReadError>,
    },
    /// The file itself cannot be read.
    #[error("it cannot be read from the disk; try again")]
    Io(#[source] io::Error),
    /// Whoever takes the messages wants no more.
    #[error("stopped")]
    Stopped(
        #[source]
        #[from]
        Stop,
    ),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        // A limit that is hit while unpacking comes as an error of reading.
        if let Some(refused) = error.get_ref().and_then(|e| e.downcast_ref::<Refused>()) {
            return Self::TooLarge {
                why: refused.0.clone(),
            };
        }
        Self::Io(error)
    }
}

/// Why a record gives no message: it is bad itself, or everything ends here.
pub(crate) enum Skip {
    /// It is told and left out.
    Bad(String),
    /// Reading ends.
    End(ReadError),
}

impl From<String> for Skip {
    fn from(why: String) -> Self {
        Self::Bad(why)
    }
}

impl From<&str> for Skip {
    fn from(why: &str) -> Self {
        Self::Bad(why.to_owned())
    }
}

impl From<serde_json::Error> for Skip {
    fn from(error: serde_json::Error) -> Self {
        Self::Bad(error.to_string())
    }
}

impl From<ReadError> for Skip {
    fn from(error: ReadError) -> Self {
        Self::End(error)
    }
}

impl From<Stop> for Skip {
    fn from(stop: Stop) -> Self {
        Self::End(stop.into())
    }
}
