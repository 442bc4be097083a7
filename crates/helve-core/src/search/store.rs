//! The inverted index: which documents have a word, and how strongly.
//!
//! Strengths are whole numbers and no average is stored with them, so that an
//! index which was changed a thousand times is the same, bit for bit, as one that
//! was made afresh.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use hashbrown::HashMap;

use super::Document;
use super::lexicon::lexicon;
use super::vocabulary::Vocabulary;
use super::words::{self, Piece};
use crate::def::Risk;

/// How much of one field is read. Longer ones say no more about what a tool is for.
const MAX_FIELD: usize = 16 * 1024;
/// How many words of one document are read.
const MAX_WORDS: u32 = 4096;
/// How many words are remembered with their stems.
const MAX_STEMS: usize = 16 * 1024;
/// How many words of a name are looked at.
const MAX_NAMED: usize = 7;
/// How many phrases a tool keeps from calls that went well.
pub(super) const MAX_LEARNED: usize = 32;

/// Where a word of a document stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// The name.
    Name,
    /// Another name.
    Alias,
    /// The title.
    Title,
    /// The description.
    Description,
    /// When to think of it.
    Trigger,
    /// An example.
    Example,
    /// A label.
    Tag,
    /// The heading in the catalog.
    Category,
    /// The group, server or toolset.
    Server,
    /// The name of a parameter.
    Parameter,
    /// The description of a parameter.
    ParameterText,
    /// The long description.
    Detail,
    /// What was asked when this tool was the right one.
    Learned,
}

impl Field {
    /// All fields.
    pub const ALL: [Field; 13] = [
        Field::Name,
        Field::Alias,
        Field::Title,
        Field::Description,
        Field::Trigger,
        Field::Example,
        Field::Tag,
        Field::Category,
        Field::Server,
        Field::Parameter,
        Field::ParameterText,
        Field::Detail,
        Field::Learned,
    ];

    /// How much a word in it counts, in eighths, and how much it makes the
    /// document longer.
    fn weight(self) -> (u32, u32) {
        match self {
            Field::Name => (20, 8),
            Field::Alias | Field::Title => (16, 4),
            Field::Description => (8, 8),
            Field::Trigger => (10, 2),
            Field::Example => (6, 1),
            Field::Tag => (8, 2),
            Field::Category => (6, 2),
            Field::Server => (6, 8),
            Field::Parameter => (5, 4),
            Field::ParameterText => (4, 4),
            Field::Detail => (3, 1),
            Field::Learned => (10, 0),
        }
    }
}

/// A document that has a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Posting {
    pub(super) slot: u32,
    /// In eighths of a word in the description.
    pub(super) strength: u16,
    /// A bit for each field.
    pub(super) fields: u16,
}

/// What is kept of a document beside its words.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: Box<str>,
    pub(super) name: Box<str>,
    pub(super) group: Option<Box<str>>,
    pub(super) server: Option<Box<str>>,
    pub(super) tags: Box<[Box<str>]>,
    pub(super) risk: Option<Risk>,
    /// The names without case and separators.
    squeezed: Box<[Box<str>]>,
    /// The words, by number.
    terms: Box<[u32]>,
    length: u32,
    /// It has words of a script without spaces.
    unspaced: bool,
    learned: Vec<Box<str>>,
    learned_terms: Box<[u32]>,
}

#[derive(Debug, Default)]
pub(super) struct Store {
    vocabulary: Vocabulary,
    lists: Vec<Vec<Posting>>,
    /// How many documents have each word, close together because they are asked for often.
    counts: Vec<u32>,
    /// Of what was learned, by word.
    learned: HashMap<u32, Vec<Posting>>,
    entries: Vec<Option<Entry>>,
    lengths: Vec<f32>,
    /// The words of every name, and how many; more are not looked at.
    named: Vec<(u8, [u32; MAX_NAMED])>,
    /// The first letters of every name, as a number.
    begins: Vec<u64>,
    slots: HashMap<Box<str>, u32>,
    free: Vec<u32>,
    names: BTreeSet<(Box<str>, u32)>,
    total_length: u64,
    unspaced: usize,
    gather: Gather,
}

/// The words of the document that is being read.
#[derive(Debug, Default)]
struct Gather {
    /// By number: strength and fields so far; zero where it has not occurred.
    seen: Vec<(u32, u16)>,
    order: Vec<u32>,
    length: u32,
    words: u32,
    unspaced: bool,
    stems: HashMap<Box<str>, Option<u32>>,
}

impl Store {
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// How many documents have text of a script without spaces. Against these
    /// its words are weighed: one Chinese tool among English ones is no rarity.
    pub(super) fn unspaced(&self) -> usize {
        self.unspaced
    }

