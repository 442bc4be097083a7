//! Tools in other languages: files of JavaScript, Python and Erlang in folders.
//!
//! ```toml
//! [executor]
//! type = "script"
//! path = "tools/file/read.js"
//! function = "read"
//! ```
//!
//! The files of a folder are a toolset. A worker has them loaded and is called again and
//! again; where several calls come at once, there are several. It is in the same sandbox as
//! a program on this machine, so a call that may write gets a worker of its own, whose
//! changes are held back, and which goes when the call is over.

mod asks;
mod pool;
mod reply;
mod runtime;
mod settings;
mod wire;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use helve_core::ToolDef;
use helve_kernel::helve_changes::Books;
use helve_kernel::{Executor, Kernel, Permit, Reply, Reporting, ToolError};
use helve_sandbox::Limits;
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use self::asks::{Asks, Hub};
use self::pool::{Key, Pools};
use self::runtime::Hosts;
use self::settings::Settings;
use self::wire::Outcome;
use self::worker::{Broken, Nowhere, Request, Worker};
use crate::cage::Cage;
use crate::call::{Call, blocking, notes, settle};
use crate::ground::Ground;
use crate::host::HostExecutor;
use crate::process::{self, Sink, Spec};
use crate::program::{self, Pinned};
use crate::running::{Place, Plain, Unstarted, Walls};
use crate::{environment, place as places};

pub use self::runtime::Runtime;
pub use self::wire::{Described, Unloaded};

/// How long the files of a toolset may take to be loaded.
const LOADING: Duration = Duration::from_secs(20);

/// How long a single one may, when all together did not end.
const LOADING_ONE: Duration = Duration::from_secs(5);

/// The most that a program may say of itself.
const SAID: usize = 4 * 1024 * 1024;

/// What runs scripts, and how.
#[derive(Debug, Clone, Default)]
pub struct ScriptSettings {
    /// Other interpreters than those that are found by name.
    pub interpreters: Vec<(Runtime, String)>,
    /// How many calls of a toolset run at once.
    pub pool: usize,
    /// What is said of single folders.
    pub toolsets: Vec<Toolset>,
}

/// What the operator says of a folder of scripts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toolset {
    /// The folder, a real path.
    pub folder: PathBuf,
    /// How many calls run at once.
    pub pool: Option<usize>,
    /// Variables that its workers see, secrets among them.
    pub env: Vec<(String, String)>,
}

/// Calls what is in scripts. Clones share their workers.
#[derive(Clone)]
pub struct ScriptExecutor(Arc<Inner>);

struct Inner {
    host: HostExecutor,
    settings: ScriptSettings,
    hosts: Mutex<Option<Arc<Hosts>>>,
    pools: Pools,
    hub: Arc<Hub>,
}

/// What is run, and where.
struct Found {
    /// As it was named: an interpreter may tell by its name where its packages are.
    interpreter: PathBuf,
    /// The same as it really is.
    program: PathBuf,
    file: PathBuf,
    folder: PathBuf,
    cwd: PathBuf,
    pinned: Vec<Pinned>,
    stamp: Vec<(PathBuf, u64, i64, i64)>,
}

impl ScriptExecutor {
    /// An executor that holds scripts as that one holds programs.
    pub fn new(host: HostExecutor, settings: ScriptSettings) -> Self {
        Self(Arc::new(Inner {
            host,
            settings,
            hosts: Mutex::new(None),
            pools: Pools::default(),
            hub: Arc::default(),
        }))
    }

    /// Lets scripts call the tools of a hub.
    pub fn connect(&self, kernel: &Kernel) {
        self.0.hub.connect(kernel);
    }

    /// Ends all workers.
    pub async fn close(&self) {
        let this = self.clone();
        // Each is waited for.
        let _ = blocking(move || this.0.pools.clear()).await;
    }

    /// What tools the files of a folder have, all of one runtime. Nothing of it is written
    /// anywhere, and no network is there.
    pub async fn describe(
        &self,
        runtime: Runtime,
        files: &[PathBuf],
    ) -> Result<Vec<Described>, ToolError> {
        let names: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
        match self.described(runtime, &names, LOADING).await? {
            Ok(described) => Ok(described),
            Err(_) if names.len() > 1 => {
                let mut all = Vec::new();
                for name in names {
                    let one = std::slice::from_ref(&name);
                    let found = self.described(runtime, one, LOADING_ONE).await?;
                    all.extend(found.unwrap_or_else(|error| vec![unloaded(name, error)]));
                }
                Ok(all)
            }
            Err(error) => Ok(names
                .into_iter()
                .map(|name| unloaded(name, error.clone()))
                .collect()),
        }
    }

