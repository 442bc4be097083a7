//! One request that is passed on, with all that goes back and forth until its answer.
//!
//! Progress and log messages go to whoever called, questions of the server too, and their
//! answers back: in the old era while the request is open, in the modern one between two
//! rounds of it. A task is asked for until it is done. Nothing is invented on the way: what
//! cannot be asked is answered with an error that says so.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use helve_kernel::{Caller, ToolError, Wire};
use serde_json::{Map, Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::handshake::{Era, is_per_hop, put_meta};
use super::link::{Broken, Message};
use super::peer::{Heard, Peer, Whose, error};

/// How often a server may ask before it answers.
const ROUNDS: usize = 10;

/// How often is looked after a task that does not say.
const POLL: Duration = Duration::from_secs(1);

/// How long to wait for a farewell to be taken.
const FAREWELL: Duration = Duration::from_secs(2);

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The server said no, in the words of the protocol.
    Error(Message),
    /// The connection broke.
    Broken(Broken),
    /// It was called off.
    Stopped,
    /// Something else, said as a tool says it.
    Failed(ToolError),
}

/// A request on behalf of somebody.
pub(crate) struct Talk<'t> {
    pub(crate) peer: &'t Arc<Peer>,
    pub(crate) caller: Option<&'t Arc<dyn Caller>>,
    pub(crate) stop: &'t CancellationToken,
    /// How much the caller wants to be told.
    pub(crate) level: Option<String>,
}

