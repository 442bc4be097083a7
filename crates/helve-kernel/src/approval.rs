//! A question put to people: may this run, exactly as it was asked?

use helve_core::audit::Hash;
use serde_json::Value;

use crate::{ApprovalId, At, RunId};

/// Where an approval stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalState {
    /// Not decided yet.
    Pending,
    /// Granted, not used yet.
    Approved,
    /// Refused.
    Denied,
    /// Not decided, or not used, in time.
    Expired,
    /// Granted and used. It cannot be used again.
    Spent,
    /// The run was called off, or what was asked is no longer what would run.
    Withdrawn,
}

impl ApprovalState {
    /// All states.
    pub const ALL: [ApprovalState; 6] = [
        ApprovalState::Pending,
        ApprovalState::Approved,
        ApprovalState::Denied,
        ApprovalState::Expired,
        ApprovalState::Spent,
        ApprovalState::Withdrawn,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            ApprovalState::Pending => "pending",
            ApprovalState::Approved => "approved",
            ApprovalState::Denied => "denied",
            ApprovalState::Expired => "expired",
            ApprovalState::Spent => "spent",
            ApprovalState::Withdrawn => "withdrawn",
        }
    }

    /// The state of that name; there is none for any other word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == word)
    }
}

/// What one person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Who.
    pub by: String,
    /// Yes or no.
    pub verdict: Verdict,
    /// Why.
    pub reason: Option<String>,
    /// When.
    pub at: At,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Yes.
    Approve,
    /// No.
    Deny,
}

impl Verdict {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Approve => "approve",
            Verdict::Deny => "deny",
        }
    }

    /// The verdict of that name; there is none for any other word.
    pub fn parse(word: &str) -> Option<Self> {
        [Verdict::Approve, Verdict::Deny]
            .into_iter()
            .find(|v| v.as_str() == word)
    }
}

/// Whether somebody was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// There is nobody to tell.
    None,
    /// On its way.
    Waiting,
    /// Told.
    Sent,
    /// It could not be told, and why.
    Failed(String),
}

/// A question put to people.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// The run that waits.
    pub run: RunId,
    /// The hash of all that was asked: tool, version, arguments, place, executor, requester.
    pub bound: Hash,
    /// The canonical name of the tool.
    pub tool: String,
    /// The version that was called.
    pub version: String,
    /// The arguments; secrets as HMACs.
    pub args: Value,
    /// Who asked.
    pub requester: String,
    /// Under whom, if an agent asked.
    pub under: Option<String>,
    /// Why it was asked: what policy said.
    pub reason: String,
    /// How many people must approve.
    pub needed: u32,
    /// Where it stands.
    pub state: ApprovalState,
    /// What people said so far, in order.
    pub decisions: Vec<Decision>,
    /// When it was asked.
    pub created: At,
    /// Until when: undecided, it expires then; granted, it must be used by then.
    pub expires: At,
    /// Whether somebody was told.
    pub notice: Notice,
}
