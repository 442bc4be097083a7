//! What this machine gives, found once.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use libc::sock_filter;
use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySet, capabilities};

use crate::cgroup::Groups;
use crate::{filter, sys};

/// Folders that are seen empty: sockets of daemons lie there.
const EMPTIED: [&str; 2] = ["/run", "/var/run"];

/// Folders of `/sys` by which root looks into the kernel.
const MASKED: [&str; 4] = [
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
    "/sys/kernel/security",
    "/sys/firmware",
];

/// What this machine gives.
#[derive(Debug)]
pub(crate) struct Machine {
    /// Whether namespaces can be made without a namespace of users.
    pub(crate) privileged: bool,
    /// Whether device files can be made.
    pub(crate) makes_devices: bool,
    pub(crate) user: u32,
    pub(crate) group: u32,
    /// The version of Landlock; 0 is none.
    pub(crate) landlock: i64,
    /// Which of the folders are there that the program gets its own of.
    pub(crate) folders: Vec<PathBuf>,
    /// Which of the folders are there that it sees empty.
    pub(crate) emptied: Vec<PathBuf>,
    /// The same, of the kernel's.
    pub(crate) masked: Vec<PathBuf>,
    /// Whether processes have to be, and can be, bounded by their numbers.
    pub(crate) bounds_ids: bool,
    /// Control groups, if they can be had.
    pub(crate) groups: Option<Arc<Groups>>,
    /// A network with nothing in it, which all programs without network share: to
    /// make one takes as long as all else together. They cannot meet there, as they
    /// can make no socket. In a namespace of users it has to be made each time.
    pub(crate) nowhere: Option<Arc<OwnedFd>>,
    offline: Arc<[sock_filter]>,
    online: Arc<[sock_filter]>,
}

impl Machine {
    pub(crate) fn probe() -> Self {
        let effective = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
        let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::SETPCAP;
        let privileged = effective.contains(needed) && is_real_root();
        let groups = Groups::find().ok().map(Arc::new);
        let counted = groups.as_ref().is_some_and(|groups| groups.processes());
        let mut own = real(&["/tmp", "/var/tmp"]);
        // In a `/dev` that is made here, so always there.
        own.push("/dev/shm".into());
        Self {
            privileged,
            makes_devices: privileged && effective.contains(CapabilitySet::MKNOD),
            user: geteuid().as_raw(),
            group: getegid().as_raw(),
            landlock: sys::landlock_create(None).unwrap_or(0),
            folders: own,
            emptied: real(&EMPTIED),
            masked: real(&MASKED)
                .into_iter()
                .filter(|path| filled(path))
                .collect(),
            bounds_ids: privileged && !counted && bounds_ids(),
            groups,
            nowhere: sys::empty_network()
                .ok()
                .filter(|_| privileged)
                .map(Arc::new),
            offline: filter::build(false).into(),
            online: filter::build(true).into(),
        }
    }

    pub(crate) fn filter(&self, network: bool) -> Arc<[sock_filter]> {
        Arc::clone(if network { &self.online } else { &self.offline })
    }
}

/// Whether rights here are rights on the machine. In a namespace of users they are
/// not: no devices, and no attributes that only root sees.
fn is_real_root() -> bool {
    let Ok(map) = fs::read_to_string("/proc/self/uid_map") else {
        return false;
    };
    let mut numbers = map.split_whitespace();
    numbers.next() == Some("0")
        && numbers.next() == Some("0")
        && numbers.next() == Some("4294967295")
}

/// Those that are there, and no links to others.
fn real(paths: &[&str]) -> Vec<PathBuf> {
    let paths = paths.iter().map(PathBuf::from);
    paths
        .filter(|path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()))
        .collect()
}

fn filled(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// Since 6.14 `pid_max` is of a namespace. Before, it is of the whole machine, and
/// must be left alone.
fn bounds_ids() -> bool {
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (6, 14)
}
