//! Where the readers put what they find: it counts, and says who "me" is.

use std::cell::Cell;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use super::error::{ReadError, Skip};
use super::{Format, LONGEST};
use crate::{Message, Options, Person, Sink, Stop};

/// Said of a record whose bytes are no letters.
pub(crate) const NO_LETTERS: &str = "bytes that are no letters in the encoding of the file";

/// How much is read between two reports.
const STEP: u64 = 1 << 20;

/// The sink, and what has been counted.
pub(crate) struct Out<'s> {
    sink: &'s mut dyn Sink,
    me: Option<String>,
    bytes: Rc<Cell<u64>>,
    reported: u64,
    /// Of the file that is being read.
    good: u64,
    bad: u64,
    unreadable: u64,
    last: Option<(u64, String)>,
    /// Of all files.
    all: u64,
    people: HashSet<u64>,
}

impl<'s> Out<'s> {
    pub(crate) fn new(sink: &'s mut dyn Sink, options: &Options) -> Self {
        Self {
            sink,
            me: options.me.clone(),
            bytes: Rc::default(),
            reported: 0,
            good: 0,
            bad: 0,
            unreadable: 0,
            last: None,
            all: 0,
            people: HashSet::new(),
        }
    }

    /// What counts the bytes that are read.
    pub(crate) fn bytes(&self) -> Rc<Cell<u64>> {
        Rc::clone(&self.bytes)
    }

    /// Begins a file.
    pub(crate) fn begin(&mut self) {
        (self.good, self.bad, self.unreadable, self.last) = (0, 0, 0, None);
    }

    /// How many messages there were, in all files.
    pub(crate) fn messages(&self) -> u64 {
        self.all
    }

    /// Hands on a message.
    pub(crate) fn message(&mut self, mut message: Message) -> Result<(), Stop> {
        let sender = &mut message.sender;
        match (&self.me, sender.is_self) {
            (Some(me), None) if !sender.id.is_empty() => {
                sender.is_self = Some(*me == sender.name || *me == sender.id);
            }
            (me, Some(true)) if is_me(&sender.name) => {
                if let Some(me) = me {
                    sender.name.clone_from(me);
                } else if sender.name.is_empty() {
                    "me".clone_into(&mut sender.name);
                }
            }
            _ => {}
        }
        if sender.id.is_empty() {
            sender.id.clone_from(&sender.name);
        } else if sender.name.is_empty() {
            sender.name.clone_from(&sender.id);
        }
        self.message_as_is(message)
    }

    /// Hands on a message that says all itself.
    pub(crate) fn message_as_is(&mut self, message: Message) -> Result<(), Stop> {
        self.good += 1;
        self.all += 1;
        self.sink.message(message)?;
        self.pulse()
    }

    /// Hands on somebody of whom all is said.
    pub(crate) fn person_as_is(&mut self, person: Person) -> Result<(), Stop> {
        self.sink.person(person)
    }

    /// Hands on somebody, once for every name they have.
    pub(crate) fn person(&mut self, mut person: Person) -> Result<(), Stop> {
        if person.id.is_empty() {
            return Ok(());
        }
        if person.name.is_empty() {
            person.name.clone_from(&person.id);
        }
        let mut seen = Vec::with_capacity(person.aliases.len());
        person.aliases.retain(|alias| {
            let new = !alias.is_empty() && *alias != person.name && !seen.contains(alias);
            seen.push(alias.clone());
            new
        });
        let mut hasher = DefaultHasher::new();
        (&person.id, &person.name, &person.aliases).hash(&mut hasher);
        if self.people.insert(hasher.finish()) {
            self.sink.person(person)?;
        }
        Ok(())
    }

    /// Tells that something cannot be read.
    pub(crate) fn malformed(&mut self, place: u64, why: String) -> Result<(), Stop> {
        self.bad += 1;
        self.unreadable += u64::from(why == NO_LETTERS);
        self.last = Some((place, why.clone()));
        self.sink.malformed(place, why)?;
        self.pulse()
    }

    /// Tells of a whole file that is left out, which says nothing of the records of others.
    pub(crate) fn left_out(&mut self, place: u64, why: String) -> Result<(), Stop> {
        self.sink.malformed(place, why)
    }

    /// Takes what became of a record.
    pub(crate) fn settle(
        &mut self,
        place: u64,
        raw: &[u8],
        result: Result<(), Skip>,
    ) -> Result<(), ReadError> {
        match result {
            Ok(()) => Ok(()),
            Err(Skip::End(error)) => Err(error),
            Err(Skip::Bad(why)) => {
                let letters = std::str::from_utf8(raw).is_ok();
                let why = if letters { why } else { NO_LETTERS.to_owned() };
                Ok(self.malformed(place, why)?)
            }
        }
    }

    /// Tells of a record that is longer than any may be.
    pub(crate) fn too_long(&mut self, place: u64) -> Result<(), Stop> {
        self.malformed(place, format!("longer than {} MB", LONGEST >> 20))
    }

    /// Reports what has been read, every so often.
    pub(crate) fn pulse(&mut self) -> Result<(), Stop> {
        let bytes = self.bytes.get();
        if bytes - self.reported >= STEP {
            self.reported = bytes;
            self.sink.progress(bytes)?;
        }
        Ok(())
    }

    /// Ends a file: is it what it was taken for?
    pub(crate) fn check(&self, format: Format) -> Result<(), ReadError> {
        let all = self.good + self.bad;
        if all > 20 && self.unreadable * 2 > all {
            return Err(ReadError::Encoding {
                why: format!("{} of {all} records hold none", self.unreadable),
            });
        }
        match &self.last {
            Some((place, why)) if self.good == 0 || (all > 20 && self.bad * 2 > all) => {
                Err(ReadError::Broken {
                    place: *place,
                    why: format!("{} of {all} records are no {format}: {why}", self.bad),
                })
            }
            _ if self.good == 0 => Err(ReadError::Empty),
            _ => Ok(()),
        }
    }

    /// Ends everything.
    pub(crate) fn finish(&mut self) -> Result<(), Stop> {
        self.reported = self.bytes.get();
        self.sink.progress(self.reported)
    }
}

/// Whether a name is only how a program calls the one whose export it is.
fn is_me(name: &str) -> bool {
    matches!(name, "" | "我" | "自己" | "me" | "Me" | "I" | "You" | "you")
}
