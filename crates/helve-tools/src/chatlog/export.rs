//! Messages written out again.

use std::io::{self, Write};
use std::path::Path;

use helve_kernel::{Ctx, Desk, ToolError, tool};
use schemars::JsonSchema;
use serde::Serialize;

use super::given::Among;
use super::service::{ChatLog, told};
use super::times::Range;

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Exported {
    /// The file.
    pub(super) path: String,
    /// How many messages it has.
    pub(super) messages: u64,
    /// How many bytes.
    pub(super) bytes: u64,
}

/// Writes messages into a file, one a line as JSON. Use it when chats are to be taken elsewhere.
///
/// Everything that is known of each message is there; `chatlog_import` reads it again without a loss.
/// The file can be looked at before it is there, and taken away again, like any change.
#[tool(
    group = "chatlog",
    title = "Export messages",
    category = "Chatlog",
    risk = "write",
    held,
    paths = ["."],
    idempotent,
    output,
    timeout = "30m",
    aliases = ["export_chatlog"],
    triggers = ["When chats are to be used by another program"],
    related = [("chatlog_import", "reads it again")],
    example(scenario = "All of a chat", params = {"path": "out/team.jsonl", "chats": ["team"]}, expected = "The path, and how many messages it has")
)]
pub(super) async fn export(
    ctx: &Ctx,
    /// The file; it must not be there yet.
    #[path]
    path: String,
    /// Only messages of these persons; empty for anybody.
    #[default(Vec::new())]
    senders: Vec<String>,
    /// Only messages of these chats; empty for all.
    #[default(Vec::new())]
    chats: Vec<String>,
    /// Not before; empty for any time.
    #[default("")]
    since: String,
    /// Not after; empty for any time.
    #[default("")]
    until: String,
    /// Only messages of one of these ranges of time; empty for any time.
    #[default(Vec::new())]
    #[schemars(length(max = 50))]
    ranges: Vec<Range>,
) -> Result<Exported, ToolError> {
    let log = ctx.service::<ChatLog>()?;
    let among = Among {
        chats,
        senders,
        since,
        until,
        ranges,
    };
    ctx.files()
        .work(path, move |desk| {
            let opened = log.open()?;
            let filter = among.filter(&opened)?;
            let path = desk.path();
            if desk.look(path)?.is_some() {
                let problem = format!("`{}` is there already", desk.shown(path));
                return Err(ToolError::conflict(problem).with_hint("choose another path"));
            }
            if let Some(folder) = path.parent()
                && desk.look(folder)?.is_none()
            {
                desk.create_dir_all(folder)?;
            }
            desk.write(path, b"")?;
            let mut out = Pieces {
                desk,
                path,
                held: Vec::new(),
                written: 0,
            };
            let messages = opened
                .archive
                .export(&filter, &mut out)
                .map_err(|e| told(&e))?;
            out.flush()
                .map_err(|e| ToolError::dependency(e.to_string()))?;
            Ok(Exported {
                path: desk.shown(path),
                messages,
                bytes: out.written,
            })
        })
        .await
}

/// So much is held before it is written.
const PIECE: usize = 4 << 20;

/// A file that is written in large pieces.
struct Pieces<'p> {
    desk: &'p Desk<'p>,
    path: &'p Path,
    held: Vec<u8>,
    written: u64,
}

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.desk.is_stopped() {
            return Err(io::Error::other("stopped"));
        }
        self.held.extend_from_slice(bytes);
        if self.held.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.desk.append(self.path, &self.held);
        done.map_err(|e| io::Error::other(e.message))?;
        self.written += self.held.len() as u64;
        self.held.clear();
        Ok(())
    }
}
