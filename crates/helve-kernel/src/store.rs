//! What is kept, and the verbs that change it.
//!
//! Every verb is one transaction, and every verb that changes something that
//! people answer for takes the [`Record`] of it: the change and its entry in the
//! audit chain are durable together or not at all. Where the change does not
//! happen (another was first), neither is the entry written. When a verb returns,
//! what it did survives a crash.
//!
//! A store decides nothing: what is allowed is the kernel's business.

#[cfg(any(test, feature = "contract"))]
pub mod contract;
mod memory;

use std::future::Future;
use std::pin::Pin;

use async_trait::async_trait;
use helve_core::audit::{Entry, Hash, Head, NotCanonical, Writer};
use serde_json::{Map, Value};

use crate::approval::{Approval, ApprovalState, Decision, Notice};
use crate::changes::{Changes, ChangesFilter, HistoryFilter, Past, RowChange, Settled, Turn};
use crate::rows::Place;
use crate::run::{Chunk, Run, RunState};
use crate::token::Token;
use crate::{ApprovalId, At, RunId, TokenId};

pub use memory::MemoryStore;

/// Why something was not kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is full, gone or read-only; nothing was changed.
    #[error("the store cannot be written: {0}")]
    Unwritable(String),
    /// What is kept cannot be understood.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// Somebody else writes to it.
    #[error("{0}")]
    Locked(String),
    /// It was written by a program that knew more.
    #[error(
        "the store was made by a newer helve (schema {found}, this one knows {known}); start that one"
    )]
    TooNew {
        /// The schema of what is kept.
        found: i64,
        /// The newest that this program knows.
        known: i64,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// What happened, for the audit chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// When.
    pub at: At,
    /// What: `run.started`, `tool.registered`, ….
    pub event: &'static str,
    /// Who did it.
    pub actor: String,
    /// The id of the run, tool, approval or token that it is about.
    pub resource: String,
    details: Vec<(&'static str, Value)>,
}

impl Record {
    /// That it happened, and nothing more yet.
    pub fn new(at: At, event: &'static str, actor: &str, resource: &str) -> Self {
        Self {
            at,
            event,
            actor: actor.to_owned(),
            resource: resource.to_owned(),
            details: Vec::with_capacity(10),
        }
    }

    /// The same, with something else that is worth knowing; null is not.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        let value = value.into();
        if value.is_null() {
            return self;
        }
        match self.details.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = value,
            None => self.details.push((key, value)),
        }
        self
    }

    /// All else that is worth knowing.
    pub fn details(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.details.iter().map(|(key, value)| (*key, value))
    }

    /// The value that goes into the chain.
    pub fn into_value(self) -> Value {
        let mut map = Map::with_capacity(5);
        map.insert("at".to_owned(), self.at.to_string().into());
        map.insert("event".to_owned(), self.event.into());
        map.insert("actor".to_owned(), self.actor.into());
        map.insert("resource".to_owned(), self.resource.into());
        if !self.details.is_empty() {
            let details = self.details.into_iter();
            let details = details.map(|(key, value)| (key.to_owned(), value));
            map.insert("details".to_owned(), Value::Object(details.collect()));
        }
        Value::Object(map)
    }

    /// The canonical form of that value, at once.
    pub fn canonical(&self) -> Result<String, NotCanonical> {
        let mut out = Writer::begin();
        out.text("actor", &self.actor)?;
        out.text("at", &self.at.to_string())?;
        if !self.details.is_empty() {
            out.object("details", self.details())?;
        }
        out.text("event", self.event)?;
        out.text("resource", &self.resource)?;
        Ok(out.end())
    }
}

/// A version of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// The canonical name.
    pub tool: String,
    /// The version's number.
    pub version: semver::Version,
    /// The hash of the definition and of the programs that it runs.
    pub hash: Hash,
    /// The canonical definition.
    pub definition: Value,
    /// What the executor said of the programs behind it when it was registered.
    pub fingerprint: Option<Value>,
    /// Who made it.
    pub by: String,
    /// When.
    pub at: At,
    /// Why, in their words.
    pub why: Option<String>,
}

/// A tool as it is registered now.
#[derive(Debug, Clone, PartialEq)]
pub struct Registered {
    /// The version that is called.
    pub current: Version,
    /// Whether it can be called.
    pub enabled: bool,
    /// Where it came from: `api`, or the file's path from the workspace.
    pub source: String,
}

