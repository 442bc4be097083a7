//! What this machine can give, each tried for real: for people who ask why a sandbox
//! does not start, or what is thinner than it could be.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::io::{Errno, Result};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use rustix::thread::set_no_new_privs;

use crate::cgroup::Groups;
use crate::machine::Machine;
use crate::message::notes;
use crate::op::{Op, Slots};
use crate::plan::Identity;
use crate::spec::remove_work;
use crate::sys::{self, Cloned};
use crate::{filter, init};

/// Something that a sandbox uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ability {
    /// Its name.
    pub name: &'static str,
    /// Whether it works here.
    pub works: bool,
    /// What is lost without it.
    pub lost: &'static str,
    /// What the kernel said.
    pub why: Option<String>,
}

/// What is lost where a sandbox cannot do without something.
pub const NO_SANDBOX: &str = "no program can be run in a sandbox";
const NO_GROUPS: &str = "limits hold for each process instead of all together";

/// Tries each. `folder` is a folder on the file system of the state, where overlays
/// and copies would be made; what is made there for the trial is removed.
pub fn abilities(folder: &Path) -> Vec<Ability> {
    let trial = Trial::new(folder);
    let namespaces = [
        ("mount namespace", libc::CLONE_NEWNS, NO_SANDBOX),
        ("process namespace", libc::CLONE_NEWPID, NO_SANDBOX),
        ("network namespace", libc::CLONE_NEWNET, NO_SANDBOX),
        (
            "ipc namespace",
            libc::CLONE_NEWIPC | libc::CLONE_NEWUTS,
            NO_SANDBOX,
        ),
    ];
    let lost = if trial.machine.privileged {
        "nothing while Helve runs as root"
    } else {
        NO_SANDBOX
    };
    let mut found = vec![ability(
        "user namespace",
        lost,
        trial.child(libc::CLONE_NEWUSER, &[]),
    )];
    for (name, flags, lost) in namespaces {
        found.push(ability(name, lost, trial.child(flags, &[])));
    }
    let lock = trial.child(libc::CLONE_NEWNS, &[Op::Private, Op::Lock]);
    found.push(ability("read-only mounts", NO_SANDBOX, lock));
    let lost = "programs see an empty `/proc`";
    found.push(ability("own /proc", lost, trial.proc()));
    let lost = "programs that write run on a copy of their folder";
    found.push(ability("overlay", lost, trial.overlay("plain", 0)));
    let all = trial.overlay("all", notes::NO_INDEX | notes::NO_REDIRECT);
    let lost = "in overlays folders are renamed by copying, and hard links break";
    found.push(ability(
        "overlay with redirect_dir, index, metacopy",
        lost,
        all,
    ));
    let lost = "a second wall behind the mounts, and against abstract sockets";
    found.push(ability("landlock", lost, trial.landlock()));
    let lost = "no program can be run in a sandbox";
    found.push(ability("seccomp", lost, trial.seccomp()));
    found.extend(groups());
    let lost = "copies of folders take room and time";
    found.push(ability("reflink", lost, trial.reflink()));
    found
}

fn ability(name: &'static str, lost: &'static str, tried: io::Result<()>) -> Ability {
    Ability {
        name,
        works: tried.is_ok(),
        lost,
        why: tried.err().map(|error| error.to_string()),
    }
}

fn groups() -> [Ability; 2] {
    let groups = Groups::find();
    let tried = |has: fn(&Groups) -> bool| match &groups {
        Ok(groups) if has(groups) => Ok(()),
        Ok(_) => Err(io::Error::other("its controller is not handed down")),
        Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
    };
    [
        ability(
            "control group of processes",
            NO_GROUPS,
            tried(Groups::processes),
        ),
        ability("control group of memory", NO_GROUPS, tried(Groups::memory)),
    ]
}

/// A folder to try in, removed afterwards.
struct Trial {
    machine: Machine,
    folder: io::Result<PathBuf>,
}

impl Trial {
    fn new(folder: &Path) -> Self {
        let folder = folder.join(format!(".helve-trial-{}", std::process::id()));
        Self {
            machine: Machine::probe(),
            folder: fs::create_dir(&folder).map(|()| folder),
        }
    }

    /// Does something in a process of its own, with namespaces.
    fn child(&self, namespaces: i32, ops: &[Op]) -> io::Result<()> {
        self.child_that(namespaces, ops, || Ok(()))
    }

