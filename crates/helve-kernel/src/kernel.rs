//! The one path that every tool call takes, and all that is decided around it.
//!
//! [`Kernel::call`] resolves, validates, checks paths, asks policy, waits for
//! people where it must, passes the filters, records, runs, records again.
//! Executors run only against a [`Permit`](crate::Permit), and only this module
//! makes one.
//!
//! - *Record before effect.* No record, no permit; no permit, no run.
//! - *A run outlives its caller.* Once begun it goes on when the caller is gone, and
//!   its end is recorded.
//! - *What is not sure is refused.* A panic in a check is a refusal.

mod approve;
mod attempt;
mod authorize;
mod batch;
mod commit;
mod execute;
mod harden;
mod here;
mod later;
mod manage;
mod pass;
mod past;
mod paths;
mod questions;
mod recover;
mod redo;
mod reply;
mod resume;
mod rows;
mod search;
mod soon;
mod tokens;
mod undo;
mod waiting;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use helve_core::ToolDef;
use helve_core::catalog::{Catalog, TooSmall};
use helve_core::def::ExecutorKind;
use helve_core::dialect::{Dialect, EncodeError, Encoded, Strictness};
use helve_core::policy::{Pattern, Policy};
use tokio::sync::{broadcast, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::Steady;
use crate::people::People;
use crate::registry::{Behind, Held, Registry};
use crate::report::Reports;
use crate::rows::Sources;
use crate::services::Services;
use crate::store::{AuditFilter, Record};
use crate::{
    Answer, Approval, At, Change, Clock, Entry, Executor, Filter, Keeper, MemoryStore, Principal,
    RegistryError, Rows, RunId, Store, StoreError, SystemClock, Tool, ToolError, Toolset,
    panic_text,
};

pub use batch::{Batch, Conflict};
pub use manage::{Outcome, Registration};
pub use past::{Collected, Diff, DiffForm, Keeping, Purged};
pub(crate) use paths::STATE;
pub use recover::run_answer;
pub use tokens::NewToken;
pub use undo::{UNDO, UndoCall};

/// How approvals are asked for and granted.
#[derive(Debug, Clone)]
pub struct ApprovalRules {
    /// How long a question stays open.
    pub ask_for: Duration,
    /// How long a granted one may wait to be used.
    pub grant_for: Duration,
    /// Who may decide, by owner; `None` is every person with the right, an empty
    /// list is nobody.
    pub approvers: Option<Vec<Pattern>>,
}

impl Default for ApprovalRules {
    fn default() -> Self {
        Self {
            ask_for: Duration::from_secs(60 * 60),
            grant_for: Duration::from_secs(10 * 60),
            approvers: None,
        }
    }
}

/// Tells people that they are asked.
#[async_trait]
pub trait Notifier: Send + Sync {
    /// Tells of an approval; why not, if it cannot.
    async fn asked(&self, approval: &Approval) -> Result<(), String>;
}

/// The kernel. A clone is the same kernel.
#[derive(Clone)]
pub struct Kernel {
    inner: Arc<Inner>,
}

/// A kernel that does not keep it open: for tools that ask about other tools, which the
/// kernel itself holds. A service of every context.
#[derive(Clone)]
pub struct WeakKernel(Weak<Inner>);

impl WeakKernel {
    /// The kernel, as long as somebody holds it.
    pub fn upgrade(&self) -> Option<Kernel> {
        self.0.upgrade().map(|inner| Kernel { inner })
    }
}

struct Inner {
    store: Arc<dyn Store>,
    clock: Arc<Steady>,
    registry: RwLock<Registry>,
    policy: RwLock<Arc<Policy>>,
    executors: HashMap<ExecutorKind, Arc<dyn Executor>>,
    filters: Vec<Arc<dyn Filter>>,
    approvals: ApprovalRules,
    notifier: Option<Arc<dyn Notifier>>,
    root: PathBuf,
    artifacts: Option<PathBuf>,
    keeper: Option<Arc<Keeper>>,
    services: Services,
    sources: Sources,
    secret_key: [u8; 32],
    output_limit: usize,
    sync_ends: bool,
    changes: broadcast::Sender<Change>,
    /// Beside them, those of tools: runs change all the time, and tools hardly ever.
    tool_news: watch::Sender<()>,
    tokens: RwLock<tokens::Known>,
    searching: search::Searching,
    people: Arc<People>,
    /// What runs now, with the switch that stops it.
    running: Mutex<HashMap<RunId, Stop>>,
    /// Calls that wait for people, as they were asked: with their secrets.
    waiting: Mutex<BTreeMap<RunId, pass::Ready>>,
    /// Callers who wait for people, and are handed the answer as it is: what is kept
    /// of it may have less.
    askers: Mutex<HashMap<RunId, oneshot::Sender<Answer>>>,
    /// Commits go one by one: what is looked at before stays true.
    committing: Arc<tokio::sync::Mutex<()>>,
    hardening: harden::Hardening,
    /// Registrations go one by one, so that no two make the same version.
    registering: tokio::sync::Mutex<()>,
    /// Which tools from code somebody has switched on or off.
    switched: Mutex<HashMap<String, bool>>,
    tasks: TaskTracker,
    /// Nothing new begins.
    closing: CancellationToken,
    /// What runs is stopped.
    stopping: CancellationToken,
}

/// The switch of one run.
#[derive(Clone)]
struct Stop {
    token: CancellationToken,
    by: Arc<Mutex<Option<String>>>,
}

/// Why a kernel could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// What is kept cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A tool that was kept cannot be registered again.
    #[error("a registered tool cannot be loaded: {0}")]
    Tool(String),
    /// The machine has no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(String),
}

