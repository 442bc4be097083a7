//! A hub, put together out of a workspace: state, configuration, tools, tokens.
//!
//! `helve up` keeps one open; a command that finds none running opens one for
//! itself. Either way there is at most one: the store is locked.

mod builtin;
mod checkpoint;
mod collect;
mod door;
mod identity;
mod notify;
mod paint;
mod rules;
mod scripts;
mod tools;
mod upstreams;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use helve_core::def::ExecutorKind;
use helve_exec::{HostExecutor, ScriptExecutor};
use helve_http::HttpExecutor;
use helve_kernel::store::Record;
use helve_kernel::{
    Keeper, Kernel, NewToken, OpenError, Permission, Principal, PrincipalKind, StoreError,
};
use helve_mcp::{Front, Upstreams, about};
use helve_server::{Hub, Settings};
use helve_store::SqliteStore;
use helve_tools::chatlog::{ChatLog, Keeper as ChatKeeper};
use helve_tools::database::Databases;
use helve_tools::memory::Recollection;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::client::Client;
use crate::config::{Config, DiscloseWord};
use crate::exit::Failure;
use crate::secrets::Configured;
use crate::state::State;
use crate::{env, out};

pub(crate) use checkpoint::{
    Checkpoints, missing as missing_checkpoints, public_key, read as read_checkpoints,
};
pub(crate) use door::connect;
pub(crate) use scripts::executor as script_executor;
pub(crate) use tools::{Synced, read as read_tools};
pub(crate) use upstreams::FILE as MCP_FILE;

/// The token file of the person at the terminal, and of the first agent.
pub(crate) const TERMINAL: &str = "terminal";
pub(crate) const AGENT: &str = "agent";

/// An open hub.
pub(crate) struct Open {
    pub(crate) hub: Hub,
    pub(crate) state: State,
    pub(crate) config: Config,
    pub(crate) root: PathBuf,
    /// What came of the tools in the workspace's folders.
    pub(crate) synced: Synced,
    /// The door for MCP clients.
    pub(crate) front: Front,
    upstreams: Upstreams,
    scripts: ScriptExecutor,
    #[cfg(feature = "docker")]
    docker: helve_exec::DockerExecutor,
    chats: Arc<ChatLog>,
    body_limit: usize,
    store: Arc<SqliteStore>,
    checkpoints: Arc<Checkpoints>,
    tasks: TaskTracker,
    closing: CancellationToken,
}

/// Whether programs may run without a sandbox, as far as the command line says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Walls {
    /// As the configuration has it.
    #[default]
    Configured,
    Required,
}

impl From<bool> for Walls {
    fn from(required: bool) -> Self {
        match required {
            true => Walls::Required,
            false => Walls::Configured,
        }
    }
}

/// Whether something was made just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Age {
    New,
    Kept,
}

/// How long runs may go on while the hub closes.
const GRACE: Duration = Duration::from_secs(10);

/// By when a hub has done what only a start needs.
const SETTLED: Duration = Duration::from_secs(1);

