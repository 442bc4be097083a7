//! Tools found by what they do, in English, Chinese or both.
//!
//! An [`Index`] holds [`Document`]s and answers a [`Query`] with [`Found`]. There
//! is no model and nothing to download: words, their relatives in one language and
//! the other, and where they stand decide. Whoever has an embedding model can join
//! it by [`Meaning`].
//!
//! - *An index that was changed is one that was made afresh.* Whatever was put in,
//!   taken out and put in again, the same documents give the same answer, to the bit.
//! - *The order is one.* Equal scores stand by name.
//! - *Whoever names a tool gets it.* A tool that is named exactly comes first, then
//!   those whose name begins as asked, then the rest.
//! - *"Nothing fits" is an answer.* See [`Fit`].
//! - *What is hidden does not show*: a tool that the query's filters leave out
//!   changes neither the score nor the fit of another, apart from how common words are.

mod document;
mod gather;
mod lexicon;
mod names;
mod plan;
mod query;
mod rank;
mod store;
mod vocabulary;
mod words;

use std::sync::{Mutex, PoisonError};

pub use document::Document;
pub use query::{Fit, Found, Hit, Meaning, Query, Why};
pub use store::Field;

use gather::Scratch;
use plan::Plan;
use store::Store;

/// How many texts of one query are looked at.
pub const MAX_TEXTS: usize = 32;

/// How many queries leave their room to the next.
const MAX_POOL: usize = 4;

/// Documents, ready to be searched.
#[derive(Debug, Default)]
pub struct Index {
    store: Store,
    /// Room that queries leave to the next. Not part of what the index is.
    pool: Mutex<Vec<Scratch>>,
}

impl Index {
    /// An empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.store.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a document is there under this key.
    pub fn contains(&self, key: &str) -> bool {
        self.store.slot(key).is_some()
    }

    /// Puts a document in, in place of the one that has its key. What was learned
    /// about that one stays.
    pub fn upsert(&mut self, document: &Document) {
        self.store.upsert(document);
    }

    /// Takes a document out, with what was learned about it. False where there is none.
    pub fn remove(&mut self, key: &str) -> bool {
        self.store.remove(key)
    }

    /// Remembers that a tool was right for what was asked. Each tool keeps the last
    /// 32 phrases. False where there is no such tool.
    pub fn learn(&mut self, asked: &str, key: &str) -> bool {
        self.store.learn(asked, key)
    }

    /// What was learned about a tool, oldest first: to be kept, and learned again
    /// after a restart.
    pub fn learned(&self, key: &str) -> impl Iterator<Item = &str> {
        self.store.learned(key)
    }

    /// Answers a query. Of several texts each is answered for itself, and the
    /// answers take turns: every text's best, then every text's second.
    pub fn search(&self, query: &Query<'_>) -> Found {
        let mut scratch = self.pool().pop().unwrap_or_default();
        let texts = query.texts.iter().take(MAX_TEXTS).enumerate();
        let answers: Vec<(Fit, Vec<Hit>)> = texts
            .map(|(i, text)| self.answer(i, text, query, &mut scratch))
            .collect();
        let mut pool = self.pool();
        if pool.len() < MAX_POOL {
            pool.push(scratch);
        }
        drop(pool);
        Found::of(answers, query.limit)
    }

    fn pool(&self) -> std::sync::MutexGuard<'_, Vec<Scratch>> {
        // Scratch is cleared before it is used, so a panic elsewhere did no harm.
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(
        &self,
        at: usize,
        text: &str,
        query: &Query<'_>,
        scratch: &mut Scratch,
    ) -> (Fit, Vec<Hit>) {
        let open = query.is_open();
        let allowed = |slot: u32| open || self.store.entry(slot).is_some_and(|e| query.allows(e));
        let plan = Plan::of(text, &self.store);
        let gains = rank::gains(&plan, &self.store);
        let filter: Option<&dyn Fn(u32) -> bool> = (!open).then_some(&allowed);
        let mut ranked = rank::rank(&plan, &gains, &self.store, scratch, query.limit, filter);
        let mut fit = Fit::of(&plan, &gains, &ranked, &self.store);
        if let Some(meaning) = query.meaning {
            let near = meaning.nearest(text, rank::NEAREST);
            if rank::join(&mut ranked, &near, &self.store, &allowed) {
                fit = Fit::Good;
            }
        }
        if names::lift(text, &mut ranked, &self.store, &allowed) {
            fit = Fit::Good;
        }
        if fit == Fit::Nothing {
            return (fit, Vec::new());
        }
        let telling = query::telling(&plan, &gains);
        let shown = ranked.iter().take(query.limit);
        let hits = shown.map(|r| Hit::of(r, at, &plan, &telling, &self.store));
        (fit, hits.collect())
    }
}

#[cfg(test)]
mod tests;
