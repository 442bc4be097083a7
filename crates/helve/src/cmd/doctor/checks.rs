//! What is looked at. Nothing here changes anything: no hub is opened, no tool is
//! registered, and a state folder that is not there is not made.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use helve_core::def::ExecutorKind;
use helve_core::lint::Severity;
use helve_exec::HostExecutor;
use helve_http::HttpExecutor;
use helve_kernel::{At, Executor, Store as _, StoreError};
use helve_store::SqliteStore;

#[cfg(feature = "docker")]
use super::docker;
use super::{Check, Status, sandbox};
use crate::client::{Client, Target};
use crate::cmd::{audit, policy};
use crate::config::{Config, Source};
use crate::exit::Failure;
use crate::hub;
use crate::secrets::Configured;
use crate::state::State;
use crate::{out, when, workspace};

/// Below this, a record soon cannot be written.
const LITTLE: u64 = 100 * 1024 * 1024;

/// How far a clock may be behind the record.
const BEHIND: u64 = 5;

pub(super) async fn all(target: &Target) -> Vec<Check> {
    let root = workspace::root();
    let state = State::of(&root);
    let mut checks = vec![place(&root), folder(&state)];
    let config = match Config::load(&root) {
        Ok(config) => {
            checks.push(Check::new("configuration", Status::Ok, configured(&root)));
            checks.push(rules(&config));
            Some(config)
        }
        Err(failure) => {
            let check = failed("configuration", &failure);
            checks.push(check.todo("mend it; a hub does not start with it"));
            None
        }
    };
    checks.extend(hub(target, &state).await);
    if let Some(config) = &config {
        let missing = config.missing_tools(&root).into_iter();
        checks.extend(missing.map(|text| {
            Check::new("tools", Status::Warn, out::visible(&text))
                .todo("make the folder, or take it out of `helve.toml`")
        }));
        checks.extend(tools(&root, config).await);
        checks.extend(secrets(&root, config).await);
    }
    checks.push(executors());
    #[cfg(feature = "docker")]
    if let Some(config) = &config {
        checks.extend(docker::checks(&root, state.path(), config).await);
    }
    checks.push(disk(&root));
    let required = config.is_some_and(|c| c.sandbox.require_sandbox);
    checks.extend(sandbox::checks(state.path(), required).await);
    checks
}

fn failed(name: &'static str, failure: &Failure) -> Check {
    let check = Check::new(name, Status::Fail, format!("{:#}", failure.error));
    match &failure.hint {
        Some(hint) => check.todo(hint.clone()),
        None => check,
    }
}

fn place(root: &Path) -> Check {
    let marked = root.join("helve.toml").is_file() || root.join(".helve").is_dir();
    let shown = root.display();
    match marked {
        true => Check::new("workspace", Status::Ok, shown.to_string()),
        false => Check::new("workspace", Status::Note, format!("{shown}, not used yet"))
            .todo("`helve up` begins one here"),
    }
}

fn folder(state: &State) -> Check {
    let shown = state.path().display();
    let found = match std::fs::metadata(state.path()) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Check::new("state", Status::Note, "no state yet");
        }
        Err(e) => {
            return Check::new(
                "state",
                Status::Fail,
                format!("`{shown}` cannot be read: {e}"),
            );
        }
        Ok(found) => found,
    };
    let me = rustix::process::getuid().as_raw();
    let mode = found.mode() & 0o777;
    if found.uid() != me {
        let text = format!(
            "`{shown}` belongs to user {}, and you are {me}",
            found.uid()
        );
        return Check::new("state", Status::Fail, text)
            .todo(format!("run as that user, or `chown -R {me} {shown}`"));
    }
    match mode {
        0o700 => Check::new(
            "state",
            Status::Ok,
            format!("`{shown}`, for your eyes only"),
        ),
        _ => Check::new(
            "state",
            Status::Fail,
            format!("`{shown}` has mode {mode:o}"),
        )
        .todo(format!(
            "others may have read its keys and tokens; `chmod 700 {shown}`"
        )),
    }
}

fn configured(root: &Path) -> String {
    match root.join("helve.toml").is_file() {
        true => "`helve.toml` is sound".to_owned(),
        false => "no `helve.toml`; the defaults hold".to_owned(),
    }
}

fn rules(config: &Config) -> Check {
    match config.policy.len() {
        0 => Check::new("policy", Status::Ok, "no rules; the risk decides"),
        n => {
            let (rules, examples) = (out::count(n, "rule"), policy::examples(config));
            let examples = out::count(examples, "example");
            Check::new("policy", Status::Ok, format!("{rules}, {examples} hold"))
        }
    }
}

