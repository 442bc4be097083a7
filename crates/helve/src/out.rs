//! What a person sees: findings, losses, failures.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use helve_core::collection::{Document, Finding};
use helve_core::dialect::{Loss, LossKind};
use helve_core::lint::Severity;

use crate::exit::Failure;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const PLACE: Style = AnsiColor::Blue.on_default().bold();
const FIX: Style = AnsiColor::Green.on_default();
const DIM: Style = Style::new().dimmed();
pub(crate) const STRONG: Style = Style::new().bold();

/// `text` in a style.
pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Data, to standard output.
pub(crate) fn data(text: &str) {
    anstream::print!("{text}");
}

/// Talk, to standard error.
pub(crate) fn say(text: &str) {
    anstream::eprintln!("{text}");
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
        finding.file,
        styled(DIM, format!("{tool}{pointer}"))
    );
    if let Some((line, text)) = finding
        .place
        .and_then(|p| Some((p.line, document.line(p.line)?)))
    {
        let number = line.to_string();
        let pad = " ".repeat(number.len());
        let _ = writeln!(out, "{pad} {}", styled(PLACE, "|"));
        let _ = writeln!(
            out,
            "{} {} {}",
            styled(PLACE, number),
            styled(PLACE, "|"),
            excerpt(text)
        );
    }
    if let Some(fix) = &finding.fix {
        let _ = writeln!(out, "   {} {}", styled(FIX, "= fix:"), visible(fix));
    }
    out
}

/// A line cut to what a terminal shows, with nothing in it that moves the cursor.
fn excerpt(text: &str) -> String {
    let text = visible(text.trim_end());
    match text.chars().count() > 100 {
        true => text.chars().take(99).chain(['…']).collect(),
        false => text,
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

/// One loss on one line.
pub(crate) fn loss(tool: &str, loss: &Loss) -> String {
    let kind = match loss.kind {
        LossKind::Dropped => styled(ERROR, "dropped"),
        LossKind::Changed => styled(WARNING, "changed"),
        LossKind::Folded => styled(FIX, " folded"),
    };
    format!(
        "  {kind} {tool} {}: {}",
        styled(STRONG, &loss.field),
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
