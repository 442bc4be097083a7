//! What Helve and a worker say to each other: JSON, each message with its length before it.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::io::AsyncReadExt;

use crate::running::Output;

/// The longest message that a worker may send: a little more than the longest result, which
/// it looks at itself.
const LONGEST: usize = 9 * 1024 * 1024;

/// How much is read at once.
const PIECE: usize = 64 * 1024;

/// What a worker says.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(crate) enum Said {
    /// It has started.
    Ready { protocol: u32 },
    /// What tools files have.
    Described { files: Vec<Described> },
    /// A call is over.
    Result(Outcome),
    /// It calls another tool of the hub.
    Ask(Asked),
    /// A line for the log.
    Log {
        #[serde(default)]
        level: String,
        text: String,
    },
    /// How far a call has come.
    Progress {
        done: f64,
        #[serde(default)]
        total: Option<f64>,
        #[serde(default)]
        message: Option<String>,
    },
}

/// The tools of a file, or why they are not known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Described {
    /// The file.
    pub file: String,
    /// Its tools, as their own dialect has them.
    #[serde(default)]
    pub tools: Vec<Map<String, Value>>,
    /// Why it could not be loaded.
    #[serde(default)]
    pub error: Option<Unloaded>,
}

/// Why a file could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unloaded {
    /// What is wrong.
    pub message: String,
    /// In which line.
    #[serde(default)]
    pub line: Option<u32>,
    /// In which column.
    #[serde(default)]
    pub column: Option<u32>,
}

/// What came of a call.
#[derive(Debug, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) id: u64,
    pub(crate) ok: bool,
    #[serde(default)]
    pub(crate) value: Value,
    #[serde(default)]
    pub(crate) writes: Map<String, Value>,
    #[serde(default)]
    pub(crate) error: Option<Thrown>,
}

/// What a handler threw.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Thrown {
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// The kind of the error, where the handler chose one.
    #[serde(default, rename = "type")]
    pub(crate) kind: Option<String>,
    #[serde(default)]
    pub(crate) hint: Option<String>,
    #[serde(default)]
    pub(crate) stack: Option<String>,
}

/// A call of another tool.
#[derive(Debug, Deserialize)]
pub(crate) struct Asked {
    pub(crate) id: u64,
    /// The tool by its name,
    #[serde(default)]
    pub(crate) tool: Option<String>,
    /// or by its toolset
    #[serde(default)]
    pub(crate) service: Option<String>,
    /// and what it does.
    #[serde(default)]
    pub(crate) action: Option<String>,
    #[serde(default)]
    pub(crate) args: Value,
}

/// A message with its length before it.
pub(crate) fn framed(message: &Value) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    // A value that was JSON is JSON.
    let _ = serde_json::to_writer(&mut bytes, message);
    let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// Messages as they come.
pub(crate) struct Frames {
    pipe: Output,
    buffer: Vec<u8>,
}

impl Frames {
    pub(crate) fn new(pipe: Output) -> Self {
        let buffer = Vec::with_capacity(PIECE);
        Self { pipe, buffer }
    }

    /// The next message; none when there is no other. May be dropped while it waits: what
    /// has come stays.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Said>> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(Some(message));
            }
            self.buffer.reserve(PIECE);
            if self.pipe.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// A message that is there as a whole.
    fn take(&mut self) -> io::Result<Option<Said>> {
        let Some((length, rest)) = self.buffer.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        if length > LONGEST {
            let problem = format!("a message of {length} bytes, at most {LONGEST} are taken");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
        }
        let Some(message) = rest.get(..length) else {
            return Ok(None);
        };
        let message = serde_json::from_slice(message)?;
        self.buffer.drain(..length + 4);
        Ok(Some(message))
    }
}
