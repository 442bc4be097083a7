//! Which messages have a keyword as part of their text: all of them, and no other.
//!
//! The index gives candidates where it can. A keyword is cut into runs as the texts are; only
//! its first and last run may go on beyond it. So each pair of letters of it is an entry of
//! every text that has it, and so is each word within it, or a word that goes on where the
//! keyword ends. Where that does not prove the hit, the text is looked at. What the index
//! has no entry for is looked for in all texts.

use memchr::memmem::Finder;
use roaring::RoaringBitmap;
use tantivy::InvertedIndexReader;
use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;

use super::index::{Entries, Part};
use super::tokens::{Class, LONG, class, pairs, runs};
use super::view::View;
use super::vocabulary::Lies;
use super::{ArchiveError, Source};

/// More words than this have a part in common: then all texts are read.
const MOST_WORDS: usize = 4_000;
/// As few candidates are looked at rather than narrowed further.
const FEW: u64 = 1_000;
/// More entries than this are put together as bits.
const MANY: u64 = 4_096;

/// The lines that are shown and have the keyword, which is folded and not blank.
pub(super) fn find(view: &View, keyword: &str) -> Result<(RoaringBitmap, Source), ArchiveError> {
    let scan = || Ok((view.scan(keyword), Source::Scan));
    let Some(index) = &view.index else {
        return scan();
    };
    if let Some(found) = letter(view, keyword, usize::MAX)? {
        return Ok((found, Source::Index));
    }
    let needs = needs(keyword);
    let proof = matches!(&needs[..], [need] if need.text.len() == keyword.len());
    let mut wanted = Vec::new();
    for need in &needs {
        wanted.extend(Wanted::of(index, need)?);
    }
    wanted.sort_by_key(|one| one.count);
    let Some((rarest, others)) = wanted.split_first() else {
        return scan();
    };
    // Then there is no use in narrowing it down.
    if rarest.count > view.visible.len() / 2 && !proof {
        return scan();
    }
    // A word that is too long has no entry of its own, so those who have one may have any.
    let long = match needs.iter().any(|need| need.kind == Class::Word) {
        true => Wanted::of(
            index,
            &Need {
                kind: Class::Word,
                text: LONG,
                lies: Lies::Whole,
            },
        )?,
        false => None,
    };
    let long = long.map_or_else(|| Ok(RoaringBitmap::new()), |long| long.lines(index))?;
    let with_long = |wanted: &Wanted| {
        let lines = wanted.lines(index)?;
        Ok::<_, ArchiveError>(if wanted.kind == Class::Word {
            lines | &long
        } else {
            lines
        })
    };
    let finder = Finder::new(keyword);
    let has = |line: &u32| finder.find(view.text(*line)).is_some();
    let look = |lines: RoaringBitmap| {
        let shown = lines & &view.visible;
        RoaringBitmap::from_sorted_iter(shown.iter().filter(has)).unwrap_or_default()
    };
    if proof {
        let found = rarest.lines(index)? & &view.visible;
        return Ok((found | look(long), Source::Index));
    }
    let mut found = with_long(rarest)?;
    for other in others {
        if found.len() <= FEW {
            break;
        }
        found &= with_long(other)?;
    }
    // To look at one text by itself takes as long as to read eight in a row.
    if found.len() > view.visible.len() / 8 {
        return scan();
    }
    Ok((look(found), Source::Index))
}

/// The lines that have a letter of a script without blanks, where no more pairs than `most` have
/// it; nothing for any other keyword.
pub(super) fn letter(
    view: &View,
    keyword: &str,
    most: usize,
) -> Result<Option<RoaringBitmap>, ArchiveError> {
    let mut letters = keyword.chars();
    let (Some(index), Some(letter), None) = (&view.index, letters.next(), letters.next()) else {
        return Ok(None);
    };
    if class(letter) != Class::Pair {
        return Ok(None);
    }
    let mut having = Vec::with_capacity(index.parts.len());
    for part in &index.parts {
        having.push(part.having(letter)?);
    }
    if having.iter().map(Vec::len).sum::<usize>() > most {
        return Ok(None);
    }
    let mut found = RoaringBitmap::new();
    for (part, having) in index.parts.iter().zip(&having) {
        found |= lines(part, &part.pairs, having)?;
    }
    Ok(Some(found & &view.visible))
}

