//! What tools ask people, for those who answer.

use std::sync::Arc;

use serde_json::Value;

use super::Kernel;
use super::pass::not_recorded;
use crate::people::{People, Question, Said, may_answer};
use crate::{Permission, Principal, QuestionId, ToolError};

impl Kernel {
    /// The people of this hub, for tools that ask them.
    pub fn people(&self) -> &Arc<People> {
        &self.inner.people
    }

    /// The open questions that somebody may see, oldest first.
    pub fn questions(&self, who: &Principal) -> Vec<Question> {
        let theirs = |question: &Question| {
            let asked = question.owner == who.owner && question.under == who.under;
            asked || may_answer(who, question) || who.may(Permission::AuditRead)
        };
        self.inner.people.open(theirs)
    }

    /// Whether somebody is among those who are asked.
    pub fn can_answer(&self, who: &Principal, question: &Question) -> bool {
        may_answer(who, question)
    }

    /// Answers a question, once; the record says who.
    pub async fn answer_question(
        &self,
        who: &Principal,
        id: &QuestionId,
        value: Value,
    ) -> Result<Question, ToolError> {
        self.counts(who)?;
        let question = self.inner.people.takes(id, &value)?;
        if !may_answer(who, &question) {
            let owner = &who.owner;
            return Err(match who.kind {
                crate::PrincipalKind::Agent => ToolError::permission(format!(
                    "`{owner}` is an agent, and agents never answer what people are asked"
                )),
                crate::PrincipalKind::Person => {
                    ToolError::permission(format!("`{owner}` was not asked"))
                        .with_hint("use a token with `approval:decide`")
                }
            });
        }
        let run = question
            .run
            .as_ref()
            .map_or(id.as_str(), |run| run.as_str());
        let record = self
            .entry_of(&who.owner, "question.answered", run)
            .with("question", id.as_str())
            .with("token", who.token.as_ref().map(crate::TokenId::as_str));
        let recorded = self.inner.store.record(record).await;
        recorded.map_err(|e| not_recorded(&e))?;
        let said = Said {
            value,
            by: who.owner.clone(),
            at: self.now(),
        };
        match self.inner.people.settle(id, said) {
            true => Ok(question),
            false => Err(ToolError::conflict(format!(
                "somebody else has answered `{id}` just now"
            ))),
        }
    }
}