    /// What a program prints when it is started with these words, if it ends well. Nothing
    /// of it is written anywhere, and no network is there.
    pub async fn ask(&self, file: &Path, words: &[&str]) -> Result<Option<String>, ToolError> {
        let host = self.0.host.clone();
        let ground = blocking(move || host.ground(&std::env::temp_dir())).await?;
        self.0.host.content_with(ground)?;
        let folder = file.parent().unwrap_or(file).to_owned();
        let walls = self
            .0
            .host
            .bare_walls(vec![folder.clone()], Limits::default());
        let spec = Spec {
            program: file.to_owned(),
            name: file.display().to_string(),
            args: words.iter().map(|word| (*word).to_owned()).collect(),
            env: environment::base(&[]),
            keep: SAID,
            ..self.0.spec(file, folder, &[])
        };
        let stop = CancellationToken::new();
        let alarm = stop.clone();
        let alarm = tokio::spawn(async move {
            tokio::time::sleep(LOADING_ONE).await;
            alarm.cancel();
        });
        let finished = process::run(spec, place(ground, &walls), &Nowhere, &stop).await;
        alarm.abort();
        match finished {
            Ok(finished) if finished.status.success() => Ok(finished
                .stdout
                .whole()
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())),
            Ok(_) => Ok(None),
            Err(unstarted) => Err(unstarted.error()),
        }
    }

    /// The outer error is of the interpreter, the inner one of the files.
    async fn described(
        &self,
        runtime: Runtime,
        names: &[String],
        limit: Duration,
    ) -> Result<Result<Vec<Described>, ToolError>, ToolError> {
        let Some(folder) = names.first().and_then(|name| Path::new(name).parent()) else {
            return Ok(Ok(Vec::new()));
        };
        let (this, owned) = (self.clone(), folder.to_owned());
        let prepare = move || {
            let root = places::root(&this.0.host.root)?;
            let interpreter = this.interpreter(runtime, &root)?;
            let ground = this.0.host.ground(&std::env::temp_dir());
            Ok::<_, ToolError>((root, interpreter, ground, this.0.around(&owned).env))
        };
        let (root, (interpreter, _), ground, env) = blocking(prepare).await??;
        self.0.host.content_with(ground)?;
        let hosts = self.0.hosts()?;
        let visible = vec![folder.to_owned(), hosts.folder().to_owned()];
        let walls = self.0.host.bare_walls(visible, Limits::default());
        let spec = self.0.spec(&interpreter, root, &env);
        let started = Worker::start(spec, hosts.words(runtime), place(ground, &walls)).await;
        let mut worker = started.map_err(Unstarted::error)?;
        match timeout(limit, worker.describe(names)).await {
            Ok(Ok(described)) => {
                let _ = worker.end().await;
                Ok(Ok(described))
            }
            Ok(Err(broken)) => Ok(Err(worker.explain(broken).await)),
            Err(_) => {
                let _ = worker.end().await;
                let seconds = limit.as_secs();
                let problem = format!("loading it did not end within {seconds} seconds");
                Ok(Err(ToolError::timeout(problem)))
            }
        }
    }

    /// What is started for a runtime: as it is named, and as it really is.
    fn interpreter(&self, runtime: Runtime, root: &Path) -> Result<(PathBuf, PathBuf), ToolError> {
        let named = self.0.settings.interpreters.iter();
        let named = named.rev().find(|(known, _)| *known == runtime);
        let word = named.map_or(runtime.program(), |(_, word)| word);
        let real = program::find(word, root).map_err(|e| {
            let hint = format!("`[scripts] {} = \"…\"` names another", runtime.as_str());
            ToolError::dependency(e.message).with_hint(hint)
        })?;
        match word.contains('/') {
            true => Ok((root.join(word), real)),
            false => Ok((real.clone(), real)),
        }
    }

    async fn look(&self, def: &ToolDef, settings: &Settings) -> Result<Found, ToolError> {
        let (this, settings, allowed) = (self.clone(), settings.clone(), def.allowed_paths.clone());
        let look = move || {
            let host = &this.0.host;
            let root = places::root(&host.root)?;
            let cwd = places::cwd(settings.cwd.as_deref(), &allowed, &root)?;
            let file = root.join(&settings.path);
            let real = file.canonicalize().ok().filter(|real| real.is_file());
            let real = real.ok_or_else(|| {
                ToolError::dependency(format!("there is no script `{}`", file.display()))
                    .with_hint("the path begins at the workspace")
            })?;
            let (interpreter, program) = this.interpreter(settings.runtime, &root)?;
            let folder = real.parent().unwrap_or(&root).to_owned();
            let stamp = runtime::stamp(&folder)?;
            // It is the machine's, and changes when that is kept up to date.
            program::refuse_writable(&program)?;
            let pinned = program::pinned(real.clone(), &host.hashes)?;
            Ok(Found {
                interpreter,
                file: real,
                folder,
                cwd,
                stamp,
                pinned: vec![pinned],
                program,
            })
        };
        blocking(look).await?
    }
}

