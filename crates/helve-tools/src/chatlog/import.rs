//! Exports taken in.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use helve_chatlog::archive::{ImportState, Progress};
use helve_chatlog::formats::{self, ReadError};
use helve_chatlog::{ArchiveError, DateOrder, Folder, Input, Mapping, Options};
use helve_kernel::helve_changes::What;
use helve_kernel::{Ctx, Desk, Report, RowChange, ToolError, tool};
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::given::shown;
use super::service::{ChatLog, row, told};

/// In which order dates are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Dates {
    /// As the file itself tells.
    #[default]
    Auto,
    /// 2024-03-05.
    YearMonthDay,
    /// 5/3/2024.
    DayMonthYear,
    /// 3/5/2024.
    MonthDayYear,
}

impl Dates {
    fn order(self) -> Option<DateOrder> {
        match self {
            Dates::Auto => None,
            Dates::YearMonthDay => Some(DateOrder::YearMonthDay),
            Dates::DayMonthYear => Some(DateOrder::DayMonthYear),
            Dates::MonthDayYear => Some(DateOrder::MonthDayYear),
        }
    }
}

/// Which column or key is what.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Columns {
    /// Of the text; without it nothing is mapped.
    pub(super) text: String,
    /// Of the time.
    pub(super) time: String,
    /// Of the sender's name.
    pub(super) sender: String,
    /// Of the sender's account.
    pub(super) sender_id: String,
    /// Of the chat.
    pub(super) chat: String,
    /// Of the message's id.
    pub(super) id: String,
}

/// What an import brings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Imported {
    /// Its id.
    pub(super) id: String,
    /// What program wrote the export.
    pub(super) format: String,
    /// How many messages it has.
    pub(super) messages: u64,
    /// How many of them are new here.
    pub(super) new: u64,
    /// How many were here before, or are in it twice.
    pub(super) known: u64,
    /// How many lines or records could not be read.
    pub(super) malformed: u64,
    /// The first of those: where, and why.
    pub(super) malformed_samples: Vec<Malformed>,
    /// How many chats it has.
    pub(super) chats: u64,
    /// How many people speak in it.
    pub(super) people: u64,
    /// The earliest message (RFC 3339).
    pub(super) first: String,
    /// The latest.
    pub(super) last: String,
    /// Whether it was here before as a whole, so that nothing is changed.
    pub(super) already: bool,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Malformed {
    /// In which line or record, from 1.
    pub(super) line: u64,
    /// Why.
    pub(super) why: String,
}

/// Takes in an exported chat, so that it can be searched. Use it when the user has an export of WeChat, Telegram, WhatsApp, Slack, Discord or QQ.
///
/// - What program wrote it is told by its content; a folder and a zip are taken whole.
/// - All of it or nothing. What is here already is not taken twice, so a longer export of the
///   same chat adds what is new.
/// - Lines that cannot be read are counted, and the first are shown.
/// - An undo of the call takes the import back; the numbers of its messages stay theirs.
#[tool(
    group = "chatlog",
    title = "Import a chat",
    category = "Chatlog",
    risk = "exec_low",
    held,
    paths = ["."],
    output,
    timeout = "2h",
    aliases = ["import_chatlog", "mcp__chatlog__import_chatlog"],
    triggers = ["When the user wants an exported chat to be searched"],
    warnings = ["Chats are private: everybody who may use these tools in this hub can search them"],
    related = [("chatlog_stats", "tells what is there afterwards")],
    example(scenario = "An export of WhatsApp", params = {"path": "exports/WhatsApp Chat with Ann.txt"}, expected = "How many messages are new, and what could not be read")
)]
#[expect(clippy::too_many_arguments, reason = "they are those of the tool")]
pub(super) async fn import(
    ctx: &Ctx,
    /// The file, zip or folder.
    #[path]
    path: String,
    /// The zone of times that have none, like `Asia/Shanghai`; empty for the hub's own.
    #[default("")]
    timezone: String,
    /// The order of day, month and year, where the file leaves it open.
    #[default(Dates::Auto)]
    dates: Dates,
    /// The name of the chat, where the file has none.
    #[default("")]
    chat: String,
    /// The name of whoever exported it, where the file only says "me".
    #[default("")]
    me: String,
    /// Which column or key is what, for a table that is nobody's format.
    #[default(Columns::default())]
    mapping: Columns,
    /// Whether a file that ends in the middle of a message is taken up to there.
    #[default(false)]
    accept_cut: bool,
) -> Result<Imported, ToolError> {
    let log = ctx.service::<ChatLog>()?;
    let zone = match timezone.trim() {
        "" => log.settings.zone.clone(),
        name => TimeZone::get(name).map_err(|_| {
            ToolError::validation(format!("there is no time zone `{}`", name.escape_debug()))
                .with_hint("write it like `Asia/Shanghai`")
        })?,
    };
    let named = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let options = Options {
        zone,
        dates: dates.order(),
        chat: named(chat),
        me: named(me),
        mapping: (!mapping.text.is_empty()).then(|| Mapping {
            text: mapping.text,
            time: named(mapping.time),
            sender: named(mapping.sender),
            sender_id: named(mapping.sender_id),
            chat: named(mapping.chat),
            id: named(mapping.id),
        }),
        accept_cut,
        ..Options::default()
    };
    let reporting = std::sync::Arc::new(ctx.reporting());
    let (said, keeping) = (reporting.clone(), log.clone());
    let work = ctx.files().work(path, move |desk| {
        let say = |report| said.say(report);
        stage(desk, &keeping, &options, &say)
    });
    let (imported, change) = reporting.during(ctx, work).await?;
    if let Some(change) = change {
        ctx.records().foreign(change)?;
    }
    Ok(imported)
}