/// Puts a kernel together.
#[must_use]
pub struct Builder {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    policy: Policy,
    executors: HashMap<ExecutorKind, Arc<dyn Executor>>,
    filters: Vec<Arc<dyn Filter>>,
    approvals: ApprovalRules,
    notifier: Option<Arc<dyn Notifier>>,
    root: PathBuf,
    artifacts: Option<PathBuf>,
    keeper: Option<Arc<Keeper>>,
    services: Services,
    sources: Sources,
    secret_key: Option<[u8; 32]>,
    output_limit: usize,
    sync_ends: bool,
}

/// How long a result may be before it goes to an artifact.
const OUTPUT_LIMIT: usize = 128 * 1024;

impl Builder {
    /// Where things are kept; in memory if nothing is said.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = store;
        self
    }

    /// What time it is; the machine's if nothing is said.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The rules; without any, risk decides.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Who runs tools of a kind.
    pub fn executor(mut self, kind: ExecutorKind, executor: Arc<dyn Executor>) -> Self {
        self.executors.insert(kind, executor);
        self
    }

    /// A filter around every call, inside those before it.
    pub fn filter(mut self, filter: Arc<dyn Filter>) -> Self {
        self.filters.push(filter);
        self
    }

    /// How approvals are asked for and granted.
    pub fn approvals(mut self, rules: ApprovalRules) -> Self {
        self.approvals = rules;
        self
    }

    /// Who tells people that they are asked.
    pub fn notifier(mut self, notifier: Arc<dyn Notifier>) -> Self {
        self.notifier = Some(notifier);
        self
    }

    /// The workspace: the root of every relative path. The current folder if nothing is said.
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = root.into();
        self
    }

    /// The folder for what runs leave; without it, long results are cut.
    pub fn artifacts(mut self, folder: impl Into<PathBuf>) -> Self {
        self.artifacts = Some(folder.into());
        self
    }

    /// Where file changes are held back and what was there before is kept; without it,
    /// no tool can change files.
    pub fn keeper(mut self, keeper: Arc<Keeper>) -> Self {
        self.keeper = Some(keeper);
        self
    }

    /// Something that tools written in Rust find in their context, by its type.
    pub fn service<T: Send + Sync + 'static>(mut self, service: Arc<T>) -> Self {
        self.services.put(service);
        self
    }

    /// Who keeps the rows of collections `@<source>:…`, which tools change elsewhere.
    pub fn rows(mut self, source: impl Into<String>, rows: Arc<dyn Rows>) -> Self {
        self.sources.insert(source.into(), rows);
        self
    }

    /// The key of the HMACs that stand for secrets on the record; by chance if nothing is said.
    pub fn secret_key(mut self, key: [u8; 32]) -> Self {
        self.secret_key = Some(key);
        self
    }

    /// How many bytes of a result come back before it goes to an artifact.
    pub fn output_limit(mut self, bytes: usize) -> Self {
        self.output_limit = bytes;
        self
    }

    /// Whether the record of how a run ended is on the disk, too, before its answer leaves. If
    /// nothing is said, it is written by then, so that nothing is lost with the process, and
    /// on the disk some milliseconds later. What can have an effect is on the disk before it
    /// begins, and what it changed before it is told, whatever is said here.
    pub fn sync_ends(mut self, sync: bool) -> Self {
        self.sync_ends = sync;
        self
    }

    /// Opens the kernel: loads what is kept, and settles what a crash left open.
    pub async fn open(self) -> Result<Kernel, OpenError> {
        let last = AuditFilter {
            after: self.store.audit_head().await?.seq.saturating_sub(1),
            ..AuditFilter::default()
        };
        let last = self.store.audit(last, 1).await?;
        let floor = last
            .first()
            .and_then(|e| At::parse(e.record["at"].as_str()?));
        let kernel = self.build(floor.unwrap_or(At(0)))?;
        kernel.load().await?;
        kernel.settle().await?;
        Ok(kernel)
    }

    fn build(self, floor: At) -> Result<Kernel, OpenError> {
        let secret_key = match self.secret_key {
            Some(key) => key,
            None => {
                let mut key = [0; 32];
                getrandom::fill(&mut key).map_err(|e| OpenError::Random(e.to_string()))?;
                key
            }
        };
        // A root that is not there holds no path, so every path is refused.
        let root = std::path::absolute(&self.root).unwrap_or(self.root);
        let root = std::fs::canonicalize(&root).unwrap_or(root);
        let clock = Arc::new(Steady::new(self.clock, floor));
        let changes = broadcast::channel(1024).0;
        let people = Arc::new(People::new(clock.clone(), changes.clone()));
        let mut services = self.services;
        services.put(people.clone());
        services.put(Arc::new(Reports::default()));
        let inner = Arc::new_cyclic(|this| {
            services.put(Arc::new(WeakKernel(this.clone())));
            Inner {
                store: self.store,
                clock,
                registry: RwLock::default(),
                policy: RwLock::new(Arc::new(self.policy)),
                executors: self.executors,
                filters: self.filters,
                approvals: self.approvals,
                notifier: self.notifier,
                root,
                artifacts: self.artifacts,
                keeper: self.keeper,
                services,
                sources: self.sources,
                secret_key,
                output_limit: self.output_limit,
                sync_ends: self.sync_ends,
                changes,
                tool_news: watch::Sender::default(),
                tokens: RwLock::default(),
                searching: search::Searching::default(),
                people,
                running: Mutex::default(),
                waiting: Mutex::default(),
                askers: Mutex::default(),
                committing: Arc::default(),
                hardening: harden::Hardening::default(),
                registering: tokio::sync::Mutex::default(),
                switched: Mutex::default(),
                tasks: TaskTracker::new(),
                closing: CancellationToken::new(),
                stopping: CancellationToken::new(),
            }
        });
        Ok(Kernel { inner })
    }
}

