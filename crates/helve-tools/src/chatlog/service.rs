//! The archive of a hub, with what is made from it.
//!
//! It is opened by whoever needs it first. Topics and vectors are made in the background after
//! each import; whoever asks earlier waits for them. An import is a row that is kept here:
//! it is applied when the run is committed, and an undo withdraws it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use helve_chatlog::archive::{Found, ImportNote, ImportState};
use helve_chatlog::{Archive, ArchiveError, Lsa, LsaOptions, Topics};
use helve_kernel::{Place, RowChange, Rows, ToolError, Unapplied};
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use super::vectors::{self, Embedded};
use crate::model::{Embedder, Model};

/// What messages are compared by, where it is asked for what they mean.
#[derive(Debug, Clone, Default)]
pub enum Meaning {
    /// Nothing: there is no such search.
    None,
    /// What goes together in the chats themselves. It needs no model.
    #[default]
    Lsa,
    /// A model.
    Model(Arc<dyn Embedder>),
}

/// How an archive is kept and searched.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it is.
    pub folder: PathBuf,
    /// The zone of times that have none, and in which times are shown.
    pub zone: TimeZone,
    /// What messages are compared by.
    pub meaning: Meaning,
    /// A model that takes questions apart, where one is wanted.
    pub model: Option<Arc<Model>>,
}

/// The chats of a hub.
pub struct ChatLog {
    pub(super) settings: Settings,
    opened: Mutex<Option<Arc<Opened>>>,
    tasks: TaskTracker,
    closing: Arc<AtomicBool>,
}

impl std::fmt::Debug for ChatLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatLog")
            .field("folder", &self.settings.folder)
            .finish_non_exhaustive()
    }
}

/// An archive that is open.
pub(super) struct Opened {
    pub(super) archive: Archive,
    pub(super) zone: TimeZone,
    folder: PathBuf,
    closing: Arc<AtomicBool>,
    topics: Mutex<Option<(u64, Arc<Topics>)>>,
    lsa: Mutex<Option<(u64, Arc<Lsa>)>>,
    names: Mutex<Option<(u64, Arc<Names>)>>,
    pub(super) embedded: Embedded,
}

impl ChatLog {
    /// The name of the source of its rows.
    pub const SOURCE: &'static str = "chatlog";

    /// The collection of imports.
    pub(super) const IMPORTS: &'static str = "@chatlog:archive:imports";

    /// The collection of names that people were given here.
    pub(super) const NAMES: &'static str = "@chatlog:archive:names";

    /// The collection of accounts that were said to be of one person.
    pub(super) const MERGES: &'static str = "@chatlog:archive:merges";

