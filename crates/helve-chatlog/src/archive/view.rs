//! The archive as it stands at one generation: what every reading looks at.
//!
//! It never changes. A change makes a new one, and readings that have begun keep the old.

use std::sync::{Arc, OnceLock};

use memchr::memmem::Finder;
use roaring::RoaringBitmap;
use rusqlite::Connection;

use super::flat::{Flat, MOST_LINES, NO_TIME};
use super::index::Entries;
use super::lengths::Lengths;
use super::store::{self, ChatRow, PersonRow};
use super::{ArchiveError, ChatEntry, ChatNo, Filter, PersonNo, ask, names};
use crate::message::Kind;

/// Two messages that are further apart are of two sessions.
pub(super) const SESSION_GAP: i64 = 30 * 60 * 1000;

/// The rank of a line that is not shown.
const HIDDEN: u32 = u32::MAX;

pub(super) struct View {
    pub(super) generation: u64,
    pub(super) flats: Vec<Arc<Flat>>,
    pub(super) visible: RoaringBitmap,
    /// The lines that are shown, by chat, time and line.
    pub(super) order: Vec<u32>,
    /// Where each line is in the order; by line.
    ranks: Vec<u32>,
    /// The first line of the session of each; by rank.
    sessions: Vec<u32>,
    pub(super) chats: Vec<ChatRow>,
    pub(super) people: Vec<PersonRow>,
    /// Who stands for each person; by number.
    stands: Vec<u32>,
    /// How many messages each chat has of each person: (chat, person, count).
    pub(super) counts: Vec<(u32, u32, u32)>,
    /// Bytes of a text, on average.
    pub(super) average: f32,
    names: OnceLock<Vec<(String, u32)>>,
    chat_entries: OnceLock<Vec<ChatEntry>>,
    lengths: OnceLock<Lengths>,
    /// What the index says; nothing if it could not be brought up to date.
    pub(super) index: Option<Entries>,
}

impl View {
    pub(super) fn build(conn: &Connection, flats: Vec<Arc<Flat>>) -> Result<Self, ArchiveError> {
        let visible = store::visible(conn)?;
        let people = store::people(conn)?;
        let text: usize = flats.iter().map(|flat| flat.text_bytes()).sum();
        let lines: u32 = flats.iter().map(|flat| flat.count).sum();
        let mut view = Self {
            generation: store::generation(conn)?,
            order: Vec::with_capacity(usize::try_from(visible.len()).unwrap_or(0)),
            ranks: vec![HIDDEN; lines as usize + 1],
            sessions: Vec::new(),
            chats: store::chats(conn)?,
            stands: stands(&people),
            people,
            counts: Vec::new(),
            average: (text as f32 / lines.max(1) as f32).max(1.0),
            names: OnceLock::new(),
            chat_entries: OnceLock::new(),
            lengths: OnceLock::new(),
            index: None,
            flats,
            visible,
        };
        view.arrange();
        Ok(view)
    }

