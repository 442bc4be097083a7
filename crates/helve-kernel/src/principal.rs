//! Who calls, and what they may do at all. Policy decides within that.

use std::fmt;

use helve_core::def::Risk;
use helve_core::policy::Pattern;

use crate::{ErrorKind, TokenId, ToolError};

/// A right that a token can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Permission {
    /// See tools and the catalog.
    ToolRead,
    /// Call tools.
    ToolExecute,
    /// Register, change, enable, disable, roll back, remove.
    ToolRegister,
    /// See runs and their output.
    RunRead,
    /// Undo what a run did.
    RunUndo,
    /// Approve and deny.
    ApprovalDecide,
    /// Read the record, and every run.
    AuditRead,
    /// Make and revoke tokens.
    TokenManage,
}

impl Permission {
    /// All of them.
    pub const ALL: [Permission; 8] = [
        Permission::ToolRead,
        Permission::ToolExecute,
        Permission::ToolRegister,
        Permission::RunRead,
        Permission::RunUndo,
        Permission::ApprovalDecide,
        Permission::AuditRead,
        Permission::TokenManage,
    ];

    /// What an agent gets where nothing else is said.
    pub const AGENT: [Permission; 3] = [
        Permission::ToolRead,
        Permission::ToolExecute,
        Permission::RunRead,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Permission::ToolRead => "tool:read",
            Permission::ToolExecute => "tool:execute",
            Permission::ToolRegister => "tool:register",
            Permission::RunRead => "run:read",
            Permission::RunUndo => "run:undo",
            Permission::ApprovalDecide => "approval:decide",
            Permission::AuditRead => "audit:read",
            Permission::TokenManage => "token:manage",
        }
    }

    /// The permission of that name; there is none for any other word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.as_str() == word)
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What sort of caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PrincipalKind {
    /// Somebody who can be asked.
    Person,
    /// A program that acts for somebody. It never decides an approval.
    Agent,
}

impl PrincipalKind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            PrincipalKind::Person => "person",
            PrincipalKind::Agent => "agent",
        }
    }

    /// The kind of that name; there is none for any other word.
    pub fn parse(word: &str) -> Option<Self> {
        [PrincipalKind::Person, PrincipalKind::Agent]
            .into_iter()
            .find(|k| k.as_str() == word)
    }
}

/// Who calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Principal {
    /// Who answers for the call; the same for all tokens of one owner.
    pub owner: String,
    /// A person or an agent.
    pub kind: PrincipalKind,
    /// Under whom an agent acts.
    pub under: Option<String>,
    /// The token that was shown.
    pub token: Option<TokenId>,
    /// What they may do.
    pub permissions: Vec<Permission>,
    /// The tools that they may touch; empty means none.
    pub scopes: Vec<Pattern>,
    /// The highest risk that they may call.
    pub max_risk: Risk,
}

impl Principal {
    /// A person with every right, for those who embed the kernel.
    pub fn person(owner: impl Into<String>) -> Self {
        Self {
            owner: owner.into(),
            kind: PrincipalKind::Person,
            under: None,
            token: None,
            permissions: Permission::ALL.to_vec(),
            scopes: vec![Pattern::new("*")],
            max_risk: Risk::Write,
        }
    }

    /// An agent that may see and call every tool.
    pub fn agent(owner: impl Into<String>) -> Self {
        Self {
            kind: PrincipalKind::Agent,
            permissions: Permission::AGENT.to_vec(),
            ..Self::person(owner)
        }
    }

    /// Whether they have a right.
    pub fn may(&self, permission: Permission) -> bool {
        let decides = permission == Permission::ApprovalDecide;
        self.permissions.contains(&permission) && !(decides && self.kind == PrincipalKind::Agent)
    }

    /// Refuses whoever has not the right.
    pub fn require(&self, permission: Permission) -> Result<(), ToolError> {
        if self.may(permission) {
            return Ok(());
        }
        let message = match (permission, self.kind) {
            (Permission::ApprovalDecide, PrincipalKind::Agent) => {
                format!(
                    "`{}` is an agent, and agents never decide approvals",
                    self.owner
                )
            }
            _ => format!("`{}` has no permission `{permission}`", self.owner),
        };
        let hint = "use a token that has it; `helve token create` makes one";
        Err(ToolError::new(ErrorKind::Permission, message).with_hint(hint))
    }

    /// Whether a tool is within their scopes.
    pub fn reaches(&self, tool: &str) -> bool {
        self.scopes.iter().any(|p| p.matches(tool))
    }
}
