//! One client: what it asks, and how its calls are driven.

#![expect(deprecated, reason = "clients of the older revisions still log")]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use helve_core::name::nearest;
use helve_kernel::{Approval, Call, Ctx, ErrorKind, Principal, RunId, ToolError, Wait};
use rmcp::model::{
    ClientResult, CustomNotification, CustomRequest, ErrorCode, LoggingMessageNotification,
    Notification, ServerNotification, ServerRequest,
};
use rmcp::service::{RequestContext, ServiceError};
use rmcp::{ErrorData, Peer, RoleServer};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, Interval};

use super::answer::{MODERN, call_result, error_of, finish, pending};
use super::approval::APPROVAL;
use super::disclose::{ABOUT_TOOLS, CALL_TOOL, RUN_RESULT, SEARCH_TOOLS};
use super::talk::{Control, Done, From, Talk, Tell};
use super::views::{View, foreign};
use super::{Front, direct, lock};

/// How often a client that waits for people hears that it still does.
const TICK: Duration = Duration::from_secs(5);

/// A client, or one request of one that keeps no session.
pub struct Session {
    pub(crate) front: Front,
    pub(crate) view: Option<String>,
    who: Option<Arc<Principal>>,
    pub(crate) id: String,
    /// The least important message that it wants to hear.
    pub(crate) level: Mutex<Option<String>>,
    /// Tools that a search put on its list.
    pub(crate) promoted: Mutex<BTreeSet<String>>,
    /// Resources that it wants to hear about.
    pub(crate) subscribed: Mutex<BTreeSet<String>>,
    /// Its calls that are answered past the protocol library.
    pub(crate) direct: direct::Calls,
}

/// A call that was made.
pub(crate) struct Begun {
    pub(crate) talk: Talk,
    /// The server elsewhere that it goes to.
    pub(crate) server: Option<String>,
}

/// What came of a request.
pub(crate) enum Outcome {
    Done(Done),
    /// The client is asked something, and comes back with this handle.
    Input(String, Map<String, Value>),
    Task(Map<String, Value>),
    Pending(Map<String, Value>),
}

impl Drop for Session {
    fn drop(&mut self) {
        // Connections that were only for this client end with it.
        if let Some(elsewhere) = self.front.elsewhere() {
            elsewhere.session_over(&self.id);
        }
    }
}

static SESSIONS: AtomicU64 = AtomicU64::new(0);

impl Session {
    pub(crate) fn new(
        front: Front,
        view: Option<&str>,
        who: Option<Arc<Principal>>,
    ) -> Option<Self> {
        front.view(view)?;
        let number = SESSIONS.fetch_add(1, Ordering::Relaxed);
        Some(Self {
            front,
            view: view.map(str::to_owned),
            who,
            id: format!("session-{number}"),
            level: Mutex::default(),
            promoted: Mutex::default(),
            subscribed: Mutex::default(),
            direct: direct::Calls::default(),
        })
    }

    pub(crate) fn view(&self) -> &View {
        let default = &self.front.options().default;
        self.front.view(self.view.as_deref()).unwrap_or(default)
    }

    pub(crate) fn fixed(&self) -> Option<&Arc<Principal>> {
        self.who.as_ref()
    }

    /// Puts the tools that a search found on the client's list, as far as the view does that.
    pub(crate) fn promote(&self, result: &Map<String, Value>) {
        let most = self.view().promote;
        let found = result.get("structuredContent").map(|s| &s["tools"]);
        let names = found.and_then(Value::as_array).into_iter().flatten();
        let names = names.filter_map(|tool| tool["name"].as_str());
        let new: Vec<String> = names.take(most).map(str::to_owned).collect();
        if new.is_empty() {
            return;
        }
        lock(&self.promoted).extend(new);
        self.front.tools_changed();
    }

    /// The result of a call as this client is told it.
    pub(crate) fn told(
        &self,
        name: &str,
        result: Map<String, Value>,
        ctx: &RequestContext<RoleServer>,
    ) -> Map<String, Value> {
        if name == SEARCH_TOOLS {
            self.promote(&result);
        }
        finish(result, &protocol(ctx))
    }