impl Open {
    /// Opens the hub of a workspace. `hosts` are the names that it answers to.
    pub(crate) async fn open(
        root: &Path,
        hosts: Vec<String>,
        walls: Walls,
        disclose: Option<DiscloseWord>,
    ) -> Result<Self, Failure> {
        let config = Config::load(root)?;
        let require_sandbox = config.sandbox.require_sandbox || walls == Walls::Required;
        let state = State::create(root)?;
        let store = Arc::new(store(&state).await.map_err(|e| unopened(&e))?);
        // Whoever has the store knows that no other hub runs, whatever one left behind.
        state.set_stopped();
        let checkpoints = Arc::new(Checkpoints::open(&state)?);
        checkpoints.hold_against(&*store).await?;
        let policy = config.policy().map_err(Failure::input)?;
        let host = HostExecutor::new(root.to_owned()).require_sandbox(require_sandbox);
        let (scripts, untold) = scripts::executor(host.clone(), root, &config).await;
        #[cfg(feature = "docker")]
        let docker = helve_exec::DockerExecutor::new(root.to_owned(), config.docker.settings());
        let (upstreams, told) = upstreams::open(root, &state, &config).await?;
        let databases = config
            .databases
            .open(root, &config)
            .map_err(Failure::input)?;
        let databases = Arc::new(databases);
        let chats = config.chats(root, &state.chatlog());
        let chats = Arc::new(ChatLog::new(chats.map_err(Failure::input)?));
        let mut builder = Kernel::builder()
            .store(store.clone())
            .policy(policy)
            .approvals(config.approval_rules())
            .sync_ends(config.record.sync_ends)
            .root(root)
            .artifacts(state.artifacts())
            .keeper(keeper(&state, &config)?)
            .executor(ExecutorKind::Host, Arc::new(host))
            .executor(ExecutorKind::Script, Arc::new(scripts.clone()))
            .executor(ExecutorKind::Http, Arc::new(http(root, &config)?))
            .executor(ExecutorKind::Mcp, upstreams.executor())
            .service(Arc::new(builtin::surroundings(root, &config)))
            .service(Arc::new(builtin::network(&config)))
            .service(Arc::new(builtin::web(root, &config)?))
            .service(Arc::new(Recollection::default()))
            .service(chats.clone())
            .rows(ChatLog::SOURCE, Arc::new(ChatKeeper(chats.clone())))
            .service(databases.clone())
            .rows(Databases::SOURCE, databases)
            .service(Arc::new(upstreams::told(upstreams.clone())))
            .secret_key(state.key("secrets")?);
        #[cfg(feature = "docker")]
        {
            builder = builder.executor(ExecutorKind::Docker, Arc::new(docker.clone()));
        }
        if let Some(url) = &config.approvals.webhook {
            let webhook = notify::Webhook::new(url.clone(), state.key("webhook")?)?;
            builder = builder.notifier(Arc::new(webhook));
        }
        let kernel = builder.open().await.map_err(|e| match e {
            OpenError::Store(e) => unopened(&e),
            other => Failure::input(other).hint("`helve audit verify` checks the record"),
        })?;
        scripts.connect(&kernel);
        let read = tools::read(&scripts, root, &config).await?;
        let mut synced = tools::sync(&kernel, root, read).await;
        synced.problems.extend(untold);
        synced.problems.extend(config.missing_tools(root));
        #[cfg(feature = "docker")]
        if let Err(e) = docker.tidy().await {
            // It is tried again before the next run.
            let problem = format!("what is left of earlier containers stays: {}", e.message);
            synced.problems.push(problem);
        }
        let builtin = builtin::add(&kernel, root, &config.toolsets).await?;
        synced.problems.extend(builtin);
        let about = about::tools(&kernel).map_err(|e| Failure::output(e.message))?;
        kernel.add_tools(about).map_err(Failure::output)?;
        synced.problems.extend(told);
        synced.problems.extend(upstreams.attach(&kernel).await);
        kernel.resume_approved().await.map_err(|e| unopened(&e))?;
        let closing = CancellationToken::new();
        let tasks = TaskTracker::new();
        let identity = identity::open(root, &config, closing.clone())?;
        let identity = identity.map(|(identity, keeper)| {
            tasks.spawn(keeper);
            identity
        });
        let default = Settings::default();
        let settings = Settings {
            hosts,
            body_limit: config.server.body_limit.unwrap_or(default.body_limit),
            rate: config.server.rate.unwrap_or(default.rate),
            burst: config.server.burst.unwrap_or(default.burst),
            keeping: config.changes.keeping(),
            identity,
            ..default
        };
        let remembered = Arc::new(rules::Remembered::new(kernel.clone(), root.to_owned()));
        let gate = Arc::new(upstreams::Gate::new(upstreams.clone(), root));
        let front = Front::new(
            kernel.clone(),
            Some(upstreams.clone()),
            config.mcp.options(disclose),
        );
        let open = Self {
            front,
            upstreams,
            scripts,
            #[cfg(feature = "docker")]
            docker,
            chats,
            body_limit: settings.body_limit,
            hub: Hub::new(kernel, settings)
                .with_gateway(gate)
                .with_rules(remembered)
                .with_painter(Arc::new(paint::Grammars)),
            state,
            config,
            root: root.to_owned(),
            synced,
            store,
            checkpoints,
            tasks,
            closing,
        };
        open.terminal_token().await?;
        Ok(open)
    }

    pub(crate) fn kernel(&self) -> &Kernel {
        self.hub.kernel()
    }

