//! The terms whose meaning is learnt.

use rust_stemmers::Stemmer;
use rustc_hash::FxHashMap;

use crate::text::{self, Run};
use crate::topics::Counter;
use crate::{stop, variants};

/// The most terms.
const MOST: usize = 50_000;
/// The kinds of terms that are counted at once.
const MOST_KINDS: usize = 1_800_000;

/// Cuts a message into terms: stems of words, and letters and pairs of letters of Chinese.
pub(super) struct Cutter {
    stemmer: Stemmer,
}

impl Default for Cutter {
    fn default() -> Self {
        Self {
            stemmer: text::english(),
        }
    }
}

impl Cutter {
    pub(super) fn each(&self, message: &str, mut f: impl FnMut(u64)) {
        text::runs(message, |run| match run {
            Run::Cjk(run) => {
                let mut last = None;
                for c in run.chars().map(variants::simplified) {
                    if !stop::is_particle(c) {
                        f(text::key(1, [c]));
                    }
                    if let Some(last) = last
                        && !(stop::is_particle(last) && stop::is_particle(c))
                    {
                        f(text::key(2, [last, c]));
                    }
                    last = Some(c);
                }
            }
            Run::Word { word, .. } => {
                let folded: String = word.chars().map(text::fold_char).collect();
                if folded.len() > 1 && folded.len() < 40 && !stop::is_stop(&folded) {
                    f(text::key(3, text::stem(&self.stemmer, word).chars()));
                }
            }
        });
    }
}

/// Counts in how many messages each term stands.
pub(super) struct Survey {
    counts: Counter,
    seen: Vec<u64>,
}

impl Default for Survey {
    fn default() -> Self {
        Self {
            counts: Counter::new(MOST_KINDS),
            seen: Vec::new(),
        }
    }
}

impl Survey {
    pub(super) fn take(&mut self, cutter: &Cutter, message: &str) {
        self.seen.clear();
        cutter.each(message, |key| self.seen.push(key));
        self.seen.sort_unstable();
        self.seen.dedup();
        self.seen.iter().for_each(|&key| self.counts.add(key));
    }

    /// Those of the most messages, but for what is everywhere and what is nowhere else.
    pub(super) fn finish(self, messages: u64) -> FxHashMap<u64, u16> {
        let least = if messages < 20_000 { 2 } else { 4 };
        let most = (messages / 2).max(10);
        let mut kept: Vec<(u64, u32)> = self
            .counts
            .drop_below(least)
            .into_iter()
            .filter(|(_, count)| u64::from(*count) <= most)
            .collect();
        // By key where the counts are equal, so that it is the same each time.
        kept.sort_unstable_by_key(|(key, count)| (std::cmp::Reverse(*count), *key));
        kept.truncate(MOST);
        kept.into_iter().map(|(key, _)| key).zip(0u16..).collect()
    }
}
