//! The registry as its operators see it: register, change, enable, roll back, remove.
//!
//! A definition and the programs behind it are one version. Whatever changes them,
//! a call of the API or an edited file, makes a new one, and nothing that was
//! approved for the old one counts for the new. A program that changes behind a file
//! that does not is refused until somebody accepts it.

use std::path::Path;
use std::sync::Arc;

use helve_core::def::Risk;
use helve_core::lint::{self, Severity};
use serde_json::Value;

use super::approve::broken;
use super::{CODE, Kernel, SWITCHED, lock, read, recover, write};
use crate::changes::RowChange;
use crate::registry::version_hash;
use crate::store::{Registered, Version};
use crate::{Change, Entry, ErrorKind, Permission, Principal, PrincipalKind, ToolDef, ToolError};

/// How a definition is put into the registry.
#[derive(Debug, Clone)]
pub struct Registration {
    /// The definition.
    pub def: ToolDef,
    /// Where it comes from: `api`, or the path of a file.
    pub source: String,
    /// Why, in the words of whoever does it.
    pub why: Option<String>,
    /// Whether a tool of that name may be there already.
    pub replace: bool,
}

/// What came of a registration.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The tool as it can be called now.
    pub entry: Arc<Entry>,
    /// Whether anything is different from before.
    pub changed: bool,
    /// What its author may want to know.
    pub warnings: Vec<String>,
}

impl Kernel {
    /// Registers a tool, or a new version of it. The same definition again changes nothing.
    pub async fn register(&self, who: &Principal, new: Registration) -> Result<Outcome, ToolError> {
        let (kernel, who) = (self.clone(), who.clone());
        self.through(async move { kernel.register_now(&who, new).await })
            .await
    }

    async fn register_now(&self, who: &Principal, new: Registration) -> Result<Outcome, ToolError> {
        self.allowed(who, Permission::ToolRegister)?;
        let name = new.def.name.to_string();
        self.in_reach(who, &name)?;
        let _one = self.inner.registering.lock().await;
        let before = self.find(&name).filter(|e| e.def.name.as_str() == name);
        self.replaceable(before.as_deref(), &new)?;
        let mut warnings = linted(&new.def)?;
        let fingerprint = self.inspect(&new.def, &mut warnings).await?;
        let history = self.history(&name).await?;
        if new.source == API {
            // Of a tool that was removed, the highest that it ever had.
            let highest = || history.iter().map(|v| risk_of(&v.definition)).max();
            let old = before.as_ref().map(|b| b.def.risk.unwrap_or(Risk::Write));
            risk_kept(who, &new.def, old.or_else(highest))?;
        }

        let mut def = new.def;
        if let Some(before) = &before {
            match standing(&def, fingerprint.as_ref(), before, &history, &new.source) {
                Standing::New => {}
                Standing::Known => {
                    let entry = before.clone();
                    return Ok(Outcome {
                        entry,
                        changed: false,
                        warnings,
                    });
                }
                Standing::OtherPrograms => return Err(other_programs(&name)),
            }
        }
        let enabled = match who.kind {
            PrincipalKind::Person => before.as_ref().map_or(def.enabled, |b| {
                if b.def.enabled == def.enabled {
                    b.enabled
                } else {
                    def.enabled
                }
            }),
            // What it may do unasked is not for an agent to say.
            PrincipalKind::Agent => before.as_ref().is_some_and(|b| {
                let same = b.fingerprint == fingerprint && !is_stronger(&b.def, &def);
                b.enabled && def.enabled && same
            }),
        };
        if who.kind == PrincipalKind::Agent && def.enabled && !enabled {
            warnings.push("registered by an agent: a person must enable it".to_owned());
        }
        let version = number(&def, &history, new.source == API)?;
        def.version = Some(version.clone());
        let definition = def.to_value();
        let kept = Registered {
            enabled,
            source: new.source,
            current: Version {
                tool: name.clone(),
                version,
                hash: version_hash(&definition, fingerprint.as_ref()),
                definition,
                fingerprint,
                by: who.owner.clone(),
                at: self.now(),
                why: new.why,
            },
        };
        let entry = recover::entry(kept.clone()).map_err(ToolError::validation)?;
        let entry = Arc::new(entry);
        read(&self.inner.registry)
            .check(&entry)
            .map_err(|e| ToolError::conflict(e.to_string()))?;
        self.keep(who, &kept, before.as_deref(), history.is_empty())
            .await?;
        let put = write(&self.inner.registry).put(entry.clone());
        put.map_err(|e| ToolError::conflict(e.to_string()))?;
        self.told(Change::Tool(name));
        Ok(Outcome {
            entry,
            changed: true,
            warnings,
        })
    }

