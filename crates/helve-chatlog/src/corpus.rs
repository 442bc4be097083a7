//! The messages, as what is derived from them reads them.
//!
//! Topics and vectors are made from the archive but do not know it: they see a [`Corpus`], and
//! go through it several times instead of holding it.

use std::error::Error;
use std::ops::ControlFlow;

use crate::archive::Archive;

/// A message, as far as topics and vectors need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CorpusEntry<'e> {
    /// Its number.
    pub line: u64,
    /// The number of its chat.
    pub chat: u64,
    /// The number of its session: messages of one chat with no long pause between them. No two
    /// chats share one.
    pub session: u64,
    /// The number of whoever says it.
    pub sender: u64,
    /// What it says.
    pub text: &'e str,
}

/// All messages, in the order of chat and time, so that a session's stand together.
pub trait Corpus {
    /// Hands over each of them until told to stop. It may be called several times, and gives
    /// the same messages in the same order.
    fn each(
        &self,
        f: &mut dyn FnMut(CorpusEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), Box<dyn Error + Send + Sync>>;
}

impl Corpus for Archive {
    fn each(
        &self,
        f: &mut dyn FnMut(CorpusEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        Archive::each(self, &mut |entry| {
            f(CorpusEntry {
                line: entry.line,
                chat: u64::from(entry.chat.0),
                session: entry.session,
                sender: u64::from(entry.sender.0),
                text: entry.text,
            })
        });
        Ok(())
    }
}

/// How far the making of something has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done, in a word or two.
    pub stage: &'static str,
    /// How much of it: messages, or rounds.
    pub done: u64,
    /// Of how much, where that is known.
    pub of: Option<u64>,
}

/// Is told how far it has come, and may end it.
pub type Hook<'h> = &'h mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Why nothing was made.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The hook ended it.
    #[error("stopped before it was done")]
    Cancelled,
    /// The messages cannot be read.
    #[error("the messages could not be read")]
    Corpus(#[source] Box<dyn Error + Send + Sync>),
}

/// After how many messages the hook is asked.
const ASK_EVERY: u64 = 4096;

/// Goes through the corpus once, and asks the hook now and then. Gives the number of messages.
pub(crate) fn pass(
    corpus: &dyn Corpus,
    stage: &'static str,
    of: Option<u64>,
    hook: Hook<'_>,
    f: &mut dyn FnMut(CorpusEntry<'_>),
) -> Result<u64, BuildError> {
    let mut done = 0;
    let mut cancelled = hook(Progress { stage, done, of }).is_break();
    if !cancelled {
        corpus
            .each(&mut |entry| {
                f(entry);
                done += 1;
                if done % ASK_EVERY == 0 && hook(Progress { stage, done, of }).is_break() {
                    cancelled = true;
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })
            .map_err(BuildError::Corpus)?;
    }
    if cancelled {
        Err(BuildError::Cancelled)
    } else {
        Ok(done)
    }
}