    /// One more than the largest slot.
    pub(super) fn extent(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn entry(&self, slot: u32) -> Option<&Entry> {
        self.entries.get(slot as usize)?.as_ref()
    }

    /// By what ties are broken.
    pub(super) fn name(&self, slot: u32) -> Option<(&str, &str)> {
        self.entry(slot).map(|e| (&*e.name, &*e.key))
    }

    /// The order of two documents whose scores are equal.
    pub(super) fn by_name(&self, a: u32, b: u32) -> Ordering {
        // Most names differ early, and these are near each other.
        let begins = self.begins[a as usize].cmp(&self.begins[b as usize]);
        begins.then_with(|| self.name(a).cmp(&self.name(b)))
    }

    pub(super) fn slot(&self, key: &str) -> Option<u32> {
        self.slots.get(key).copied()
    }

    /// The number of a word, if any document has it.
    pub(super) fn number(&self, word: &str) -> Option<u32> {
        let number = self.vocabulary.number(word)?;
        self.is_used(number).then_some(number)
    }

    /// The number of a word, whether any document has it or not.
    pub(super) fn known(&self, word: &str) -> Option<u32> {
        self.vocabulary.number(word)
    }

    /// Whether any document has a word.
    pub(super) fn is_used(&self, number: u32) -> bool {
        self.count(number) > 0
    }

    /// Whether a word is one of a sorted list.
    pub(super) fn is_text_in(&self, number: u32, sorted: &[&str]) -> bool {
        let known = (number as usize) < self.vocabulary.len();
        known && sorted.binary_search(&self.vocabulary.text(number)).is_ok()
    }

    /// Words of documents that this one may be a slip for, with how sure that is.
    pub(super) fn alike(&self, word: &str) -> Vec<(u32, f32)> {
        self.vocabulary.alike(word, |number| self.is_used(number))
    }

    pub(super) fn postings(&self, number: u32) -> (&[Posting], &[Posting]) {
        let own = self.lists.get(number as usize).map_or(&[][..], |l| l);
        (own, self.learned_of(number))
    }

    fn learned_of(&self, number: u32) -> &[Posting] {
        match self.learned.is_empty() {
            true => &[],
            false => self.learned.get(&number).map_or(&[], Vec::as_slice),
        }
    }

    /// How many documents have a word.
    pub(super) fn count(&self, number: u32) -> usize {
        let own = self.counts.get(number as usize).map_or(0, |c| *c as usize);
        own.max(self.learned_of(number).len())
    }

    /// Every document's length, by slot, and the mean.
    pub(super) fn lengths(&self) -> (&[f32], f32) {
        let mean = self.total_length as f64 / self.slots.len().max(1) as f64;
        (&self.lengths, mean.max(1.0) as f32)
    }

    /// The words of a document's name.
    pub(super) fn words_of_name(&self, slot: u32) -> &[u32] {
        let (count, words) = &self.named[slot as usize];
        &words[..usize::from(*count)]
    }

    /// The documents one of whose names, squeezed, begins with this.
    pub(super) fn named(&self, prefix: &str) -> impl Iterator<Item = (&str, u32)> {
        let from = (Box::<str>::from(prefix), 0);
        self.names
            .range(from..)
            .map(|(name, slot)| (&**name, *slot))
            .take_while(move |(name, _)| name.starts_with(prefix))
    }

    /// The documents one of whose names, squeezed, is this.
    pub(super) fn called(&self, name: &str) -> Vec<u32> {
        let all = self.named(name).take_while(|(found, _)| *found == name);
        all.map(|(_, slot)| slot).collect()
    }

    /// The fields of a document that have a word, a bit each.
    pub(super) fn fields(&self, number: u32, slot: u32) -> Option<u16> {
        // A document has fewer words than a word has documents.
        let has = |terms: &[u32]| terms.binary_search(&number).is_ok();
        self.entry(slot)
            .filter(|e| has(&e.terms) || has(&e.learned_terms))?;
        let (own, learned) = self.postings(number);
        let of = |list: &[Posting]| {
            let at = list.binary_search_by_key(&slot, |p| p.slot).ok()?;
            Some(list[at].fields)
        };
        match (of(own), of(learned)) {
            (None, None) => None,
            (own, learned) => Some(own.unwrap_or(0) | learned.unwrap_or(0)),
        }
    }

    pub(super) fn upsert(&mut self, document: &Document) {
        if self.vocabulary.len() == 0 {
            self.vocabulary = lexicon().vocabulary();
            self.make_room();
        }
        let learned = match self.take(&document.key) {
            Some(old) => old.learned,
            None => Vec::new(),
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.lengths.push(0.0);
            self.begins.push(0);
            self.named.push((0, [0; MAX_NAMED]));
            (self.entries.len() - 1) as u32
        });
        self.named[slot as usize] = self.read(document);
        let unspaced = std::mem::take(&mut self.gather.unspaced);
        let (terms, length) = self.write(slot, &Part::Document);
        let names = std::iter::once(&document.name).chain(&document.aliases);
        let squeezed: Box<[Box<str>]> = names
            .map(|n| squeeze(n))
            .filter(|n| !n.is_empty())
            .collect();
        for name in &squeezed {
            self.names.insert((name.clone(), slot));
        }
        let boxed = |text: &Option<String>| text.as_deref().map(Box::from);
        self.unspaced += usize::from(unspaced);
        self.total_length += u64::from(length);
        self.lengths[slot as usize] = length as f32;
        self.begins[slot as usize] = beginning(&document.name);
        self.slots.insert(document.key.as_str().into(), slot);
        self.entries[slot as usize] = Some(Entry {
            key: document.key.as_str().into(),
            name: document.name.as_str().into(),
            group: boxed(&document.group),
            server: boxed(&document.server),
            tags: document
                .tags
                .iter()
                .map(|t| Box::from(t.as_str()))
                .collect(),
            risk: document.risk,
            squeezed,
            terms,
            length,
            unspaced,
            learned,
            learned_terms: Box::default(),
        });
        self.relearn(slot);
    }

