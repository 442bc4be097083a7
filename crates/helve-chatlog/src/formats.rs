//! The readers of exports: one file for each family of formats.
//!
//! - *By content, not by name.* [`look::look`] sees what an export is made of (keys, columns,
//!   first lines); the first row of [`FORMATS`] that it fits reads it. A file's name only
//!   names a chat that has no name of its own.
//! - *Bounded memory.* A file is read through once or twice, a record at a time; no record is
//!   longer than [`LONGEST`].
//! - *Nothing is guessed.* A record that cannot be read is told and left out; an export that
//!   ends within a record is [`ReadError::Cut`]; dates that fit two orders are
//!   [`ReadError::Ambiguous`]. A caller that gets an error keeps nothing of what came before.
//!
//! What a format cannot tell: the last message of a plain text (`whatsapp_txt`, `qq_txt`) and
//! of a nameless table (`csv`) that does not end with a line end may be shorter than it was.

mod archive;
mod chatlab;
mod chatlog;
mod dates;
mod decode;
mod discord;
mod error;
mod generic;
mod helve;
mod lines;
mod look;
mod loose;
mod memotrace;
mod out;
mod pywxdump;
mod qq_exporter;
mod qq_text;
mod slack;
mod slack_markup;
mod source;
mod table;
mod telegram;
mod telegram_text;
mod walk;
mod wechat;
mod weflow;
mod whatsapp;
mod whatsapp_words;

#[cfg(test)]
mod tests;

pub use error::ReadError;
pub use helve::{write_message, write_person};

use std::io::Read;

use crate::{Input, Options, Sink};
use look::Look;
use out::Out;
use source::{FileSource, Text};

/// The longest record or line that is read, in bytes.
pub(crate) const LONGEST: usize = 16 << 20;

/// The formats, as reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// A table of chatlog.
    ChatlogCsv,
    /// The JSON of chatlog.
    ChatlogJson,
    /// A table of MemoTrace.
    MemotraceCsv,
    /// A table of PyWxDump, which WeClone takes as well.
    PywxdumpCsv,
    /// The JSON of WeFlow.
    WeflowJson,
    /// A document of ChatLab.
    ChatlabJson,
    /// Lines of ChatLab.
    ChatlabJsonl,
    /// `result.json` of Telegram Desktop.
    TelegramJson,
    /// The text of WhatsApp.
    WhatsappTxt,
    /// The JSON of DiscordChatExporter.
    DiscordJson,
    /// The folder or archive of Slack.
    Slack,
    /// The text of QQ.
    QqTxt,
    /// The JSON of qq-chat-exporter, whole or in chunks.
    QqExporter,
    /// Our own lines.
    HelveJsonl,
    /// A table that is nobody's.
    Csv,
    /// Lines (or a list) of JSON that are nobody's.
    Jsonl,
}

impl Format {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ChatlogCsv => "chatlog_csv",
            Self::ChatlogJson => "chatlog_json",
            Self::MemotraceCsv => "memotrace_csv",
            Self::PywxdumpCsv => "pywxdump_csv",
            Self::WeflowJson => "weflow_json",
            Self::ChatlabJson => "chatlab_json",
            Self::ChatlabJsonl => "chatlab_jsonl",
            Self::TelegramJson => "telegram_json",
            Self::WhatsappTxt => "whatsapp_txt",
            Self::DiscordJson => "discord_json",
            Self::Slack => "slack",
            Self::QqTxt => "qq_txt",
            Self::QqExporter => "qq_exporter",
            Self::HelveJsonl => "helve_jsonl",
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
        }
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a reader is told beside the file itself.
pub(crate) struct Job<'j> {
    options: &'j Options,
    /// What the file's name says of the chat.
    title: String,
}

impl Job<'_> {
    /// The name of a chat that the export does not name.
    fn chat(&self) -> String {
        let named = self.options.chat.clone();
        named.unwrap_or_else(|| self.title.clone())
    }
}

