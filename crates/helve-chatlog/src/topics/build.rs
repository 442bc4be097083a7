//! Finding the topics: three passes over the messages.
//!
//! 1. Which words and phrases there are. 2. In how many sessions each occurs. 3. Which ten say
//!    most of each session: by TF-IDF, by new words and by titles, merged by rank.

use rust_stemmers::Stemmer;
use rustc_hash::{FxHashMap, FxHashSet};

use super::count::Counter;
use super::extract::{self, Kind, Lexicon, Tail};
use super::words::{self, Letters};
use super::{Provenance, Tag, Topics};
use crate::corpus::{BuildError, Corpus, Hook, Progress, pass};
use crate::text::{self, Run};

/// Tags of a session.
const PER_SESSION: usize = 10;
/// Kinds of chunks, of phrases, and of stems that are counted at once.
const MOST_KINDS: usize = 900_000;
const MOST_STEMS: usize = 400_000;
/// Candidates of one session that are held: only a session without end has more.
const MOST_FOUND: usize = 2_000_000;

pub(super) fn build(corpus: &dyn Corpus, hook: Hook<'_>) -> Result<Topics, BuildError> {
    let stemmer = text::english();
    let mut survey = Survey::default();
    let messages = pass(corpus, "words", None, hook, &mut |entry| {
        survey.take(&stemmer, entry.text);
    })?;
    let lexicon = survey.finish(hook)?;

    let mut spread = Spread::default();
    pass(corpus, "sessions", Some(messages), hook, &mut |entry| {
        spread.session(entry.session);
        extract::known(&lexicon, &stemmer, entry.text, |found| {
            spread.take(found.key);
        });
    })?;

    let mut choice = Choice {
        spread,
        shown: &lexicon.stems,
        topics: Topics::default(),
        found: Vec::new(),
        tags: FxHashMap::default(),
        names: FxHashMap::default(),
    };
    pass(corpus, "tags", Some(messages), hook, &mut |entry| {
        if choice.topics.sessions.last() != Some(&entry.session) {
            choice.end_session();
            choice.topics.sessions.push(entry.session);
            choice.topics.starts.push(place(choice.topics.lines.len()));
        }
        let line = place(choice.topics.lines.len());
        choice.topics.lines.push(entry.line);
        extract::known(&lexicon, &stemmer, entry.text, |found| {
            if choice.found.len() < MOST_FOUND {
                choice.found.push((found.key, found.kind, line));
                choice.name(found.key, found.shown);
            }
        });
    })?;
    Ok(choice.finish())
}

/// Lines and sessions are counted in four bytes: four thousand million are enough.
fn place(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The first pass.
struct Survey {
    letters: Letters,
    chunks: Counter,
    phrases: Counter,
    stems: FxHashMap<u64, Stem>,
    total: u64,
}

/// A stem, with the form that has the majority so far.
struct Stem {
    form: Box<str>,
    lead: u32,
    count: u32,
}

impl Default for Survey {
    fn default() -> Self {
        Self {
            letters: Letters::default(),
            chunks: Counter::new(MOST_KINDS),
            phrases: Counter::new(MOST_KINDS),
            stems: FxHashMap::default(),
            total: 0,
        }
    }
}

impl Survey {
    fn take(&mut self, stemmer: &Stemmer, message: &str) {
        let mut tail = Tail::default();
        text::runs(message, |run| match run {
            Run::Cjk(run) => {
                self.letters.add(run);
                extract::chunks(run, |key, _| self.chunks.add(key));
            }
            Run::Word { word, at, joined } => match extract::word_key(stemmer, word) {
                Some(key) => {
                    self.total += 1;
                    self.stem(key, word);
                    tail.push(key, at, joined, |phrase, _| self.phrases.add(phrase.key));
                }
                None => tail.clear(),
            },
        });
    }

    fn stem(&mut self, key: u64, word: &str) {
        if self.stems.len() >= MOST_STEMS {
            self.stems.retain(|_, stem| stem.count > 1);
            if self.stems.len() >= MOST_STEMS / 4 * 3 {
                self.stems.retain(|_, stem| stem.count > 8);
            }
        }
        let stem = self.stems.entry(key).or_insert_with(|| Stem {
            form: word.into(),
            lead: 0,
            count: 0,
        });
        stem.count = stem.count.saturating_add(1);
        if &*stem.form == word {
            stem.lead += 1;
        } else if stem.lead == 0 {
            stem.form = word.into();
            stem.lead = 1;
        } else {
            stem.lead -= 1;
        }
    }

    fn finish(self, hook: Hook<'_>) -> Result<Lexicon, BuildError> {
        let chunks: FxHashSet<u64> = self.chunks.drop_below(2).into_keys().collect();
        let phrases = self.phrases.drop_below(3);
        let mut tell = |done| {
            hook(Progress {
                stage: "new words",
                done,
                of: Some(words::LONGEST as u64),
            })
        };
        let new = words::discover(self.letters, &mut tell).ok_or(BuildError::Cancelled)?;
        let stems = self
            .stems
            .into_iter()
            .filter(|(_, stem)| stem.count > 1)
            .map(|(key, stem)| (key, (stem.form, stem.count)))
            .collect();
        Ok(Lexicon {
            new,
            chunks,
            stems,
            phrases,
        })
    }
}

/// The second pass: in how many sessions each candidate occurs.
#[derive(Default)]
struct Spread {
    sessions: u32,
    last: Option<u64>,
    of: FxHashMap<u64, (u32, u32)>,
}

impl Spread {
    fn session(&mut self, session: u64) {
        if self.last != Some(session) {
            self.last = Some(session);
            self.sessions += 1;
        }
    }

    fn take(&mut self, key: u64) {
        let (count, last) = self.of.entry(key).or_insert((0, 0));
        if *last != self.sessions {
            *last = self.sessions;
            *count += 1;
        }
    }

    /// How rare a candidate is; nothing where it is everywhere.
    fn rarity(&self, key: u64) -> Option<f64> {
        let (count, _) = *self.of.get(&key)?;
        if self.sessions >= 20 && count > self.sessions / 3 {
            return None;
        }
        Some((f64::from(self.sessions + 1) / (f64::from(count) + 0.5)).ln())
    }
}

/// The third pass.
struct Choice<'l> {
    spread: Spread,
    shown: &'l FxHashMap<u64, (Box<str>, u32)>,
    topics: Topics,
    /// Candidates of the session: key, kind, place of the line.
    found: Vec<(u64, Kind, u32)>,
    /// How candidates of the session are written.
    names: FxHashMap<u64, Box<str>>,
    tags: FxHashMap<u64, Chosen>,
}