/// A key under which a caller repeats a call without repeating its effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// Whose key.
    pub owner: String,
    /// The key.
    pub key: String,
    /// The hash of what was asked with it.
    pub body: Hash,
}

/// What came of opening a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// It is open.
    New,
    /// The key was used for the same call before: this run.
    Same(RunId),
    /// The key was used for another call.
    KeyTaken,
}

/// A run that is handed to the store, in order, and may not be durable yet.
pub struct Opening(Option<Durable>);

type Durable = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

impl Opening {
    /// One that is durable.
    pub fn durable() -> Self {
        Self(None)
    }

    /// One that is durable when that future says so; whoever polls it is in a hurry.
    pub fn pending(durable: impl Future<Output = Result<(), StoreError>> + Send + 'static) -> Self {
        Self(Some(Box::pin(durable)))
    }

    /// Waits until it is durable. Where it failed, the run is not there; or it was written
    /// and could not be synced, and has no end until the next start says that it is lost.
    pub async fn wait(&mut self) -> Result<(), StoreError> {
        if let Some(durable) = &mut self.0 {
            let done = durable.await;
            self.0 = None;
            done?;
        }
        Ok(())
    }
}

/// What came of a decision.
#[derive(Debug, Clone, PartialEq)]
pub enum Decided {
    /// It counts; the approval as it stands now.
    Counted(Approval),
    /// Somebody was first, or it was too late: the approval as it stands.
    Closed(Approval),
    /// This person has spoken before.
    Twice(Approval),
    /// There is no such approval.
    Unknown,
}

/// How a run goes from one state to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Move {
    /// The run.
    pub run: RunId,
    /// The states in which it may be.
    pub from: &'static [RunState],
    /// The state that it gets.
    pub to: RunState,
    /// When.
    pub at: At,
    /// How the program ended.
    pub exit_code: Option<i32>,
    /// The answer, where it ends.
    pub answer: Option<Value>,
    /// What becomes of its approval, if that is still open (pending or approved).
    pub approval: Option<ApprovalState>,
    /// What became of its changes, if they are still open (staged or committing).
    pub changes: Option<Settled>,
    /// The runs whose changes it has taken back, or put back.
    pub turns: Vec<Turn>,
    /// It need not be on the disk when this is done, only kept even if the process is killed
    /// then, and on the disk a moment later: for the end of a run that has changed nothing
    /// here.
    pub soon: bool,
}

impl Move {
    /// A step, and nothing else with it.
    pub fn new(run: &RunId, from: &'static [RunState], to: RunState, at: At) -> Self {
        Self {
            run: run.clone(),
            from,
            to,
            at,
            exit_code: None,
            answer: None,
            approval: None,
            changes: None,
            turns: Vec::new(),
            soon: false,
        }
    }

    /// Whether it is the end of a run that is running, and touches nothing but what that run
    /// has changed.
    pub fn only_ends(&self) -> bool {
        self.to.is_over()
            && self.from.contains(&RunState::Running)
            && self.approval.is_none()
            && self.turns.is_empty()
    }
}

/// Which runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Of this tool.
    pub tool: Option<String>,
    /// In this state.
    pub state: Option<RunState>,
    /// Of these owners, or of agents under them.
    pub owner: Option<String>,
    /// The same once more, for those who look for somebody among what they may see.
    pub who: Option<String>,
    /// Asked for not before.
    pub since: Option<At>,
    /// Asked for before.
    pub until: Option<At>,
    /// Older than this run.
    pub before: Option<RunId>,
}

/// Which entries of the record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// About this run, tool, approval or token.
    pub resource: Option<String>,
    /// By this actor.
    pub actor: Option<String>,
    /// Of this event.
    pub event: Option<String>,
    /// Not before.
    pub since: Option<At>,
    /// Before.
    pub until: Option<At>,
    /// After this number.
    pub after: u64,
    /// Before this number.
    pub before: Option<u64>,
    /// Which end comes first.
    pub order: Order,
}

/// Which end comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// As it was written.
    #[default]
    OldestFirst,
    /// The other way round.
    NewestFirst,
}

