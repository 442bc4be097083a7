//! The text of QQ: a head that names the chat, then each message below a line with its time
//! and who says it. One file may hold several chats.

use super::dates::{Clock, Order, Stamp};
use super::error::ReadError;
use super::lines::Lines;
use super::look::{Look, Shape};
use super::out::Out;
use super::source::{Pass, Text};
use super::{Job, LONGEST, wechat};
use crate::{Chat, ChatKind, DateOrder, Kind, Message, Sender};

pub(crate) fn fits(look: &Look) -> bool {
    if look.shape != Shape::Text {
        return false;
    }
    let head = |l: &String| l.starts_with("消息记录") || l.starts_with("消息对象:");
    let said = look.head.iter().find(|l| !l.trim().is_empty());
    look.head.iter().any(head) || said.and_then(|l| header(l)).is_some_and(|h| h.account)
}

/// The line above a message.
struct Header<'h> {
    written: &'h str,
    stamp: Stamp,
    id: &'h str,
    name: &'h str,
    /// Whether it has an account: without one, the line may be a part of a text.
    account: bool,
}

fn header(line: &str) -> Option<Header<'_>> {
    if !line.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    // The time has two words, or three with the half of the day: the longer one counts.
    let spaces: Vec<_> = line.match_indices(' ').map(|(at, _)| at).take(3).collect();
    let (at, stamp) = spaces.iter().rev().find_map(|at| {
        let stamp = Stamp::parse(&line[..*at])?;
        stamp.timed().then_some((*at, stamp))
    })?;
    let who = line[at..].trim();
    let (name, id) = account(who).unwrap_or((who, ""));
    // A title in a group stands before the name.
    let name = match name.strip_prefix('【').and_then(|n| n.split_once('】')) {
        Some((_, rest)) if !rest.is_empty() => rest,
        _ => name,
    };
    if who.is_empty() || line.len() > 500 {
        return None;
    }
    Some(Header {
        written: &line[..at],
        stamp,
        name: if name.is_empty() { id } else { name },
        id: if id.is_empty() { name } else { id },
        account: !id.is_empty(),
    })
}

/// `name(10001)` or `name<a@b.c>`.
fn account(who: &str) -> Option<(&str, &str)> {
    if let Some(inner) = who.strip_suffix(')') {
        let (name, id) = inner.rsplit_once('(')?;
        let number = id.len() >= 4 && id.bytes().all(|b| b.is_ascii_digit());
        return number.then_some((name, id));
    }
    let (name, id) = who.strip_suffix('>')?.rsplit_once('<')?;
    id.contains('@').then_some((name, id))
}

pub(crate) fn read(
    text: &mut Text<'_>,
    _: &Look,
    job: &Job<'_>,
    out: &mut Out<'_>,
) -> Result<(), ReadError> {
    let order = match job.options.dates {
        Some(order) => order,
        None => order(text)?,
    };
    let clock = Clock {
        zone: &job.options.zone,
        order,
    };
    let mut reading = Reading {
        chat: chat(job.chat()),
        clock,
        state: State::Between,
        blank: true,
        rule: false,
    };
    let mut lines = Lines::new(text.open(Pass::Read)?);
    while let Some(line) = lines.next()? {
        let said = match line.text() {
            Ok(said) => said,
            Err(_) if !line.ended => return Err(ReadError::Cut { place: line.number }),
            Err(why) => {
                // What it belongs to is not whole any more.
                reading.state = State::Skipping;
                out.malformed(line.number, why.to_owned())?;
                continue;
            }
        };
        if !line.ended && said.starts_with(|c: char| c.is_ascii_digit()) && reading.blank {
            return Err(ReadError::Cut { place: line.number });
        }
        reading.line(said, line.number, out)?;
    }
    if let State::Message(message, place) = &reading.state
        && message.text.is_empty()
    {
        return Err(ReadError::Cut { place: *place });
    }
    reading.flush(out)
}

fn order(text: &mut Text<'_>) -> Result<DateOrder, ReadError> {
    let mut order = Order::default();
    let mut lines = Lines::new(text.open(Pass::Ahead)?);
    while let Some(line) = lines.next()? {
        if let Some(header) = line.text().ok().and_then(header) {
            if header.stamp.certain() {
                return Ok(DateOrder::YearMonthDay);
            }
            order.see(&header.stamp, header.written);
        }
    }
    order.found()
}

fn chat(name: String) -> Chat {
    Chat {
        id: name.clone(),
        name,
        kind: ChatKind::Unknown,
    }
}

enum State {
    Between,
    /// A message, and the line where it begins.
    Message(Box<Message>, u64),
    /// What is left of something that cannot be read.
    Skipping,
}

struct Reading<'r> {
    chat: Chat,
    clock: Clock<'r>,
    state: State,
    /// Whether the line before was empty.
    blank: bool,
    /// Whether the line before was a rule, as around the head.
    rule: bool,
}

impl Reading<'_> {
    fn line(&mut self, said: &str, number: u64, out: &mut Out<'_>) -> Result<(), ReadError> {
        let (blank, rule) = (self.blank, self.rule);
        self.blank = said.trim().is_empty();
        self.rule = said.len() >= 8 && said.bytes().all(|b| b == b'=');
        if let Some(found) = header(said).filter(|h| blank || h.account) {
            self.flush(out)?;
            let time = found.stamp.resolve(self.clock.order, self.clock.zone);
            let Some(time) = time else {
                self.state = State::Skipping;
                let why = format!("there is no such time as `{}`", found.written);
                return Ok(out.malformed(number, why)?);
            };
            let nobody = found.id == "10000" || found.name == "系统消息";
            let message = Message {
                chat: self.chat.clone(),
                sender: match nobody {
                    true => Sender::default(),
                    false => Sender {
                        id: found.id.to_owned(),
                        name: found.name.to_owned(),
                        is_self: None,
                    },
                },
                time: Some(time),
                kind: if nobody { Kind::System } else { Kind::Text },
                ..Message::default()
            };
            self.state = State::Message(Box::new(message), number);
            return Ok(());
        }
        if self.rule || (rule && (said.starts_with("消息分组:") || said.starts_with("消息对象:")))
        {
            if self.rule {
                // Only a rule that a head follows ends a message; it is put back otherwise.
                self.append(said);
                return Ok(());
            }
            self.take_rule();
            self.flush(out)?;
            if let Some(name) = said.strip_prefix("消息对象:") {
                self.chat = chat(name.trim().to_owned());
            }
            return Ok(());
        }
        self.append(said);
        Ok(())
    }

    fn append(&mut self, said: &str) {
        if let State::Message(message, _) = &mut self.state
            && message.text.len() + said.len() < LONGEST
        {
            if !message.text.is_empty() {
                message.text.push('\n');
            }
            message.text.push_str(said);
        }
    }

    /// Takes a rule that belongs to the next head back out of the text.
    fn take_rule(&mut self) {
        if let State::Message(message, _) = &mut self.state {
            let text = message.text.trim_end_matches('=').trim_end();
            message.text.truncate(text.len());
        }
    }

    fn flush(&mut self, out: &mut Out<'_>) -> Result<(), ReadError> {
        let state = std::mem::replace(&mut self.state, State::Between);
        if let State::Message(mut message, _) = state {
            message.text.truncate(message.text.trim_end().len());
            if message.kind == Kind::Text {
                message.kind = wechat::placeholder(&message.text);
            }
            out.message(*message)?;
        }
        Ok(())
    }
}
