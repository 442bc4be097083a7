//! Reading messages: some with those around them, all for whoever makes something of them,
//! those that a pattern matches, and as an export.

use std::collections::BTreeSet;
use std::io::Write;
use std::ops::ControlFlow;

use regex::RegexBuilder;
use roaring::RoaringBitmap;
use rusqlite::Connection;

use super::flat::NO_TIME;
use super::keywords::{self, Page};
use super::known::{Keys, Like, Said, is_same};
use super::view::View;
use super::{ArchiveError, ChatNo, CorpusEntry, Entry, Filter, Hits, Loaded, Pattern, PersonNo};
use crate::message::{Chat, Message, Sender};

/// The most memory that a compiled pattern may take.
const PATTERN_SIZE: usize = 4 << 20;

pub(super) fn load(
    view: &View,
    conn: &Connection,
    keys: Keys,
    lines: &[u64],
    before: u32,
    after: u32,
) -> Result<Loaded, ArchiveError> {
    let mut loaded = Loaded::default();
    let (mut hits, mut ranks) = (BTreeSet::new(), BTreeSet::new());
    for line in lines {
        let rank = u32::try_from(*line).ok().and_then(|line| view.rank(line));
        let Some(rank) = rank else {
            loaded.missing.push(*line);
            continue;
        };
        hits.insert(rank);
        let chat = view.chat(view.order[rank]);
        let same = |rank: &usize| view.chat(view.order[*rank]) == chat;
        let earlier = (0..rank).rev().take(before as usize).take_while(same);
        let later = (rank + 1..view.order.len())
            .take(after as usize)
            .take_while(same);
        ranks.extend(earlier.chain(later));
        ranks.insert(rank);
    }
    let mut query = conn.prepare_cached("SELECT text, reply_to FROM messages WHERE line = ?")?;
    for rank in ranks {
        let line = view.order[rank];
        let (text, reply_to): (String, Option<String>) =
            query.query_row([line], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let reply_to = match reply_to {
            Some(name) => named(view, conn, keys, view.chat(line), &name)?,
            None => None,
        };
        loaded.messages.push(Entry {
            line: u64::from(line),
            chat: ChatNo(view.chat(line)),
            sender: PersonNo(view.stands_for(view.sender(line))),
            time: known_time(view.time(line)),
            kind: view.kind(line),
            text,
            reply_to,
            session: u64::from(view.session(rank)),
            hit: hits.contains(&rank),
        });
    }
    Ok(loaded)
}

/// The line of the message that an export calls so, if it is shown.
fn named(
    view: &View,
    conn: &Connection,
    keys: Keys,
    chat: u32,
    name: &str,
) -> Result<Option<u64>, ArchiveError> {
    let Ok(at) = view.chats.binary_search_by_key(&chat, |row| row.no) else {
        return Ok(None);
    };
    let kind = crate::message::Kind::Text;
    let said = Said {
        chat: &view.chats[at].id,
        id: Some(name),
        sender: "",
        time: None,
        kind,
        text: "",
    };
    let like = Like {
        chat,
        id: Some(name),
        sender: None,
        time: None,
        kind,
        text: "",
        nth: 0,
    };
    let key = keys.of(&said);
    for flat in &view.flats {
        for line in flat.with_key(key) {
            if is_same(conn, line, &like)? && view.visible.contains(line) {
                return Ok(Some(u64::from(line)));
            }
        }
    }
    Ok(None)
}

pub(super) fn each(view: &View, f: &mut dyn FnMut(CorpusEntry<'_>) -> ControlFlow<()>) {
    for (rank, line) in view.order.iter().enumerate() {
        let text = String::from_utf8_lossy(view.text(*line));
        let entry = CorpusEntry {
            line: u64::from(*line),
            chat: ChatNo(view.chat(*line)),
            session: u64::from(view.session(rank)),
            sender: PersonNo(view.stands_for(view.sender(*line))),
            time: known_time(view.time(*line)),
            kind: view.kind(*line),
            text: &text,
        };
        if f(entry).is_break() {
            return;
        }
    }
}

pub(super) fn pattern(
    view: &View,
    conn: &Connection,
    ask: &Pattern,
    stop: &dyn Fn() -> bool,
) -> Result<Hits, ArchiveError> {
    if ask.regex.is_empty() {
        return Err(ArchiveError::BlankKeyword);
    }
    let regex = RegexBuilder::new(&ask.regex)
        .size_limit(PATTERN_SIZE)
        .build()
        .map_err(|e| ArchiveError::Pattern(Box::new(e)))?;
    let sieve = view.sieve(&ask.filter);
    let mut query = conn.prepare_cached("SELECT line, text FROM messages ORDER BY line")?;
    let mut rows = query.query([])?;
    let mut total = RoaringBitmap::new();
    let mut looked = 0_u64;
    while let Some(row) = rows.next()? {
        looked += 1;
        if looked.is_multiple_of(4096) && stop() {
            return Err(ArchiveError::Cancelled);
        }
        let line: u32 = row.get(0)?;
        // The view may be older than the database.
        if !view.visible.contains(line) || !sieve.is_open() && !sieve.lets(view, line) {
            continue;
        }
        if regex.is_match(row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?) {
            total.insert(line);
        }
    }
    let search = keywords::fingerprint(&ask.regex, &ask.filter, ask.order);
    let page = Page::by_time(ask.order, ask.limit, ask.after, search);
    let hits = keywords::page(view, &total, &page)?;
    Ok(Hits {
        per_word: vec![total.len()],
        ..hits
    })
}

pub(super) fn export(
    view: &View,
    conn: &Connection,
    filter: &Filter,
    out: &mut dyn Write,
) -> Result<u64, ArchiveError> {
    let sieve = view.sieve(filter);
    let mut query =
        conn.prepare_cached("SELECT id, text, reply_to FROM messages WHERE line = ?")?;
    let mut written = 0;
    for line in &view.visible {
        if !sieve.lets(view, line) {
            continue;
        }
        let chat = view
            .chats
            .binary_search_by_key(&view.chat(line), |row| row.no);
        let sender = view
            .people
            .binary_search_by_key(&view.sender(line), |row| row.no);
        let (Ok(chat), Ok(sender)) = (chat, sender) else {
            continue;
        };
        let (chat, sender) = (&view.chats[chat], &view.people[sender]);
        let message = query.query_row([line], |row| {
            Ok(Message {
                id: row.get(0)?,
                chat: Chat {
                    id: chat.id.clone(),
                    name: chat.name.clone(),
                    kind: chat.kind,
                },
                sender: Sender {
                    id: sender.id.clone(),
                    name: sender.name.clone(),
                    is_self: sender.is_self.then_some(true),
                },
                time: known_time(view.time(line)),
                kind: view.kind(line),
                text: row.get(1)?,
                reply_to: row.get(2)?,
            })
        })?;
        serde_json::to_writer(&mut *out, &message).map_err(std::io::Error::from)?;
        out.write_all(b"\n")?;
        written += 1;
    }
    Ok(written)
}

pub(super) fn known_time(time: i64) -> Option<i64> {
    (time != NO_TIME).then_some(time)
}