/// How a run went, in a few words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// When it was asked for.
    pub created: At,
    /// When it ended.
    pub ended: Option<At>,
    /// Where it stands.
    pub state: RunState,
    /// Who called.
    pub owner: String,
    /// Under whom, if an agent did.
    pub under: Option<String>,
}

/// What a hub keeps.
///
/// `at` is within `expires` where it is before it. An id that was used before is
/// an error. Where an error is the answer, nothing has changed.
#[async_trait]
pub trait Store: Send + Sync {
    /// All tools that are registered and not removed, by name.
    async fn tools(&self) -> Result<Vec<Registered>, StoreError>;

    /// Makes a version the current one of its tool. Registers the tool, or brings
    /// a removed one back, where there is none; whether it is enabled stays as it
    /// was, and is `enabled` for a new one; `source` is its source from now on. A version
    /// of the same number must not exist, not even of a removed tool: then nothing
    /// changes and the answer is `false`.
    async fn add_version(
        &self,
        version: Version,
        source: String,
        enabled: bool,
        record: Record,
    ) -> Result<bool, StoreError>;

    /// All versions of a tool, oldest first; those of a removed one as well.
    async fn versions(&self, tool: &str) -> Result<Vec<Version>, StoreError>;

    /// Makes an old version current again; `false` where the tool is not
    /// registered or has no such version.
    async fn select_version(
        &self,
        tool: &str,
        version: &semver::Version,
        record: Record,
    ) -> Result<bool, StoreError>;

    /// Enables or disables; `false` where there is no such tool or nothing changes.
    async fn set_enabled(
        &self,
        tool: &str,
        enabled: bool,
        record: Record,
    ) -> Result<bool, StoreError>;

    /// Removes a tool; its versions stay. `false` where there is none.
    async fn remove_tool(&self, tool: &str, record: Record) -> Result<bool, StoreError>;

    /// Opens a run in the state that it has, with the approval that it waits for.
    /// With a key that was used before, nothing is opened.
    async fn open_run(
        &self,
        run: Run,
        approval: Option<Approval>,
        key: Option<IdempotencyKey>,
        record: Record,
    ) -> Result<Opened, StoreError>;

    /// Hands over a run that is open, for whoever need not wait until that is durable. It is not
    /// lost with the process. The store keeps the order: what is asked of it later is not
    /// durable before this is, and goes with it where that costs less.
    async fn open_run_soon(&self, run: Run, record: Record) -> Result<Opening, StoreError> {
        self.open_run(run, None, None, record).await?;
        Ok(Opening::durable())
    }

    /// Moves a run; `false` where it is in none of the states, and then nothing changes.
    /// A run that becomes `running` gets its start, one that is over its end, each
    /// once. A code or an answer that the step does not tell stays as it was. Changes
    /// that are committed get the next place in the order of commits, and their records
    /// become what they are after: whoever commits has looked that they are as before,
    /// and lets nobody else commit meanwhile. A run that is
    /// turned goes from `succeeded` to `undone` or back, and so do its changes, unless
    /// they have expired.
    async fn move_run(&self, step: Move, record: Record) -> Result<bool, StoreError>;

    /// Spends an approval that was granted for exactly `bound` and has not expired
    /// at `at`, and sets its run running, and its staged changes committing; not where
    /// that is over. For any approval, at most one caller ever gets `true`.
    async fn spend_approval(
        &self,
        id: &ApprovalId,
        bound: Hash,
        at: At,
        record: Record,
    ) -> Result<bool, StoreError>;

    /// A run.
    async fn run(&self, id: &RunId) -> Result<Option<Run>, StoreError>;

    /// Runs, newest first.
    async fn runs(&self, filter: RunFilter, limit: usize) -> Result<Vec<Run>, StoreError>;

    /// How the last runs went, of so many, newest first: those that were asked for since then.
    async fn activity(&self, since: At, limit: usize) -> Result<Vec<Done>, StoreError>;

    /// Keeps what a run wrote. Not on the record, and durable with the next verb that
    /// is. A run that there is not, and a number that was used, are errors.
    async fn append_chunks(&self, run: &RunId, chunks: Vec<Chunk>) -> Result<(), StoreError>;

    /// What a run wrote, after that number.
    async fn chunks(&self, run: &RunId, after: u64, limit: usize)
    -> Result<Vec<Chunk>, StoreError>;