impl Kernel {
    /// Begins a kernel.
    pub fn builder() -> Builder {
        Builder {
            store: Arc::new(MemoryStore::default()),
            clock: Arc::new(SystemClock),
            policy: Policy::default(),
            executors: HashMap::new(),
            filters: Vec::new(),
            approvals: ApprovalRules::default(),
            notifier: None,
            root: PathBuf::from("."),
            artifacts: None,
            keeper: None,
            services: Services::default(),
            sources: Sources::default(),
            secret_key: None,
            output_limit: OUTPUT_LIMIT,
            sync_ends: false,
        }
    }

    /// A kernel that keeps everything in memory.
    pub fn new() -> Result<Self, OpenError> {
        Self::builder().build(At(0))
    }

    /// The same kernel, without keeping it open.
    pub fn downgrade(&self) -> WeakKernel {
        WeakKernel(Arc::downgrade(&self.inner))
    }

    /// Adds a tool written in Rust.
    pub fn add_tool(&self, tool: Tool) -> Result<(), RegistryError> {
        self.add_tools([tool])
    }

    /// Adds tools: all of them, or none.
    pub fn add_tools(&self, tools: impl IntoIterator<Item = Tool>) -> Result<(), RegistryError> {
        let mut entries: Vec<Arc<Entry>> = Vec::new();
        for tool in tools {
            let version = tool.def.version.clone();
            let held = match tool.held {
                true => Held::Yes,
                false => Held::No,
            };
            let mut entry = Entry::new(
                Arc::new(tool.def),
                version.unwrap_or(semver::Version::new(1, 0, 0)),
                CODE.to_owned(),
                None,
                match tool.leads {
                    Some(leads) => Behind::Tools(leads),
                    None => Behind::Handler(tool.handler, held),
                },
            )?;
            entry.open = tool.open;
            let switched = lock(&self.inner.switched)
                .get(entry.def.name.as_str())
                .copied();
            entry.enabled = switched.unwrap_or(entry.enabled);
            entries.push(Arc::new(entry));
        }
        let mut registry = write(&self.inner.registry);
        let mut added: Vec<String> = Vec::new();
        for entry in entries {
            let name = entry.def.name.to_string();
            let taken = registry
                .find(&name)
                .is_some_and(|e| e.def.name.as_str() == name);
            let put = match taken {
                true => Err(RegistryError::NameTaken {
                    tool: name.clone(),
                    name: name.clone(),
                    holder: name.clone(),
                }),
                false => registry.put(entry),
            };
            match put {
                Ok(()) => added.push(name),
                Err(error) => {
                    for name in &added {
                        registry.remove(name);
                    }
                    return Err(error);
                }
            }
        }
        drop(registry);
        added.into_iter().for_each(|n| self.told(Change::Tool(n)));
        Ok(())
    }