/// The hub that runs, or the store of one that does not; and its record.
async fn hub(target: &Target, state: &State) -> Vec<Check> {
    let url = match target.is_elsewhere() {
        true => Some("elsewhere".to_owned()),
        false => state.last_address(),
    };
    if let Some(url) = url {
        match reached(target).await {
            Ok(checks) => return checks,
            Err(failure) if target.is_elsewhere() => return vec![failed("hub", &failure)],
            Err(_) => {
                let text = format!("`.helve/hub.json` names {url}, where nobody answers");
                let stale = Check::new("hub", Status::Warn, text)
                    .todo("it did not stop in order; `helve up` starts it again");
                let mut checks = vec![stale];
                checks.extend(store(state).await);
                return checks;
            }
        }
    }
    let mut checks = vec![Check::new(
        "hub",
        Status::Note,
        "not running; commands open it themselves",
    )];
    checks.extend(store(state).await);
    checks
}

async fn reached(target: &Target) -> Result<Vec<Check>, Failure> {
    let state = State::of(&workspace::root());
    if !target.is_elsewhere() {
        let url = state.running().unwrap_or_default();
        if !Client::answers(&url).await {
            return Err(Failure::hub("nobody answers"));
        }
    }
    let client = Client::open(target).await?;
    let me = client.get("/me").await?;
    let (place, owner) = (client.place(), crate::shown::text(&me["owner"]));
    let mut checks = vec![Check::new(
        "hub",
        Status::Ok,
        format!("answers at {place}; you are {owner}"),
    )];
    // What a running hub has written can be read while it writes.
    checks.push(match audit::verify::running(target).await {
        Ok(Ok(verified)) => whole(&verified),
        Ok(Err(broken)) => broken_record(&broken),
        Err(failure) => failed("record", &failure),
    });
    let newest = client.get("/runs?limit=1").await?;
    checks.push(clock(
        newest["items"][0]["created"].as_str().and_then(At::parse),
    ));
    Ok(checks)
}

async fn store(state: &State) -> Vec<Check> {
    if !state.database().exists() {
        return vec![Check::new("store", Status::Note, "nothing is kept yet")];
    }
    let opened = SqliteStore::open(&state.database());
    let store = match opened {
        Ok(store) => store,
        Err(e) => {
            let todo = match &e {
                StoreError::Locked(_) => {
                    "another helve has it open; look for it with `ps`, and try again"
                }
                StoreError::Damaged(_) => {
                    "restore `.helve/` from a backup, or move it away to begin anew"
                }
                StoreError::Unwritable(_) => "is the disk full, or `.helve/` not yours?",
                _ => "use the helve that made it",
            };
            return vec![Check::new("store", Status::Fail, e.to_string()).todo(todo)];
        }
    };
    let last = last(&store).await;
    store.close().await;
    drop(store);
    let mut checks = vec![Check::new("store", Status::Ok, "opens")];
    checks.push(match audit::verify::own(state).await {
        Ok(Ok(verified)) => whole(&verified),
        Ok(Err(broken)) => broken_record(&broken),
        Err(failure) => failed("record", &failure),
    });
    checks.push(clock(last));
    checks
}

/// When the last entry was written.
async fn last(store: &SqliteStore) -> Option<At> {
    let head = store.audit_head().await.ok()?;
    let filter = helve_kernel::store::AuditFilter {
        after: head.seq.saturating_sub(1),
        ..Default::default()
    };
    let entries = store.audit(filter, 1).await.ok()?;
    At::parse(entries.first()?.record["at"].as_str()?)
}

fn whole(verified: &helve_core::audit::Verified) -> Check {
    let text = format!(
        "whole: {} entries, signed up to {}",
        verified.head.seq, verified.covered
    );
    match verified.checkpoints == 0 && verified.head.seq > 0 {
        false => Check::new("record", Status::Ok, text),
        true => Check::new("record", Status::Warn, format!("{text}: nothing is signed"))
            .todo("it could have been cut off; checkpoints are kept where the hub is"),
    }
}

fn broken_record(broken: &str) -> Check {
    Check::new("record", Status::Fail, broken.to_owned())
        .todo("somebody changed it, or an older copy is in place: `helve audit verify` says where")
}

fn clock(last: Option<At>) -> Check {
    let now = when::now();
    match last {
        Some(last) if last > now && last.since(now).as_secs() > BEHIND => {
            let text = format!("this machine says {now}, but the record goes up to {last}");
            Check::new("clock", Status::Fail, text).todo("set the clock; approvals expire by it")
        }
        _ => Check::new(
            "clock",
            Status::Ok,
            when::moment(&now.to_string().into()) + " UTC",
        ),
    }
}