impl Inner {
    /// The programs that load scripts, laid out once.
    fn hosts(&self) -> Result<Arc<Hosts>, ToolError> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        match &*hosts {
            Some(hosts) => Ok(hosts.clone()),
            None => {
                let made = Hosts::lay_out().map(Arc::new).map_err(|e| {
                    let problem = format!("not run: no folder for its worker can be made: {e}");
                    ToolError::dependency(problem)
                })?;
                Ok(hosts.insert(made).clone())
            }
        }
    }

    /// What the operator says of a folder: the nearest word for it or a folder above.
    fn around(&self, folder: &Path) -> Toolset {
        let named = self.settings.toolsets.iter();
        let named = named.filter(|t| folder.starts_with(&t.folder));
        let nearest = named.max_by_key(|t| t.folder.components().count());
        nearest.cloned().unwrap_or_default()
    }

    fn spec(&self, interpreter: &Path, cwd: PathBuf, env: &[(String, String)]) -> Spec {
        Spec {
            program: PathBuf::from("/bin/sh"),
            name: interpreter.display().to_string(),
            args: Vec::new(),
            env: environment::base(env),
            cwd,
            input: Vec::new(),
            keep: 0,
            artifacts: None,
            grace: Duration::ZERO,
            stage: None,
            room: self.host.room,
        }
    }
}

/// One call on its way.
struct Way<'w> {
    inner: &'w Inner,
    permit: &'w Permit,
    settings: &'w Settings,
    found: &'w Found,
    around: Toolset,
    hosts: Arc<Hosts>,
    reporting: &'w Reporting,
}

