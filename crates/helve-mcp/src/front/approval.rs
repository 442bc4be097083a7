//! Approvals over the protocol: the person behind an agent, asked in the agent's own client.

use helve_core::lint::is_hidden;
use helve_kernel::{Approval, Diff, DiffForm, Principal, Verdict};
use serde_json::{Value, json};

use super::Front;

/// The name under which an approval is asked for.
pub(crate) const APPROVAL: &str = "approval";

/// How much of a diff, and of arguments, stands in a question.
const SHOWN: usize = 12_000;

impl Front {
    /// Who may decide an approval in the client of whoever called: the person that the agent
    /// acts under, where the client can ask and they may decide.
    pub(crate) fn decider(
        &self,
        who: &Principal,
        capabilities: &Value,
        approval: &Approval,
    ) -> Option<Principal> {
        let asks = self.options().elicit && can_elicit(capabilities);
        let person = self.kernel().person_above(who).filter(|_| asks)?;
        self.kernel().can_decide(&person, approval).ok()?;
        Some(person)
    }

    /// The parameters of `elicitation/create`.
    pub(crate) async fn question(&self, approval: &Approval) -> Value {
        let diff = self.kernel().diff(&approval.run, DiffForm::Text).await;
        let diff = match diff {
            Ok(Diff::Text(text)) if !text.is_empty() => Some(text),
            _ => None,
        };
        json!({
            "mode": "form",
            "message": message(approval, diff.as_deref()),
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "decision": {
                        "type": "string",
                        "title": "Decision",
                        "description": "approve lets it happen, deny does not",
                        "enum": ["approve", "deny"],
                    },
                    "reason": {
                        "type": "string",
                        "title": "Reason",
                        "description": "kept with the decision",
                    },
                },
                "required": ["decision"],
            },
        })
    }

    /// Decides as an answer of the client says; whether it was a decision.
    pub(crate) async fn decide(
        &self,
        who: &Principal,
        approval: &Approval,
        answer: &Value,
    ) -> bool {
        let Some((verdict, reason)) = verdict(answer) else {
            return false;
        };
        let Some(person) = self.kernel().person_above(who) else {
            return false;
        };
        let how = format!("answered in the client of `{}`", who.owner);
        let reason = match reason {
            Some(reason) => format!("{reason} ({how})"),
            None => how,
        };
        let decided = self
            .kernel()
            .decide(&person, &approval.id, verdict, Some(reason));
        decided.await.is_ok()
    }
}

fn can_elicit(capabilities: &Value) -> bool {
    match capabilities.get("elicitation").and_then(Value::as_object) {
        // An empty one is the form of the older revisions.
        Some(modes) => modes.is_empty() || modes.contains_key("form"),
        None => false,
    }
}

/// What a client's answer decides. A dialog that was closed decides nothing.
fn verdict(answer: &Value) -> Option<(Verdict, Option<String>)> {
    let content = &answer["content"];
    let reason = content["reason"].as_str().map(str::trim);
    let reason = reason.filter(|r| !r.is_empty()).map(str::to_owned);
    match (answer["action"].as_str()?, content["decision"].as_str()) {
        ("accept", Some("approve")) => Some((Verdict::Approve, reason)),
        ("accept", Some("deny")) | ("decline", _) => Some((Verdict::Deny, reason)),
        _ => None,
    }
}

fn message(approval: &Approval, diff: Option<&str>) -> String {
    let args = serde_json::to_string_pretty(&approval.args).unwrap_or_default();
    let what = match diff {
        Some(diff) => format!("It would change:\n{}", cut(&visible(diff))),
        None => "It has not run; what it does cannot be shown before.".to_owned(),
    };
    format!(
        "{} wants to run `{}` {}.\nWhy you are asked: {}\nArguments: {}\n{what}",
        visible(&approval.requester),
        visible(&approval.tool),
        approval.version,
        visible(&approval.reason),
        cut(&visible(&args)),
    )
}

/// Control and invisible characters as their escapes; lines stay.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_control() || is_hidden(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

fn cut(text: &str) -> String {
    if text.len() <= SHOWN {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(SHOWN);
    let left = text.len() - end;
    format!(
        "{}\n… {left} more bytes; `helve diff` shows all",
        &text[..end]
    )
}

#[cfg(test)]
mod tests {
    use helve_kernel::Verdict;
    use serde_json::json;

    use super::{can_elicit, cut, verdict, visible};

    #[test]
    fn only_a_clear_answer_decides() {
        let table = [
            (
                json!({"action": "accept", "content": {"decision": "approve"}}),
                Some(Verdict::Approve),
            ),
            (
                json!({"action": "accept", "content": {"decision": "deny"}}),
                Some(Verdict::Deny),
            ),
            (json!({"action": "decline"}), Some(Verdict::Deny)),
            (
                json!({"action": "cancel", "content": {"decision": "approve"}}),
                None,
            ),
            (json!({"action": "accept"}), None),
            (
                json!({"action": "accept", "content": {"decision": "yes"}}),
                None,
            ),
            (json!({"content": {"decision": "approve"}}), None),
            (json!({}), None),
        ];
        for (answer, wanted) in table {
            assert_eq!(verdict(&answer).map(|v| v.0), wanted, "{answer}");
        }
    }

    #[test]
    fn a_client_that_opens_only_urls_cannot_be_asked() {
        assert!(can_elicit(&json!({"elicitation": {}})));
        assert!(can_elicit(&json!({"elicitation": {"form": {}, "url": {}}})));
        assert!(!can_elicit(&json!({"elicitation": {"url": {}}})));
        assert!(!can_elicit(&json!({})));
    }

    #[test]
    fn nothing_in_a_question_is_hidden() {
        assert_eq!(
            visible("a\u{202e}b\u{1b}[2Jc\n\td"),
            "a\\u{202e}b\\u{1b}[2Jc\n\td"
        );
        assert!(cut(&"é".repeat(20_000)).ends_with("`helve diff` shows all"));
    }
}
