//! Memories found by what they say, in English, Chinese or both.
//!
//! The index is the one that tools are found by: words, their relatives in one language and
//! the other. It lives in memory only and is brought to what the records say before every
//! question, so what was forgotten is not in it. What has the words of a question literally is
//! found in any case.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use helve_kernel::helve_core::search::{Document, Hit, Index, Query};

use super::kept::{Memory, plain};

/// How many persons' indexes are kept.
const KEPT: usize = 64;

/// What has no word in common and fits less than this does not fit.
const LEAST: f32 = 0.13;
/// What fits less than this share of the best does not fit beside it.
const SHARE: f32 = 0.35;

/// What is found by, for each person.
#[derive(Debug, Default)]
pub struct Recollection(Mutex<HashMap<String, Known>>);

#[derive(Debug, Default)]
struct Known {
    index: Index,
    /// What the index has, in the form in which it was put in.
    texts: HashMap<String, String>,
}

impl Known {
    fn follow(&mut self, memories: &[Memory]) {
        let now: HashMap<&str, &Memory> = memories.iter().map(|m| (m.id.as_str(), m)).collect();
        let gone = self
            .texts
            .keys()
            .filter(|id| !now.contains_key(id.as_str()));
        let gone: Vec<String> = gone.cloned().collect();
        for id in gone {
            self.index.remove(&id);
            self.texts.remove(&id);
        }
        for memory in memories {
            let text = [&memory.key, &memory.value, &memory.content].map(String::as_str);
            let text = text.join("\n");
            if self.texts.get(&memory.id) == Some(&text) {
                continue;
            }
            self.index.upsert(&Document {
                key: memory.id.clone(),
                name: "memory".to_owned(),
                title: Some(format!("{} {}", memory.key, memory.value)),
                description: memory.content.clone(),
                tags: vec![memory.category.as_str().to_owned()],
                ..Document::default()
            });
            self.texts.insert(memory.id.clone(), text);
        }
    }
}

impl Recollection {
    /// The best of these memories of a person for what is asked, with how well they fit.
    pub(super) fn find(
        &self,
        owner: &str,
        memories: &[Memory],
        asked: &str,
        limit: usize,
    ) -> Vec<(usize, f64)> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= KEPT && !all.contains_key(owner) {
            all.clear();
        }
        let known = all.entry(owner.to_owned()).or_default();
        known.follow(memories);
        let mut query = Query::new(asked);
        query.limit = limit.saturating_mul(2);
        let found = known.index.search(&query);
        drop(all);
        let place: HashMap<&str, usize> = memories
            .iter()
            .enumerate()
            .map(|(i, m)| (m.id.as_str(), i))
            .collect();
        let mut scores: HashMap<usize, f64> = HashMap::new();
        let best = found.hits.first().map_or(0.0, |hit| hit.score);
        // A single letter in common says little, and nothing beside what has the word.
        let fits =
            |hit: &&Hit| (!hit.why.is_empty() || hit.score >= LEAST) && hit.score >= best * SHARE;
        for hit in found.hits.iter().filter(fits) {
            if let Some(i) = place.get(hit.key.as_str()) {
                scores.insert(*i, f64::from(hit.score));
            }
        }
        let asked = plain(asked);
        for (i, memory) in memories.iter().enumerate() {
            if !asked.is_empty() && said(memory).contains(&asked) {
                *scores.entry(i).or_default() += 1.0;
            }
        }
        let mut ranked: Vec<(usize, f64)> = scores.into_iter().collect();
        let weight = |(i, score): &(usize, f64)| score * (0.9 + 0.2 * memories[*i].importance);
        // Of equals, what was noted last.
        ranked.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then(b.0.cmp(&a.0)));
        ranked.truncate(limit);
        ranked
    }
}

/// All that a memory says, in plain form.
pub(super) fn said(memory: &Memory) -> String {
    plain(&format!(
        "{} {} {}",
        memory.key, memory.value, memory.content
    ))
}