    pub(super) fn remove(&mut self, key: &str) -> bool {
        self.take(key).is_some()
    }

    fn take(&mut self, key: &str) -> Option<Entry> {
        let slot = self.slots.remove(key)?;
        let entry = self.entries[slot as usize].take()?;
        for number in &entry.terms {
            let list = &mut self.lists[*number as usize];
            erase(list, slot);
            self.counts[*number as usize] = list.len() as u32;
        }
        self.unlearn(&entry.learned_terms, slot);
        for name in &entry.squeezed {
            self.names.remove(&(name.clone(), slot));
        }
        self.unspaced -= usize::from(entry.unspaced);
        self.total_length -= u64::from(entry.length);
        self.lengths[slot as usize] = 0.0;
        self.free.push(slot);
        Some(entry)
    }

    /// Keeps a phrase; the oldest goes when there are too many.
    pub(super) fn learn(&mut self, phrase: &str, key: &str) -> bool {
        let Some(slot) = self.slot(key) else {
            return false;
        };
        let Some(entry) = self.entries[slot as usize].as_mut() else {
            return false;
        };
        let phrase: Box<str> = start_of(phrase, 512).into();
        entry.learned.retain(|p| *p != phrase);
        entry.learned.push(phrase);
        if entry.learned.len() > MAX_LEARNED {
            entry.learned.remove(0);
        }
        self.relearn(slot);
        true
    }

    pub(super) fn learned(&self, key: &str) -> impl Iterator<Item = &str> {
        let entry = self.slot(key).and_then(|s| self.entry(s));
        entry
            .into_iter()
            .flat_map(|e| e.learned.iter().map(|p| &**p))
    }

    fn relearn(&mut self, slot: u32) {
        let Some(entry) = self.entries[slot as usize].as_mut() else {
            return;
        };
        let phrases = entry.learned.clone();
        let old = std::mem::take(&mut entry.learned_terms);
        self.unlearn(&old, slot);
        for phrase in &phrases {
            self.gather(phrase, Field::Learned);
        }
        self.gather.unspaced = false;
        let (terms, _) = self.write(slot, &Part::Learned);
        if let Some(entry) = self.entries[slot as usize].as_mut() {
            entry.learned_terms = terms;
        }
    }

    fn unlearn(&mut self, terms: &[u32], slot: u32) {
        for number in terms {
            if let Some(list) = self.learned.get_mut(number) {
                erase(list, slot);
                if list.is_empty() {
                    self.learned.remove(number);
                }
            }
        }
    }

    /// Gathers the words of a document and returns those of its name.
    fn read(&mut self, document: &Document) -> (u8, [u32; MAX_NAMED]) {
        self.gather(&document.name, Field::Name);
        let mut named = (0, [0; MAX_NAMED]);
        for (word, number) in named.1.iter_mut().zip(&self.gather.order) {
            *word = *number;
            named.0 += 1;
        }
        let many = [
            (&document.aliases, Field::Alias),
            (&document.triggers, Field::Trigger),
            (&document.examples, Field::Example),
            (&document.tags, Field::Tag),
        ];
        let one = [
            (&document.title, Field::Title),
            (&document.category, Field::Category),
            (&document.server, Field::Server),
            (&document.detail, Field::Detail),
        ];
        self.gather(&document.description, Field::Description);
        for (texts, field) in many {
            for text in texts {
                self.gather(text, field);
            }
        }
        for (name, text) in &document.params {
            self.gather(name, Field::Parameter);
            self.gather(text, Field::ParameterText);
        }
        for (text, field) in one {
            self.gather(text.as_deref().unwrap_or_default(), field);
        }
        // A name usually begins with its group; what it has not told already is said by the group.
        if let Some(group) = &document.group
            && !document.name.starts_with(group.as_str())
        {
            self.gather(group, Field::Server);
        }
        named
    }