    /// Chats that are opened when they are needed.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            opened: Mutex::default(),
            tasks: TaskTracker::new(),
            closing: Arc::default(),
        }
    }

    /// Does something with the archive, beside the runtime.
    pub(super) async fn work<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Opened>) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let log = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&log.open()?)).await;
        done.map_err(|e| ToolError::internal(format!("the search crashed: {e}")))?
    }

    pub(super) fn open(&self) -> Result<Arc<Opened>, ToolError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = &*opened {
            return Ok(opened.clone());
        }
        let folder = &self.settings.folder;
        let archive = Archive::open(folder).map_err(|e| told(&e))?;
        let new = Arc::new(Opened {
            archive,
            zone: self.settings.zone.clone(),
            folder: folder.clone(),
            closing: self.closing.clone(),
            topics: Mutex::default(),
            lsa: Mutex::default(),
            names: Mutex::default(),
            embedded: Embedded::default(),
        });
        *opened = Some(new.clone());
        Ok(new)
    }

    /// Makes topics and vectors anew, in the background.
    fn refresh(self: &Arc<Self>) {
        let log = self.clone();
        self.tasks.spawn_blocking(move || {
            // Whoever needs them makes them, or is told why that cannot be.
            if let Ok(opened) = log.open() {
                let _ = opened.topics();
                if matches!(log.settings.meaning, Meaning::Lsa) {
                    let _ = opened.lsa();
                }
            }
        });
        self.embed();
    }

    /// Has the model make the vectors that are missing, in the background.
    pub(super) fn embed(self: &Arc<Self>) {
        if let Meaning::Model(model) = &self.settings.meaning {
            let work = vectors::catch_up(self.clone(), model.clone());
            // Whoever asks by meaning sees how far it is, and begins again.
            self.tasks.spawn(async move { drop(work.await) });
        }
    }

    /// Ends what goes on in the background, and lets go of the archive.
    pub async fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.tasks.close();
        self.tasks.wait().await;
        let opened = self.opened.lock();
        drop(opened.unwrap_or_else(PoisonError::into_inner).take());
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    fn import_now(&self, id: &str) -> Result<Option<Value>, ToolError> {
        let import = self.open()?.archive.import(id).map_err(|e| told(&e))?;
        let live = import.filter(|import| import.state == ImportState::Live);
        Ok(live.map(|import| row(&import.file, &import.format, import.malformed)))
    }

    /// Whether a person has a name.
    fn name_now(&self, key: &str) -> Result<Option<Value>, ToolError> {
        let (id, alias) = name_of(key)?;
        let found = self.open()?.archive.people(&id);
        let has = matches!(found, Found::One(person) if person.aliases.contains(&alias));
        Ok(has.then_some(Value::Bool(true)))
    }

    fn row_now(&self, collection: &str, key: &str) -> Result<Option<Value>, ToolError> {
        match collection {
            Self::NAMES => self.name_now(key),
            Self::MERGES => self.merge_now(key),
            _ => self.import_now(key),
        }
    }

    /// The account that an account was merged into.
    fn merge_now(&self, id: &str) -> Result<Option<Value>, ToolError> {
        let found = self.open()?.archive.account(id);
        Ok(found.and_then(|(_, into)| into).map(Value::String))
    }

    /// Makes two accounts one person, or two again.
    fn merge(&self, change: &RowChange) -> Result<(), ToolError> {
        if self.merge_now(&change.key)? != change.before {
            return Err(ToolError::conflict("somebody else has merged this account"));
        }
        let archive = &self.open()?.archive;
        let account = |id: &str| {
            let gone = || ToolError::conflict(format!("`{id}` is not there any more"));
            archive.account(id).ok_or_else(gone)
        };
        let (one, _) = account(&change.key)?;
        let done = match change.after.as_ref().and_then(Value::as_str) {
            None => archive.split(one),
            Some(id) => match account(id)? {
                (into, None) => archive.merge(one, into),
                (_, Some(_)) => {
                    let problem = format!("`{id}` has become part of another person");
                    return Err(ToolError::conflict(problem));
                }
            },
        };
        done.map_err(|e| told(&e))
    }

    /// Gives a person a name, or takes it away.
    fn rename(&self, change: &RowChange) -> Result<(), ToolError> {
        if self.name_now(&change.key)? != change.before {
            return Err(ToolError::conflict("somebody else has changed this name"));
        }
        let (id, alias) = name_of(&change.key)?;
        let archive = &self.open()?.archive;
        let Found::One(person) = archive.people(&id) else {
            return Err(ToolError::conflict(format!("`{id}` is not there any more")));
        };
        let done = match change.after {
            Some(_) => archive.add_alias(person.no, &alias),
            None => archive.remove_alias(person.no, &alias).map(drop),
        };
        done.map_err(|e| told(&e))
    }

    /// Makes one import so, or takes it back.
    fn turn(&self, change: &RowChange) -> Result<(), ToolError> {
        match change.collection.as_str() {
            Self::NAMES => return self.rename(change),
            Self::MERGES => return self.merge(change),
            _ => {}
        }
        let opened = self.open()?;
        let archive = &opened.archive;
        if self.import_now(&change.key)? != change.before {
            return Err(ToolError::conflict(
                "somebody else has imported this, or taken it back",
            ));
        }
        let known = archive.import(&change.key).map_err(|e| told(&e))?;
        let done = match (&change.after, known) {
            (None, _) => archive.withdraw(&change.key),
            (Some(_), Some(_)) => archive.restore(&change.key),
            (Some(value), None) => {
                let note = ImportNote {
                    file: value["file"].as_str().unwrap_or_default().to_owned(),
                    format: value["format"].as_str().unwrap_or_default().to_owned(),
                    malformed: value["malformed"].as_u64().unwrap_or_default(),
                };
                let closing = &self.closing;
                archive.apply(&change.key, &note, &mut |_| unless(closing))
            }
        };
        done.map(drop).map_err(|e| told(&e))
    }
}

/// The key of a name of somebody.
pub(super) fn name_key(id: &str, alias: &str) -> String {
    json!([id, alias]).to_string()
}

fn name_of(key: &str) -> Result<(String, String), ToolError> {
    serde_json::from_str(key).map_err(|_| ToolError::internal("a name has no such key"))
}

/// An import as a row.
pub(super) fn row(file: &str, format: &str, malformed: u64) -> Value {
    json!({"file": file, "format": format, "malformed": malformed})
}

#[async_trait]
impl Rows for Keeper {
    async fn now(&self, places: &[Place]) -> Result<Vec<Option<Value>>, ToolError> {
        let (log, places) = (self.0.clone(), places.to_vec());
        let found = tokio::task::spawn_blocking(move || {
            let found = places.iter();
            let found = found.map(|place| log.row_now(&place.collection, &place.key));
            found.collect()
        });
        found
            .await
            .map_err(|e| ToolError::internal(format!("the archive crashed: {e}")))?
    }

    async fn apply(&self, changes: &[RowChange]) -> Result<(), Unapplied> {
        let (log, changes) = (self.0.clone(), changes.to_vec());
        let done = tokio::task::spawn_blocking(move || {
            for (i, change) in changes.iter().enumerate() {
                let Err(error) = log.turn(change) else {
                    continue;
                };
                // All or none: those before it go back.
                for done in changes[..i].iter().rev() {
                    let back = RowChange {
                        before: done.after.clone(),
                        after: done.before.clone(),
                        ..done.clone()
                    };
                    log.turn(&back).map_err(Unapplied::Unsure)?;
                }
                return Err(Unapplied::Refused(error));
            }
            Ok(())
        });
        let crashed = |e| Unapplied::Unsure(ToolError::internal(format!("it crashed: {e}")));
        done.await.map_err(crashed)??;
        self.0.refresh();
        Ok(())
    }
}

