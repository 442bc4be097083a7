//! One server behind the gateway: started when it is needed, watched, started again.
//!
//! There is at most one connection for each era (and for each client, where the server is
//! isolated). A start is tried by one caller at a time; after a failed one, calls fail at
//! once until it is time to try again.

mod start;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use helve_kernel::Caller;
use serde_json::Value;
use tokio::sync::{Semaphore, broadcast, mpsc};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::handshake::{Era, Face};
use super::link::tail::Tail;
use super::link::{Broken, Reached};
use super::lists::Lists;
use super::oauth::Login;
use super::peer::Peer;
use super::settings::{Reach, Upstream};
use super::{Event, LoginState, State};

/// How long to wait after a failed start: twice as long each time, up to the second.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(2);

/// After how long without a call the connection of one client is ended.
const ISOLATED: Duration = Duration::from_mins(10);

/// How long a farewell may take.
const FAREWELL: Duration = Duration::from_secs(6);

/// How many messages that belong to no call may wait.
const APART: usize = 256;

/// Which connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    era: Era,
    session: Option<String>,
}

/// What is known about how it stands.
#[derive(Debug, Default)]
struct Now {
    starting: bool,
    failures: u32,
    why: Option<Broken>,
    again: Option<Instant>,
    /// What it does not speak.
    without: Option<Era>,
    face: Option<Face>,
    used: Option<Instant>,
}

