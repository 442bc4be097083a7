//! Why a call was decided as it was: every rule, and what spoke against it.

use super::{Call, Decision, Effect, Policy};

/// A decision, and what each rule had to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// What was decided.
    pub decision: Decision,
    /// All rules, in their order.
    pub rules: Vec<RuleVerdict>,
}

/// What one rule says about a call.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RuleVerdict {
    /// Its number, from 1.
    pub number: usize,
    /// What it says where it matches.
    pub effect: Effect,
    /// Whether it does.
    pub matched: bool,
    /// The first thing that does not match, without the values of arguments.
    pub why_not: Option<String>,
}

impl Policy {
    /// What happens to a call, and why each rule did or did not take part.
    pub fn explain(&self, call: &Call<'_>) -> Explanation {
        let verdicts = self.rules.iter().enumerate().map(|(i, rule)| {
            let why_not = rule.miss(call).map(|miss| miss.to_string());
            RuleVerdict {
                number: i + 1,
                effect: rule.effect,
                matched: why_not.is_none(),
                why_not,
            }
        });
        Explanation {
            decision: self.decide(call),
            rules: verdicts.collect(),
        }
    }
}