    async fn keep(
        &self,
        who: &Principal,
        kept: &Registered,
        before: Option<&Entry>,
        first: bool,
    ) -> Result<(), ToolError> {
        let version = &kept.current;
        let event = match before {
            Some(_) => "tool.changed",
            None => "tool.registered",
        };
        let record = self
            .entry_of(&who.owner, event, &version.tool)
            .with("version", version.version.to_string())
            .with("hash", version.hash.to_string())
            .with("before", before.map(|b| b.hash.to_string()))
            .with(
                "risk",
                version
                    .definition
                    .get("risk")
                    .cloned()
                    .unwrap_or(Value::Null),
            )
            .with("source", kept.source.as_str())
            .with("why", version.why.clone());
        let (name, enabled) = (version.tool.clone(), kept.enabled);
        let store = &self.inner.store;
        let added = store
            .add_version(version.clone(), kept.source.clone(), enabled, record)
            .await;
        if !added.map_err(|e| broken(&e))? {
            return Err(ToolError::conflict(
                "another registration of the same version was first",
            ));
        }
        // One that was removed comes back as it was.
        let differs = before.map_or(!first, |b| b.enabled != enabled);
        if differs {
            self.store_enabled(who, &name, enabled).await?;
        }
        Ok(())
    }

    /// Enables or disables a tool. To say what is already so is no error.
    pub async fn set_enabled(
        &self,
        who: &Principal,
        name: &str,
        enabled: bool,
    ) -> Result<Arc<Entry>, ToolError> {
        let (kernel, who, name) = (self.clone(), who.clone(), name.to_owned());
        self.through(async move { kernel.set_enabled_now(&who, &name, enabled).await })
            .await
    }

    async fn set_enabled_now(
        &self,
        who: &Principal,
        name: &str,
        enabled: bool,
    ) -> Result<Arc<Entry>, ToolError> {
        let _one = self.inner.registering.lock().await;
        let entry = self.managed(who, name)?;
        if entry.enabled == enabled {
            return Ok(entry);
        }
        let name = entry.def.name.to_string();
        if enabled && who.kind == PrincipalKind::Agent {
            let error = ToolError::permission(format!(
                "`{}` is an agent, and agents enable no tools",
                who.owner
            ));
            return Err(error.with_hint("a person with `tool:register` may"));
        }
        match entry.source == CODE {
            false => self.store_enabled(who, &name, enabled).await?,
            true => self.switch(who, &name, enabled).await?,
        }
        self.swap(&name, |e| e.enabled = enabled)
    }

    /// The store does not know tools from code; how somebody left them is kept as a row.
    async fn switch(&self, who: &Principal, name: &str, enabled: bool) -> Result<(), ToolError> {
        let before = self.inner.store.row(SWITCHED, name).await;
        let row = RowChange {
            collection: SWITCHED.to_owned(),
            key: name.to_owned(),
            before: before.map_err(|e| broken(&e))?,
            after: Some(enabled.into()),
        };
        let record = self.entry_of(&who.owner, enabling(enabled), name);
        let put = self.put_rows(vec![row], record).await;
        if !put.map_err(|e| broken(&e))? {
            let problem = format!("`{name}` was switched by somebody else");
            return Err(ToolError::conflict(problem).with_hint("look at it, then try again"));
        }
        lock(&self.inner.switched).insert(name.to_owned(), enabled);
        Ok(())
    }

    async fn store_enabled(
        &self,
        who: &Principal,
        name: &str,
        enabled: bool,
    ) -> Result<(), ToolError> {
        let record = self.entry_of(&who.owner, enabling(enabled), name);
        let set = self.inner.store.set_enabled(name, enabled, record).await;
        set.map(drop).map_err(|e| broken(&e))
    }