    /// Adds what somebody said about an approval that is pending and has not
    /// expired at the decision's time. A denial denies it; the approval that makes
    /// `needed` grants it, until `granted_until`. Only [`Decided::Counted`] is on the
    /// record. The run of a denied one stays for the kernel to move.
    async fn decide(
        &self,
        id: &ApprovalId,
        decision: Decision,
        granted_until: At,
        record: Record,
    ) -> Result<Decided, StoreError>;

    /// An approval.
    async fn approval(&self, id: &ApprovalId) -> Result<Option<Approval>, StoreError>;

    /// Approvals, newest first.
    async fn approvals(
        &self,
        state: Option<ApprovalState>,
        before: Option<ApprovalId>,
        limit: usize,
    ) -> Result<Vec<Approval>, StoreError>;

    /// Keeps whether somebody was told of an approval; `false` where there is no such
    /// approval or nothing changes.
    async fn set_notice(
        &self,
        id: &ApprovalId,
        notice: Notice,
        record: Record,
    ) -> Result<bool, StoreError>;

    /// Keeps what a run that is running changed; `false` where it is not, or has changes
    /// already. With an approval, the run becomes `staged` and waits for it.
    async fn keep_changes(
        &self,
        changes: Changes,
        approval: Option<Approval>,
        record: Record,
    ) -> Result<bool, StoreError>;

    /// What a run changed.
    async fn changes(&self, run: &RunId) -> Result<Option<Changes>, StoreError>;

    /// A record of a collection.
    async fn row(&self, collection: &str, key: &str) -> Result<Option<Value>, StoreError>;

    /// The records of a collection by key, those after a key only.
    async fn rows(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Value)>, StoreError>;

    /// Changes records as the hub itself does, without a run: all of them, or none where
    /// one of them is not as `before` says. What is the same before and after is only
    /// looked at.
    async fn put_rows(&self, rows: Vec<RowChange>, record: Record) -> Result<bool, StoreError>;

    /// Changes, the last that were committed first.
    async fn all_changes(
        &self,
        filter: ChangesFilter,
        limit: usize,
    ) -> Result<Vec<Changes>, StoreError>;

    /// Which paths were changed by which runs: the last commit first, and of each the
    /// paths in their order.
    async fn history(&self, filter: HistoryFilter, limit: usize) -> Result<Vec<Past>, StoreError>;

    /// Keeps before-images for good, or no longer; `false` where nothing changes.
    async fn set_pinned(
        &self,
        run: &RunId,
        pinned: bool,
        record: Record,
    ) -> Result<bool, StoreError>;

    /// Says that the changes of a run can no longer be taken back; `false` where they
    /// are pinned, or neither committed nor undone.
    /// What was noted of records goes with it.
    async fn expire_changes(&self, run: &RunId, record: Record) -> Result<bool, StoreError>;

    /// Lets go of the redo of runs, durably, where it is on record what became of them. Whether
    /// none of them has one any more.
    async fn forget_redo(&self, runs: Vec<RunId>) -> Result<bool, StoreError>;

    /// Lets go of everything that is noted of what these records were: the bytes are gone when
    /// this returns. The runs that had noted something can no longer be taken back, pinned
    /// or not; what is under way stays. Which runs those were, by their ids.
    async fn purge_rows(
        &self,
        places: Vec<Place>,
        record: Record,
    ) -> Result<Vec<RunId>, StoreError>;

    /// Keeps a token.
    async fn add_token(&self, token: Token, record: Record) -> Result<(), StoreError>;

    /// All tokens, revoked ones as well, oldest first.
    async fn tokens(&self) -> Result<Vec<Token>, StoreError>;

    /// Revokes a token; `false` where there is none or it was before.
    async fn revoke_token(&self, id: &TokenId, at: At, record: Record) -> Result<bool, StoreError>;

    /// Adds an entry that goes with no other change.
    async fn record(&self, record: Record) -> Result<(), StoreError>;

    /// Entries of the record, oldest first unless the filter says otherwise.
    async fn audit(&self, filter: AuditFilter, limit: usize) -> Result<Vec<Entry>, StoreError>;

    /// Where the chain stands.
    async fn audit_head(&self) -> Result<Head, StoreError>;
}
