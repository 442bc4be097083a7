//! The words of a part of the index, in a form that can be searched for parts of words.
//!
//! A keyword may begin and end within a word. The words are far fewer than the messages, so
//! they are all looked through: a few hundred thousand take less than a millisecond.

use std::ops::Range;

use memchr::memmem::Finder;
use tantivy::postings::TermInfo;
use tantivy::termdict::TermDictionary;

use super::ArchiveError;

/// Stands before and after each word; no word has it.
const MARK: u8 = b'\n';

/// Words in order.
pub(super) struct Vocabulary {
    /// `\nword\nword\n`
    text: Vec<u8>,
    /// Where each begins.
    starts: Vec<u32>,
    /// Where the messages of each are: a part of a word may be in thousands of them, and to
    /// look each up in the index takes longer than to read what it has.
    places: Vec<Place>,
}

/// Where the messages of a word are in the index.
struct Place {
    start: u64,
    length: u32,
    count: u32,
}

impl Place {
    fn of(info: &TermInfo) -> Result<Self, ArchiveError> {
        let range = &info.postings_range;
        Ok(Self {
            start: range.start as u64,
            length: u32::try_from(range.len()).map_err(std::io::Error::other)?,
            count: info.doc_freq,
        })
    }

    fn info(&self) -> TermInfo {
        let start = usize::try_from(self.start).unwrap_or(usize::MAX);
        TermInfo {
            doc_freq: self.count,
            postings_range: start..start + self.length as usize,
            // Where in its text a word stands is not in the index.
            positions_range: 0..0,
        }
    }
}

/// How a part of a keyword lies in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lies {
    /// It is the word.
    Whole,
    /// The word begins with it.
    First,
    /// The word ends with it.
    Last,
    /// It is anywhere in it.
    Anywhere,
}

impl Vocabulary {
    pub(super) fn read(terms: &TermDictionary) -> Result<Self, ArchiveError> {
        let mut all = Self {
            text: vec![MARK],
            starts: Vec::with_capacity(terms.num_terms()),
            places: Vec::with_capacity(terms.num_terms()),
        };
        let mut stream = terms.stream()?;
        while let Some((word, info)) = stream.next() {
            let start = u32::try_from(all.text.len()).map_err(std::io::Error::other)?;
            all.starts.push(start);
            all.places.push(Place::of(info)?);
            all.text.extend(word);
            all.text.push(MARK);
        }
        Ok(all)
    }

    /// What the index has of the words in which a text lies so, at most `limit` and one more.
    pub(super) fn find(&self, text: &str, lies: Lies, limit: usize) -> Vec<TermInfo> {
        let mark = char::from(MARK);
        let needle = match lies {
            Lies::Whole => format!("{mark}{text}{mark}"),
            Lies::First => format!("{mark}{text}"),
            Lies::Last => format!("{text}{mark}"),
            Lies::Anywhere => text.to_owned(),
        };
        let finder = Finder::new(&needle);
        let (mut found, mut from) = (Vec::new(), 0);
        while found.len() <= limit
            && let Some(hit) = finder.find(&self.text[from..])
        {
            // The mark before a word is not yet the word.
            let place = from + hit + usize::from(matches!(lies, Lies::Whole | Lies::First));
            let at = self
                .starts
                .partition_point(|start| *start as usize <= place)
                - 1;
            // From the mark after the word: it is the one before the next.
            from = self.range(at).end;
            found.push(self.places[at].info());
        }
        found
    }

    /// The words that begin so, and what the index has of them.
    pub(super) fn beginning(&self, with: &str) -> impl Iterator<Item = (&str, TermInfo)> {
        let from = self.partition(|word| word < with.as_bytes());
        (from..self.starts.len())
            .map_while(|at| Some((at, std::str::from_utf8(&self.text[self.range(at)]).ok()?)))
            .take_while(move |(_, word)| word.starts_with(with))
            .map(|(at, word)| (word, self.places[at].info()))
    }

    fn partition(&self, before: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.starts.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match before(&self.text[self.range(middle)]) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    fn range(&self, at: usize) -> Range<usize> {
        let end = self
            .starts
            .get(at + 1)
            .map_or(self.text.len(), |next| *next as usize);
        self.starts[at] as usize..end - 1
    }
}