    /// Makes an old version current again.
    pub async fn roll_back(
        &self,
        who: &Principal,
        name: &str,
        version: &semver::Version,
        why: Option<String>,
    ) -> Result<Arc<Entry>, ToolError> {
        let (kernel, who) = (self.clone(), who.clone());
        let (name, version) = (name.to_owned(), version.clone());
        self.through(async move { kernel.roll_back_now(&who, &name, &version, why).await })
            .await
    }

    async fn roll_back_now(
        &self,
        who: &Principal,
        name: &str,
        version: &semver::Version,
        why: Option<String>,
    ) -> Result<Arc<Entry>, ToolError> {
        let _one = self.inner.registering.lock().await;
        let entry = self.managed(who, name)?;
        let name = entry.def.name.to_string();
        let history = self.history(&name).await?;
        let old = history
            .iter()
            .find(|v| v.version == *version)
            .ok_or_else(|| {
                let known: Vec<String> =
                    history.iter().map(|v| format!("`{}`", v.version)).collect();
                ToolError::not_found(format!("`{name}` has no version `{version}`"))
                    .with_hint(format!("it has {}", known.join(", ")))
            })?;
        let def = ToolDef::from_value(&old.definition)
            .map_err(|_| ToolError::internal("the old version is damaged"))?;
        risk_kept(who, &def, Some(entry.def.risk.unwrap_or(Risk::Write)))?;
        let same = old.fingerprint == entry.fingerprint && !is_stronger(&entry.def, &def);
        if who.kind == PrincipalKind::Agent && entry.enabled && !same {
            let error = ToolError::permission(format!(
                "`{}` is an agent, and `{version}` of `{name}` does something else",
                who.owner
            ));
            return Err(error.with_hint("a person with `tool:register` may"));
        }
        let record = self
            .entry_of(&who.owner, "tool.rolled_back", &name)
            .with("version", version.to_string())
            .with("hash", old.hash.to_string())
            .with("before", entry.hash.to_string())
            .with("why", why);
        let kept = Registered {
            current: old.clone(),
            enabled: entry.enabled,
            source: entry.source.clone(),
        };
        let again = Arc::new(recover::entry(kept).map_err(ToolError::conflict)?);
        read(&self.inner.registry)
            .check(&again)
            .map_err(|e| ToolError::conflict(e.to_string()))?;
        let selected = self
            .inner
            .store
            .select_version(&name, version, record)
            .await;
        if !selected.map_err(|e| broken(&e))? {
            return Err(ToolError::conflict("the tool was removed in the meantime"));
        }
        let put = write(&self.inner.registry).put(again.clone());
        put.map_err(|e| ToolError::conflict(e.to_string()))?;
        self.told(Change::Tool(name));
        Ok(again)
    }

    /// Removes a tool. Its versions stay on record.
    pub async fn remove(&self, who: &Principal, name: &str) -> Result<(), ToolError> {
        let (kernel, who, name) = (self.clone(), who.clone(), name.to_owned());
        self.through(async move { kernel.remove_now(&who, &name).await })
            .await
    }

    async fn remove_now(&self, who: &Principal, name: &str) -> Result<(), ToolError> {
        let _one = self.inner.registering.lock().await;
        let entry = self.managed(who, name)?;
        if entry.source == CODE {
            return Err(ToolError::conflict(
                "a tool that is part of the program cannot be removed",
            ));
        }
        let name = entry.def.name.to_string();
        let record = self
            .entry_of(&who.owner, "tool.removed", &name)
            .with("hash", entry.hash.to_string());
        let removed = self.inner.store.remove_tool(&name, record).await;
        removed.map_err(|e| broken(&e))?;
        write(&self.inner.registry).remove(&name);
        self.told(Change::Tool(name));
        Ok(())
    }

    /// All versions of a tool, oldest first.
    pub async fn versions(&self, who: &Principal, name: &str) -> Result<Vec<Version>, ToolError> {
        self.allowed(who, Permission::ToolRead)?;
        let entry = self.resolve(name)?;
        self.in_reach(who, entry.def.name.as_str())?;
        self.history(entry.def.name.as_str()).await
    }

    async fn history(&self, name: &str) -> Result<Vec<Version>, ToolError> {
        self.inner
            .store
            .versions(name)
            .await
            .map_err(|e| broken(&e))
    }

