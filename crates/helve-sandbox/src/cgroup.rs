//! Control groups: what counts a program and all that it starts together.
//!
//! A run borrows a group and gives it back, so that none is made and removed for
//! each: that takes longer than the program often does. Counters go on over the
//! runs of a group, and each run looks at what was added.
//!
//! Both versions are known. In the first, memory and processes have a tree each; in
//! the second there is one, and controllers must be handed down by whoever owns it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::mounts::{self, Mount};
use crate::spec::{Limit, Limits};

/// How a group's folder begins; the number of the hub's process follows.
const PREFIX: &str = "helve-";

/// How many this process has made: no two have one name, whoever makes them.
static MADE: AtomicU32 = AtomicU32::new(0);

/// Where groups can be made, and those that are free.
#[derive(Debug)]
pub(crate) struct Groups {
    trees: Vec<Tree>,
    free: Mutex<Vec<Vec<Part>>>,
}

/// A hierarchy in which this process may make groups.
#[derive(Debug)]
struct Tree {
    folder: PathBuf,
    /// The file by which a group is entered.
    enter: &'static str,
    counters: Vec<&'static Counter>,
}

/// Something that is limited and counted.
#[derive(Debug)]
struct Counter {
    limit: Limit,
    /// Where the limit is written.
    most: &'static str,
    /// Where a second one is written, if that is there: of memory with swap.
    more: Option<&'static str>,
    /// Where it is counted how often it was hit, and after which word.
    events: &'static str,
    word: &'static str,
}

const MEMORY: Counter = Counter {
    limit: Limit::Memory,
    most: "memory.max",
    more: Some("memory.swap.max"),
    events: "memory.events",
    word: "oom_kill",
};
const MEMORY_FIRST: Counter = Counter {
    limit: Limit::Memory,
    most: "memory.limit_in_bytes",
    more: Some("memory.memsw.limit_in_bytes"),
    events: "memory.oom_control",
    word: "oom_kill",
};
const PROCESSES: Counter = Counter {
    limit: Limit::Processes,
    most: "pids.max",
    more: None,
    events: "pids.events",
    word: "max",
};

/// The part of a group in one tree.
#[derive(Debug)]
struct Part {
    folder: PathBuf,
    enter: Arc<File>,
    counted: Vec<Counted>,
}

/// A counter of a group.
#[derive(Debug)]
struct Counted {
    counter: &'static Counter,
    events: File,
    before: u64,
    /// The limit that is set.
    most: Option<String>,
}

/// A group for one run.
#[derive(Debug)]
pub(crate) struct Group {
    parts: Vec<Part>,
    from: Arc<Groups>,
}

impl Groups {
    /// Finds the trees, and makes a first group to see that it can be done.
    pub(crate) fn find() -> io::Result<Self> {
        let groups = Self {
            trees: trees()?,
            free: Mutex::default(),
        };
        if groups.trees.is_empty() {
            let problem = "no control group of this process may be divided";
            return Err(io::Error::new(ErrorKind::PermissionDenied, problem));
        }
        for tree in &groups.trees {
            sweep(&tree.folder);
        }
        let first = groups.make()?;
        groups.lock().push(first);
        Ok(groups)
    }

    /// Whether memory is counted.
    pub(crate) fn memory(&self) -> bool {
        self.counts(Limit::Memory)
    }

    /// Whether processes are counted.
    pub(crate) fn processes(&self) -> bool {
        self.counts(Limit::Processes)
    }

    fn counts(&self, limit: Limit) -> bool {
        let mut counters = self.trees.iter().flat_map(|tree| &tree.counters);
        counters.any(|counter| counter.limit == limit)
    }

    /// A group with these limits.
    pub(crate) fn borrow(self: &Arc<Self>, limits: &Limits) -> io::Result<Group> {
        let mut parts = match self.free() {
            Some(parts) => parts,
            None => self.make()?,
        };
        for part in &mut parts {
            for counted in &mut part.counted {
                counted.set(&part.folder, limits)?;
                counted.before = counted.now();
            }
        }
        Ok(Group {
            parts,
            from: Arc::clone(self),
        })
    }

    /// A group that is free and still there: whoever else looks after groups on this
    /// machine may have removed it while it was empty.
    fn free(&self) -> Option<Vec<Part>> {
        let mut free = self.lock();
        loop {
            let parts = free.pop()?;
            if parts.iter().all(|part| part.folder.is_dir()) {
                return Some(parts);
            }
            for part in parts {
                let _ = fs::remove_dir(part.folder);
            }
        }
    }

    fn make(&self) -> io::Result<Vec<Part>> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let parts = self.trees.iter().map(|tree| {
            let folder = tree.folder.join(&name);
            fs::create_dir(&folder)?;
            let counted = tree.counters.iter().map(|counter| {
                Ok(Counted {
                    counter,
                    events: File::open(folder.join(counter.events))?,
                    before: 0,
                    most: None,
                })
            });
            Ok(Part {
                enter: Arc::new(open(&folder.join(tree.enter))?),
                counted: counted.collect::<io::Result<_>>()?,
                folder,
            })
        });
        parts.collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Vec<Part>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for part in self.lock().drain(..).flatten() {
            let _ = fs::remove_dir(part.folder);
        }
    }
}