    /// Who asks: whoever the connection belongs to, or the request says.
    pub(crate) fn who(
        &self,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<Arc<Principal>, ErrorData> {
        if let Some(who) = &self.who {
            return Ok(who.clone());
        }
        let parts = ctx.extensions.get::<http::request::Parts>();
        let who = parts.and_then(|p| p.extensions.get::<Arc<Principal>>());
        who.cloned()
            .ok_or_else(|| ErrorData::invalid_request("nobody is known to have sent this", None))
    }

    /// What the voice of a call says of its client.
    pub(crate) fn from(&self, ctx: &RequestContext<RoleServer>, who: &Principal) -> From {
        let protocol = protocol(ctx);
        let stateless = protocol.as_str() >= MODERN;
        let meta = ctx.meta.0.0.clone();
        let mut extras = Map::new();
        if !meta.is_empty() {
            extras.insert("_meta".to_owned(), Value::Object(meta));
        }
        From {
            // Without a session, all requests with one token are one client.
            session: match (stateless, &who.token) {
                (true, Some(token)) => token.as_str().to_owned(),
                _ => self.id.clone(),
            },
            protocol,
            capabilities: capabilities(ctx),
            extras,
        }
    }

    /// Calls a tool, or takes up a call that asked something.
    pub(crate) async fn call(
        &self,
        name: &str,
        arguments: Value,
        state: Option<&str>,
        answers: &Map<String, Value>,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<Map<String, Value>, ErrorData> {
        let who = self.who(ctx)?;
        let asked = json!({"method": "tools/call", "name": name, "arguments": arguments});
        if let Some(handle) = state {
            return self.take_up(handle, &asked, answers, &who, ctx).await;
        }
        let mut begun = self.begin(name, arguments, asked, &who, ctx)?;
        begun.talk.given = answers.clone();
        self.carry_on(begun, &who, ctx).await
    }

    /// Makes a call, which begins when somebody waits for it.
    pub(crate) fn begin(
        &self,
        name: &str,
        arguments: Value,
        asked: Value,
        who: &Arc<Principal>,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<Begun, ErrorData> {
        let (name, arguments) = match name == CALL_TOOL {
            true => unfold(arguments)?,
            false => (name.to_owned(), arguments),
        };
        let tool = self.canonical(&name, who)?;
        let entry = self.front.kernel().find(&tool);
        let server = entry.as_ref().and_then(|e| foreign(&e.def));
        let server = server.map(|f| f.server.to_owned());
        self.called(server.as_deref(), who);
        let (kernel, run) = (self.front.kernel().clone(), RunId::fresh());
        let agent = client_name(ctx);
        let talk = Talk::new(self.from(ctx, who), asked, |voice| {
            let mut known = Ctx::builder().caller(voice);
            if let Some(agent) = agent {
                known = known.agent_id(agent);
            }
            if ABOUT_TOOLS.contains(&tool.as_str()) {
                known = known.set(View::KEY, self.view().to_value());
            }
            let call = Call::new(who.clone(), tool, arguments)
                .ctx(known.build())
                .wait(Wait::Decision)
                .run(run.clone());
            let kernel = kernel.clone();
            Box::pin(async move { Done::Answer(Box::new(kernel.call(call).await)) })
        });
        let talk = talk.of_run(kernel, who.clone(), run);
        Ok(Begun { talk, server })
    }

    /// Goes along with a call to what the client is told of it.
    pub(crate) async fn carry_on(
        &self,
        begun: Begun,
        who: &Arc<Principal>,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<Map<String, Value>, ErrorData> {
        let Begun { talk, server } = begun;
        let outcome = self.drive(talk, None, who, ctx).await;
        self.called(server.as_deref(), who);
        self.outcome(outcome?, who)
    }

    /// Remembers once more who called a server: what it says next may be for them.
    pub(crate) fn called(&self, server: Option<&str>, who: &Principal) {
        if let Some(server) = server {
            self.front.calls(server, &self.id, &party(who));
        }
    }

    /// The tool that a name means in this view.
    fn canonical(&self, name: &str, who: &Principal) -> Result<String, ErrorData> {
        let snapshot = self.front.snapshot(self.view.as_deref(), who);
        if let Some(item) = snapshot.find(name) {
            return Ok(item.entry.def.name.to_string());
        }
        let entry = self.front.kernel().find(name);
        match entry {
            Some(entry) if !self.shows(entry.def.name.as_str()) => Err(ErrorData::invalid_params(
                format!("there is no tool named `{}` here", name.escape_debug()),
                None,
            )),
            Some(entry) => Ok(entry.def.name.to_string()),
            // The kernel refuses it, with the nearest names, and records that.
            None => Ok(name.to_owned()),
        }
    }

    /// Takes up a call with what its client was asked.
    pub(crate) async fn take_up(
        &self,
        handle: &str,
        asked: &Value,
        answers: &Map<String, Value>,
        who: &Arc<Principal>,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<Map<String, Value>, ErrorData> {
        let taken = self.front.0.suspended.take(handle, &party(who), asked);
        let mut talk = taken.map_err(|why| ErrorData::invalid_params(why, None))?;
        let mut waits = None;
        if let Some(approval) = talk.approval.take() {
            let decided = match answers.get(APPROVAL) {
                Some(answer) => self.front.decide(who, &approval, answer).await,
                None => false,
            };
            if !decided {
                waits = Some(approval);
            }
        }
        for (name, answer) in answers {
            talk.answer(name, answer);
        }
        if !talk.open_questions().is_empty() {
            let outcome = self.put_aside(talk, None, who)?;
            return self.outcome(outcome, who);
        }
        let outcome = self.drive(talk, waits, who, ctx).await?;
        self.outcome(outcome, who)
    }

    pub(crate) fn outcome(
        &self,
        outcome: Outcome,
        who: &Principal,
    ) -> Result<Map<String, Value>, ErrorData> {
        match outcome {
            Outcome::Done(mut done) => {
                self.only_shown(&mut done, who);
                self.front.result_of(who, done)
            }
            Outcome::Task(result) | Outcome::Pending(result) => Ok(result),
            Outcome::Input(handle, questions) => {
                let result = json!({
                    "resultType": "input_required",
                    "inputRequests": questions,
                    "requestState": handle,
                });
                match result {
                    Value::Object(result) => Ok(result),
                    _ => Ok(Map::new()),
                }
            }
        }
    }

    /// Of a name that nobody has, tells the nearest that this view shows, and no others.
    fn only_shown(&self, done: &mut Done, who: &Principal) {
        let Done::Answer(answer) = done else { return };
        let asked = &answer.meta.tool;
        if let Err(error) = &mut answer.result
            && error.kind == ErrorKind::NotFound
            && self.front.kernel().find(asked).is_none()
        {
            let snapshot = self.snapshot(who);
            let names = snapshot.items.iter().map(|item| item.shown.as_str());
            let near: Vec<String> = nearest(asked, names, 5)
                .iter()
                .map(|name| format!("`{name}`"))
                .collect();
            error.hint = (!near.is_empty()).then(|| format!("the nearest are {}", near.join(", ")));
        }
    }

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
                Some(control) = talk.control.recv() => match control {
                    Control::Questions(mut round) => {
                        if let Some(missing) = cannot_be_asked(&round, &capabilities(ctx)) {
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
                        let decider = self.front.decider(who, &capabilities(ctx), &approval);
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
                Some(tell) = talk.tells.recv() => self.give_on(tell, ctx).await,
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
                        self.give_on(tell, ctx).await;
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

    fn put_aside(
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

impl Front {
    /// What the protocol says of what came of the work.
    pub(crate) fn result_of(
        &self,
        who: &Principal,
        done: Done,
    ) -> Result<Map<String, Value>, ErrorData> {
        match done {
            Done::Passed(result) => result.map_err(|error| error_of(&error)),
            Done::Answer(answer) => {
                let entry = self.kernel().find(&answer.meta.tool);
                let entry = entry.filter(|e| who.reaches(e.def.name.as_str()));
                let output = entry.as_ref().and_then(|e| e.def.output_schema.as_ref());
                let known = answer.meta.run_id.is_some() || entry.is_some();
                call_result(&answer, output, known)
            }
        }
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

/// Whose something is that a client comes back for. Two people may each have an agent of
/// the same name, and these are not one.
pub(crate) fn party(who: &Principal) -> String {
    match &who.under {
        Some(person) => format!("{} under {person}", who.owner),
        None => who.owner.clone(),
    }
}

pub(crate) fn protocol(ctx: &RequestContext<RoleServer>) -> String {
    let version = ctx.protocol_version();
    version.map_or_else(|| "2025-03-26".to_owned(), |v| v.as_str().to_owned())
}

/// What the client can do, as it said so. Its own words, where the request has them.
fn capabilities(ctx: &RequestContext<RoleServer>) -> Value {
    let said = ctx
        .meta
        .0
        .0
        .get("io.modelcontextprotocol/clientCapabilities");
    if let Some(said) = said {
        return said.clone();
    }
    let known = ctx.client_capabilities();
    known
        .and_then(|c| serde_json::to_value(c).ok())
        .unwrap_or_default()
}

fn has_tasks(ctx: &RequestContext<RoleServer>) -> bool {
    ctx.client_capabilities()
        .is_some_and(|c| c.supports_tasks())
}

/// The client's own name: an agent that acts for whoever has the token.
fn client_name(ctx: &RequestContext<RoleServer>) -> Option<String> {
    let info = ctx.client_info()?;
    let name: String = info.name.chars().take(64).collect();
    (!name.is_empty()).then_some(name)
}

/// What `call_tool` was asked to call.
fn unfold(arguments: Value) -> Result<(String, Value), ErrorData> {
    let wrong = || {
        let message = "`call_tool` takes `name`, a text, and `arguments`, an object";
        ErrorData::invalid_params(message, None)
    };
    let Value::Object(mut given) = arguments else {
        return Err(wrong());
    };
    let Some(Value::String(name)) = given.shift_remove("name") else {
        return Err(wrong());
    };
    let arguments = given.shift_remove("arguments").unwrap_or(Value::Null);
    if !given.is_empty() || name == CALL_TOOL {
        return Err(wrong());
    }
    Ok((name, arguments))
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
fn cannot_be_asked(round: &super::talk::Round, capabilities: &Value) -> Option<ToolError> {
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

/// What the protocol says to a client that has not what is needed.
pub(crate) fn not_here(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None)
}
