//! Approve, and let calls like it run from then on: the rule is shown before it is saved.

use axum::extract::{Path, State};
use helve_core::marked::{Mark, marked};
use helve_core::policy::{self, Effect};
use helve_kernel::{Approval, ApprovalState, Verdict};
use maud::html;
use serde_json::{Map, Value, json};

use super::super::layout::Page;
use super::super::text::{line, shown};
use super::super::words::Word;
use super::super::{Given, Params, Sent, Visit};
use super::{back, decide};
use crate::api::approvals;
use crate::problem::Problem;
use crate::{Hub, Rules};

/// Which calls are like the one that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Like {
    /// Those with all of its arguments.
    Arguments,
    /// Those on the same paths.
    Place,
    /// All of the tool.
    Tool,
}

impl Like {
    const ALL: [Like; 3] = [Like::Arguments, Like::Place, Like::Tool];

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|like| like.as_str() == word)
    }

    fn as_str(self) -> &'static str {
        match self {
            Like::Arguments => "arguments",
            Like::Place => "place",
            Like::Tool => "tool",
        }
    }

    fn word(self) -> Word {
        match self {
            Like::Arguments => Word::LikeArguments,
            Like::Place => Word::LikePlace,
            Like::Tool => Word::LikeTool,
        }
    }
}

/// The rule that would be saved; `None` where a rule cannot say that.
fn rule_for(approval: &Approval, schema: &Value, like: Like) -> Option<Value> {
    let empty = Map::new();
    let args = approval.args.as_object().unwrap_or(&empty);
    let names = |mark| -> Vec<String> {
        let found = marked(schema, args, mark);
        found
            .into_iter()
            .map(|m| m.pointer.trim_start_matches('/').to_owned())
            .collect()
    };
    let (secrets, paths) = (names(Mark::Secret), names(Mark::Path));
    // What stands deeper than an argument itself cannot be told by its name alone.
    let deep = |names: &[String]| names.iter().any(|n| !args.contains_key(n));
    let wanted: Vec<(&String, &Value)> = match like {
        Like::Tool => Vec::new(),
        Like::Place if paths.is_empty() || deep(&paths) => return None,
        Like::Place => args
            .iter()
            .filter(|(name, _)| paths.contains(name))
            .collect(),
        Like::Arguments if args.is_empty() || !secrets.is_empty() => return None,
        Like::Arguments => args.iter().collect(),
    };
    let mut patterns = Map::new();
    for (name, value) in wanted {
        patterns.insert(name.clone(), pattern(name, value)?.into());
    }
    let mut rule = json!({
        "effect": "allow",
        "tool": approval.tool,
        "principal": approval.requester,
        "args": patterns,
        "reason": "approved before, and remembered",
    });
    if let (Like::Tool, Some(rule)) = (like, rule.as_object_mut()) {
        rule.shift_remove("args");
    }
    Some(rule)
}

/// The most characters of an argument that a rule holds.
const LONGEST: usize = 1000;

/// An argument as a pattern that means it and nothing else, if there is one.
fn pattern(name: &str, value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    let plain = !text.contains(['*', '?']) && text.chars().count() <= LONGEST;
    (plain && !name.contains('.')).then_some(text)
}

/// The arguments that a rule leaves open.
fn left_open(rule: &Value, schema: &Value) -> Vec<String> {
    let all = schema["properties"].as_object().into_iter().flatten();
    let names = all.map(|(name, _)| name.clone());
    names
        .filter(|name| rule["args"].get(name).is_none())
        .collect()
}

/// What calls of the tool take.
fn schema_of(hub: &Hub, approval: &Approval) -> Value {
    let entry = hub.kernel().find(&approval.tool);
    entry.map_or(Value::Null, |e| e.def.input_schema.clone())
}

fn rules(hub: &Hub) -> Result<&dyn Rules, Problem> {
    let rules = hub.rules().map(|r| &**r);
    rules.ok_or_else(|| Problem::invalid(Word::NoRules.in_lang(super::super::words::Lang::En)))
}

/// Whether a stricter rule decides such calls, which no rule that allows can change.
fn overruled(hub: &Hub, approval: &Approval) -> Option<String> {
    let empty = Map::new();
    let args = approval.args.as_object().unwrap_or(&empty);
    let risk = hub.kernel().find(&approval.tool).and_then(|e| e.def.risk);
    let decision = hub.kernel().policy().decide(&policy::Call {
        tool: &approval.tool,
        risk,
        principal: &approval.requester,
        args,
    });
    let stricter = decision.rule.is_some() && decision.effect != Effect::Allow;
    stricter.then(|| decision.to_string())
}