    /// Orders the lines and cuts them into sessions.
    fn arrange(&mut self) {
        let most = self.chats.iter().map(|chat| chat.no + 1).max().unwrap_or(0) as usize;
        let mut starts = vec![0_usize; most + 1];
        for line in &self.visible {
            starts[self.chat(line) as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut order = vec![0; starts[most]];
        let mut next = starts.clone();
        for line in &self.visible {
            let place = &mut next[self.chat(line) as usize];
            order[*place] = line;
            *place += 1;
        }
        let mut sessions = vec![0; order.len()];
        let mut counts = Vec::new();
        for chat in 0..most {
            let range = starts[chat]..starts[chat + 1];
            let (lines, sessions) = (&mut order[range.clone()], &mut sessions[range]);
            let times = self.arrange_chat(lines);
            let mut first = 0;
            for at in 0..lines.len() {
                if at == 0 || times[at].saturating_sub(times[at - 1]) > SESSION_GAP {
                    first = lines[at];
                }
                sessions[at] = first;
            }
            let mut senders: Vec<u32> = lines.iter().map(|line| self.sender(*line)).collect();
            senders.sort_unstable();
            let chat = u32::try_from(chat).unwrap_or(u32::MAX);
            counts.extend(
                senders
                    .chunk_by(|a, b| a == b)
                    .map(|same| (chat, same[0], u32::try_from(same.len()).unwrap_or(u32::MAX))),
            );
        }
        for (rank, line) in order.iter().enumerate() {
            self.ranks[*line as usize] = u32::try_from(rank).unwrap_or(HIDDEN);
        }
        (self.order, self.sessions, self.counts) = (order, sessions, counts);
    }

    /// Sorts the lines of one chat by time, and gives the times. A message without one has
    /// that of the message before it.
    fn arrange_chat(&self, lines: &mut [u32]) -> Vec<i64> {
        let mut last = NO_TIME;
        let timed = |line: &u32| {
            last = match self.time(*line) {
                NO_TIME => last,
                time => time,
            };
            last
        };
        let mut times: Vec<i64> = lines.iter().map(timed).collect();
        if !times.is_sorted() {
            let mut both: Vec<(i64, u32)> =
                times.iter().copied().zip(lines.iter().copied()).collect();
            both.sort_unstable();
            for (at, (time, line)) in both.into_iter().enumerate() {
                (times[at], lines[at]) = (time, line);
            }
        }
        times
    }

    /// The file of a line, and its place there.
    fn place(&self, line: u32) -> (&Flat, u32) {
        // All files but those of small imports are of the same size: a guess is often right.
        let guess = &self.flats[(line as usize / MOST_LINES).min(self.flats.len() - 1)];
        if guess.first <= line && line - guess.first < guess.count {
            return (guess, line - guess.first);
        }
        let at = self.flats.partition_point(|flat| flat.first <= line) - 1;
        let flat = &self.flats[at];
        (flat, line - flat.first)
    }

    pub(super) fn chat(&self, line: u32) -> u32 {
        let (flat, at) = self.place(line);
        flat.chat(at)
    }

    /// Who said it, as the export has it.
    pub(super) fn sender(&self, line: u32) -> u32 {
        let (flat, at) = self.place(line);
        flat.sender(at)
    }

    pub(super) fn time(&self, line: u32) -> i64 {
        let (flat, at) = self.place(line);
        flat.time(at)
    }

    pub(super) fn kind(&self, line: u32) -> Kind {
        let (flat, at) = self.place(line);
        flat.kind(at)
    }

    pub(super) fn length(&self, line: u32) -> usize {
        let (flat, at) = self.place(line);
        flat.length(at)
    }

    pub(super) fn text(&self, line: u32) -> &[u8] {
        let (flat, at) = self.place(line);
        flat.text(at)
    }

    /// Who stands for a person: themselves, or whom they were merged into.
    pub(super) fn stands_for(&self, person: u32) -> u32 {
        self.stands.get(person as usize).copied().unwrap_or(person)
    }

    /// What people are called in questions, the longest names first.
    pub(super) fn names(&self) -> &[(String, u32)] {
        self.names.get_or_init(|| ask::query::bearers(&self.people))
    }

    /// All chats with messages that are shown, the fullest first.
    pub(super) fn chat_entries(&self) -> &[ChatEntry] {
        self.chat_entries.get_or_init(|| names::chat_entries(self))
    }

    /// The lines by the length of their texts.
    pub(super) fn lengths(&self) -> &Lengths {
        self.lengths.get_or_init(|| Lengths::of(self))
    }

    /// Where a line is in the order by chat and time, if it is shown.
    pub(super) fn rank(&self, line: u32) -> Option<usize> {
        match self.ranks.get(line as usize) {
            None | Some(&HIDDEN) => None,
            Some(rank) => Some(*rank as usize),
        }
    }

    /// The session at a rank.
    pub(super) fn session(&self, rank: usize) -> u32 {
        self.sessions[rank]
    }

    /// How many sessions there are.
    pub(super) fn session_count(&self) -> u64 {
        self.sessions.chunk_by(|a, b| a == b).count() as u64
    }

    /// Every line that is shown and has the needle.
    pub(super) fn scan(&self, needle: &str) -> RoaringBitmap {
        let finder = Finder::new(needle);
        let mut lines = Vec::new();
        for flat in &self.flats {
            flat.scan(&finder, &mut |line| lines.push(line));
        }
        let mut found = RoaringBitmap::from_sorted_iter(lines).unwrap_or_default();
        found &= &self.visible;
        found
    }

    /// Whom a filter's senders mean, with all that were merged.
    pub(super) fn sieve<'f>(&self, filter: &'f Filter) -> Sieve<'f> {
        let mut chats: Vec<u32> = filter.chats.iter().map(|ChatNo(no)| *no).collect();
        chats.sort_unstable();
        let wanted: Vec<u32> = filter
            .senders
            .iter()
            .map(|PersonNo(no)| self.stands_for(*no))
            .collect();
        let mut senders: Vec<u32> = self
            .people
            .iter()
            .map(|person| person.no)
            .filter(|no| wanted.contains(&self.stands_for(*no)))
            .collect();
        senders.sort_unstable();
        Sieve {
            filter,
            chats,
            senders,
        }
    }
}

fn stands(people: &[PersonRow]) -> Vec<u32> {
    let most = people.iter().map(|p| p.no as usize + 1).max().unwrap_or(0);
    let mut stands: Vec<u32> = (0..).take(most).collect();
    for person in people {
        let mut at = person;
        // Merges are kept without rings; the bound is for a database that others wrote.
        for _ in 0..people.len() {
            let Some(next) = at.same_as else { break };
            match people.binary_search_by_key(&next, |p| p.no) {
                Ok(found) => at = &people[found],
                Err(_) => break,
            }
        }
        stands[person.no as usize] = at.no;
    }
    stands
}

/// A filter, ready to be asked of each line.
pub(super) struct Sieve<'f> {
    filter: &'f Filter,
    chats: Vec<u32>,
    senders: Vec<u32>,
}

impl Sieve<'_> {
    pub(super) fn is_open(&self) -> bool {
        *self.filter == Filter::default()
    }

    pub(super) fn lets(&self, view: &View, line: u32) -> bool {
        let filter = self.filter;
        if let Some(lines) = &filter.lines
            && !lines.contains(line)
        {
            return false;
        }
        let (flat, at) = view.place(line);
        if !filter.chats.is_empty() && self.chats.binary_search(&flat.chat(at)).is_err() {
            return false;
        }
        if !filter.senders.is_empty() && self.senders.binary_search(&flat.sender(at)).is_err() {
            return false;
        }
        if !filter.kinds.is_empty() && !filter.kinds.contains(&flat.kind(at)) {
            return false;
        }
        let time = flat.time(at);
        filter.times.is_empty()
            || time != NO_TIME
                && filter.times.iter().any(|span| {
                    span.since.is_none_or(|since| since <= time)
                        && span.until.is_none_or(|until| time <= until)
                })
    }

    /// Those of the lines that it lets through.
    pub(super) fn sift(&self, view: &View, lines: RoaringBitmap) -> RoaringBitmap {
        if self.is_open() {
            return lines;
        }
        let kept = lines.iter().filter(|line| self.lets(view, *line));
        RoaringBitmap::from_sorted_iter(kept).unwrap_or_default()
    }
}