/// How a format is recognised, and how it is read.
struct Reader {
    format: Format,
    fits: fn(&Look) -> bool,
    read: fn(&mut Text<'_>, &Look, &Job<'_>, &mut Out<'_>) -> Result<(), ReadError>,
}

/// In the order in which they are tried; what is nobody's comes last.
#[rustfmt::skip]
const FORMATS: &[Reader] = &[
    Reader { format: Format::HelveJsonl, fits: helve::fits, read: helve::read },
    Reader { format: Format::ChatlabJson, fits: chatlab::fits_document, read: chatlab::read_document },
    Reader { format: Format::ChatlabJsonl, fits: chatlab::fits_lines, read: chatlab::read_lines },
    Reader { format: Format::TelegramJson, fits: telegram::fits, read: telegram::read },
    Reader { format: Format::DiscordJson, fits: discord::fits, read: discord::read },
    Reader { format: Format::WeflowJson, fits: weflow::fits, read: weflow::read },
    Reader { format: Format::QqExporter, fits: qq_exporter::fits, read: qq_exporter::read },
    Reader { format: Format::ChatlogJson, fits: chatlog::fits_json, read: chatlog::read_json },
    Reader { format: Format::Slack, fits: slack::fits, read: slack::read_day },
    Reader { format: Format::ChatlogCsv, fits: chatlog::fits_csv, read: chatlog::read_csv },
    Reader { format: Format::MemotraceCsv, fits: memotrace::fits, read: memotrace::read },
    Reader { format: Format::PywxdumpCsv, fits: pywxdump::fits, read: pywxdump::read },
    Reader { format: Format::QqTxt, fits: qq_text::fits, read: qq_text::read },
    Reader { format: Format::WhatsappTxt, fits: whatsapp::fits, read: whatsapp::read },
    Reader { format: Format::Csv, fits: generic::fits_csv, read: generic::read_csv },
    Reader { format: Format::Jsonl, fits: generic::fits_jsonl, read: generic::read_jsonl },
];

/// Reads an export: finds out what it is by its content, hands on what it says.
pub fn read(
    input: Input<'_>,
    name: &str,
    options: &Options,
    sink: &mut dyn Sink,
) -> Result<Format, ReadError> {
    let mut out = Out::new(sink, options);
    match input {
        Input::Folder(folder) => archive::read_folder(folder.as_ref(), name, options, &mut out),
        Input::File(file) => {
            let mut magic = [0; 4];
            let mut source = FileSource(&file);
            let seen = fill(&mut source, &mut magic)?;
            if magic[..seen].starts_with(b"PK") && matches!(magic[2..4], [3, 4] | [5, 6]) {
                return archive::read_zip(&file, name, options, &mut out);
            }
            let format = read_one(&mut source, name, options, &mut out)?;
            out.finish()?;
            Ok(format)
        }
    }
}

/// As much of the beginning as there is.
fn fill(source: &mut dyn source::Source, into: &mut [u8]) -> Result<usize, ReadError> {
    let mut reader = source.open()?;
    let mut seen = 0;
    while seen < into.len() {
        match reader.read(&mut into[seen..])? {
            0 => break,
            n => seen += n,
        }
    }
    Ok(seen)
}

/// Reads one file.
fn read_one(
    source: &mut dyn source::Source,
    name: &str,
    options: &Options,
    out: &mut Out<'_>,
) -> Result<Format, ReadError> {
    let mut text = Text::of(source, out.bytes())?;
    let look = look::look(&mut text)?;
    let job = Job {
        options,
        title: look::title(name),
    };
    let row = choose(&look, options).ok_or_else(|| look.unknown())?;
    out.begin();
    match (row.read)(&mut text, &look, &job, out) {
        Ok(()) => {}
        Err(ReadError::Cut { place }) if options.accept_cut => {
            out.malformed(place, "the export ends in the middle of it".to_owned())?;
        }
        Err(error) => return Err(error),
    }
    out.check(row.format)?;
    Ok(row.format)
}

/// Which row reads it. A mapping makes every table and every list of lines nobody's format.
fn choose(look: &Look, options: &Options) -> Option<&'static Reader> {
    let mapped = options.mapping.is_some();
    FORMATS.iter().find(|row| {
        let generic = matches!(row.format, Format::Csv | Format::Jsonl);
        match (mapped && look.mappable(), generic) {
            (true, true) => match row.format {
                Format::Csv => look.is_table(),
                _ => !look.is_table(),
            },
            (true, false) => false,
            (false, _) => (row.fits)(look),
        }
    })
}
