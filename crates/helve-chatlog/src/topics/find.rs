//! Looking tags up.

use roaring::RoaringTreemap;
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Provenance, Tag, Topics};
use crate::text;

/// A tag, with how much there is of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TopicCount {
    /// As written.
    pub tag: String,
    /// Who says so.
    pub provenance: Provenance,
    /// In how many sessions.
    pub sessions: u64,
    /// How many messages those have.
    pub messages: u64,
    /// In how many of them it is written; not counted for tags that were given.
    pub mentions: u64,
}

/// Tags that fit a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Those of the most sessions first.
    pub topics: Vec<TopicCount>,
    /// How many fit, of which these are the first.
    pub total: usize,
}

/// How a wanted tag was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Matched {
    /// Letter for letter.
    Exact,
    /// But for case, width or script (traditional, simplified).
    Folded,
    /// One contains the other.
    Contains,
}

/// A tag that was found, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct TagLines {
    /// As it was asked for.
    pub wanted: String,
    /// As it is written.
    pub tag: String,
    /// How it was found.
    pub matched: Matched,
    /// Who says so.
    pub provenance: Provenance,
    /// The sessions that are about it.
    pub sessions: RoaringTreemap,
    /// All their lines.
    pub lines: RoaringTreemap,
    /// Those of them in which it is written.
    pub mentions: RoaringTreemap,
}

/// What tags lead to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TopicLines {
    /// Tag by tag, in the order in which they were asked for.
    pub tags: Vec<TagLines>,
    /// Wanted tags that there are not.
    pub unknown: Vec<String>,
    /// The lines of any of them.
    pub any: RoaringTreemap,
    /// The lines that each wanted tag leads to; empty where one is unknown.
    pub all: RoaringTreemap,
}

impl Topics {
    /// Tags that contain the pattern, or fit it where it has `*` or `?`; case, width and script
    /// do not matter.
    #[must_use]
    pub fn list(&self, pattern: Option<&str>, limit: usize) -> Listed {
        let pattern = pattern
            .map(text::fold)
            .filter(|pattern| !pattern.is_empty());
        let fits = |tag: &Tag| match &pattern {
            None => true,
            Some(glob) if glob.contains(['*', '?']) => fits_glob(glob, &tag.folded),
            Some(part) => tag.folded.contains(part.as_str()),
        };
        let mut found: Vec<&Tag> = self.tags.iter().filter(|tag| fits(tag)).collect();
        // What was given was meant; then what there is most of.
        found.sort_by_key(|tag| {
            std::cmp::Reverse((
                tag.provenance == Provenance::User,
                tag.sessions.len(),
                tag.mentions.len(),
            ))
        });
        let total = found.len();
        let topics = found
            .into_iter()
            .take(limit)
            .map(|tag| self.count(tag))
            .collect();
        Listed { topics, total }
    }

    /// Where tags lead. Each is looked for as written, then but for case, width and script, and
    /// then as a part; at most `most` tags are taken for one that is only a part.
    #[must_use]
    pub fn lines(&self, wanted: &[String], most: usize) -> TopicLines {
        let mut found = TopicLines::default();
        for (n, want) in wanted.iter().enumerate() {
            let (matched, tags) = self.matching(want, most);
            let mut here = RoaringTreemap::new();
            for tag in &tags {
                let tag = self.tag_lines(want, matched, tag);
                here |= &tag.lines;
                found.tags.push(tag);
            }
            if tags.is_empty() {
                found.unknown.push(want.clone());
            }
            found.any |= &here;
            if n == 0 {
                found.all = here;
            } else {
                found.all &= here;
            }
        }
        found
    }

    /// Tags that share more sessions with these than by chance: with how many bits, the most
    /// first.
    #[must_use]
    pub fn related(&self, tags: &[String], limit: usize) -> Vec<(String, f64)> {
        let mut here: Vec<u32> = tags
            .iter()
            .flat_map(|tag| self.matching(tag, 3).1)
            .flat_map(|tag| tag.sessions.iter().copied())
            .collect();
        here.sort_unstable();
        here.dedup();
        if here.is_empty() {
            return Vec::new();
        }
        let known: Vec<String> = tags.iter().map(|tag| text::fold(tag)).collect();
        let all = self.sessions.len() as f64;
        let mut best: FxHashMap<&str, (f64, f64)> = FxHashMap::default();
        for tag in &self.tags {
            let shared = shared(&tag.sessions, &here) as f64;
            let bits = (shared * all / (tag.sessions.len() as f64 * here.len() as f64)).log2();
            // Once together is chance, where there is enough to tell.
            let enough = shared >= 2.0 || here.len() == 1 && tag.sessions.len() == 1;
            if enough && bits > 1.0 && !known.iter().any(|known| **known == *tag.folded) {
                best.insert(&tag.text, (bits * (1.0 + shared).ln(), bits));
            }
        }
        let mut best: Vec<_> = best.into_iter().collect();
        best.sort_by(|(a, (x, _)), (b, (y, _))| y.total_cmp(x).then_with(|| a.cmp(b)));
        best.into_iter()
            .take(limit)
            .map(|(tag, (_, bits))| (tag.to_owned(), bits))
            .collect()
    }

