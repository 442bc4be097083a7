//! Who may call what: rules that allow, ask or deny.
//!
//! A rule matches a call by tool, risk, principal and arguments. Of all rules that
//! match, the strictest wins, wherever it stands; only where none matches does the
//! default by risk decide. Rules carry examples of calls that they must and must
//! not match, and a policy whose examples do not hold is not loaded.

mod explain;
mod matching;
mod pattern;
mod read;
mod table;

use std::fmt;

use serde_json::{Map, Value};

use crate::def::Risk;

pub use explain::{Explanation, RuleVerdict};
pub use pattern::Pattern;
pub use table::{Cell, Row, Table, table};

/// What happens to a call. The order is the order of strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It runs.
    Allow,
    /// Somebody is asked.
    Ask,
    /// It does not run.
    Deny,
}

impl Effect {
    /// The word for it in a policy.
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::Allow => "allow",
            Effect::Ask => "ask",
            Effect::Deny => "deny",
        }
    }
}

/// A call, as far as policy looks at it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'c> {
    /// The canonical name of the tool.
    pub tool: &'c str,
    /// Its risk; a tool that does not say counts as the most dangerous.
    pub risk: Option<Risk>,
    /// Who calls.
    pub principal: &'c str,
    /// With what.
    pub args: &'c Map<String, Value>,
}

/// One rule. What it leaves out matches anything.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// What it says.
    pub effect: Effect,
    /// The tools that it is about.
    pub tool: Option<Pattern>,
    /// The risks.
    pub risk: Vec<Risk>,
    /// The principals.
    pub principal: Option<Pattern>,
    /// Patterns by argument; all must match, and an argument that is absent does not.
    /// `options.path` is the `path` in `options`, and an argument of just that name.
    /// Of a list, every item must match to allow, and one is enough to ask or deny.
    pub args: Vec<(String, Pattern)>,
    /// How many must agree where it asks; 1 where it does not say.
    pub approvals: u32,
    /// Why; shown to whoever is stopped.
    pub reason: Option<String>,
}

/// What was decided, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What happens.
    pub effect: Effect,
    /// The number of the rule that decided, from 1; `None` for the default.
    pub rule: Option<usize>,
    /// Why.
    pub reason: String,
    /// The numbers of all rules that matched.
    pub matched: Vec<usize>,
    /// How many must agree if it asks: the most that any matching rule wants.
    pub approvals: u32,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rule {
            Some(rule) => write!(f, "{}: rule {rule} ({})", self.effect.as_str(), self.reason),
            None => write!(f, "{}: default ({})", self.effect.as_str(), self.reason),
        }
    }
}

/// All rules together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Policy {
    rules: Vec<Rule>,
}

/// Why a policy was not loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// A rule cannot be read.
    #[error("rule {rule}: {problem}")]
    Rule {
        /// Its number, from 1.
        rule: usize,
        /// What is wrong.
        problem: String,
    },
    /// A rule does not do what its example says.
    #[error("rule {rule}: the example {example} {} the rule", if *.wanted { "should match" } else { "should not match" })]
    Example {
        /// Its number, from 1.
        rule: usize,
        /// The example, as it was written.
        example: String,
        /// Whether it should match.
        wanted: bool,
    },
}

impl Policy {
    /// Reads a list of rules and holds each to its examples.
    pub fn from_value(rules: &Value) -> Result<Self, PolicyError> {
        read::policy(rules)
    }

    /// The rules.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// What happens to a call.
    pub fn decide(&self, call: &Call<'_>) -> Decision {
        let matched: Vec<usize> = (0..self.rules.len())
            .filter(|i| self.rules[*i].matches(call))
            .collect();
        // The first of the strictest, so that its number does not depend on chance.
        let strictest = matched
            .iter()
            .copied()
            .rev()
            .max_by_key(|i| self.rules[*i].effect);
        let asking = matched.iter().map(|i| &self.rules[*i]);
        let approvals = asking
            .filter(|rule| rule.effect == Effect::Ask)
            .map(|rule| rule.approvals)
            .max()
            .unwrap_or(1);
        let numbers = matched.iter().map(|i| i + 1).collect();
        match strictest {
            Some(i) => {
                let rule = &self.rules[i];
                Decision {
                    effect: rule.effect,
                    rule: Some(i + 1),
                    reason: rule
                        .reason
                        .clone()
                        .unwrap_or_else(|| format!("it says {}", rule.effect.as_str())),
                    matched: numbers,
                    approvals,
                }
            }
            None => {
                let (effect, reason) = by_risk(call.risk);
                Decision {
                    effect,
                    rule: None,
                    reason: reason.to_owned(),
                    matched: numbers,
                    approvals,
                }
            }
        }
    }
}

/// What holds where no rule does: looking and harmless runs go through, the rest asks.
fn by_risk(risk: Option<Risk>) -> (Effect, &'static str) {
    match risk {
        Some(Risk::Read) => (Effect::Allow, "it only reads"),
        Some(Risk::ExecLow) => (Effect::Allow, "it runs something harmless"),
        Some(Risk::ExecHigh) => (Effect::Ask, "it runs something that matters"),
        Some(Risk::Write) => (Effect::Ask, "it writes"),
        None => (Effect::Ask, "its risk is not known"),
    }
}

#[cfg(test)]
mod tests;
