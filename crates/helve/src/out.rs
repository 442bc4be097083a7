//! What a person sees: findings, losses, failures.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};

use anstyle::{AnsiColor, Style};
use helve_core::collection::{Document, Finding};
use helve_core::dialect::{Loss, LossKind};
use helve_core::lint::Severity;

use crate::exit::Failure;

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const PLACE: Style = AnsiColor::Blue.on_default().bold();
pub(crate) const FIX: Style = AnsiColor::Green.on_default();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const STRONG: Style = Style::new().bold();

/// `text` in a style.
pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Data, to standard output, byte for byte. A reader that has gone is no error.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    written(std::io::stdout().lock().write_all(text.as_bytes()))
}

/// Bytes, to standard output, as they are.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    written(std::io::stdout().lock().write_all(bytes))
}

/// Text with styles, to standard output; the styles only where they are seen.
pub(crate) fn show(text: &str) -> Result<(), Failure> {
    written(anstream::stdout().lock().write_all(text.as_bytes()))
}

/// The same, for what goes on and on: whether anybody still reads.
pub(crate) fn still_read(text: &str) -> Result<bool, Failure> {
    let mut stdout = anstream::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        result => written(result).map(|()| true),
    }
}

/// Text that somebody else wrote: as it is for a program, made visible for a person.
pub(crate) fn foreign(text: &str) -> Result<(), Failure> {
    match std::io::stdout().is_terminal() {
        true => data(&visible_lines(text)),
        false => data(text),
    }
}

fn lines(line: &str) -> String {
    let (text, end) = line
        .strip_suffix('\n')
        .map_or((line, ""), |text| (text, "\n"));
    format!("{}{end}", visible(text))
}

fn written(result: std::io::Result<()>) -> Result<(), Failure> {
    let result = result.and_then(|()| std::io::stdout().flush());
    match result {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::output(format!(
            "standard output cannot be written: {e}"
        ))),
        _ => Ok(()),
    }
}