/// Keeps the imports of an archive as rows.
#[derive(Debug, Clone)]
pub struct Keeper(pub Arc<ChatLog>);

impl Opened {
    /// What the chats are about.
    pub(super) fn topics(&self) -> Result<Arc<Topics>, ToolError> {
        let path = self.folder.join("topics");
        let load = |path: &Path| Topics::load(path).ok().map(|t| (t.generation, t));
        let build = |old: Option<&Arc<Topics>>, generation| {
            let hook = &mut |_| unless(&self.closing);
            let mut topics = Topics::build(&self.archive, hook).map_err(|e| unmade(&e))?;
            topics.generation = generation;
            if let Some(old) = old {
                topics.keep(old);
            }
            // What cannot be kept is made again the next time.
            let _ = topics.save(&path);
            Ok(topics)
        };
        current(&self.archive, &self.topics, || load(&path), build)
    }

    /// What words mean in these chats.
    pub(super) fn lsa(&self) -> Result<Arc<Lsa>, ToolError> {
        let path = self.folder.join("meanings");
        let load = |path: &Path| Lsa::load(path).ok().map(|l| (l.generation, l));
        let build = |_: Option<&Arc<Lsa>>, generation| {
            let hook = &mut |_| unless(&self.closing);
            let options = LsaOptions::default();
            let mut lsa = Lsa::build(&self.archive, options, hook).map_err(|e| unmade(&e))?;
            lsa.generation = generation;
            let _ = lsa.save(&path);
            Ok(lsa)
        };
        current(&self.archive, &self.lsa, || load(&path), build)
    }

    /// Who and what there is by name. To count it goes through every message, so it is kept.
    pub(super) fn names(&self) -> Result<Arc<Names>, ToolError> {
        let build = |_: Option<&Arc<Names>>, _| {
            let stats = self.archive.stats().map_err(|e| told(&e))?;
            let mut names = Names {
                messages: stats.messages,
                chats: stats.chats.into_iter().map(|c| (c.no.0, c.name)).collect(),
                ..Names::default()
            };
            for person in stats.senders {
                let named = (person.id.clone(), person.name.clone());
                names.people.insert(person.no.0, named);
                names.everybody.push(helve_chatlog::Person {
                    id: person.id,
                    name: person.name,
                    aliases: person.aliases,
                });
            }
            Ok(names)
        };
        current(&self.archive, &self.names, || None, build)
    }
}

/// Who and what there is.
#[derive(Default)]
pub(super) struct Names {
    /// The names of chats, by their numbers.
    pub(super) chats: BTreeMap<u32, String>,
    /// Accounts and names of people, by their numbers.
    pub(super) people: BTreeMap<u32, (String, String)>,
    /// Everybody, as questions name them.
    pub(super) everybody: Vec<helve_chatlog::Person>,
    /// How many messages there are.
    pub(super) messages: u64,
}

/// Something made from the archive as it is now: what is known, what is in its file, or new.
fn current<T>(
    archive: &Archive,
    known: &Mutex<Option<(u64, Arc<T>)>>,
    load: impl FnOnce() -> Option<(u64, T)>,
    build: impl FnOnce(Option<&Arc<T>>, u64) -> Result<T, ToolError>,
) -> Result<Arc<T>, ToolError> {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let now = archive.generation();
    if let Some((generation, made)) = &*known
        && *generation == now
    {
        return Ok(made.clone());
    }
    let old = match known.take() {
        Some((_, old)) => Some(old),
        None => match load() {
            Some((generation, made)) if generation == now => {
                let made = Arc::new(made);
                *known = Some((now, made.clone()));
                return Ok(made);
            }
            Some((_, old)) => Some(Arc::new(old)),
            None => None,
        },
    };
    let made = Arc::new(build(old.as_ref(), now)?);
    *known = Some((now, made.clone()));
    Ok(made)
}

fn unless(closing: &AtomicBool) -> ControlFlow<()> {
    match closing.load(Ordering::Relaxed) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

fn unmade(error: &helve_chatlog::BuildError) -> ToolError {
    ToolError::transient(format!("it could not be made from the messages: {error}"))
}

/// An error of the archive, as every tool says it.
pub(super) fn told(error: &ArchiveError) -> ToolError {
    let why = std::error::Error::source(error);
    let message = match why {
        Some(why) => format!("{error}: {why}"),
        None => error.to_string(),
    };
    match error {
        ArchiveError::BlankKeyword
        | ArchiveError::Pattern(_)
        | ArchiveError::ForeignCursor
        | ArchiveError::BlankName => ToolError::validation(message),
        ArchiveError::StaleCursor | ArchiveError::Applied(_) => ToolError::conflict(message),
        ArchiveError::Source(_) => ToolError::validation(message),
        ArchiveError::Cancelled => ToolError::transient(message),
        _ => ToolError::dependency(message),
    }
}
