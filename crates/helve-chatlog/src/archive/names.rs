//! Whom and what a name means. Never a guess: several that fit are several.

use super::normal::normalize;
use super::store::PersonRow;
use super::view::View;
use super::{ChatEntry, ChatNo, Found, PersonEntry, PersonNo};
use crate::archive::flat::NO_TIME;

/// How many near names are told.
const NEAREST: usize = 5;
/// Names less alike than this are not near.
const NEAR: f64 = 0.78;

/// Whom a name means: an id, a shown name, another name, and last any of these in another
/// case or width. The first of these ways in which anybody fits decides.
pub(super) fn people(view: &View, name: &str) -> Found<PersonEntry> {
    let name = name.trim();
    let folded = normalize(name);
    let any = |row: &PersonRow, fits: &dyn Fn(&str) -> bool| {
        fits(&row.id) || fits(&row.name) || row.aliases.iter().any(|alias| fits(alias))
    };
    let ways: [&dyn Fn(&PersonRow) -> bool; 4] = [
        &|row| row.id == name,
        &|row| row.name == name,
        &|row| row.aliases.iter().any(|alias| alias == name),
        &|row| any(row, &|text| normalize(text) == folded),
    ];
    let shown = shown(view);
    for way in ways {
        let mut who: Vec<u32> = view
            .people
            .iter()
            .filter(|row| row.no != 0 && !name.is_empty() && way(row))
            .map(|row| view.stands_for(row.no))
            .filter(|no| shown.binary_search(no).is_ok())
            .collect();
        who.sort_unstable();
        who.dedup();
        match who[..] {
            [] => {}
            [one] => return Found::One(person(view, one)),
            _ => {
                let mut several: Vec<_> = who.into_iter().map(|no| person(view, no)).collect();
                several.sort_by_key(|person| std::cmp::Reverse(person.messages));
                return Found::Several(several);
            }
        }
    }
    let names = view
        .people
        .iter()
        .filter(|row| shown.binary_search(&view.stands_for(row.no)).is_ok())
        .flat_map(|row| [&row.name, &row.id].into_iter().chain(&row.aliases));
    Found::Nobody {
        nearest: nearest(&folded, names.map(String::as_str)),
    }
}

/// Which chat a name means, in the same way.
pub(super) fn chats(view: &View, name: &str) -> Found<ChatEntry> {
    let name = name.trim();
    let folded = normalize(name);
    let all = view.chat_entries();
    let ways: [&dyn Fn(&ChatEntry) -> bool; 3] = [
        &|chat| chat.id == name,
        &|chat| chat.name == name,
        &|chat| normalize(&chat.id) == folded || normalize(&chat.name) == folded,
    ];
    for way in ways {
        let fit: Vec<&ChatEntry> = all
            .iter()
            .filter(|chat| !name.is_empty() && way(chat))
            .collect();
        match fit[..] {
            [] => {}
            [one] => return Found::One(one.clone()),
            _ => return Found::Several(fit.into_iter().cloned().collect()),
        }
    }
    let names = all
        .iter()
        .flat_map(|chat| [chat.name.as_str(), chat.id.as_str()]);
    Found::Nobody {
        nearest: nearest(&folded, names),
    }
}

fn nearest<'n>(folded: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut near: Vec<(f64, &str)> = names
        .filter(|name| !name.is_empty())
        .map(|name| {
            let other = normalize(name);
            let long = |text: &str| text.chars().nth(1).is_some();
            let part =
                long(folded) && other.contains(folded) || long(&other) && folded.contains(&other);
            (
                strsim::jaro_winkler(folded, &other).max(if part { 0.9 } else { 0.0 }),
                name,
            )
        })
        .filter(|(alike, _)| *alike >= NEAR)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.dedup_by(|a, b| a.1 == b.1);
    near.into_iter()
        .take(NEAREST)
        .map(|(_, name)| name.to_owned())
        .collect()
}

/// Who has messages that are shown, in order.
fn shown(view: &View) -> Vec<u32> {
    let mut shown: Vec<u32> = view
        .counts
        .iter()
        .map(|(_, person, _)| view.stands_for(*person))
        .collect();
    shown.sort_unstable();
    shown.dedup();
    shown
}

pub(super) fn person(view: &View, no: u32) -> PersonEntry {
    let rows = || {
        view.people
            .iter()
            .filter(|row| view.stands_for(row.no) == no)
    };
    let row = rows().find(|row| row.no == no);
    let name = row.map_or("", |row| &row.name);
    let mut aliases: Vec<String> = rows()
        .flat_map(|row| {
            row.aliases
                .iter()
                .chain((row.no != no).then_some(&row.name))
        })
        .filter(|alias| *alias != name)
        .cloned()
        .collect();
    aliases.sort_unstable();
    aliases.dedup();
    let counts = || {
        view.counts
            .iter()
            .filter(|(_, person, _)| view.stands_for(*person) == no)
    };
    let mut chats: Vec<ChatNo> = counts().map(|(chat, _, _)| ChatNo(*chat)).collect();
    chats.dedup();
    PersonEntry {
        no: PersonNo(no),
        id: row.map_or_else(String::new, |row| row.id.clone()),
        name: name.to_owned(),
        aliases,
        is_self: rows().any(|row| row.is_self),
        chats,
        messages: counts().map(|(_, _, count)| u64::from(*count)).sum(),
    }
}

/// All who speak, the busiest first; not the system.
pub(super) fn person_entries(view: &View) -> Vec<PersonEntry> {
    let speak = shown(view).into_iter().filter(|no| *no != 0);
    let mut all: Vec<_> = speak.map(|no| person(view, no)).collect();
    all.sort_by_key(|person| std::cmp::Reverse(person.messages));
    all
}

/// All chats with messages that are shown, the fullest first.
pub(super) fn chat_entries(view: &View) -> Vec<ChatEntry> {
    let mut all = Vec::new();
    for lines in view.order.chunk_by(|a, b| view.chat(*a) == view.chat(*b)) {
        let no = view.chat(lines[0]);
        let Ok(at) = view.chats.binary_search_by_key(&no, |row| row.no) else {
            continue;
        };
        let row = &view.chats[at];
        let times = || {
            lines
                .iter()
                .map(|line| view.time(*line))
                .filter(|time| *time != NO_TIME)
        };
        all.push(ChatEntry {
            no: ChatNo(no),
            id: row.id.clone(),
            name: row.name.clone(),
            kind: row.kind,
            messages: lines.len() as u64,
            first: times().min(),
            last: times().max(),
        });
    }
    all.sort_by_key(|chat| std::cmp::Reverse(chat.messages));
    all
}
