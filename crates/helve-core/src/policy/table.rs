//! A policy as a table: who may call what, to be read and reviewed as a whole.
//!
//! Each cell is the decision about a call without arguments. Rules with patterns for
//! arguments can change it, and a cell that they can change says so: `*` where the
//! call may be stopped more strictly, `~` where only the default decides and such a
//! rule may let the call through more easily.

use std::fmt;

use serde_json::{Map, Value, json};

use super::{Call, Decision, Effect, Policy};
use crate::def::Risk;

/// Decisions by tool and principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Whose decisions the columns are.
    pub principals: Vec<String>,
    /// One row for each tool.
    pub rows: Vec<Row>,
}

/// The decisions about one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub tool: String,
    /// Its risk.
    pub risk: Option<Risk>,
    /// One for each principal.
    pub cells: Vec<Cell>,
}

/// One decision, and what arguments can do to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// What happens to a call without arguments.
    pub decision: Decision,
    /// Whether a rule about arguments could make it stricter.
    pub stricter: bool,
    /// Whether a rule about arguments could let it through more easily.
    pub looser: bool,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.decision.effect.as_str())?;
        if self.decision.effect == Effect::Ask && self.decision.approvals > 1 {
            write!(f, "({})", self.decision.approvals)?;
        }
        if self.stricter {
            f.write_str("*")?;
        }
        if self.looser {
            f.write_str("~")?;
        }
        Ok(())
    }
}

/// What a policy decides for each principal and tool.
pub fn table(policy: &Policy, principals: &[&str], tools: &[(&str, Option<Risk>)]) -> Table {
    let rows = tools.iter().map(|(tool, risk)| Row {
        tool: (*tool).to_owned(),
        risk: *risk,
        cells: principals
            .iter()
            .map(|principal| cell(policy, principal, tool, *risk))
            .collect(),
    });
    Table {
        principals: principals.iter().map(|p| (*p).to_owned()).collect(),
        rows: rows.collect(),
    }
}

fn cell(policy: &Policy, principal: &str, tool: &str, risk: Option<Risk>) -> Cell {
    let args = Map::new();
    let call = Call {
        tool,
        risk,
        principal,
        args: &args,
    };
    let decision = policy.decide(&call);
    let strictness = (decision.effect, decision.approvals);
    let (mut stricter, mut looser) = (false, false);
    for rule in policy.rules() {
        if rule.args.is_empty() || rule.miss_without_args(&call).is_some() {
            continue;
        }
        stricter |= (rule.effect, rule.approvals) > strictness;
        // Where a rule decides, another one that matches can only be stricter.
        looser |= decision.rule.is_none() && rule.effect < decision.effect;
    }
    Cell {
        decision,
        stricter,
        looser,
    }
}

impl Table {
    /// The same as JSON.
    pub fn to_value(&self) -> Value {
        let tools: Vec<Value> = self.rows.iter().map(|row| self.row_value(row)).collect();
        json!({"principals": self.principals, "tools": tools})
    }

    fn row_value(&self, row: &Row) -> Value {
        let decisions: Map<String, Value> = self
            .principals
            .iter()
            .zip(&row.cells)
            .map(|(principal, cell)| {
                let decision = &cell.decision;
                let value = json!({
                    "effect": decision.effect.as_str(),
                    "rule": decision.rule,
                    "approvals": decision.approvals,
                    "stricter": cell.stricter,
                    "looser": cell.looser,
                });
                (principal.clone(), value)
            })
            .collect();
        json!({"tool": row.tool, "risk": row.risk.map(Risk::as_str), "decisions": decisions})
    }
}

/// One line for each tool, one column for each principal.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = vec![vec!["tool".to_owned(), "risk".to_owned()]];
        lines[0].extend(self.principals.iter().cloned());
        for row in &self.rows {
            let risk = row.risk.map_or("?", Risk::as_str).to_owned();
            let mut line = vec![row.tool.clone(), risk];
            line.extend(row.cells.iter().map(Cell::to_string));
            lines.push(line);
        }
        let width = |column: usize| {
            let texts = lines.iter().filter_map(|line| line.get(column));
            texts.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
        for line in &lines {
            let padded: Vec<String> = line
                .iter()
                .zip(&widths)
                .map(|(text, width)| format!("{text:<width$}"))
                .collect();
            writeln!(f, "{}", padded.join("  ").trim_end())?;
        }
        Ok(())
    }
}
