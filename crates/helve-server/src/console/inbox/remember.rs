//! Approve, and let calls like it run from then on: the rule is shown before it is saved.

use axum::extract::{Path, State};
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
    /// All of the tool.
    Tool,
    /// Those with the same texts as arguments.
    Arguments,
}

impl Like {
    fn parse(word: Option<&str>) -> Self {
        match word {
            Some("tool") => Like::Tool,
            _ => Like::Arguments,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Like::Tool => "tool",
            Like::Arguments => "arguments",
        }
    }
}

/// The rule that would be saved.
fn rule_for(approval: &Approval, like: Like) -> Value {
    let mut rule = json!({
        "effect": "allow",
        "tool": approval.tool,
        "principal": approval.requester,
    });
    let plain = plain_args(&approval.args);
    if like == Like::Arguments && !plain.is_empty() {
        rule["args"] = Value::Object(plain);
    }
    rule["reason"] = "approved before, and remembered".into();
    rule
}

/// Arguments that are short texts, and mean only themselves as a pattern.
fn plain_args(args: &Value) -> Map<String, Value> {
    let plain = |text: &str| {
        !text.is_empty() && text.len() <= 200 && !text.contains(['*', '?', '[', '\\', '\n'])
    };
    let all = args.as_object().into_iter().flatten();
    all.filter(|(_, value)| value.as_str().is_some_and(plain))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
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
    let like = Like::parse(params.get("like"));
    let text = rules(&hub)?.shown(&rule_for(&approval, like))?;
    let overruled = overruled(&hub, &approval);
    let body = html! {
        h1 { (visit.t(Word::Remember)) }
        p { (line(&approval.tool)) " · " (line(&approval.requester)) }
        p.views {
            @for (kind, word) in [(Like::Arguments, Word::Arguments), (Like::Tool, Word::Tool)] {
                a.view href={ "?like=" (kind.as_str()) } aria-current=[(kind == like).then_some("true")] { (visit.t(word)) }
            }
        }
        pre data-rule="" tabindex="0" { (shown(&visit, &text, 4000)) }
        p.hint { (visit.t(Word::RememberHow)) }
        @match overruled {
            Some(why) => div.alert role="alert" { p { (shown(&visit, &why, 500)) } },
            None => @if approval.state == ApprovalState::Pending {
                form method="post" {
                    (visit.csrf())
                    input type="hidden" name="like" value=(like.as_str());
                    button.main data-act="save" { (visit.t(Word::SaveApprove)) }
                    " " a.button href={ "/console/inbox/" (id) } { (visit.t(Word::Before)) }
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
    let rule = rule_for(&approval, Like::parse(sent.get("like")));
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
