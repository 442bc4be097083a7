//! Questions that a tool puts to people while it runs, and what they say.
//!
//! An approval decides about a run; a question is asked by one. It stays open until somebody
//! answers, it is withdrawn, or its time is over. Agents never answer.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use helve_core::schema::Schema;
use serde_json::Value;
use tokio::sync::{broadcast, oneshot};

use crate::clock::Steady;
use crate::{At, Change, Ctx, Principal, PrincipalKind, QuestionId, RunId, ToolError};

/// The most questions that are open at once, and the most answers that wait to be fetched.
const MOST: usize = 1_000;

/// A question put to people.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Its name.
    pub id: QuestionId,
    /// The run that asks.
    pub run: Option<RunId>,
    /// Who asks.
    pub owner: String,
    /// Under whom they act.
    pub under: Option<String>,
    /// What is asked.
    pub text: String,
    /// What whoever answers should know.
    pub context: String,
    /// What an answer looks like: a JSON Schema.
    pub form: Value,
    /// When it was asked.
    pub asked: At,
    /// Until when it can be answered.
    pub until: At,
}

/// What somebody said.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// Their answer.
    pub value: Value,
    /// Who said so.
    pub by: String,
    /// When.
    pub at: At,
}

/// What is asked, before it is a question.
#[derive(Debug, Clone)]
pub struct Asking {
    /// What is asked.
    pub text: String,
    /// What whoever answers should know.
    pub context: String,
    /// What an answer looks like: a JSON Schema.
    pub form: Value,
    /// How long it stays open.
    pub stays: Duration,
}

/// The people of a hub, as those who are asked.
pub struct People {
    open: Mutex<Open>,
    clock: Arc<Steady>,
    changes: broadcast::Sender<Change>,
}

impl fmt::Debug for People {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("People")
    }
}

#[derive(Debug, Default)]
struct Open {
    questions: BTreeMap<QuestionId, (Question, Option<oneshot::Sender<Said>>)>,
    said: BTreeMap<QuestionId, (Question, Said)>,
}

impl People {
    pub(crate) fn new(clock: Arc<Steady>, changes: broadcast::Sender<Change>) -> Self {
        Self {
            open: Mutex::default(),
            clock,
            changes,
        }
    }

    /// Asks, and waits for so long; `None` if nobody has said anything by then. The question
    /// stays open after that. Whoever stops waiting before withdraws it.
    pub async fn ask(
        &self,
        ctx: &Ctx,
        asking: Asking,
        wait: Duration,
    ) -> Result<(QuestionId, Option<Said>), ToolError> {
        let who = ctx.who();
        let who = who.ok_or_else(|| ToolError::internal("nobody is known to have called"))?;
        let now = self.clock.now();
        let question = Question {
            id: QuestionId::fresh(),
            run: ctx.run_id().and_then(RunId::parse),
            owner: who.owner.clone(),
            under: who.under.clone(),
            text: asking.text,
            context: asking.context,
            form: asking.form,
            asked: now,
            until: now.after(asking.stays.max(wait)),
        };
        let id = question.id.clone();
        let (sender, said) = oneshot::channel();
        {
            let mut open = self.lock();
            open.sweep(now);
            if open.questions.len() >= MOST {
                return Err(ToolError::transient("too many questions are open already")
                    .with_hint("wait until people have answered some"));
            }
            open.questions.insert(id.clone(), (question, Some(sender)));
        }
        self.told(&id);
        let mut withdraw = Withdraw {
            people: self,
            id: Some(&id),
        };
        let said = tokio::time::timeout(wait, said).await;
        withdraw.id = None;
        drop(withdraw);
        // It may have been said in the moment in which the time was over.
        let said = said
            .ok()
            .and_then(Result::ok)
            .or_else(|| self.said(&id, who).ok().flatten());
        Ok((id, said))
    }

    /// What was said to a question of theirs that had stayed open; `None` while it is.
    pub fn said(&self, id: &QuestionId, who: &Principal) -> Result<Option<Said>, ToolError> {
        let mut open = self.lock();
        open.sweep(self.clock.now());
        let theirs =
            |question: &Question| question.owner == who.owner && question.under == who.under;
        if open
            .said
            .get(id)
            .is_some_and(|(question, _)| theirs(question))
        {
            return Ok(open.said.remove(id).map(|(_, said)| said));
        }
        match open
            .questions
            .get(id)
            .is_some_and(|(question, _)| theirs(question))
        {
            true => Ok(None),
            false => Err(
                ToolError::not_found(format!("there is no open question `{id}`"))
                    .with_hint("its time may be over; ask anew"),
            ),
        }
    }

    /// The open questions that somebody may see: their own, and all for those who decide.
    pub fn open(&self, may: impl Fn(&Question) -> bool) -> Vec<Question> {
        let mut open = self.lock();
        open.sweep(self.clock.now());
        let seen = open
            .questions
            .values()
            .filter(|(question, _)| may(question));
        seen.map(|(question, _)| question.clone()).collect()
    }

    /// The question, if its answer can be this.
    pub(crate) fn takes(&self, id: &QuestionId, value: &Value) -> Result<Question, ToolError> {
        let mut open = self.lock();
        open.sweep(self.clock.now());
        let Some((question, _)) = open.questions.get(id) else {
            return Err(
                ToolError::conflict(format!("the question `{id}` is not open any more"))
                    .with_hint("somebody has answered it, or its time is over"),
            );
        };
        let form = Schema::compile(&question.form)
            .map_err(|_| ToolError::internal("the form of the question is damaged"))?;
        match form.misfits(value).first() {
            None => Ok(question.clone()),
            Some(misfit) => {
                let problem = format!("the answer does not fit: {}", misfit.problem);
                Err(ToolError::validation(problem)
                    .with_hint(format!("it must fit {}", question.form)))
            }
        }
    }

    /// Takes an answer; whether it was the first.
    pub(crate) fn settle(&self, id: &QuestionId, said: Said) -> bool {
        let settled = {
            let mut open = self.lock();
            let Some((question, sender)) = open.questions.remove(id) else {
                return false;
            };
            let unheard = match sender {
                Some(sender) => sender.send(said).err(),
                None => Some(said),
            };
            if let Some(said) = unheard {
                // Whoever asked has stopped waiting, and will ask for it.
                open.said.insert(id.clone(), (question, said));
                while open.said.len() > MOST {
                    open.said.pop_first();
                }
            }
            true
        };
        self.told(id);
        settled
    }

    fn withdraw(&self, id: &QuestionId) {
        self.lock().questions.remove(id);
        self.told(id);
    }

    fn told(&self, id: &QuestionId) {
        // Nobody may be watching.
        let _ = self.changes.send(Change::Question(id.clone()));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn sweep(&mut self, now: At) {
        self.questions
            .retain(|_, (question, _)| question.until > now);
        self.said.retain(|_, (question, _)| question.until > now);
    }
}

/// Takes a question back if nobody waits for it any more.
struct Withdraw<'p> {
    people: &'p People,
    id: Option<&'p QuestionId>,
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.people.withdraw(id);
        }
    }
}

/// Whether somebody may answer: a person, who stands above whoever asks, is it, or decides.
pub(crate) fn may_answer(who: &Principal, question: &Question) -> bool {
    let concerned = question.under.as_ref() == Some(&who.owner) || question.owner == who.owner;
    let decides = who.may(crate::Permission::ApprovalDecide);
    who.kind == PrincipalKind::Person && (concerned || decides)
}
