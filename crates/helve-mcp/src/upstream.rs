//! The gateway: other MCP servers, whose tools are tools of ours.
//!
//! What servers say travels raw. Nothing between their wire and ours decodes a result into
//! a type that could lose a key, and one bad tool never spoils a list.
//!
//! - *Lazy.* A server is started when it is first needed. Its tools are in the registry
//!   from the last time, so lists are there before it is.
//! - *A dead server breaks nothing.* Its tools say that they are unavailable; lists leave
//!   it out; calls fail at once until it is tried again.
//! - *A definition is pinned.* One that changes waits until somebody has looked at it.
//! - *Nothing of one client reaches another.* A question whose asker cannot be told is
//!   refused.

mod book;
mod compare;
mod converse;
mod define;
mod executor;
mod file;
mod handshake;
mod link;
mod lists;
mod oauth;
mod peer;
mod server;
pub mod settings;
mod status;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use helve_core::name::nearest;
use helve_kernel::{Caller, Executor, Kernel, Principal};
use serde_json::{Map, Value};
use tokio::sync::{broadcast, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use book::Book;
use converse::{Talk, Trouble};
use executor::{McpExecutor, as_error};
use server::{Server, Watch};

pub use book::{Flag, Waiting};
pub use compare::Refreshed;
pub use handshake::Era;
pub use lists::List;
pub use settings::{McpJson, Reach, Rules, ToolRules, Upstream};
pub use status::{Event, LoginState, Pending, State, Status, UpstreamError};

/// How long all farewells together may take.
const FAREWELL: Duration = Duration::from_secs(10);

/// How long one server may hold up a list.
const LISTING: Duration = Duration::from_secs(10);

/// How many events a slow listener may be behind.
const EVENTS: usize = 1024;

/// The servers behind the gateway. A clone is the same.
#[derive(Clone)]
pub struct Upstreams(Arc<Inner>);

pub(crate) struct Inner {
    servers: RwLock<BTreeMap<String, Arc<Server>>>,
    state: PathBuf,
    book: Book,
    kernel: Mutex<Option<Kernel>>,
    /// Tools are compared by one at a time.
    comparing: tokio::sync::Mutex<()>,
    looked: Mutex<BTreeMap<String, Refreshed>>,
    events: broadcast::Sender<Event>,
    closing: CancellationToken,
    tasks: TaskTracker,
    /// How many servers are being seen for the first time.
    unseen: watch::Sender<usize>,
    this: Weak<Inner>,
}

struct Watcher(Weak<Inner>);

#[async_trait::async_trait]
impl Watch for Watcher {
    async fn listed(&self, server: &Arc<Server>, tools: Vec<Value>, problems: Vec<String>) {
        if let Some(inner) = self.0.upgrade() {
            inner.listed(server, &tools, problems).await;
        }
    }
}

impl Inner {
    pub(crate) fn server(&self, name: &str) -> Result<Arc<Server>, UpstreamError> {
        let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        servers
            .get(name)
            .cloned()
            .ok_or_else(|| UpstreamError::Unknown {
                name: name.chars().take(100).collect(),
                nearest: nearest(name, servers.keys().map(String::as_str), 1)
                    .into_iter()
                    .map(str::to_owned)
                    .collect(),
            })
    }

    fn servers(&self) -> Vec<Arc<Server>> {
        let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        servers.values().cloned().collect()
    }

    fn know(&self, settings: Upstream) -> Arc<Server> {
        let face = self.book.face(&settings.name);
        Server::new(
            settings,
            &self.state,
            face,
            self.events.clone(),
            &self.closing,
            self.tasks.clone(),
        )
    }

    pub(crate) fn watch(&self) -> Arc<dyn Watch> {
        Arc::new(Watcher(self.this.clone()))
    }

    fn kernel(&self) -> Option<Kernel> {
        self.kernel
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    async fn listed(&self, server: &Arc<Server>, tools: &[Value], mut problems: Vec<String>) {
        let _one = self.comparing.lock().await;
        let name = server.name();
        if let Some(kernel) = self.kernel() {
            let first = self.book.face(name).is_none();
            let mut done =
                compare::compare(&kernel, &self.book, &server.settings, tools, first).await;
            problems.append(&mut done.problems);
            done.problems = problems;
            if let Some(face) = server.face()
                && let Err(e) = self.book.set_face(name, &face)
            {
                done.problems.push(e.to_string());
            }
            let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
            looked.insert(name.to_owned(), done);
        }
    }

    fn looked(&self, server: &str) -> Refreshed {
        let looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        looked.get(server).cloned().unwrap_or_default()
    }
}

impl Upstreams {
    /// Knows the servers; starts none of them. `state` is a folder for what is remembered.
    pub fn open(settings: Vec<Upstream>, state: &Path) -> Result<Self, UpstreamError> {
        let book = Book::open(state)?;
        let (events, _) = broadcast::channel(EVENTS);
        let inner = Arc::new_cyclic(|this| Inner {
            servers: RwLock::default(),
            state: state.to_owned(),
            book,
            kernel: Mutex::default(),
            comparing: tokio::sync::Mutex::default(),
            looked: Mutex::default(),
            events,
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
            unseen: watch::channel(0).0,
            this: this.clone(),
        });
        {
            let mut servers = inner
                .servers
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            for settings in settings {
                servers.insert(settings.name.clone(), inner.know(settings));
            }
        }
        Ok(Self(inner))
    }

    /// Who runs tools with `executor = "mcp"`.
    pub fn executor(&self) -> Arc<dyn Executor> {
        Arc::new(McpExecutor(Arc::downgrade(&self.0)))
    }

    /// Has the kernel's registry say what is known of the servers; starts none of them.
    /// What could not be done.
    pub async fn attach(&self, kernel: &Kernel) -> Vec<String> {
        *self.0.kernel.lock().unwrap_or_else(PoisonError::into_inner) = Some(kernel.clone());
        self.settle_all(kernel).await
    }

    /// Starts, in the background, the servers that were never seen: nobody can need what
    /// nobody knows of. The others are started when they are needed.
    pub fn wake(&self) {
        let inner = &self.0;
        for server in inner.servers() {
            if inner.book.face(server.name()).is_none() {
                let (watch, unseen) = (inner.watch(), inner.unseen.clone());
                unseen.send_modify(|count| *count += 1);
                inner.tasks.spawn(async move {
                    drop(server.connect(None, &watch).await);
                    unseen.send_modify(|count| *count -= 1);
                });
            }
        }
    }

    /// Waits until servers that were never seen before have been, or could not be; no longer
    /// than this.
    pub async fn seen(&self, limit: Duration) {
        let mut unseen = self.0.unseen.subscribe();
        if *unseen.borrow() > 0 {
            let _ = timeout(limit, unseen.wait_for(|count| *count == 0)).await;
        }
    }

    /// Takes other settings. Servers whose settings are what they were go on; others are
    /// ended, and started anew when they are needed. What could not be done.
    pub async fn reload(&self, settings: Vec<Upstream>) -> Vec<String> {
        let inner = &self.0;
        let mut over = Vec::new();
        {
            let mut servers = inner
                .servers
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            let mut before = std::mem::take(&mut *servers);
            for settings in settings {
                let name = settings.name.clone();
                let server = match before.remove(&name) {
                    Some(server) if server.settings == settings => server,
                    other => {
                        over.extend(other);
                        inner.know(settings)
                    }
                };
                servers.insert(name, server);
            }
            over.extend(before.into_values());
        }
        for server in over {
            inner.tasks.spawn(async move { server.close().await });
        }
        match inner.kernel() {
            Some(kernel) => self.settle_all(&kernel).await,
            None => Vec::new(),
        }
    }

    /// The operator may have renamed or hidden something, or taken a server away.
    async fn settle_all(&self, kernel: &Kernel) -> Vec<String> {
        let inner = &self.0;
        let servers = inner.servers();
        let known: HashSet<&str> = servers.iter().map(|s| s.name()).collect();
        let mut problems = {
            let _one = inner.comparing.lock().await;
            compare::forget_others(kernel, &inner.book, &known).await
        };
        for server in &servers {
            if inner.book.face(server.name()).is_some() {
                problems.extend(self.settle(kernel, server).await);
            }
        }
        problems
    }

    /// Makes the registry say what the configuration says now of the tools that are known.
    async fn settle(&self, kernel: &Kernel, server: &Arc<Server>) -> Vec<String> {
        let _one = self.0.comparing.lock().await;
        let waiting = self.0.book.waiting(server.name());
        let mut known: Vec<Value> = compare::registered(kernel, server.name())
            .iter()
            .filter(|(tool, _)| !waiting.contains_key(*tool))
            .filter_map(|(_, entry)| define::behind(&entry.def)?.2.cloned())
            .collect();
        known.sort_by_key(|raw| raw["name"].as_str().unwrap_or_default().to_owned());
        known.extend(waiting.values().filter_map(|w| w.after.clone()));
        let gone: BTreeMap<String, Waiting> = waiting
            .into_iter()
            .filter(|(_, w)| w.after.is_none())
            .collect();
        let gone_before = gone.values().filter_map(|w| w.before.clone());
        let still: Vec<Value> = known.into_iter().chain(gone_before).collect();
        let done = compare::compare(kernel, &self.0.book, &server.settings, &still, false).await;
        // What is gone was only there to be kept.
        let mut waiting = self.0.book.waiting(server.name());
        waiting.extend(gone);
        let mut problems = done.problems;
        problems.extend(
            self.0
                .book
                .set(server.name(), waiting)
                .err()
                .map(|e| e.to_string()),
        );
        problems
    }

    /// All servers, by name.
    pub fn servers(&self) -> Vec<Status> {
        self.0
            .servers()
            .iter()
            .map(|server| self.status_of(server))
            .collect()
    }

    /// The names of all servers.
    pub fn names(&self) -> Vec<String> {
        self.0
            .servers()
            .iter()
            .map(|s| s.name().to_owned())
            .collect()
    }

    /// One server.
    pub fn status(&self, server: &str) -> Result<Status, UpstreamError> {
        Ok(self.status_of(&self.0.server(server)?))
    }

    fn status_of(&self, server: &Arc<Server>) -> Status {
        let face = server.face();
        let name = server.name();
        let tools = self.0.kernel().map(|kernel| {
            let mut names: Vec<String> = compare::registered(&kernel, name)
                .values()
                .map(|e| e.def.name.to_string())
                .collect();
            names.sort();
            names
        });
        Status {
            name: name.to_owned(),
            kind: server.settings.reach.kind(),
            place: server.settings.place.clone(),
            state: server.state(),
            era: face.as_ref().map(|f| f.era),
            protocol: face.as_ref().map(|f| f.protocol.clone()),
            capabilities: face
                .as_ref()
                .map(|f| f.capabilities.clone())
                .unwrap_or_default(),
            instructions: face.as_ref().and_then(|f| f.instructions.clone()),
            server_info: face.map(|f| f.server_info).unwrap_or_default(),
            tools: tools.unwrap_or_default(),
            waiting: self.0.book.waiting(name).into_keys().collect(),
            problems: self.0.looked(name).problems,
            tail: server.tail.text(),
            logged_in: server.login.as_ref().is_some_and(|l| l.is_there()),
            login: server.login_state(),
        }
    }

    /// Why the tools of a server cannot be called just now.
    pub fn unavailable(&self, server: &str) -> Option<String> {
        match self.0.server(server) {
            Ok(server) => server.unavailable(),
            Err(e) => Some(e.to_string()),
        }
    }

    /// Passes a request on, and gives what the server answers, word for word.
    pub async fn request(
        &self,
        server: &str,
        method: &str,
        params: Value,
        caller: Option<Arc<dyn Caller>>,
    ) -> Result<Map<String, Value>, Map<String, Value>> {
        let problem = |code: i64, message: String| {
            let mut error = Map::new();
            error.insert("code".to_owned(), code.into());
            error.insert("message".to_owned(), message.into());
            error
        };
        let server = self
            .0
            .server(server)
            .map_err(|e| problem(-32602, e.to_string()))?;
        let params = match params {
            Value::Object(params) => params,
            Value::Null => Map::new(),
            _ => return Err(problem(-32602, "`params` must be an object".to_owned())),
        };
        let limit = server.settings.rules.timeout;
        let stop = CancellationToken::new();
        let asked = self.passed_on(&server, method, &params, caller.as_ref(), &stop);
        let mut asked = std::pin::pin!(asked);
        let answer = match timeout(limit, &mut asked).await {
            Ok(answer) => answer,
            Err(_) => {
                stop.cancel();
                asked.await
            }
        };
        answer.map_err(|trouble| as_error(trouble, &server))
    }

    async fn passed_on(
        &self,
        server: &Arc<Server>,
        method: &str,
        params: &Map<String, Value>,
        caller: Option<&Arc<dyn Caller>>,
        stop: &CancellationToken,
    ) -> Result<Map<String, Value>, Trouble> {
        let session = caller.map(|c| c.session());
        let watch = self.0.watch();
        for last in [false, true] {
            let peer = tokio::select! {
                biased;
                () = stop.cancelled() => return Err(Trouble::Stopped),
                peer = server.connect(caller, &watch) => peer.map_err(Trouble::Broken)?,
            };
            let modern = peer.face().is_some_and(|f| f.era == Era::Modern);
            // What the modern era has no words for is done in its own way.
            if modern {
                match method {
                    "logging/setLevel" => {
                        server.set_level(
                            session,
                            params
                                .get("level")
                                .and_then(Value::as_str)
                                .unwrap_or("info"),
                        );
                        return Ok(Map::new());
                    }
                    "resources/subscribe" | "resources/unsubscribe" => {
                        let uri = params
                            .get("uri")
                            .and_then(Value::as_str)
                            .unwrap_or_default();
                        server.lists.subscribe(uri, method == "resources/subscribe");
                        return Ok(Map::new());
                    }
                    "ping" => return Ok(Map::new()),
                    _ => {}
                }
            }
            let talk = Talk {
                peer: &peer,
                caller,
                stop,
                level: server.level(session),
            };
            match talk.hold(method, params.clone()).await {
                Err(Trouble::Broken(broken)) if broken.lost && !last => server.drop_peer(&peer),
                answer => return answer,
            }
        }
        Err(Trouble::Stopped)
    }

    /// What all servers have of a kind, word for word. One that does not answer in time is
    /// left out; so is one that never said that it has any.
    pub async fn list(&self, what: List) -> Vec<(String, Vec<Value>)> {
        let (_, _, capability) = what.words();
        let servers = self.0.servers();
        let having = servers
            .iter()
            .filter(|s| s.face().is_none_or(|f| f.has(capability)));
        let all = having.map(|server| async move {
            let items = timeout(LISTING, self.list_of(server, what)).await.ok()??;
            Some((server.name().to_owned(), items.as_ref().clone()))
        });
        let all = futures_util::future::join_all(all).await;
        all.into_iter().flatten().collect()
    }

    async fn list_of(&self, server: &Arc<Server>, what: List) -> Option<Arc<Vec<Value>>> {
        let (method, key, capability) = what.words();
        let (kept, turn) = server.lists.kept(what);
        if kept.is_some() {
            return kept;
        }
        let peer = server.connect(None, &self.0.watch()).await.ok()?;
        if !peer.face().is_some_and(|f| f.has(capability)) {
            return None;
        }
        let (items, _) = lists::all(&peer, method, key, LISTING).await.ok()?;
        let items = Arc::new(items);
        server.lists.keep(what, items.clone(), turn);
        Some(items)
    }

    /// What servers tell from now on that belongs to no call.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.0.events.subscribe()
    }

    /// As if a server had said it.
    #[cfg(test)]
    pub(crate) fn say(&self, event: Event) {
        let _ = self.0.events.send(event);
    }

    /// Looks at a server anew: starts it if it is not there, and compares its tools.
    pub async fn refresh(&self, server: &str) -> Result<Refreshed, UpstreamError> {
        let server = self.0.server(server)?;
        server.forgive();
        let was_there = server.state() == State::Running;
        let watch = self.0.watch();
        let peer =
            server
                .connect(None, &watch)
                .await
                .map_err(|broken| UpstreamError::Unavailable {
                    server: server.name().to_owned(),
                    wants_login: broken.challenge.is_some(),
                    why: broken.why,
                })?;
        // A start has looked already.
        if was_there {
            server.look(&peer, &watch).await;
        }
        Ok(self.0.looked(server.name()))
    }

    /// How long a server takes for the smallest question.
    pub async fn round_trip(&self, server: &str) -> Result<Duration, UpstreamError> {
        let server = self.0.server(server)?;
        let unavailable = |why: String| UpstreamError::Unavailable {
            server: server.name().to_owned(),
            why,
            wants_login: false,
        };
        let peer = server
            .connect(None, &self.0.watch())
            .await
            .map_err(|b| unavailable(b.why))?;
        let (method, params) = handshake::smallest(&peer);
        let begun = tokio::time::Instant::now();
        let asked = peer
            .ask(method, params, server.settings.rules.timeout)
            .await;
        asked
            .map_err(|b| unavailable(b.why))?
            .map(drop)
            .or_else(|_| Ok(()))?;
        Ok(begun.elapsed())
    }

    /// Takes over what waits: of one tool, or of all of a server. Names as they are now.
    /// With `seen`, only if it is still what was looked at ([`Pending::seen`]).
    pub async fn accept(
        &self,
        who: &Principal,
        server: &str,
        tool: Option<&str>,
        seen: Option<&str>,
    ) -> Result<Vec<String>, UpstreamError> {
        let server = self.0.server(server)?;
        let kernel = self.0.kernel();
        let kernel =
            kernel.ok_or_else(|| UpstreamError::Login("the gateway is not attached".to_owned()))?;
        let _one = self.0.comparing.lock().await;
        compare::accept(&kernel, &self.0.book, who, &server.settings, tool, seen).await
    }

    /// What waits for somebody to look at it.
    pub fn pending(&self, server: Option<&str>) -> Vec<Pending> {
        let servers = self.0.servers();
        let names = servers
            .iter()
            .map(|s| s.name())
            .filter(|name| server.is_none_or(|s| s == *name));
        names
            .flat_map(|name| {
                self.0
                    .book
                    .waiting(name)
                    .into_iter()
                    .map(move |(tool, waiting)| Pending {
                        server: name.to_owned(),
                        tool,
                        seen: waiting.seen(),
                        before: waiting.before,
                        after: waiting.after,
                        flags: waiting.flags,
                    })
            })
            .collect()
    }

    /// Begins to log in to a server: the address that somebody must open. What comes of it
    /// shows in its status.
    pub async fn login(&self, server: &str) -> Result<String, UpstreamError> {
        let server = self.0.server(server)?;
        let no = || {
            UpstreamError::Login(format!(
                "`{}` is not reached over HTTP: there is no login",
                server.name()
            ))
        };
        let login = server.login.clone().ok_or_else(no)?;
        let begun = login.begin().await.map_err(UpstreamError::Login)?;
        let url = begun.url.clone();
        let closing = self.0.closing.clone();
        server.set_login_state(LoginState::Waiting);
        self.0.tasks.spawn(async move {
            let done = tokio::select! {
                () = closing.cancelled() => return,
                done = begun.finish() => done,
            };
            match done {
                Ok(()) => {
                    server.forgive();
                    server.set_login_state(LoginState::Done);
                }
                Err(why) => server.set_login_state(LoginState::Failed(why)),
            }
        });
        Ok(url)
    }

    /// Forgets a login.
    pub async fn logout(&self, server: &str) -> Result<(), UpstreamError> {
        match &self.0.server(server)?.login {
            Some(login) => login.forget().await.map_err(UpstreamError::Login),
            None => Ok(()),
        }
    }

    /// A client is gone: connections that were only for it end.
    pub fn session_over(&self, session: &str) {
        for server in self.0.servers() {
            server.session_over(session);
        }
    }

    /// Ends all connections, and every program that was started for one.
    pub async fn close(&self) {
        let inner = &self.0;
        inner.closing.cancel();
        let servers = inner.servers();
        let closing = servers.iter().map(|server| server.close());
        let all = async {
            futures_util::future::join_all(closing).await;
            inner.tasks.close();
            inner.tasks.wait().await;
        };
        let _ = timeout(FAREWELL, all).await;
        *inner.kernel.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests;