/// Reads an export and keeps it aside; what would change.
fn stage(
    desk: &Desk<'_>,
    log: &ChatLog,
    options: &Options,
    say: &dyn Fn(Report),
) -> Result<(Imported, Option<RowChange>), ToolError> {
    let path = desk.path();
    let opened = log.open()?;
    let looked = desk.look(path)?;
    let looked = looked
        .ok_or_else(|| ToolError::not_found(format!("there is no `{}`", desk.shown(path))))?;
    let file = desk.shown(path);
    let total = if looked.what == What::Dir {
        None
    } else {
        Some(looked.size)
    };
    let mut format = None;
    let mut produce = |sink: &mut dyn helve_chatlog::Sink| {
        let input = match looked.what == What::Dir {
            true => Input::Folder(Box::new(Beneath { desk, path })),
            false => Input::File(desk.open(path).map_err(|e| e.message)?),
        };
        format = Some(formats::read(input, &file, options, sink)?);
        Ok(())
    };
    let staged = opened
        .archive
        .stage(&mut produce, &mut |progress: Progress| {
            say(Report {
                done: progress.bytes,
                total,
                message: format!("{} messages read", progress.messages),
            });
            match desk.is_stopped() || log.is_closing() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
    let staged = staged.map_err(|e| unread(&e, &file))?;
    let format = format.map(formats::Format::as_str).unwrap_or_default();
    let known = opened.archive.import(&staged.id).map_err(|e| told(&e))?;
    let already = known.is_some_and(|import| import.state == ImportState::Live);
    let change = match already {
        true => {
            // It is here: what was kept aside is not wanted.
            let _ = opened.archive.discard(&staged.id);
            None
        }
        false => Some(RowChange {
            collection: ChatLog::IMPORTS.to_owned(),
            key: staged.id.clone(),
            before: None,
            after: Some(row(&file, format, staged.malformed)),
        }),
    };
    say(Report {
        done: staged.messages,
        total: Some(staged.messages),
        message: format!("{} messages, taken in", staged.messages),
    });
    let zone = &opened.zone;
    let imported = Imported {
        id: staged.id,
        format: format.to_owned(),
        messages: staged.messages,
        new: staged.new,
        known: staged.known,
        malformed: staged.malformed,
        malformed_samples: staged
            .malformed_samples
            .into_iter()
            .map(|m| Malformed {
                line: m.place,
                why: m.why,
            })
            .collect(),
        chats: staged.chats,
        people: staged.people,
        first: shown(staged.first, zone),
        last: shown(staged.last, zone),
        already,
    };
    Ok((imported, change))
}

/// Why an export was not read, in its reader's own words.
fn unread(error: &ArchiveError, file: &str) -> ToolError {
    let ArchiveError::Source(source) = error else {
        return told(error);
    };
    let message = format!("`{file}`: {source}");
    match source.downcast_ref::<ReadError>() {
        Some(ReadError::Stopped(_)) => ToolError::transient("stopped; nothing was imported"),
        Some(ReadError::Io(why)) => ToolError::dependency(format!("{message}: {why}")),
        _ => ToolError::validation(message).with_hint("nothing was imported"),
    }
}

/// The files of a folder, as far as the run may see them.
struct Beneath<'b> {
    desk: &'b Desk<'b>,
    path: &'b Path,
}

/// The most files of a folder that are looked at.
const FILES: usize = 100_000;

impl Folder for Beneath<'_> {
    fn names(&self) -> io::Result<Vec<String>> {
        let mut found = Vec::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            let inside = self.desk.list(&self.path.join(&folder));
            for (name, looked) in inside.map_err(|e| io::Error::other(e.message))? {
                let path = folder.join(&name);
                if looked.what == What::Dir {
                    folders.push(path);
                } else if let Some(name) = path.to_str().filter(|_| looked.what == What::File) {
                    found.push(name.to_owned());
                }
                if found.len() + folders.len() > FILES {
                    return Err(io::Error::other("the folder has too many files"));
                }
            }
        }
        found.sort();
        Ok(found)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Read + '_>> {
        let file = self.desk.open(&self.path.join(name));
        Ok(Box::new(file.map_err(|e| io::Error::other(e.message))?))
    }
}