    fn child_that(
        &self,
        namespaces: i32,
        ops: &[Op],
        then: impl FnOnce() -> Result<()>,
    ) -> io::Result<()> {
        let user = !self.machine.privileged && namespaces != 0;
        let flags = namespaces | if user { libc::CLONE_NEWUSER } else { 0 };
        let identity = (flags & libc::CLONE_NEWUSER != 0).then(|| Identity::of(&self.machine));
        let slots = Slots::new(4);
        let before = sys::block_signals(init::ALL);
        // SAFETY: the child makes raw system calls on what was prepared, and ends.
        let cloned = match unsafe { sys::fork(flags) } {
            Ok(Cloned::Child) => {
                let tried = identity.map_or(Ok(()), |identity| init::identify(&identity));
                let tried = tried.and_then(|()| {
                    let mut ops = ops.iter();
                    ops.try_fold(0, |notes, op| Ok(notes | op.perform(&slots)?))
                });
                match tried.and_then(|notes| then().map(|()| notes)) {
                    Ok(notes) => sys::exit(-notes & 0xff),
                    Err(errno) => sys::exit(errno.raw_os_error()),
                }
            }
            Ok(Cloned::Parent(pidfd)) => Ok(pidfd),
            Err(errno) => Err(errno),
        };
        sys::block_signals(before);
        let pidfd = cloned?;
        let ended = waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED)?;
        match ended.and_then(|ended| ended.exit_status()) {
            Some(0) => Ok(()),
            // Notes count down from 256, which no error number reaches.
            Some(code) if code > 240 => Err(Noted(256 - code).into()),
            Some(code) => Err(Errno::from_raw_os_error(code).into()),
            None => Err(io::Error::other("the process that tried it was killed")),
        }
    }

    fn proc(&self) -> io::Result<()> {
        let empty = c"/dev".to_owned();
        let options = c"hidepid=2".to_owned();
        let ops = [Op::Private, Op::Proc { options, empty }];
        self.child(libc::CLONE_NEWNS | libc::CLONE_NEWPID, &ops)
    }

    /// An overlay that is not `without` any of these.
    fn overlay(&self, name: &str, without: i32) -> io::Result<()> {
        let folder = self.folder()?.join(name);
        fs::create_dir(&folder)?;
        let path = |name: &str| {
            let path = folder.join(name);
            fs::create_dir(&path)?;
            CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from)
        };
        let overlay = Op::Overlay {
            slot: 0,
            lower: path("lower")?,
            upper: path("upper")?,
            work: path("work")?,
            privileged: self.machine.privileged,
        };
        let tried = self.child(libc::CLONE_NEWNS, &[Op::Private, overlay]);
        match tried {
            Err(error) => match error.get_ref().and_then(|e| e.downcast_ref::<Noted>()) {
                Some(Noted(notes)) if notes & without == 0 => Ok(()),
                _ => Err(error),
            },
            Ok(()) => Ok(()),
        }
    }

    fn landlock(&self) -> io::Result<()> {
        match self.machine.landlock {
            0 => Err(io::Error::other("not in this kernel")),
            old @ 1..3 => Err(io::Error::other(format!("version {old} is too old"))),
            _ => Ok(()),
        }
    }

    fn seccomp(&self) -> io::Result<()> {
        let filter = filter::build(false);
        self.child_that(0, &[], || {
            set_no_new_privs(true)?;
            sys::filter_calls(&filter)
        })
    }

    fn reflink(&self) -> io::Result<()> {
        let folder = self.folder()?;
        fs::write(folder.join("from"), "text")?;
        let (from, to) = (
            File::open(folder.join("from"))?,
            File::create(folder.join("to"))?,
        );
        Ok(rustix::fs::ioctl_ficlone(to, from)?)
    }

    fn folder(&self) -> io::Result<&Path> {
        let told = |error: &io::Error| io::Error::new(error.kind(), error.to_string());
        self.folder.as_deref().map_err(told)
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        let Ok(folder) = &self.folder else {
            return;
        };
        for overlay in ["plain", "all"] {
            let _ = remove_work(&folder.join(overlay).join("work"));
        }
        let _ = fs::remove_dir_all(folder);
    }
}

/// It works, but not all of it.
#[derive(Debug, thiserror::Error)]
#[error("refused by the file system, or to an ordinary user")]
struct Noted(i32);

impl From<Noted> for io::Error {
    fn from(noted: Noted) -> Self {
        Self::other(noted)
    }
}
