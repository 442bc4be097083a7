//! One client: what it asks for, and what it is answered.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use helve_core::name::nearest;
use helve_kernel::{Call, Ctx, ErrorKind, Principal, RunId, Wait};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};

use super::answer::{MODERN, call_result, error_of, finish};
use super::approval::APPROVAL;
use super::client::{client_name, known_capabilities, party, protocol, said_capabilities};
use super::disclose::{ABOUT_TOOLS, CALL_TOOL, SEARCH_TOOLS};
use super::talk::{Done, From, Talk};
use super::views::{View, foreign};
use super::{Front, direct, lock};

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
    /// What it said at its beginning that it can do.
    capabilities: OnceLock<Arc<Value>>,
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
            capabilities: OnceLock::new(),
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
            capabilities: self.capabilities(ctx),
            extras,
        }
    }

    /// What the client can do: in its own words where the request has them. In the older
    /// revisions it says so once.
    pub(crate) fn capabilities(&self, ctx: &RequestContext<RoleServer>) -> Arc<Value> {
        if let Some(said) = said_capabilities(ctx) {
            return Arc::new(said);
        }
        let known = || known_capabilities(ctx).map(Arc::new);
        if protocol(ctx).as_str() >= MODERN {
            return known().unwrap_or_default();
        }
        if let Some(kept) = self.capabilities.get() {
            return kept.clone();
        }
        match known() {
            Some(known) => self.capabilities.get_or_init(|| known).clone(),
            None => Arc::default(),
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
                call_result(*answer, output, known)
            }
        }
    }
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