/// What a text must have in the index if it has the keyword.
#[derive(Debug, PartialEq)]
struct Need<'k> {
    kind: Class,
    text: &'k str,
    lies: Lies,
}

fn needs(keyword: &str) -> Vec<Need<'_>> {
    let mut needs = Vec::new();
    for (kind, run) in runs(keyword) {
        let text = &keyword[run.clone()];
        let (open_left, open_right) = (run.start == 0, run.end == keyword.len());
        match kind {
            Class::Word => needs.push(Need {
                kind,
                text,
                lies: match (open_left, open_right) {
                    (true, true) => Lies::Anywhere,
                    (true, false) => Lies::Last,
                    (false, true) => Lies::First,
                    (false, false) => Lies::Whole,
                },
            }),
            Class::Symbol => needs.push(Need {
                kind,
                text,
                lies: Lies::Whole,
            }),
            Class::Pair => {
                let alone = text.chars().nth(1).is_none();
                // A letter at an end may be part of any pair.
                if alone && (open_left || open_right) {
                    continue;
                }
                needs.extend(pairs(text).map(|pair| Need {
                    kind,
                    text: &text[pair],
                    lies: Lies::Whole,
                }));
            }
            Class::Break => {}
        }
    }
    needs
}

/// The entries that answer a need, by part of the index.
struct Wanted {
    kind: Class,
    /// How many messages at most.
    count: u64,
    infos: Vec<Vec<TermInfo>>,
}

impl Wanted {
    /// Nothing if a word is so short that too many words have it.
    fn of(index: &Entries, need: &Need<'_>) -> Result<Option<Self>, ArchiveError> {
        let mut wanted = Self {
            kind: need.kind,
            count: 0,
            infos: Vec::new(),
        };
        for part in &index.parts {
            let infos: Vec<TermInfo> = match (need.kind, need.lies) {
                (Class::Word, lies) => {
                    let infos = part.vocabulary()?.find(need.text, lies, MOST_WORDS);
                    if infos.len() > MOST_WORDS {
                        return Ok(None);
                    }
                    infos
                }
                _ => part.pairs.terms().get(need.text)?.into_iter().collect(),
            };
            wanted.count += infos
                .iter()
                .map(|info| u64::from(info.doc_freq))
                .sum::<u64>();
            wanted.infos.push(infos);
        }
        Ok(Some(wanted))
    }

    fn lines(&self, index: &Entries) -> Result<RoaringBitmap, ArchiveError> {
        let mut all = RoaringBitmap::new();
        for (part, infos) in index.parts.iter().zip(&self.infos) {
            let reader = match self.kind {
                Class::Word => &part.words,
                _ => &part.pairs,
            };
            all |= lines(part, reader, infos)?;
        }
        Ok(all)
    }
}

/// The lines of a part that have one of the entries.
fn lines(
    part: &Part,
    reader: &InvertedIndexReader,
    infos: &[TermInfo],
) -> Result<RoaringBitmap, ArchiveError> {
    let each = |found: &mut dyn FnMut(u32)| -> Result<(), ArchiveError> {
        for info in infos {
            let option = IndexRecordOption::Basic;
            let mut block = reader.read_block_postings_from_terminfo(info, option)?;
            while !block.docs().is_empty() {
                block
                    .docs()
                    .iter()
                    .for_each(|doc| found(part.lines.line(*doc)));
                block.advance();
            }
        }
        Ok(())
    };
    let count: u64 = infos.iter().map(|info| u64::from(info.doc_freq)).sum();
    if count < MANY {
        let mut all = Vec::new();
        each(&mut |line| all.push(line))?;
        all.sort_unstable();
        all.dedup();
        return Ok(RoaringBitmap::from_sorted_iter(all).unwrap_or_default());
    }
    // As a field of bits, which needs no sorting.
    let (low, high) = part.lines.bounds(part.reader.max_doc());
    let base = low & !7;
    let mut bits = vec![0_u8; ((high - base) / 8 + 1) as usize];
    each(&mut |line| {
        let at = line - base;
        bits[(at / 8) as usize] |= 1 << (at % 8);
    })?;
    Ok(RoaringBitmap::from_lsb0_bytes(base, &bits))
}

#[cfg(test)]
mod tests;