    /// Tags that stand in a text as they are written, the longest first.
    #[must_use]
    pub fn written_in(&self, text: &str, limit: usize) -> Vec<String> {
        let folded = text::fold(text);
        let mut found: Vec<&Tag> = self
            .tags
            .iter()
            .filter(|tag| stands_in(&tag.folded, &folded))
            .collect();
        found.sort_by_key(|tag| std::cmp::Reverse((tag.text.chars().count(), tag.sessions.len())));
        let mut kept: Vec<String> = Vec::new();
        for tag in found {
            if kept.len() < limit && !kept.iter().any(|there| **there == *tag.text) {
                kept.push(tag.text.to_string());
            }
        }
        kept
    }

    /// Tags that are this word, but for case, width and script; or only differ in its ending.
    pub(crate) fn named(&self, word: &str) -> Vec<String> {
        let stemmer = text::english();
        let stem = text::stem(&stemmer, &text::fold(word));
        let start: String = stem.chars().take(2).collect();
        let mut found: Vec<&Tag> = self
            .tags
            .iter()
            .filter(|tag| {
                // Few begin alike, and to stem all of them would take long.
                tag.folded.starts_with(&*start)
                    && !tag.folded.contains(' ')
                    && text::stem(&stemmer, &tag.folded) == stem
            })
            .collect();
        found.sort_by_key(|tag| std::cmp::Reverse(tag.sessions.len()));
        found
            .into_iter()
            .take(2)
            .map(|tag| tag.text.to_string())
            .collect()
    }

    fn matching(&self, want: &str, most: usize) -> (Matched, Vec<&Tag>) {
        let exact: Vec<_> = self
            .tags
            .iter()
            .filter(|tag| &*tag.text == want.trim())
            .collect();
        if !exact.is_empty() {
            return (Matched::Exact, exact);
        }
        let want = text::fold(want);
        let folded: Vec<_> = self
            .tags
            .iter()
            .filter(|tag| *tag.folded == *want)
            .collect();
        if !folded.is_empty() || want.is_empty() {
            return (Matched::Folded, folded);
        }
        let mut parts: Vec<_> = self
            .tags
            .iter()
            .filter(|tag| {
                let tag = &*tag.folded;
                tag.contains(&want) || tag.chars().count() > 1 && stands_in(tag, &want)
            })
            .collect();
        parts.sort_by_key(|tag| std::cmp::Reverse(tag.sessions.len()));
        parts.truncate(most);
        (Matched::Contains, parts)
    }

    fn tag_lines(&self, wanted: &str, matched: Matched, tag: &Tag) -> TagLines {
        TagLines {
            wanted: wanted.to_owned(),
            tag: tag.text.to_string(),
            matched,
            provenance: tag.provenance,
            sessions: tag
                .sessions
                .iter()
                .map(|&n| self.sessions[n as usize])
                .collect(),
            lines: tag
                .sessions
                .iter()
                .flat_map(|&n| self.lines_of(n))
                .copied()
                .collect(),
            mentions: tag
                .mentions
                .iter()
                .map(|&n| self.lines[n as usize])
                .collect(),
        }
    }

    fn count(&self, tag: &Tag) -> TopicCount {
        TopicCount {
            tag: tag.text.to_string(),
            provenance: tag.provenance,
            sessions: tag.sessions.len() as u64,
            messages: tag
                .sessions
                .iter()
                .map(|&n| self.lines_of(n).len() as u64)
                .sum(),
            mentions: tag.mentions.len() as u64,
        }
    }
}

/// How many of two sorted lists are in both.
fn shared(few: &[u32], many: &[u32]) -> usize {
    if few.len() > many.len() {
        return shared(many, few);
    }
    few.iter().filter(|n| many.binary_search(n).is_ok()).count()
}

/// Whether it stands there, and not in the middle of a word of a language with spaces.
fn stands_in(part: &str, text: &str) -> bool {
    if part.is_empty() {
        return false;
    }
    let spaced = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !text::is_cjk(c));
    text.match_indices(part).any(|(at, _)| {
        let before = spaced(text[..at].chars().next_back()) && spaced(part.chars().next());
        let after =
            spaced(text[at + part.len()..].chars().next()) && spaced(part.chars().next_back());
        !before && !after
    })
}

/// `*` is anything, `?` one letter. Takes as many steps as both are long, multiplied.
fn fits_glob(glob: &str, text: &str) -> bool {
    let glob: Vec<char> = glob.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut g, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        if g < glob.len() && glob[g] == '*' {
            star = Some((g, t));
            g += 1;
        } else if g < glob.len() && (glob[g] == '?' || glob[g] == text[t]) {
            g += 1;
            t += 1;
        } else if let Some((at, from)) = star {
            // The star takes one more.
            star = Some((at, from + 1));
            g = at + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    glob[g..].iter().all(|&c| c == '*')
}