/// A tag, with the places of its sessions and lines.
type Chosen = (Box<str>, Vec<u32>, Vec<u32>);

struct Candidate {
    key: u64,
    kind: Kind,
    weight: f64,
    rank: usize,
}

impl Choice<'_> {
    fn name(&mut self, key: u64, shown: &str) {
        if !self.shown.contains_key(&key) && !self.tags.contains_key(&key) {
            self.names.entry(key).or_insert_with(|| shown.into());
        }
    }

    fn end_session(&mut self) {
        let mut found = std::mem::take(&mut self.found);
        if let Some(session) = self.topics.sessions.len().checked_sub(1) {
            found.sort_unstable();
            for candidate in self.best(&found) {
                let from = found.partition_point(|(key, ..)| *key < candidate.key);
                let lines = found[from..]
                    .iter()
                    .take_while(|(key, ..)| *key == candidate.key);
                let name = || {
                    self.shown
                        .get(&candidate.key)
                        .map(|(form, _)| form)
                        .or_else(|| self.names.get(&candidate.key))
                        .cloned()
                        .unwrap_or_default()
                };
                let (_, sessions, mentions) = self
                    .tags
                    .entry(candidate.key)
                    .or_insert_with(|| (name(), Vec::new(), Vec::new()));
                sessions.push(place(session));
                let mut places: Vec<u32> = lines.map(|(_, _, line)| *line).collect();
                places.sort_unstable();
                places.dedup();
                mentions.extend(places);
            }
        }
        found.clear();
        self.found = found;
        self.names.clear();
    }

    /// The best of a session: each list has its ranks, and the best rank counts.
    fn best(&self, found: &[(u64, Kind, u32)]) -> Vec<Candidate> {
        let mut all: Vec<Candidate> = found
            .chunk_by(|a, b| a.0 == b.0)
            .filter_map(|same| {
                let (key, kind, _) = same[0];
                let rarity = self.spread.rarity(key)?;
                let weight = (1.0 + (same.len() as f64).ln()) * rarity;
                Some(Candidate {
                    key,
                    kind,
                    weight,
                    rank: usize::MAX,
                })
            })
            .collect();
        all.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.key.cmp(&b.key)));
        let mut ranks = [0; 2];
        for (rank, candidate) in all.iter_mut().enumerate() {
            candidate.rank = rank;
            if candidate.kind != Kind::Word {
                let own = &mut ranks[usize::from(candidate.kind == Kind::Title)];
                candidate.rank = rank.min(*own);
                *own += 1;
            }
        }
        // Of equal rank: titles, then new words, then the rest.
        all.sort_by_key(|candidate| (candidate.rank, candidate.kind));
        all.truncate(PER_SESSION);
        all
    }

    fn finish(mut self) -> Topics {
        self.end_session();
        let mut topics = self.topics;
        topics.starts.push(place(topics.lines.len()));
        topics.tags = self
            .tags
            .into_values()
            .filter(|(text, ..)| !text.is_empty())
            .map(|(text, sessions, mentions)| Tag {
                folded: text::fold(&text).into(),
                text,
                provenance: Provenance::Auto,
                sessions: sessions.into(),
                mentions: mentions.into(),
            })
            .collect();
        topics.tags.sort_by(|a, b| {
            b.sessions
                .len()
                .cmp(&a.sessions.len())
                .then_with(|| a.text.cmp(&b.text))
        });
        topics
    }
}