    /// Adds the tools of a set.
    pub fn add_toolset(&self, toolset: Toolset) -> Result<(), RegistryError> {
        self.add_tools(toolset.into_tools())
    }

    /// The tool that answers to a name.
    pub fn find(&self, name: &str) -> Option<Arc<Entry>> {
        read(&self.inner.registry).find(name).cloned()
    }

    /// The tool that answers to a name, or an error with the nearest names.
    pub fn resolve(&self, name: &str) -> Result<Arc<Entry>, ToolError> {
        read(&self.inner.registry).resolve(name, |_| true)
    }

    /// The same for somebody who is told only of tools in their reach.
    fn resolve_for(&self, who: &Principal, name: &str) -> Result<Arc<Entry>, ToolError> {
        read(&self.inner.registry).resolve(name, |tool| who.reaches(tool))
    }

    /// All tools, by name.
    pub fn tools(&self) -> Vec<Arc<Entry>> {
        read(&self.inner.registry).all().cloned().collect()
    }

    /// How often the tools have changed: whoever keeps something about all of them can
    /// tell whether it is still true.
    pub fn tool_changes(&self) -> u64 {
        read(&self.inner.registry).changes
    }

    /// The tools with a tag, by name.
    pub fn by_tag(&self, tag: &str) -> Vec<Arc<Entry>> {
        let mut tools = self.tools();
        tools.retain(|e| e.def.tags.iter().any(|t| t == tag));
        tools
    }