pub(in super::super) async fn rule(
    State(hub): State<Hub>,
    visit: Visit,
    Path(id): Path<String>,
    params: Params,
) -> Given {
    let approval = approvals::seen(&hub, &visit.who, &id).await?;
    hub.kernel().can_decide(&visit.who, &approval)?;
    let schema = schema_of(&hub, &approval);
    let can: Vec<Like> = Like::ALL
        .into_iter()
        .filter(|like| rule_for(&approval, &schema, *like).is_some())
        .collect();
    // What allows more than was asked for is never what is offered first.
    let narrow = can.iter().copied().find(|like| *like != Like::Tool);
    let like = params
        .get("like")
        .and_then(Like::parse)
        .filter(|l| can.contains(l))
        .or(narrow);
    let rule = like.and_then(|like| rule_for(&approval, &schema, like));
    let text = rule
        .as_ref()
        .map(|rule| rules(&hub)?.shown(rule).map_err(Problem::from));
    let text = text.transpose()?;
    let open = rule
        .as_ref()
        .map(|rule| left_open(rule, &schema))
        .unwrap_or_default();
    let overruled = overruled(&hub, &approval);
    let body = html! {
        h1 { (visit.t(Word::Remember)) }
        p { (line(&approval.tool)) " · " (line(&approval.requester)) }
        p.views {
            @for kind in can {
                a.view data-like=(kind.as_str()) href={ "?like=" (kind.as_str()) }
                    aria-current=[(Some(kind) == like).then_some("true")] { (visit.t(kind.word())) }
            }
        }
        @if let Some(text) = &text {
            pre data-rule="" tabindex="0" { (shown(&visit, text, 8000)) }
            @if !open.is_empty() {
                p data-open="" { (visit.t(Word::LeftOpen)) ": " (line(&open.join(", "))) }
            }
            p.hint { (visit.t(Word::RememberHow)) }
        } @else {
            p { (visit.t(Word::NoNarrowRule)) }
        }
        @match overruled {
            Some(why) => div.alert role="alert" { p { (shown(&visit, &why, 500)) } },
            None => @if let Some(like) = like.filter(|_| approval.state == ApprovalState::Pending) {
                form method="post" {
                    (visit.csrf())
                    input type="hidden" name="like" value=(like.as_str());
                    button.main data-act="save" { (visit.t(Word::SaveApprove)) }
                    " " a.button href={ "/console/inbox/" (id) } { (visit.t(Word::Back)) }
                }
            },
        }
    };
    let title = visit.t(Word::Remember).to_owned();
    Ok(Page {
        title,
        live: "",
        body,
    }
    .shown(&visit))
}

pub(in super::super) async fn remember(
    State(hub): State<Hub>,
    visit: Visit,
    Path(id): Path<String>,
    sent: Sent,
) -> Given {
    let approval = approvals::seen(&hub, &visit.who, &id).await?;
    let like = sent.get("like").and_then(Like::parse);
    let rule = like.and_then(|like| rule_for(&approval, &schema_of(&hub, &approval), like));
    let rule =
        rule.ok_or_else(|| Problem::invalid("the form does not say which calls are meant"))?;
    if let Some(why) = overruled(&hub, &approval) {
        return Err(Problem::invalid(format!(
            "a stricter rule decides such calls: {why}"
        )));
    }
    // What cannot be written down is not approved either.
    rules(&hub)?.shown(&rule)?;
    let approval = decide(&hub, &visit, &id, Verdict::Approve, None).await?;
    let kept = rules(&hub)?.remember(&visit.who, &rule).await;
    kept.map_err(|error| {
        let mut problem = Problem::from(error);
        problem.detail = format!(
            "it was approved, but the rule was not kept: {}",
            problem.detail
        );
        problem
    })?;
    Ok(back("remembered", &approval))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_means_itself_is_a_pattern() {
        for (name, value, wanted) in [
            ("path", json!("a [b]\\c\nd"), Some("a [b]\\c\nd")),
            ("n", json!(3), Some("3")),
            ("on", json!(false), Some("false")),
            ("empty", json!(""), Some("")),
            ("star", json!("a*"), None),
            ("any", json!("a?"), None),
            ("a.b", json!("x"), None),
            ("list", json!(["x"]), None),
            ("null", json!(null), None),
            ("long", json!("x".repeat(LONGEST + 1)), None),
        ] {
            assert_eq!(pattern(name, &value).as_deref(), wanted, "{name}");
        }
    }
}