impl Talk<'_> {
    /// Sends the request, and stays with it until its answer.
    pub(crate) async fn hold(
        &self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Message, Trouble> {
        if self.era() == Era::Legacy {
            return self.once(method, params).await;
        }
        let mut said = params.clone();
        for _ in 0..=ROUNDS {
            let mut result = self.once(method, said).await?;
            match result.get("resultType").and_then(Value::as_str) {
                Some("input_required") => {
                    let requests = match result.shift_remove("inputRequests") {
                        Some(Value::Object(requests)) => requests,
                        _ => Map::new(),
                    };
                    let responses = self.ask(requests).await?;
                    said = params.clone();
                    said.insert("inputResponses".to_owned(), Value::Object(responses));
                    if let Some(state) = result.shift_remove("requestState") {
                        said.insert("requestState".to_owned(), state);
                    }
                }
                Some("task") => return self.task(result).await,
                _ => return Ok(result),
            }
        }
        let why = format!("the server asked {ROUNDS} times and has not answered");
        Err(Trouble::Failed(ToolError::internal(why)))
    }

    fn era(&self) -> Era {
        self.peer.face().map_or(Era::Legacy, |face| face.era)
    }

    fn whose(&self) -> Whose {
        match self.caller {
            Some(caller) => Whose::Session(caller.session().to_owned()),
            None => Whose::Nobody,
        }
    }

    /// The parameters as this hop sends them.
    fn dressed(&self, id: u64, mut params: Map<String, Value>) -> Map<String, Value> {
        let mut meta = match params.shift_remove("_meta") {
            Some(Value::Object(meta)) => meta,
            _ => Map::new(),
        };
        meta.retain(|key, _| !is_per_hop(key));
        if self.caller.is_some() {
            meta.insert("progressToken".to_owned(), id.into());
        }
        if let Some(face) = self.peer.face().filter(|f| f.era == Era::Modern) {
            let nothing = json!({});
            let capabilities = self.caller.map_or(&nothing, |c| c.capabilities());
            put_meta(&mut meta, &face.protocol, capabilities);
            let level = "io.modelcontextprotocol/logLevel";
            if let (Some(wanted), false) = (&self.level, meta.contains_key(level)) {
                meta.insert(level.to_owned(), wanted.as_str().into());
            }
        }
        if !meta.is_empty() {
            params.insert("_meta".to_owned(), Value::Object(meta));
        }
        params
    }

    async fn once(&self, method: &str, params: Map<String, Value>) -> Result<Message, Trouble> {
        let begun = self
            .peer
            .begin(method, self.whose(), |id| self.dressed(id, params));
        let mut exchange = tokio::select! {
            biased;
            begun = begun => begun.map_err(Trouble::Broken)?,
            () = self.stop.cancelled() => return Err(Trouble::Stopped),
        };
        let mut questions = FuturesUnordered::new();
        let mut answering = FuturesUnordered::new();
        let mut withdrawn: HashSet<String> = HashSet::new();
        loop {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => {
                    exchange.cancel("whoever asked no longer waits").await;
                    return Err(Trouble::Stopped);
                }
                Some((id, answer)) = questions.next() => {
                    let id: Value = id;
                    if !withdrawn.contains(&id.to_string()) {
                        answering.push(self.peer.answer(id, answer));
                    }
                }
                // Beside what comes: a server may have to get rid of that first.
                Some(_) = answering.next() => {}
                heard = exchange.next() => match heard {
                    Heard::Answer(Ok(result)) => return Ok(result),
                    Heard::Answer(Err(error)) => return Err(Trouble::Error(error)),
                    Heard::Broken(broken) => return Err(Trouble::Broken(broken)),
                    Heard::Told { method, params } => self.tell(&method, params).await,
                    Heard::Asked { id, method, params } => questions.push(self.question(id, method, params)),
                    Heard::Withdrawn { id } => {
                        withdrawn.insert(id.to_string());
                    }
                },
            }
        }
    }

    async fn tell(&self, method: &str, mut params: Value) {
        let Some(caller) = self.caller else { return };
        if method == "notifications/progress"
            && let Value::Object(params) = &mut params
        {
            params.shift_remove("progressToken");
        }
        caller.tell(method, params).await;
    }

    /// A question of the old era: its own request, while ours is open.
    async fn question(
        &self,
        id: Value,
        method: String,
        params: Value,
    ) -> (Value, Result<Value, Value>) {
        let Some(caller) = self.caller else {
            let why = "the call was made by somebody who cannot be asked";
            return (id, Err(error(-32601, why)));
        };
        let name = format!(
            "question-{}",
            id.as_str().map_or_else(|| id.to_string(), str::to_owned)
        );
        let mut questions = Map::new();
        questions.insert(name.clone(), json!({"method": method, "params": params}));
        let answer = match caller.ask(questions).await {
            Ok(mut answers) => match answers.shift_remove(&name) {
                Some(answer) => Ok(answer),
                None => Err(error(-32603, "there is no answer")),
            },
            Err(e) => Err(match e.wire.as_deref() {
                Some(Wire::Error(said)) => Value::Object(said.clone()),
                _ => error(-32603, &e.message),
            }),
        };
        (id, answer)
    }

    /// Questions of the modern era, which stand in an answer.
    async fn ask(&self, requests: Map<String, Value>) -> Result<Map<String, Value>, Trouble> {
        if requests.is_empty() {
            return Ok(Map::new());
        }
        let Some(caller) = self.caller else {
            let why = "the server asks back, and whoever made this call cannot be asked";
            let error = ToolError::dependency(why);
            return Err(Trouble::Failed(
                error.with_hint("call it from an MCP client that can answer"),
            ));
        };
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(Trouble::Stopped),
            answers = caller.ask(requests) => answers.map_err(Trouble::Failed),
        }
    }

    /// A job that goes on without us: looked after until it is done.
    async fn task(&self, begun: Message) -> Result<Message, Trouble> {
        let Some(id) = begun.get("taskId").cloned().filter(Value::is_string) else {
            let why = "the server began a task and did not say which";
            return Err(Trouble::Failed(ToolError::internal(why)));
        };
        let begun = Value::Object(begun);
        if let Some(caller) = self.caller {
            caller.takes_long(&begun);
        }
        let mut named = Map::new();
        named.insert("taskId".to_owned(), id);
        let mut task = begun;
        let mut answered: HashSet<String> = HashSet::new();
        loop {
            let pause = task["pollIntervalMs"]
                .as_u64()
                .map_or(POLL, Duration::from_millis);
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return self.call_off(&named).await,
                () = sleep(pause.clamp(Duration::from_millis(20), Duration::from_mins(1))) => {}
            }
            let seen = match self.once("tasks/get", named.clone()).await {
                Err(Trouble::Stopped) => return self.call_off(&named).await,
                seen => seen?,
            };
            task = Value::Object(seen);
            match task["status"].as_str() {
                Some("completed") => match task["result"].take() {
                    Value::Object(result) => return Ok(result),
                    _ => {
                        return Err(Trouble::Failed(ToolError::internal(
                            "the task ended without a result",
                        )));
                    }
                },
                Some("failed") => match task["error"].take() {
                    Value::Object(error) => return Err(Trouble::Error(error)),
                    _ => {
                        return Err(Trouble::Failed(ToolError::internal(
                            "the task failed and did not say why",
                        )));
                    }
                },
                Some("cancelled") => {
                    return Err(Trouble::Failed(ToolError::internal(
                        "the server called the task off",
                    )));
                }
                Some("input_required") => {
                    let mut requests = match task["inputRequests"].take() {
                        Value::Object(requests) => requests,
                        _ => Map::new(),
                    };
                    requests.retain(|name, _| !answered.contains(name));
                    if requests.is_empty() {
                        continue;
                    }
                    answered.extend(requests.keys().cloned());
                    let responses = match self.ask(requests).await {
                        Err(Trouble::Stopped) => return self.call_off(&named).await,
                        responses => responses?,
                    };
                    let mut update = named.clone();
                    update.insert("inputResponses".to_owned(), Value::Object(responses));
                    self.once("tasks/update", update).await?;
                }
                _ => {}
            }
        }
    }

    async fn call_off(&self, named: &Map<String, Value>) -> Result<Message, Trouble> {
        let never = CancellationToken::new();
        let last = Talk {
            stop: &never,
            level: None,
            ..*self
        };
        let _ = tokio::time::timeout(FAREWELL, last.once("tasks/cancel", named.clone())).await;
        Err(Trouble::Stopped)
    }
}