    /// The tools of a group, by name.
    pub fn by_group(&self, group: &str) -> Vec<Arc<Entry>> {
        let mut tools = self.tools();
        tools.retain(|e| e.def.name.group() == Some(group));
        tools
    }

    /// The enabled tools as a vendor wants them.
    pub fn specs(
        &self,
        dialect: &Dialect,
        strictness: Strictness,
    ) -> Result<Vec<Encoded>, EncodeError> {
        let tools = self.tools();
        let enabled = tools.iter().filter(|e| e.enabled);
        enabled
            .map(|e| helve_core::dialect::encode(&e.def, dialect, strictness))
            .collect()
    }

    /// The enabled tools in one line each, within a budget of tokens.
    pub fn catalog(&self, budget: usize) -> Result<Catalog, TooSmall> {
        let tools = self.tools();
        let enabled: Vec<&ToolDef> = tools
            .iter()
            .filter(|e| e.enabled && !e.open)
            .map(|e| &*e.def)
            .collect();
        helve_core::catalog::catalog_of(&enabled, budget)
    }

    /// The rules that hold now.
    pub fn policy(&self) -> Arc<Policy> {
        read(&self.inner.policy).clone()
    }

    /// Puts other rules in place, for every call from now on.
    pub fn set_policy(&self, policy: Policy) {
        *write(&self.inner.policy) = Arc::new(policy);
    }

    /// Where things are kept. Whoever changes something there goes past the kernel.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// The root of every relative path.
    pub fn root(&self) -> &Path {
        &self.inner.root
    }

    /// The folder of what a run left.
    pub fn artifacts(&self, run: &RunId) -> Option<PathBuf> {
        Some(self.inner.artifacts.as_ref()?.join(run.as_str()))
    }

    /// Now; never earlier than before.
    pub fn now(&self) -> At {
        self.inner.clock.now()
    }

    /// Tells of everything that changes from now on.
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.inner.changes.subscribe()
    }

    /// Tells when tools have changed, and of nothing else: whoever waits for it sleeps
    /// through calls.
    pub fn tool_news(&self) -> watch::Receiver<()> {
        self.inner.tool_news.subscribe()
    }

    /// Lets what runs come to its end, for at most that long; then stops it.
    pub async fn close(&self, grace: Duration) {
        self.inner.closing.cancel();
        self.inner.tasks.close();
        if tokio::time::timeout(grace, self.inner.tasks.wait())
            .await
            .is_err()
        {
            self.inner.stopping.cancel();
            self.inner.tasks.wait().await;
        }
        // Where it cannot be done, the next start does it.
        let _ = self.harden(&[]).await;
    }

    /// Sees a change through, also when whoever asked for it goes away in the middle:
    /// what is kept and what is in memory must not differ.
    async fn through<T, W>(&self, work: W) -> Result<T, ToolError>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        self.inner.tasks.spawn(work).await.unwrap_or_else(|error| {
            let what = match error.try_into_panic() {
                Ok(panic) => panic_text(&*panic),
                Err(error) => error.to_string(),
            };
            Err(ToolError::internal(format!(
                "the hub crashed at it: {what}"
            )))
        })
    }

    fn told(&self, change: Change) {
        if matches!(change, Change::Tool(_)) {
            self.inner.tool_news.send_replace(());
        }
        // Nobody may be watching.
        let _ = self.inner.changes.send(change);
    }

    fn entry_of(&self, actor: &str, event: &'static str, resource: &str) -> Record {
        Record::new(self.now(), event, actor, resource)
    }
}

/// The source of tools written in Rust.
const CODE: &str = "code";

/// Where it is kept how somebody left a tool from code: on or off.
const SWITCHED: &str = "tools_switched";

// A panic while one of these locks is held cannot leave half a change behind: each
// holds a map that is changed by single operations.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