/// A server behind the gateway.
pub(crate) struct Server {
    pub(crate) settings: Upstream,
    pub(crate) tail: Tail,
    pub(crate) login: Option<Arc<Login>>,
    logging_in: Mutex<Option<LoginState>>,
    pub(crate) room: Semaphore,
    pub(crate) lists: Lists,
    live: RwLock<HashMap<Key, Arc<Peer>>>,
    starting: tokio::sync::Mutex<()>,
    now: Mutex<Now>,
    levels: Mutex<HashMap<Option<String>, String>>,
    events: broadcast::Sender<Event>,
    pub(crate) closing: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

/// Who looks at the tools of a server whenever it was started, or says that they changed.
#[async_trait::async_trait]
pub(crate) trait Watch: Send + Sync {
    async fn listed(&self, server: &Arc<Server>, tools: Vec<Value>, problems: Vec<String>);
}

impl Server {
    pub(crate) fn new(
        settings: Upstream,
        state: &std::path::Path,
        face: Option<Face>,
        events: broadcast::Sender<Event>,
        closing: &CancellationToken,
        tasks: TaskTracker,
    ) -> Arc<Self> {
        let login = match &settings.reach {
            Reach::Http { url, .. } => Some(Login::new(
                &settings.name,
                url,
                settings.rules.oauth.as_ref(),
                state,
            )),
            _ => None,
        };
        // What is from 2024 has never heard of the modern era.
        let without = matches!(settings.reach, Reach::Sse { .. }).then_some(Era::Modern);
        Arc::new(Self {
            room: Semaphore::new(settings.rules.concurrency.max(1)),
            settings,
            tail: Tail::default(),
            login,
            logging_in: Mutex::default(),
            lists: Lists::default(),
            live: RwLock::default(),
            starting: tokio::sync::Mutex::default(),
            now: Mutex::new(Now {
                face,
                without,
                ..Now::default()
            }),
            levels: Mutex::default(),
            events,
            closing: closing.child_token(),
            tasks,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.settings.name
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who it said that it is, when it was last asked.
    pub(crate) fn face(&self) -> Option<Face> {
        self.now().face.clone()
    }

    pub(crate) fn state(&self) -> State {
        if self.peers().iter().any(|p| p.broken().is_none()) {
            return State::Running;
        }
        let now = self.now();
        match (&now.why, now.starting) {
            (_, true) => State::Starting,
            (Some(broken), false) => State::Failed {
                why: broken.why.clone(),
                again_in: now
                    .again
                    .map(|at| at.saturating_duration_since(Instant::now())),
                wants_login: broken.challenge.is_some(),
            },
            (None, false) => State::Idle,
        }
    }

    fn peers(&self) -> Vec<Arc<Peer>> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.values().cloned().collect()
    }

    /// How many requests wait for an answer.
    #[cfg(test)]
    pub(crate) fn busy(&self) -> usize {
        self.peers().iter().map(|p| p.busy()).sum()
    }

    /// A way to speak with it, in the era of whoever calls, where it can be.
    pub(crate) async fn connect(
        self: &Arc<Self>,
        caller: Option<&Arc<dyn Caller>>,
        watch: &Arc<dyn Watch>,
    ) -> Result<Arc<Peer>, Broken> {
        let session = caller
            .filter(|_| self.settings.rules.isolate)
            .map(|c| c.session().to_owned());
        let wanted = caller.map(|c| Era::of(c.protocol()));
        if let Some(peer) = self.standing(wanted, session.as_deref()) {
            return Ok(peer);
        }
        let capabilities = match &session {
            Some(_) => caller.map(|c| c.capabilities().clone()),
            None => None,
        };
        // A start belongs to all who wait for it, and goes on without any of them.
        let (server, watch) = (self.clone(), watch.clone());
        let started = self.tasks.spawn(async move {
            let _one = server.starting.lock().await;
            if let Some(peer) = server.standing(wanted, session.as_deref()) {
                return Ok(peer);
            }
            server.may_start()?;
            server.now().starting = true;
            let started = tokio::select! {
                biased;
                () = server.closing.cancelled() => Err(Broken::new("the hub is closing", Reached::No)),
                started = server.start(wanted, session, capabilities, &watch) => started,
            };
            server.began(started.as_ref().err());
            started
        });
        match started.await {
            Ok(started) => started,
            Err(_) => Err(Broken::new("its start was given up", Reached::No)),
        }
    }

    /// A connection that is there.
    fn standing(&self, wanted: Option<Era>, session: Option<&str>) -> Option<Arc<Peer>> {
        let without = {
            let mut now = self.now();
            now.used = Some(Instant::now());
            now.without
        };
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        let find = |era: Era| {
            let key = Key {
                era,
                session: session.map(str::to_owned),
            };
            live.get(&key).filter(|p| p.broken().is_none()).cloned()
        };
        match wanted {
            Some(era) if without != Some(era) => find(era),
            Some(era) => find(era.other()),
            None => find(Era::Modern).or_else(|| find(Era::Legacy)),
        }
    }

    fn may_start(&self) -> Result<(), Broken> {
        if self.closing.is_cancelled() {
            return Err(Broken::new("the hub is closing", Reached::No));
        }
        let now = self.now();
        match (&now.why, now.again) {
            (Some(broken), Some(again)) if again > Instant::now() => {
                let left = again.saturating_duration_since(Instant::now());
                let why = format!(
                    "{}; it is tried again in {:.0} s",
                    broken.why,
                    left.as_secs_f64().ceil()
                );
                Err(Broken {
                    why,
                    reached: Reached::No,
                    ..broken.clone()
                })
            }
            _ => Ok(()),
        }
    }

    fn began(&self, failed: Option<&Broken>) {
        let mut now = self.now();
        now.starting = false;
        match failed {
            None => {
                now.why = None;
                now.again = None;
                now.failures = 0;
            }
            Some(broken) => {
                let pause = FIRST * 2u32.saturating_pow(now.failures.min(10));
                now.failures += 1;
                now.why = Some(broken.clone());
                now.again = Some(Instant::now() + jittered(pause.min(LONGEST)));
            }
        }
    }

    /// How the last login stands.
    pub(crate) fn login_state(&self) -> Option<LoginState> {
        let state = self
            .logging_in
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        state.clone()
    }

    pub(crate) fn set_login_state(&self, now: LoginState) {
        *self
            .logging_in
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    /// Lets it be tried at once: somebody asked for it, or has logged in.
    pub(crate) fn forgive(&self) {
        let mut now = self.now();
        now.again = None;
        now.failures = 0;
    }

    /// Why its tools cannot be called just now.
    pub(crate) fn unavailable(&self) -> Option<String> {
        match self.state() {
            State::Failed { why, .. } => Some(why),
            _ => None,
        }
    }

    /// How much a client wants to be told; a modern server hears it with every request.
    pub(crate) fn set_level(&self, session: Option<&str>, level: &str) {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        // Clients that are gone do not say so everywhere.
        if levels.len() > 10_000 {
            levels.clear();
        }
        levels.insert(session.map(str::to_owned), level.to_owned());
    }

    pub(crate) fn level(&self, session: Option<&str>) -> Option<String> {
        let levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        levels.get(&session.map(str::to_owned)).cloned()
    }

    /// A connection that the server has forgotten.
    pub(crate) fn drop_peer(&self, lost: &Arc<Peer>) {
        self.drop_where(|_, peer| std::ptr::eq(peer, Arc::as_ptr(lost)));
    }

    /// A client is gone: what was only for it ends.
    pub(crate) fn session_over(&self, session: &str) {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        levels.remove(&Some(session.to_owned()));
        drop(levels);
        self.drop_where(|key, _| key.session.as_deref() == Some(session));
    }

    fn drop_where(&self, over: impl Fn(&Key, &Peer) -> bool) {
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        let keys: Vec<Key> = live
            .iter()
            .filter(|(k, p)| over(k, p))
            .map(|(k, _)| k.clone())
            .collect();
        for key in keys {
            if let Some(peer) = live.remove(&key) {
                self.tasks
                    .spawn(async move { drop(timeout(FAREWELL, peer.close()).await) });
            }
        }
    }

    /// Ends all connections, in a bounded time, and begins no other.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        let peers: Vec<Arc<Peer>> = {
            let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
            live.drain().map(|(_, peer)| peer).collect()
        };
        let closing = peers.iter().map(|peer| timeout(FAREWELL, peer.close()));
        futures_util::future::join_all(closing).await;
    }

    /// Stays with a connection until it ends.
    async fn attend(
        self: Arc<Self>,
        key: Key,
        peer: Arc<Peer>,
        mut apart: mpsc::Receiver<(String, Value)>,
        watch: Arc<dyn Watch>,
    ) {
        let idle = match key.session {
            Some(_) => self.settings.rules.idle.unwrap_or(ISOLATED),
            None => self.settings.rules.idle.unwrap_or(Duration::MAX),
        };
        // It is idle from when it can be used: whoever wanted it has waited for its start.
        self.now().used = Some(Instant::now());
        loop {
            let used = self.now().used.unwrap_or_else(Instant::now);
            let quiet = used.checked_add(idle);
            tokio::select! {
                () = peer.gone().cancelled() => break,
                () = until(quiet) => {
                    let later = self.now().used.is_some_and(|u| u > used);
                    if !later && peer.busy() == 0 {
                        break;
                    }
                    if !later {
                        self.now().used = Some(Instant::now());
                    }
                }
                Some((method, params)) = apart.recv() => {
                    self.lists.told(&method);
                    let changed = method == "notifications/tools/list_changed";
                    let server = self.name().to_owned();
                    let _ = self.events.send(Event { server, method, params });
                    if changed {
                        let (server, peer, watch) = (self.clone(), peer.clone(), watch.clone());
                        // One look is enough for all that changed until then.
                        while apart_is_same(&mut apart, &self) {}
                        self.tasks.spawn(async move { server.look(&peer, &watch).await });
                    }
                }
            }
        }
        let ended = peer.broken().cloned();
        {
            let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
            if live.get(&key).is_some_and(|p| Arc::ptr_eq(p, &peer)) {
                live.remove(&key);
            }
        }
        self.lists.forget();
        if let Some(broken) = ended {
            self.tail.note(&broken.why);
        }
        let _ = timeout(FAREWELL, peer.close()).await;
    }

    /// Reads the tools again, and shows them to whoever watches.
    pub(crate) async fn look(self: &Arc<Self>, peer: &Arc<Peer>, watch: &Arc<dyn Watch>) {
        let limit = self.settings.rules.start_timeout;
        if let Ok(Ok((tools, problems))) = timeout(limit, super::lists::tools(peer, limit)).await {
            if let Some(link) = peer.link() {
                link.tools(&tools);
            }
            watch.listed(self, tools, problems).await;
        }
    }
}

/// Takes further notices that the tools changed, and passes on what else there is.
fn apart_is_same(apart: &mut mpsc::Receiver<(String, Value)>, server: &Server) -> bool {
    match apart.try_recv() {
        Ok((method, params)) => {
            server.lists.told(&method);
            let name = server.name().to_owned();
            let _ = server.events.send(Event {
                server: name,
                method,
                params,
            });
            true
        }
        Err(_) => false,
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// A little more or less, so that not all try at once.
fn jittered(pause: Duration) -> Duration {
    use std::hash::{BuildHasher as _, RandomState};
    let random = RandomState::new().hash_one(()) % 1000;
    pause.mul_f64(0.8 + 0.4 * f64::from(u32::try_from(random).unwrap_or(500)) / 1000.0)
}

/// Waits for a moment that is not a test's.
pub(crate) async fn pause(time: Duration) {
    sleep(time).await;
}