impl Counted {
    fn set(&mut self, folder: &Path, limits: &Limits) -> io::Result<()> {
        let most = match self.counter.limit {
            Limit::Memory => limits.memory,
            // The first process counts, and is not the program's.
            Limit::Processes => limits.processes.map(|count| u64::from(count) + 1),
            Limit::FileSize | Limit::CpuTime => None,
        };
        let unlimited = if self.counter.most.ends_with("in_bytes") {
            "-1"
        } else {
            "max"
        };
        let most = most.map_or_else(|| unlimited.to_owned(), |most| most.to_string());
        if self.most.as_ref() == Some(&most) {
            return Ok(());
        }
        let write = |name: &str, text: &str| fs::write(folder.join(name), text);
        // The sum of memory and swap is never below that of memory, in either order.
        let more = self.counter.more.filter(|name| folder.join(name).exists());
        let swap = if more == MEMORY.more {
            "0"
        } else {
            most.as_str()
        };
        let _ = more.map(|name| write(name, swap));
        write(self.counter.most, &most)?;
        more.map_or(Ok(()), |name| write(name, swap))?;
        self.most = Some(most);
        Ok(())
    }

    /// How often the limit was hit.
    fn now(&self) -> u64 {
        let mut text = [0; 512];
        let count = self.events.read_at(&mut text, 0).unwrap_or(0);
        let text = String::from_utf8_lossy(&text[..count]);
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        let found = lines.find(|(word, _)| *word == self.counter.word);
        found.and_then(|(_, count)| count.parse().ok()).unwrap_or(0)
    }
}

impl Group {
    /// What to write `0` to, to enter it.
    pub(crate) fn entrances(&self) -> Vec<Arc<File>> {
        self.parts
            .iter()
            .map(|part| Arc::clone(&part.enter))
            .collect()
    }

    /// Gives it back when nobody is in it any more, and says which limit was hit.
    pub(crate) fn finish(mut self) -> Option<Limit> {
        let parts = std::mem::take(&mut self.parts);
        let mut counted = parts.iter().flat_map(|part| &part.counted);
        let hit = counted.find(|counted| counted.now() > counted.before);
        let hit = hit.map(|counted| counted.counter.limit);
        self.from.lock().push(parts);
        hit
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for part in self.parts.drain(..) {
            let _ = fs::remove_dir(part.folder);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

/// The trees that can be used, found in what the kernel tells of this process.
fn trees() -> io::Result<Vec<Tree>> {
    let mounts = mounts::all()?;
    let own = fs::read_to_string("/proc/self/cgroup")?;
    let mut trees = Vec::new();
    for line in own.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let path = Path::new(path);
        let found = match controllers {
            "" => second(&mounts, path),
            _ => first(&mounts, controllers, path),
        };
        trees.extend(found);
    }
    Ok(trees)
}

fn first(mounts: &[Mount], controllers: &str, path: &Path) -> Option<Tree> {
    let has = |list: &str, name: &str| list.split(',').any(|found| found == name);
    let known = [("memory", &MEMORY_FIRST), ("pids", &PROCESSES)];
    let known = known.into_iter().filter(|(name, _)| has(controllers, name));
    let (names, counters): (Vec<_>, Vec<&'static Counter>) = known.unzip();
    let name = names.first()?;
    let mut mounts = mounts.iter().filter(|mount| mount.kind == "cgroup");
    let mount = mounts.find(|mount| has(&mount.options, name))?;
    let folder = folder(mount, path)?;
    usable(&folder).then_some(Tree {
        folder,
        // One thread, which needs no agreement with all others, unlike a process.
        enter: "tasks",
        counters,
    })
}

/// Processes may not be in a group that is divided, so the own group seldom can be;
/// the one above may have been given as well.
fn second(mounts: &[Mount], path: &Path) -> Option<Tree> {
    let mount = mounts.iter().find(|mount| mount.kind == "cgroup2")?;
    let own = folder(mount, path)?;
    let above = own.parent().filter(|above| above.starts_with(&mount.point));
    let folders = [Some(own.as_path()), above];
    folders.into_iter().flatten().find_map(|folder| {
        let _ = fs::write(folder.join("cgroup.subtree_control"), "+memory +pids");
        let given = fs::read_to_string(folder.join("cgroup.subtree_control")).ok()?;
        let has = |name: &str| given.split_whitespace().any(|found| found == name);
        let known = [("memory", &MEMORY), ("pids", &PROCESSES)];
        let known = known.into_iter().filter(|(name, _)| has(name));
        let counters: Vec<&'static Counter> = known.map(|(_, counter)| counter).collect();
        (!counters.is_empty() && usable(folder)).then(|| Tree {
            folder: folder.to_owned(),
            enter: "cgroup.procs",
            counters,
        })
    })
}

fn folder(mount: &Mount, path: &Path) -> Option<PathBuf> {
    let inside = path.strip_prefix(&mount.root).ok()?;
    Some(mount.point.join(inside))
}

fn usable(folder: &Path) -> bool {
    let trial = folder.join(format!("{PREFIX}{}", std::process::id()));
    fs::create_dir(&trial)
        .and_then(|()| fs::remove_dir(&trial))
        .is_ok()
}

/// Removes what hubs left that were killed.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let hub = number.and_then(|number| number.split('-').next());
        let gone = |hub: &str| !Path::new("/proc").join(hub).exists();
        if hub.is_some_and(|hub| hub.parse::<u32>().is_ok() && gone(hub)) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests;