/// Talk, to standard error.
pub(crate) fn say(text: &str) {
    // Nobody is left to tell if this fails.
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// A value as JSON, to standard output.
pub(crate) fn json(value: &serde_json::Value) -> Result<(), Failure> {
    data(&helve_core::write::json_text(value))
}

/// How many columns the terminal has; `None` where nobody reads.
pub(crate) fn width() -> Option<usize> {
    let stdout = std::io::stdout();
    let size = stdout
        .is_terminal()
        .then(|| rustix::termios::tcgetwinsize(&stdout));
    size?.ok().map(|s| usize::from(s.ws_col)).filter(|w| *w > 0)
}

/// Whether somebody sits there who can be asked.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks; whatever is not yes is no.
pub(crate) fn ask(question: &str) -> bool {
    let mut stderr = anstream::stderr().lock();
    let _ = write!(stderr, "{question} [y/N] ");
    let _ = stderr.flush();
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.is_ok() && ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}

/// Why a command could not do its work.
pub(crate) fn failure(failure: &Failure) {
    say(&format!("{}: {:#}", styled(ERROR, "error"), failure.error));
    if let Some(hint) = &failure.hint {
        say(&format!("\n{}: {hint}", styled(FIX, "hint")));
    }
}

/// A finding with the line that it stands on.
pub(crate) fn finding(finding: &Finding, document: &Document) -> String {
    let (word, style) = match finding.severity {
        Severity::Error => ("error", ERROR),
        Severity::Warning => ("warning", WARNING),
    };
    let head = styled(style, format!("{word}[{}]", finding.code));
    let mut out = format!(
        "{head}{} {}\n",
        styled(STRONG, ":"),
        styled(STRONG, visible(&finding.message))
    );
    let place = finding
        .place
        .map(|p| format!(":{}:{}", p.line, p.column))
        .unwrap_or_default();
    let tool = finding
        .tool
        .as_deref()
        .map(|t| format!(" {}", visible(t)))
        .unwrap_or_default();
    let pointer = if finding.pointer.is_empty() {
        String::new()
    } else {
        format!(" {}", visible(&finding.pointer))
    };
    let _ = writeln!(
        out,
        "  {} {}{place}{}",
        styled(PLACE, "-->"),
        visible(&finding.file),
        styled(DIM, format!("{tool}{pointer}"))
    );
    if let Some((line, text)) = finding
        .place
        .and_then(|p| Some((p.line, document.line(p.line)?)))
    {
        let number = line.to_string();
        let pad = " ".repeat(number.len());
        let column = finding.place.map_or(1, |p| p.column);
        let _ = writeln!(out, "{pad} {}", styled(PLACE, "|"));
        let _ = writeln!(
            out,
            "{} {} {}",
            styled(PLACE, number),
            styled(PLACE, "|"),
            excerpt(text, column)
        );
    }
    if let Some(fix) = &finding.fix {
        let _ = writeln!(out, "   {} {}", styled(FIX, "= fix:"), visible(fix));
    }
    out
}

/// The part of a line around a column that a terminal shows, with nothing in it that
/// moves the cursor.
fn excerpt(text: &str, column: usize) -> String {
    const WIDTH: usize = 100;
    let skipped = column.saturating_sub(WIDTH / 2);
    let skipped = if column <= WIDTH - 10 { 0 } else { skipped };
    let part: String = text.chars().skip(skipped).take(WIDTH).collect();
    let more = text.chars().nth(skipped + WIDTH - 1).is_some();
    let before = if skipped > 0 { "…" } else { "" };
    let part = visible(part.trim_end());
    match more {
        true => format!(
            "{before}{}…",
            part.chars().take(WIDTH - 1).collect::<String>()
        ),
        false => format!("{before}{part}"),
    }
}

/// Control and invisible characters as their escapes.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push_str("    "),
            '\n' => out.push(' '),
            c if c.is_control() || helve_core::lint::is_hidden(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// The same for a line of a diff, in which a tab is a part of what changed.
pub(crate) fn visible_kept(line: &str) -> String {
    line.split('\t').map(visible).collect::<Vec<_>>().join("\t")
}

/// The same, with its lines kept.
pub(crate) fn visible_lines(text: &str) -> String {
    text.split_inclusive('\n').map(lines).collect()
}

/// Something that a person should look at, though the work goes on.
pub(crate) fn warn(text: &str) {
    say(&format!("{}: {text}", styled(WARNING, "warning")));
}

/// One loss on one line.
pub(crate) fn loss(tool: &str, loss: &Loss) -> String {
    let kind = match loss.kind {
        LossKind::Dropped => styled(ERROR, "dropped"),
        LossKind::Changed => styled(WARNING, "changed"),
        LossKind::Folded => styled(FIX, " folded"),
    };
    format!(
        "  {kind} {tool} {}: {}",
        styled(STRONG, visible(&loss.field)),
        visible(&loss.reason)
    )
}

/// `1 error`, `2 errors`.
pub(crate) fn count(number: usize, word: &str) -> String {
    match number {
        1 => format!("1 {word}"),
        _ => format!("{number} {word}s"),
    }
}

/// `999 B`, `12.3 MB`.
pub(crate) fn bytes_of(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (1_000_000_000_000, "TB"),
        (1_000_000_000, "GB"),
        (1_000_000, "MB"),
        (1000, "KB"),
    ];
    match UNITS.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, word)) => {
            let tenths = bytes / (unit / 10);
            format!("{}.{} {word}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

pub(crate) fn summary(errors: usize, warnings: usize, rest: &str) -> String {
    let style = match (errors, warnings) {
        (0, 0) => FIX,
        (0, _) => WARNING,
        _ => ERROR,
    };
    let counts = match (errors, warnings) {
        (0, 0) => "no findings".to_owned(),
        _ => format!("{}, {}", count(errors, "error"), count(warnings, "warning")),
    };
    format!("{}{rest}", styled(style, counts))
}