    fn managed(&self, who: &Principal, name: &str) -> Result<Arc<Entry>, ToolError> {
        self.allowed(who, Permission::ToolRegister)?;
        let entry = self.resolve(name)?;
        self.in_reach(who, entry.def.name.as_str())?;
        Ok(entry)
    }

    fn in_reach(&self, who: &Principal, name: &str) -> Result<(), ToolError> {
        match who.reaches(name) {
            true => Ok(()),
            false => Err(ToolError::permission(format!(
                "`{name}` is outside the scopes of the token"
            ))),
        }
    }

    fn replaceable(&self, before: Option<&Entry>, new: &Registration) -> Result<(), ToolError> {
        let Some(before) = before else { return Ok(()) };
        let name = &before.def.name;
        if before.source == CODE {
            return Err(ToolError::conflict(format!(
                "`{name}` is part of the program"
            )));
        }
        if before.source != new.source && new.source != API {
            return Err(ToolError::conflict(format!(
                "`{name}` is registered from `{}` already; rename one of the two",
                before.source
            )));
        }
        match new.replace {
            true => Ok(()),
            false => Err(
                ToolError::conflict(format!("`{name}` is registered already"))
                    .with_hint("change it with PUT or PATCH, or `helve register --replace`"),
            ),
        }
    }

    async fn inspect(
        &self,
        def: &ToolDef,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Value>, ToolError> {
        let Some(executor) = &def.executor else {
            warnings.push("it has no executor, so it can be seen but not called".to_owned());
            return Ok(None);
        };
        match self.inner.executors.get(&executor.kind) {
            // What is missing here is wrong with the definition, as far as its author can tell.
            Some(runs) => runs.inspect(def).await.map_err(|e| match e.kind {
                ErrorKind::Dependency => ToolError {
                    kind: ErrorKind::Validation,
                    ..e
                },
                _ => e,
            }),
            None => {
                let kind = executor.kind.as_str();
                warnings.push(format!(
                    "this hub cannot run tools with executor `{kind}` yet"
                ));
                Ok(None)
            }
        }
    }

    /// Puts a changed copy of a tool in its place.
    fn swap(&self, name: &str, change: impl FnOnce(&mut Entry)) -> Result<Arc<Entry>, ToolError> {
        let mut registry = write(&self.inner.registry);
        let old = registry.resolve(name, |_| true)?;
        let mut entry = old
            .again()
            .map_err(|e| ToolError::internal(e.to_string()))?;
        change(&mut entry);
        let entry = Arc::new(entry);
        let put = registry.put(entry.clone());
        put.map_err(|e| ToolError::conflict(e.to_string()))?;
        drop(registry);
        self.told(Change::Tool(name.to_owned()));
        Ok(entry)
    }
}

/// The source of tools that were registered over an interface.
const API: &str = "api";

fn enabling(enabled: bool) -> &'static str {
    match enabled {
        true => "tool.enabled",
        false => "tool.disabled",
    }
}

/// The risk that a kept definition says; one that does not counts as the highest.
fn risk_of(definition: &Value) -> Risk {
    let word = definition.get("risk").and_then(Value::as_str);
    word.and_then(Risk::parse).unwrap_or(Risk::Write)
}

/// A risk is lowered only by somebody who could approve the call instead.
fn risk_kept(who: &Principal, def: &ToolDef, old: Option<Risk>) -> Result<(), ToolError> {
    let Some(old) = old else { return Ok(()) };
    let new = def.risk.unwrap_or(Risk::Write);
    let trusted = who.kind == PrincipalKind::Person && who.may(Permission::ApprovalDecide);
    if new >= old || trusted {
        return Ok(());
    }
    let error = ToolError::permission(format!(
        "`{}` cannot lower the risk of `{}` from `{}` to `{}`",
        who.owner,
        def.name,
        old.as_str(),
        new.as_str()
    ));
    Err(error.with_hint("a person with `approval:decide` may"))
}

/// Errors refuse a definition; warnings come back.
fn linted(def: &ToolDef) -> Result<Vec<String>, ToolError> {
    let issues = lint::check(def, &lint::Context::default());
    let errors = issues.iter().filter(|i| i.rule.severity == Severity::Error);
    let errors: Vec<String> = errors
        .map(|i| format!("{} at `{}` [{}]", i.message, i.pointer, i.rule.code))
        .collect();
    if !errors.is_empty() {
        return Err(ToolError::validation(errors.join("; "))
            .with_hint("`helve check` shows each with its place and its fix"));
    }
    let told = issues.iter();
    Ok(told
        .map(|i| format!("{} [{}]", i.message, i.rule.code))
        .collect())
}

