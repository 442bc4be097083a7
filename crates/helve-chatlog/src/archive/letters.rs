//! Which pairs of a part of the index have a letter.
//!
//! A text that has a letter has a pair with it, or the letter alone as an entry. Those that begin
//! with it lie together in the index; those that end in it are put together here. So a single letter
//! is found without reading all texts, and the index is no larger for it.

use tantivy::InvertedIndexReader;
use tantivy::postings::TermInfo;

use super::ArchiveError;

/// The pairs by their second letter.
pub(super) struct Endings {
    /// The second letter and the first; in order.
    pairs: Vec<(char, char)>,
}

impl Endings {
    pub(super) fn read(index: &InvertedIndexReader) -> Result<Self, ArchiveError> {
        let mut pairs = Vec::new();
        let mut stream = index.terms().stream()?;
        while let Some((pair, _)) = stream.next() {
            let mut letters = std::str::from_utf8(pair).unwrap_or_default().chars();
            // Twice the same: it is among those that begin with it.
            if let (Some(first), Some(second)) = (letters.next(), letters.next())
                && first != second
            {
                pairs.push((second, first));
            }
        }
        pairs.sort_unstable();
        Ok(Self { pairs })
    }

    /// All entries that have a letter.
    pub(super) fn having(
        &self,
        letter: char,
        index: &InvertedIndexReader,
    ) -> Result<Vec<TermInfo>, ArchiveError> {
        let terms = index.terms();
        let mut bytes = [0; 4];
        let first = letter.encode_utf8(&mut bytes).as_bytes();
        let mut having = Vec::new();
        let mut stream = terms.range().ge(first).into_stream()?;
        while let Some((pair, info)) = stream.next()
            && pair.starts_with(first)
        {
            having.push(info.clone());
        }
        let from = self.pairs.partition_point(|(other, _)| *other < letter);
        let ending = self.pairs[from..].iter();
        let ending = ending.take_while(|(other, _)| *other == letter);
        let mut pair = String::new();
        for (_, first) in ending {
            pair.clear();
            pair.extend([*first, letter]);
            having.extend(terms.get(&pair)?);
        }
        Ok(having)
    }
}
