//! Going along with a call: what is told and asked on the way, and what comes of it.

#![expect(deprecated, reason = "clients of the older revisions still log")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use helve_kernel::{Approval, Principal, ToolError};
use rmcp::model::{
    ClientResult, CustomNotification, CustomRequest, LoggingMessageNotification, Notification,
    ServerNotification, ServerRequest,
};
use rmcp::service::{RequestContext, ServiceError};
use rmcp::{ErrorData, Peer, RoleServer};
use serde_json::{Value, json};
use tokio::time::{Instant, Interval};

use super::answer::{MODERN, pending};
use super::approval::APPROVAL;
use super::client::{has_tasks, party, protocol};
use super::disclose::RUN_RESULT;
use super::session::Outcome;
use super::talk::{Control, Round, Talk, Tell};
use super::{Session, lock};

/// How often a client that waits for people hears that it still does.
const TICK: Duration = Duration::from_secs(5);

impl Session {
    /// Goes along with a call until there is something to say to the client.
    pub(crate) async fn drive(
        &self,
        mut talk: Talk,
        waits: Option<Box<Approval>>,
        who: &Arc<Principal>,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<Outcome, ErrorData> {
        let modern = protocol(ctx).as_str() >= MODERN;
        let Some(mut work) = lock(&talk.work).take() else {
            return Err(ErrorData::internal_error("the call is over", None));
        };
        let mut asks = FuturesUnordered::new();
        let mut waiting = waits.map(Waiting::new);
        loop {
            tokio::select! {
                biased;
                Some(control) = talk.control.recv() => match *control {
                    Control::Questions(mut round) => {
                        if let Some(missing) = cannot_be_asked(&round, &self.capabilities(ctx)) {
                            round.fail(missing);
                        } else if modern {
                            talk.put(round);
                            if !talk.open_questions().is_empty() {
                                *lock(&talk.work) = Some(work);
                                return self.put_aside(talk, None, who);
                            }
                        } else {
                            for (name, question) in round.questions() {
                                asks.push(ask(ctx.peer.clone(), Some(name.clone()), question.clone()));
                            }
                            talk.rounds.push(round);
                        }
                    }
                    Control::Waits(approval) => {
                        let decider = self.front.decider(who, &self.capabilities(ctx), &approval);
                        if decider.is_some() {
                            let params = self.front.question(&approval).await;
                            let question = json!({"method": "elicitation/create", "params": params});
                            if modern {
                                talk.approval = Some(approval);
                                *lock(&talk.work) = Some(work);
                                return self.put_aside(talk, Some(question), who);
                            }
                            talk.approval = Some(approval);
                            asks.push(ask(ctx.peer.clone(), None, question));
                        } else if modern && has_tasks(ctx) {
                            talk.approval = Some(approval);
                            *lock(&talk.work) = Some(work);
                            match self.front.make_task(who, talk, &Value::Null) {
                                Ok(task) => return Ok(Outcome::Task(task)),
                                Err(back) => {
                                    talk = *back;
                                    talk.take_up();
                                    waiting = talk.approval.take().map(Waiting::new);
                                    let Some(again) = lock(&talk.work).take() else {
                                        return Err(ErrorData::internal_error("the call is over", None));
                                    };
                                    work = again;
                                }
                            }
                        } else {
                            waiting = Some(Waiting::new(approval));
                        }
                    }
                    Control::Long(seed) => {
                        if modern && has_tasks(ctx) {
                            *lock(&talk.work) = Some(work);
                            return match self.front.make_task(who, talk, &seed) {
                                Ok(task) => Ok(Outcome::Task(task)),
                                Err(_) => Err(ErrorData::internal_error("there are too many tasks", None)),
                            };
                        }
                    }
                },
                Some(tell) = talk.tells.recv() => self.give_on(*tell, ctx).await,
                Some((name, answer)) = asks.next(), if !asks.is_empty() => match (name, answer) {
                    (Some(name), Ok(answer)) => {
                        talk.answer(&name, &answer);
                    }
                    (Some(name), Err(error)) => {
                        let round = talk.rounds.iter_mut().find(|r| r.questions().contains_key(&name));
                        if let Some(round) = round {
                            round.fail(refused(&error));
                        }
                    }
                    (None, answer) => {
                        let Some(approval) = talk.approval.take() else { continue };
                        let decided = match answer {
                            Ok(answer) => self.front.decide(who, &approval, &answer).await,
                            Err(_) => false,
                        };
                        if !decided {
                            waiting = Some(Waiting::new(approval));
                        }
                    }
                },
                done = &mut work => {
                    while let Ok(tell) = talk.tells.try_recv() {
                        self.give_on(*tell, ctx).await;
                    }
                    talk.let_go();
                    return Ok(Outcome::Done(done));
                }
                waited = tick(&mut waiting) => {
                    let Some(Waiting { approval, .. }) = &waiting else { continue };
                    if waited >= self.front.options().wait {
                        talk.let_go();
                        let (run, id) = (approval.run.as_str(), approval.id.as_str());
                        return Ok(Outcome::Pending(pending(&approval.tool, run, id, RUN_RESULT)));
                    }
                    let message = format!("`{}` waits for approval {}", approval.tool, approval.id);
                    let progress = waited.as_secs();
                    let params = json!({"progress": progress, "message": message});
                    let method = "notifications/progress".to_owned();
                    self.give_on(Tell { method, params }, ctx).await;
                }
                // With the talk goes its run.
                () = ctx.ct.cancelled() => {
                    return Err(ErrorData::internal_error("the request was cancelled", None));
                }
            }
        }
    }

    pub(crate) fn put_aside(
        &self,
        talk: Talk,
        approval: Option<Value>,
        who: &Principal,
    ) -> Result<Outcome, ErrorData> {
        let mut questions = talk.open_questions();
        if let Some(question) = approval {
            questions.insert(APPROVAL.to_owned(), question);
        }
        match self.front.0.suspended.put(talk, &party(who)) {
            Some(handle) => Ok(Outcome::Input(handle, questions)),
            None => Err(ErrorData::internal_error(
                "too many calls wait for answers; try again later",
                None,
            )),
        }
    }

    /// Gives on what whatever runs tells.
    async fn give_on(&self, tell: Tell, ctx: &RequestContext<RoleServer>) {
        let Tell { method, mut params } = tell;
        let notification = match method.as_str() {
            "notifications/progress" => {
                let Some(token) = ctx.meta.get_progress_token() else {
                    return;
                };
                params["progressToken"] = serde_json::to_value(token).unwrap_or_default();
                let Ok(params) = serde_json::from_value(params) else {
                    return;
                };
                ServerNotification::ProgressNotification(Notification::new(params))
            }
            "notifications/message" => {
                if !self.hears(&params, ctx) {
                    return;
                }
                match serde_json::from_value(params) {
                    Ok(params) => ServerNotification::LoggingMessageNotification(
                        LoggingMessageNotification::new(params),
                    ),
                    Err(_) => return,
                }
            }
            _ => ServerNotification::CustomNotification(CustomNotification::new(
                method,
                Some(params),
            )),
        };
        // A client that is gone is noticed by the request that it made.
        let _ = ctx.peer.send_notification(notification).await;
    }

    fn hears(&self, message: &Value, ctx: &RequestContext<RoleServer>) -> bool {
        let modern = protocol(ctx).as_str() >= MODERN;
        if !modern {
            return self.wants(message, None);
        }
        let level = ctx.meta.0.0.get("io.modelcontextprotocol/logLevel");
        let level = level.and_then(Value::as_str);
        level.is_some_and(|level| self.wants(message, Some(level)))
    }

    /// Whether a message is important enough: for this level, or for the session's.
    pub(crate) fn wants(&self, message: &Value, level: Option<&str>) -> bool {
        let wanted = match level {
            Some(level) => Some(level.to_owned()),
            None => lock(&self.level).clone(),
        };
        let said = message["level"].as_str().unwrap_or("info");
        wanted.is_none_or(|wanted| importance(said) >= importance(&wanted))
    }
}

/// An approval that is waited for, while nobody here can be asked about it.
struct Waiting {
    approval: Box<Approval>,
    begun: Instant,
    ticks: Interval,
}

impl Waiting {
    fn new(approval: Box<Approval>) -> Self {
        let begun = Instant::now();
        Self {
            approval,
            begun,
            ticks: tokio::time::interval_at(begun + TICK, TICK),
        }
    }
}

/// How long is waited already, each time that the client should hear of it; never, where
/// nothing is waited for.
async fn tick(waiting: &mut Option<Waiting>) -> Duration {
    match waiting {
        Some(waiting) => waiting.ticks.tick().await - waiting.begun,
        None => std::future::pending().await,
    }
}

/// The levels of messages, the least important first.
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

fn importance(level: &str) -> usize {
    LEVELS.iter().position(|l| *l == level).unwrap_or(1)
}

type Asked = (Option<String>, Result<Value, ServiceError>);

/// Sends one question to a client of the older revisions.
async fn ask(peer: Peer<RoleServer>, name: Option<String>, question: Value) -> Asked {
    let method = question["method"].as_str().unwrap_or_default();
    let params = question.get("params").cloned();
    let request = ServerRequest::CustomRequest(CustomRequest::new(method, params));
    let answer = peer.send_request(request).await;
    let answer =
        answer.map(|answer: ClientResult| serde_json::to_value(answer).unwrap_or_default());
    (name, answer)
}

fn refused(error: &ServiceError) -> ToolError {
    ToolError::dependency(format!("the client did not answer: {error}"))
        .with_hint("the tool asked something that the client refused or could not do")
}

/// Why questions cannot be put to a client with those capabilities.
fn cannot_be_asked(round: &Round, capabilities: &Value) -> Option<ToolError> {
    round.questions().values().find_map(|question| {
        let method = question["method"].as_str().unwrap_or_default();
        let needed = match method {
            "elicitation/create" => "elicitation",
            "sampling/createMessage" => "sampling",
            "roots/list" => "roots",
            _ => {
                return Some(ToolError::validation(format!(
                    "nobody can be asked `{method}`"
                )));
            }
        };
        let missing = capabilities.get(needed).is_none();
        missing.then(|| {
            ToolError::dependency(format!("the client cannot be asked: it has no `{needed}`"))
        })
    })
}