/// Files that a hub could not load, and tools that it could not run.
async fn tools(root: &Path, config: &Config) -> Vec<Check> {
    let folders = config.tools(root);
    let there: Vec<String> = folders
        .iter()
        .filter(|f| f.is_dir())
        .map(|f| f.display().to_string())
        .collect();
    if there.is_empty() {
        return vec![
            Check::new("tools", Status::Note, "there is no `tools/` folder")
                .todo("put definitions into `tools/<group>/<action>.toml`"),
        ];
    }
    let host = HostExecutor::new(root.to_owned());
    let http = HttpExecutor::new(config.network.guard());
    let (scripts, _) = hub::script_executor(host.clone(), root, config).await;
    let read = match hub::read_tools(&scripts, root, config).await {
        Ok(read) => read,
        Err(failure) => return vec![failed("tools", &failure)],
    };
    #[cfg(feature = "docker")]
    let docker = helve_exec::DockerExecutor::new(root.to_owned(), config.docker.settings());
    let mut checks = Vec::new();
    for (_, problem) in &read.broken {
        checks.push(Check::new("tools", Status::Fail, out::visible(problem)));
    }
    let (mut sound, mut unable) = (0, Vec::new());
    for document in &read.documents {
        let file = Path::new(&document.file);
        let file = file.strip_prefix(root).unwrap_or(file).display();
        let errors = document.findings.iter();
        let mut errors = errors.filter(|f| f.severity == Severity::Error);
        if let Some(error) = errors.next() {
            let text = format!("`{file}`: {} [{}]", error.message, error.code);
            let check = Check::new("tools", Status::Fail, out::visible(&text));
            checks.push(check.todo(format!("`helve check {file}` shows where")));
            continue;
        }
        for tool in &document.tools {
            let kind = tool.def.executor.as_ref().map(|e| e.kind);
            let executor: Option<&dyn Executor> = match kind {
                Some(ExecutorKind::Host) => Some(&host),
                Some(ExecutorKind::Http) => Some(&http),
                Some(ExecutorKind::Script) => Some(&scripts),
                #[cfg(feature = "docker")]
                Some(ExecutorKind::Docker) => Some(&docker),
                _ => None,
            };
            match (executor, kind) {
                (Some(executor), _) => match executor.inspect(&tool.def).await {
                    Ok(_) => sound += 1,
                    Err(e) => {
                        let text = format!("`{file}`: {}", e.message);
                        let check = Check::new("tools", Status::Fail, out::visible(&text));
                        checks.push(match e.hint {
                            Some(hint) => check.todo(out::visible(&hint)),
                            None => check,
                        });
                    }
                },
                // Its server is asked when it is called.
                (None, Some(ExecutorKind::Mcp)) => sound += 1,
                (None, kind) => {
                    let kind = kind.map_or("none", ExecutorKind::as_str);
                    unable.push(format!("`{}` ({kind})", tool.def.name));
                }
            }
        }
    }
    if sound > 0 || (checks.is_empty() && unable.is_empty()) {
        let text = format!("{} in files can be called", out::count(sound, "tool"));
        checks.insert(0, Check::new("tools", Status::Ok, text));
    }
    if !unable.is_empty() {
        let text = format!("can be seen, but not called: {}", unable.join(", "));
        checks.push(
            Check::new("tools", Status::Warn, out::visible(&text))
                .todo(format!("this build runs the executors {}", RUN.join(", "))),
        );
    }
    checks
}

/// Secrets that cannot be had, or that could go anywhere. Programs are not run for it.
async fn secrets(root: &Path, config: &Config) -> Vec<Check> {
    let Ok(secrets) = config.secrets.read() else {
        return Vec::new();
    };
    let configured = Configured::new(root, secrets.clone());
    let mut checks = Vec::new();
    for (name, secret) in &secrets {
        if matches!(secret.source, Source::Command(_)) {
            continue;
        }
        if let Err(problem) = configured.value(&secret.source).await {
            let text = format!("`{name}` cannot be read: {problem}");
            checks.push(
                Check::new("secrets", Status::Warn, out::visible(&text)).todo(
                    "set it, or take it out of `[secrets]`; tools that need it fail until then",
                ),
            );
        }
    }
    let open = secrets.iter().filter(|(_, s)| s.hosts.is_none());
    let open: Vec<String> = open.map(|(name, _)| format!("`{name}`")).collect();
    if !open.is_empty() {
        let text = format!("may be sent to any host: {}", open.join(", "));
        let todo = "name its hosts: `{ from = \"env:NAME\", hosts = [\"api.example.com\"] }`";
        checks.push(Check::new("secrets", Status::Note, text).todo(todo));
    }
    checks
}

/// The executors of this build.
#[cfg(feature = "docker")]
const RUN: &[&str] = &["docker", "host", "http", "mcp", "script"];
#[cfg(not(feature = "docker"))]
const RUN: &[&str] = &["host", "http", "mcp", "script"];

fn executors() -> Check {
    let all = ExecutorKind::ALL.iter().map(|kind| kind.as_str());
    let others = all.filter(|kind| *kind != "builtin" && !RUN.contains(kind));
    let (run, others) = (RUN.join(", "), others.collect::<Vec<_>>().join(", "));
    Check::new(
        "executors",
        Status::Note,
        format!("{run}; not in this build: {others}"),
    )
}

fn disk(root: &Path) -> Check {
    let Ok(found) = rustix::fs::statvfs(root) else {
        return Check::new("disk", Status::Warn, "how much is free cannot be told");
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let text = format!("{} MB free", free / (1024 * 1024));
    match free < LITTLE {
        false => Check::new("disk", Status::Ok, text),
        true => Check::new("disk", Status::Warn, text)
            .todo("make room: what cannot be recorded does not run"),
    }
}