/// Whether a definition lets a tool do other things than before.
fn is_stronger(old: &ToolDef, new: &ToolDef) -> bool {
    let (old, new) = (old.to_value(), new.to_value());
    let fields = ["executor", "risk", "allowed_paths", "input_schema"];
    fields.iter().any(|f| old.get(f) != new.get(f))
}

/// How a definition stands to what is registered.
enum Standing {
    /// It says something new.
    New,
    /// It says nothing new: it is the current version, or it stands in a file that
    /// says what it said last.
    Known,
    /// It stands in a file that says nothing new, but the programs behind it are others.
    /// Files are looked at again and again: were this a new version, no program would
    /// stay pinned.
    OtherPrograms,
}

/// Compares a definition with what is registered. A tool that was rolled back stays so
/// until its file is edited. What a file said last is taken to be the newest version:
/// one that is edited to what the roll-back chose, and then back to the newest, looks
/// like one that nobody touched, and the tool stays rolled back.
fn standing(
    def: &ToolDef,
    fingerprint: Option<&Value>,
    current: &Entry,
    history: &[Version],
    source: &str,
) -> Standing {
    let from_file = source != API;
    let newest = history.last().filter(|_| from_file);
    let known = std::iter::once((&current.version, current.hash, current.fingerprint.as_ref()))
        .chain(newest.map(|v| (&v.version, v.hash, v.fingerprint.as_ref())));
    // A file keeps the number that its author wrote, whatever it was registered as.
    let stale = |v: &semver::Version| from_file && history.iter().any(|h| h.version == *v);
    let mut standing = Standing::New;
    for (version, hash, pinned) in known {
        let said = def.version.as_ref();
        if !said.is_none_or(|v| v == version || stale(v)) {
            continue;
        }
        let mut same = def.clone();
        same.version = Some(version.clone());
        let same = same.to_value();
        if version_hash(&same, fingerprint) == hash {
            return Standing::Known;
        }
        if from_file
            && version_hash(&same, pinned) == hash
            && besides(pinned, source)
                .is_some_and(|others| Some(others) == besides(fingerprint, source))
        {
            // The file is the program: whoever edits it has edited the definition.
            return Standing::New;
        }
        if from_file && version_hash(&same, pinned) == hash {
            standing = Standing::OtherPrograms;
        }
    }
    standing
}

/// The programs of a fingerprint but the file that the definition is from.
fn besides<'f>(fingerprint: Option<&'f Value>, source: &str) -> Option<Vec<&'f Value>> {
    let programs = fingerprint?["programs"].as_array()?;
    let others = programs.iter().filter(|program| {
        let path = program["path"].as_str().map(Path::new);
        !path.is_some_and(|path| path.ends_with(source))
    });
    Some(others.collect())
}

fn other_programs(name: &str) -> ToolError {
    ToolError::conflict(format!(
        "`{name}`: a program behind it has changed since it was registered; edit its \
         definition (for example a new `version`), or run `helve register --replace`, to \
         accept it"
    ))
}

/// The number of a new version: what the definition says, or the next one.
fn number(def: &ToolDef, history: &[Version], strict: bool) -> Result<semver::Version, ToolError> {
    let latest = history.iter().map(|v| &v.version).max();
    let taken = |v: &semver::Version| history.iter().any(|h| h.version == *v);
    match (&def.version, latest) {
        (Some(version), _) if !taken(version) => Ok(version.clone()),
        (Some(version), _) if strict => Err(ToolError::conflict(format!(
            "version `{version}` of `{}` exists and says something else",
            def.name
        ))
        .with_hint("raise `version`, or leave it out to get the next one")),
        (_, None) => Ok(semver::Version::new(1, 0, 0)),
        (_, Some(latest)) => {
            let patch = latest.patch.checked_add(1).ok_or_else(|| {
                ToolError::conflict(format!("there is no version after `{latest}`"))
                    .with_hint("say the next one in `version`")
            })?;
            Ok(semver::Version::new(latest.major, latest.minor, patch))
        }
    }
}
