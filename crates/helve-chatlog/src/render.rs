//! Messages as text, for a reader who must not be led astray.
//!
//! - *No message can pass for two*: a line break within one is marked or indented.
//! - *Nothing hidden*: control characters and marks that turn the direction are written out.
//! - *Nothing is left out in silence*: the last line says how many messages are not shown, and a
//!   message that is cut says so.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A message, as far as it is shown or weighed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evidence<'m> {
    /// Its number.
    pub line: u64,
    /// The name of its chat.
    pub chat: &'m str,
    /// Who says it.
    pub sender: &'m str,
    /// When, in milliseconds since 1970, UTC.
    pub time: Option<i64>,
    /// What it says.
    pub text: &'m str,
}

/// How messages are set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// One line each: number, sender, text.
    #[default]
    Compact,
    /// By day, in the order of time.
    Timeline,
    /// Everything that is known of each.
    Detailed,
}

/// Messages as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// How many messages it shows, a cut one among them.
    pub shown: usize,
    /// How many it does not.
    pub left_out: usize,
    /// Whether the last one shown is cut.
    pub cut: bool,
}

/// Sets messages, in at most so many characters: only the notice of what is left out may go
/// past them. In a timeline they come in the order of time, else in the order given.
#[must_use]
pub fn format_messages(
    messages: &[Evidence<'_>],
    layout: Layout,
    max_chars: Option<usize>,
    zone: &TimeZone,
) -> Rendered {
    let mut order: Vec<&Evidence<'_>> = messages.iter().collect();
    if layout == Layout::Timeline {
        order.sort_by_key(|message| (message.time.is_none(), message.time, message.line));
    }
    let mut out = Setter {
        layout,
        zone,
        day: None,
        chat: None,
    };
    let most = max_chars.unwrap_or(usize::MAX);
    let (mut text, mut used, mut shown, mut cut) = (String::new(), 0, 0, false);
    for (n, message) in order.iter().enumerate() {
        let (head, body) = out.set(message);
        let size = head.chars().count() + body.chars().count() + 1;
        let after = order.len() - n - 1;
        let reserve = if after > 0 {
            notice(after).chars().count()
        } else {
            0
        };
        if used + size + reserve <= most {
            text.extend([head.as_str(), &body, "\n"]);
            (used, shown) = (used + size, n + 1);
            continue;
        }
        // The first is cut rather than nothing shown.
        if n == 0 {
            let total = body.chars().count();
            let mark = |kept: usize| format!("… [cut: {kept} of {total} characters]\n");
            let room =
                most.saturating_sub(head.chars().count() + mark(total).chars().count() + reserve);
            if room > 0 {
                let kept = room.min(total);
                text = head + &body.chars().take(kept).collect::<String>() + &mark(kept);
                (shown, cut) = (1, true);
            }
        }
        break;
    }
    let left_out = messages.len() - shown;
    if left_out > 0 {
        text.push_str(&notice(left_out));
    }
    Rendered {
        text,
        shown,
        left_out,
        cut,
    }
}

/// A text in which nothing acts: control characters and marks that turn the direction or take no
/// room are written out; line breaks stay.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => safe.push(c),
            '\t' => safe.push(' '),
            '\r' => {}
            _ if acts(c) => {
                // Writing to a string does not fail.
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
            }
            _ => safe.push(c),
        }
    }
    safe
}

fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{2060}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn notice(count: usize) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("[{count} more message{s} not shown]\n")
}

struct Setter<'z> {
    layout: Layout,
    zone: &'z TimeZone,
    /// The heading that holds, in a timeline.
    day: Option<String>,
    chat: Option<String>,
}

impl Setter<'_> {
    /// What stands before the text, and the text.
    fn set(&mut self, message: &Evidence<'_>) -> (String, String) {
        let one_line = |text: &str| escape(text.trim_end()).replace('\n', " ⏎ ");
        let sender = if message.sender.is_empty() {
            "(system)".into()
        } else {
            one_line(message.sender)
        };
        let time = message
            .time
            .and_then(|time| Timestamp::from_millisecond(time).ok());
        let time = time.map(|time| time.to_zoned(self.zone.clone()));
        match self.layout {
            Layout::Compact => (
                format!("[{}] {sender}: ", message.line),
                one_line(message.text),
            ),
            Layout::Timeline => {
                let mut head = String::new();
                let day = time
                    .as_ref()
                    .map_or_else(|| "no date".to_owned(), |t| t.date().to_string());
                let chat = one_line(message.chat);
                if self.day.as_ref() != Some(&day) || self.chat.as_ref() != Some(&chat) {
                    head = if chat.is_empty() {
                        format!("== {day} ==\n")
                    } else {
                        format!("== {day} · {chat} ==\n")
                    };
                    (self.day, self.chat) = (Some(day), Some(chat));
                }
                let clock =
                    time.map_or_else(|| "--:--".to_owned(), |t| t.strftime("%H:%M").to_string());
                let _ = write!(head, "{clock} [{}] {sender}: ", message.line);
                (head, one_line(message.text))
            }
            Layout::Detailed => {
                let when = time.map_or_else(
                    || "no date".to_owned(),
                    |t| t.strftime("%Y-%m-%d %H:%M:%S %:z").to_string(),
                );
                let chat = one_line(message.chat);
                let head = format!("[{}] {when} · {chat} · {sender}\n    ", message.line);
                (
                    head,
                    escape(message.text.trim_end()).replace('\n', "\n    "),
                )
            }
        }
    }
}

#[cfg(test)]
mod tests;