    fn gather(&mut self, text: &str, field: Field) {
        let text = words::normal(start_of(text, MAX_FIELD));
        words::cut(&text, |piece| match piece {
            Piece::Word { text, .. } => {
                if let Some(number) = self.stemmed(text) {
                    self.gather.add(number, field);
                }
            }
            Piece::Whole(text) => {
                let number = self.number_of(text);
                self.gather.add(number, field);
                self.gather.length -= field.weight().1.min(self.gather.length);
            }
            Piece::Run(run) => {
                self.gather.unspaced = true;
                words::grams(run, |gram| {
                    let number = self.number_of(gram);
                    self.gather.add(number, field);
                });
            }
            Piece::Mark(_) => {}
        });
    }

    /// The number of a word's stem; none for words that say nothing. To look up what
    /// was found before costs less than to find it again.
    fn stemmed(&mut self, word: &str) -> Option<u32> {
        if let Some(number) = self.gather.stems.get(word) {
            return *number;
        }
        let number = (!words::is_stop(word)).then(|| self.number_of(&words::stem(word)));
        if self.gather.stems.len() >= MAX_STEMS {
            self.gather.stems.clear();
        }
        self.gather.stems.insert(word.into(), number);
        number
    }

    fn number_of(&mut self, word: &str) -> u32 {
        let number = self.vocabulary.insert(word);
        self.make_room();
        number
    }

    /// A list for every word.
    fn make_room(&mut self) {
        let words = self.vocabulary.len();
        if self.lists.len() < words {
            self.lists.resize_with(words, Vec::new);
            self.counts.resize(words, 0);
            self.gather.seen.resize(words, (0, 0));
        }
    }

    /// Writes what was gathered, and begins anew.
    fn write(&mut self, slot: u32, part: &Part) -> (Box<[u32]>, u32) {
        let mut terms: Box<[u32]> = self.gather.order.as_slice().into();
        self.gather.order.clear();
        terms.sort_unstable();
        for number in &terms {
            let (strength, fields) = std::mem::take(&mut self.gather.seen[*number as usize]);
            let posting = Posting {
                slot,
                strength: u16::try_from(strength).unwrap_or(u16::MAX),
                fields,
            };
            let list = match part {
                Part::Document => &mut self.lists[*number as usize],
                Part::Learned => self.learned.entry(*number).or_default(),
            };
            match list.last().is_none_or(|p| p.slot < slot) {
                true => list.push(posting),
                false => {
                    let at = list.partition_point(|p| p.slot < slot);
                    list.insert(at, posting);
                }
            }
            if matches!(part, Part::Document) {
                self.counts[*number as usize] = list.len() as u32;
            }
        }
        let length = std::mem::take(&mut self.gather.length);
        self.gather.words = 0;
        (terms, length)
    }
}

enum Part {
    Document,
    Learned,
}

impl Gather {
    fn add(&mut self, number: u32, field: Field) {
        if self.words >= MAX_WORDS {
            return;
        }
        self.words += 1;
        let (strength, length) = field.weight();
        let seen = &mut self.seen[number as usize];
        if *seen == (0, 0) {
            self.order.push(number);
        }
        seen.0 += strength;
        seen.1 |= 1 << field as u16;
        self.length += length;
    }
}

fn erase(list: &mut Vec<Posting>, slot: u32) {
    if let Ok(at) = list.binary_search_by_key(&slot, |p| p.slot) {
        list.remove(at);
    }
}

/// The first `most` bytes, or a little less where a character would be cut.
pub(super) fn start_of(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// The first eight bytes, in an order that is the names'.
fn beginning(name: &str) -> u64 {
    let bytes = name.bytes().chain(std::iter::repeat(0));
    bytes
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(byte))
}

/// A name without case and separators: `file_read`, `FileRead` and `file-read` are one.
pub(super) fn squeeze(name: &str) -> Box<str> {
    let normal = words::normal(start_of(name, 256));
    let small = normal.chars().filter(|c| c.is_alphanumeric());
    small
        .flat_map(char::to_lowercase)
        .collect::<String>()
        .into()
}
