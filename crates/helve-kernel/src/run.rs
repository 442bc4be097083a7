//! A run: one call of one tool, as it is kept.

use helve_core::audit::Hash;
use serde_json::Value;

use crate::{ApprovalId, At, RunId};

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunState {
    /// Accepted, not begun.
    Queued,
    /// Waits for a person.
    PendingApproval,
    /// At work.
    Running,
    /// Ran; its changes wait for approval.
    Staged,
    /// Done.
    Succeeded,
    /// Not done, or nobody knows.
    Failed,
    /// Stopped by its time limit.
    TimedOut,
    /// Stopped by somebody.
    Cancelled,
    /// A rule or a person said no.
    Denied,
    /// Nobody decided in time.
    Expired,
    /// Its changes were taken back.
    Undone,
}

impl RunState {
    /// All states.
    pub const ALL: [RunState; 11] = [
        RunState::Queued,
        RunState::PendingApproval,
        RunState::Running,
        RunState::Staged,
        RunState::Succeeded,
        RunState::Failed,
        RunState::TimedOut,
        RunState::Cancelled,
        RunState::Denied,
        RunState::Expired,
        RunState::Undone,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            RunState::Queued => "queued",
            RunState::PendingApproval => "pending_approval",
            RunState::Running => "running",
            RunState::Staged => "staged",
            RunState::Succeeded => "succeeded",
            RunState::Failed => "failed",
            RunState::TimedOut => "timed_out",
            RunState::Cancelled => "cancelled",
            RunState::Denied => "denied",
            RunState::Expired => "expired",
            RunState::Undone => "undone",
        }
    }

    /// The state of that name; there is none for any other word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == word)
    }

    /// Whether nothing more will come of it by itself.
    pub fn is_over(self) -> bool {
        !matches!(
            self,
            RunState::Queued | RunState::PendingApproval | RunState::Running | RunState::Staged
        )
    }
}

/// One call of one tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// The canonical name of the tool.
    pub tool: String,
    /// The version that was called.
    pub version: String,
    /// The hash of that version.
    pub version_hash: Hash,
    /// Who called.
    pub owner: String,
    /// Under whom, if an agent did.
    pub under: Option<String>,
    /// The agent that the caller named.
    pub agent: Option<String>,
    /// Where it stands.
    pub state: RunState,
    /// The arguments; secrets as HMACs.
    pub args: Value,
    /// When it was asked for.
    pub created: At,
    /// When it began.
    pub started: Option<At>,
    /// When it ended.
    pub ended: Option<At>,
    /// The approval that it waits or waited for.
    pub approval: Option<ApprovalId>,
    /// How the program ended, where there was one.
    pub exit_code: Option<i32>,
    /// The answer as it is kept, once there is one: without its `content`, which
    /// [`run_answer`](crate::run_answer) makes anew.
    pub answer: Option<Value>,
}

/// Which of two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        }
    }

    /// The stream of that name.
    pub fn parse(word: &str) -> Option<Self> {
        [Stream::Stdout, Stream::Stderr]
            .into_iter()
            .find(|s| s.as_str() == word)
    }
}

/// A piece of what a run wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Its number in the run, from 1, over both streams.
    pub seq: u64,
    /// Which stream.
    pub stream: Stream,
    /// When it came.
    pub at: At,
    /// The bytes, as they came; no promise where they are cut.
    pub bytes: Vec<u8>,
}