impl Way<'_> {
    async fn ground(&self) -> Result<Ground, ToolError> {
        let host = self.inner.host.clone();
        let folder = self.permit.keeper().map(|k| k.folder().to_owned());
        let folder = folder.unwrap_or_else(std::env::temp_dir);
        let ground = blocking(move || host.ground(&folder)).await?;
        self.inner.host.content_with(ground)?;
        Ok(ground)
    }

    fn walls(&self, cage: Option<&Cage>) -> Walls {
        let found = self.found;
        let mut visible = vec![
            found.cwd.clone(),
            found.folder.clone(),
            found.interpreter.clone(),
            self.hosts.folder().to_owned(),
        ];
        visible.extend([found.program.clone(), found.file.clone()]);
        let grants = (self.settings.network, self.settings.limits.clone());
        let call = Call::from(self.permit);
        self.inner.host.walls(&call, visible, grants, cage)
    }

    fn env(&self) -> Vec<(String, String)> {
        let mut env = self.around.env.clone();
        env.extend(self.settings.env.iter().cloned());
        env
    }

    async fn start(&self, place: &dyn Place) -> Result<Worker, ToolError> {
        let (found, runtime) = (self.found, self.settings.runtime);
        let root = places::root(&self.inner.host.root)?;
        let spec = self.inner.spec(&found.interpreter, root, &self.env());
        let words = self.hosts.words(runtime);
        let mut worker = Worker::start(spec, words, place)
            .await
            .map_err(Unstarted::error)?;
        worker.stamp.clone_from(&found.stamp);
        Ok(worker)
    }

    async fn call(
        &self,
        worker: &mut Worker,
        stage: Option<(PathBuf, u64)>,
    ) -> Result<Outcome, Broken> {
        let (permit, ctx) = (self.permit, self.permit.ctx());
        let message = json!({
            "op": "call",
            "id": worker.next_call(),
            "file": self.found.file.display().to_string(),
            "tool": self.settings.function,
            "args": permit.args(),
            "cwd": self.found.cwd.display().to_string(),
            "ctx": {
                "run_id": permit.run_id().as_str(),
                "tool": permit.def().name.as_str(),
                "agent_id": ctx.agent_id(),
                "principal": ctx.principal(),
                "keys": ctx.keys(),
            },
        });
        let request = Request {
            message,
            sink: permit as &dyn Sink,
            stop: permit.stop(),
            reporting: self.reporting,
            stage,
        };
        worker
            .call(request, Asks::new(&self.inner.hub, permit))
            .await
    }

    /// By a worker that waits, or a new one that will.
    async fn warm(&self) -> Result<Reply, ToolError> {
        let (settings, found, pools) = (self.settings, self.found, &self.inner.pools);
        let key = Key {
            folder: found.folder.clone(),
            runtime: settings.runtime,
            interpreter: found.interpreter.clone(),
            env: self.env(),
            network: settings.network,
            memory: settings.limits.memory,
            processes: settings.limits.processes,
            readable: self.permit.readable().to_vec(),
        };
        let size = self.around.pool.unwrap_or(self.inner.settings.pool);
        let seats = pools.seats(&key, size);
        // Whoever waits for a call of another script keeps its own seat: that one must not
        // wait for it.
        let _seat = match self.inner.hub.depth(self.permit.run_id()) {
            0 => tokio::select! {
                seat = seats.acquire() => seat.ok(),
                () = self.permit.stop().cancelled() => {
                    return Err(ToolError::timeout("stopped before it was started"));
                }
            },
            _ => None,
        };
        let mut worker = match pools.take(&key, &found.stamp) {
            Some(worker) => worker,
            None => {
                let ground = self.ground().await?;
                self.start(place(ground, &self.walls(None))).await?
            }
        };
        match self.call(&mut worker, None).await {
            Ok(outcome) => {
                let missing = worker.missing();
                pools.give(key, worker);
                let mut reply = reply::reply(self.permit.def(), outcome)?;
                reply.notes = notes(None, &missing);
                Ok(reply)
            }
            Err(broken) => Err(worker.explain(broken).await),
        }
    }

    /// By a worker of its own, whose changes are held back.
    async fn alone(&self) -> Result<Reply, ToolError> {
        let (host, call) = (&self.inner.host, Call::from(self.permit));
        let ground = self.ground().await?;
        let cage = call.cage(ground.kind).await?;
        let kind = cage.as_ref().map(Cage::kind);
        let walls = self.walls(cage.as_ref());
        let books = match ground.sandboxed && walls.sandbox.is_privileged() {
            true => Books::Trusted,
            false => Books::User,
        };
        let stage = call.place().map(|place| (place.to_owned(), host.room));
        let (mut missing, mut index) = (Vec::new(), false);
        let reply = match self.start(place(ground, &walls)).await {
            Err(error) => Err(error),
            Ok(mut worker) => {
                (missing, index) = (worker.missing(), worker.has_index());
                match self.call(&mut worker, stage).await {
                    Ok(outcome) => {
                        // Whatever it started is gone before anybody looks at what it wrote.
                        worker.end().await?;
                        reply::reply(self.permit.def(), outcome)
                    }
                    Err(broken) => Err(worker.explain(broken).await),
                }
            }
        };
        let settled = settle(cage, books, index, reply.is_ok()).await;
        let mut reply = reply?;
        reply.changes = settled?;
        reply.notes = notes(kind, &missing);
        Ok(reply)
    }
}

#[async_trait]
impl Executor for ScriptExecutor {
    async fn inspect(&self, def: &ToolDef) -> Result<Option<Value>, ToolError> {
        let settings = Settings::of(def)?;
        let found = self.look(def, &settings).await?;
        Ok(Some(program::fingerprint(&found.pinned)))
    }

    fn holds(&self, def: &ToolDef) -> Result<(), String> {
        match Settings::of(def) {
            Err(error) => Err(error.message),
            Ok(settings) if settings.network => Err("it may use the network".to_owned()),
            Ok(_) => self.0.host.has_sandbox(),
        }
    }

    async fn run(&self, permit: &Permit) -> Result<Reply, ToolError> {
        let settings = Settings::of(permit.def())?;
        let found = self.look(permit.def(), &settings).await?;
        program::compare(permit.fingerprint(), &found.pinned)?;
        let reporting = permit.ctx().reporting();
        let way = Way {
            inner: &self.0,
            permit,
            settings: &settings,
            found: &found,
            around: self.0.around(&found.folder),
            hosts: self.0.hosts()?,
            reporting: &reporting,
        };
        let work = async {
            match permit.writable().is_empty() {
                true => way.warm().await,
                false => way.alone().await,
            }
        };
        reporting.during(permit.ctx(), work).await
    }
}

/// Where it is started.
fn place(ground: Ground, walls: &Walls) -> &dyn Place {
    match ground.sandboxed {
        true => walls,
        false => &Plain,
    }
}

fn unloaded(file: String, error: ToolError) -> Described {
    Described {
        file,
        tools: Vec::new(),
        error: Some(Unloaded {
            message: error.message,
            line: None,
            column: None,
        }),
    }
}

#[cfg(test)]
mod tests;