    /// Begins what a hub does while nobody calls: expiry, checkpoints, hot reload, and
    /// letting go of old changes and of the code that only the start has needed.
    pub(crate) fn tend(&self, told: impl Fn(&Synced) + Send + Sync + 'static) {
        let tick = checkpoint::tick(
            self.kernel().clone(),
            self.checkpoints.clone(),
            self.closing.clone(),
        );
        self.tasks.spawn(tick);
        let watch = watch::watch(
            self.kernel().clone(),
            self.scripts.clone(),
            self.root.clone(),
            self.config.clone(),
            self.closing.clone(),
            told,
        );
        self.tasks.spawn(watch);
        let collect = collect::tick(
            self.kernel().clone(),
            self.config.changes.keeping(),
            self.closing.clone(),
        );
        self.tasks.spawn(collect);
        let schedules = helve_tools::schedule::tick(
            self.kernel().clone(),
            helve_tools::schedule::Settings::default(),
            self.closing.clone(),
        );
        self.tasks.spawn(schedules);
        self.upstreams.wake();
        let (front, closing) = (self.front.clone(), self.closing.clone());
        self.tasks.spawn(async move { front.watch(closing).await });
        if let Err(failure) = self.listen() {
            // Clients over HTTP still find it.
            out::warn(&failure.error.to_string());
        }
        let closing = self.closing.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = tokio::time::sleep(SETTLED) => {
                    // Where it cannot be done, the hub is as good as before, and only larger.
                    let _ = helve_exec::let_go_of_code();
                }
            }
        });
    }

    /// Cancelled when the hub closes.
    pub(crate) fn stopping(&self) -> CancellationToken {
        self.closing.clone()
    }

    /// All routes, with the door for MCP clients among them.
    pub(crate) fn router(&self) -> axum::Router {
        let views: Vec<String> = self.config.mcp.views.keys().cloned().collect();
        let doors = door::routes(&self.front, &views, self.body_limit, &self.closing);
        self.hub.router_with(doors)
    }

    /// Something that happened to the hub as a whole.
    pub(crate) async fn record(&self, event: &'static str) -> Result<(), Failure> {
        let record = Record::new(self.kernel().now(), event, &env::user(), "hub");
        let recorded = self.kernel().store().record(record).await;
        recorded.map_err(|e| Failure::output(&e))
    }

    /// Signs the record as it stands.
    pub(crate) async fn sign(&self) -> Result<(), Failure> {
        self.checkpoints.sign(self.kernel()).await
    }

    /// Gives what runs its time, and then stops it. From now on nothing begins.
    pub(crate) async fn end_runs(&self) {
        self.kernel().close(GRACE).await;
    }

    /// Ends what runs, signs the record, lets go of the store.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        self.hub.close();
        self.end_runs().await;
        self.upstreams.close().await;
        self.scripts.close().await;
        #[cfg(feature = "docker")]
        self.docker.close().await;
        self.chats.close().await;
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        let signed = self.sign().await;
        self.store.close().await;
        signed
    }

    /// The token of the person at the terminal: kept in a file that only they can read.
    async fn terminal_token(&self) -> Result<(), Failure> {
        let kept = self.state.read_token(TERMINAL);
        let live = kept.and_then(|secret| self.kernel().authenticate(&secret));
        if live.is_some_and(|p| p.owner == env::user()) {
            return Ok(());
        }
        let new = NewToken {
            name: "terminal".to_owned(),
            kind: PrincipalKind::Person,
            owner: env::user(),
            permissions: Permission::ALL.to_vec(),
            ..NewToken::agent("terminal")
        };
        let made = self.kernel().create_token(&hub_itself(), new).await;
        let (_, secret) = made.map_err(|e| Failure::output(e.message))?;
        self.state.write_token(TERMINAL, secret.reveal())
    }

    /// The first agent's token: made once, so that there is something to paste. Whether
    /// it is new.
    pub(crate) async fn agent_token(&self) -> Result<(String, Age), Failure> {
        let kept = self.state.read_token(AGENT);
        if let Some(secret) = kept.filter(|s| self.kernel().authenticate(s).is_some()) {
            return Ok((secret, Age::Kept));
        }
        let person = Principal::person(env::user());
        let made = self
            .kernel()
            .create_token(&person, NewToken::agent(AGENT))
            .await;
        let (_, secret) = made.map_err(|e| Failure::output(e.message))?;
        self.state.write_token(AGENT, secret.reveal())?;
        Ok((secret.reveal().to_owned(), Age::New))
    }
}

/// What runs requests: the guard, and the secrets that they may need.
pub(crate) fn http(root: &Path, config: &Config) -> Result<HttpExecutor, Failure> {
    let secrets = config.secrets.read().map_err(Failure::input)?;
    let secrets = Configured::new(root, secrets);
    Ok(HttpExecutor::new(config.network.guard()).with_secrets(Arc::new(secrets)))
}

/// Where changes are held. Whoever has the store has it to themselves.
fn keeper(state: &State, config: &Config) -> Result<Arc<Keeper>, Failure> {
    let opened = Keeper::open(&state.changes(), Some(config.changes.quota()));
    let keeper = opened.map_err(|e| {
        Failure::output(format!("{:#}", anyhow::Error::from(e)))
            .hint("what runs change is held there; is the disk full, or `.helve/` not yours?")
    })?;
    Ok(Arc::new(keeper))
}

/// How long a command waits for another one to let go of the store, when it says so,
/// and how often it looks.
const PATIENCE: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(25);

/// Opens the store. Commands that open a hub for themselves take turns; a hub that
/// runs does not let go, and is not waited for.
pub(crate) async fn store(state: &State) -> Result<SqliteStore, StoreError> {
    let begun = Instant::now();
    let mut told = false;
    loop {
        let locked = match SqliteStore::open(&state.database()) {
            Err(locked @ StoreError::Locked(_)) => locked,
            opened => return opened,
        };
        if begun.elapsed() >= PATIENCE || Client::runs(state).await {
            return Err(locked);
        }
        if !told && begun.elapsed() >= SILENCE {
            told = true;
            out::say("waiting for another helve in this workspace");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Who acts when the hub itself does: loads a folder, makes the first token.
pub(crate) fn hub_itself() -> Principal {
    Principal::person("hub")
}

pub(crate) fn unopened(error: &StoreError) -> Failure {
    let failure = Failure::input(error);
    match error {
        StoreError::Locked(_) => failure
            .hint("is `helve up` running in this workspace? stop it, or call it by `HELVE_URL`"),
        StoreError::Unwritable(_) => failure.hint("is the disk full, or `.helve/` not yours?"),
        _ => failure.hint("`helve doctor` tells more"),
    }
}
