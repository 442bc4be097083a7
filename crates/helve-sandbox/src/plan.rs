//! All that the first process of a sandbox needs, made before it exists.
//!
//! What the program sees is put together in this order:
//!
//! 1. What must stay reachable is taken from where it lies: layers, and whatever is
//!    visible in a folder that gets covered.
//! 2. One file system in memory holds `/dev`, the program's own `/tmp`, and an empty
//!    folder and an empty file to cover with. It is one so that one size limits all,
//!    and because making one is not free.
//! 3. All that is mounted by then becomes read-only at a stroke. No other root is
//!    made: the namespace has its own copy of every mount, and none but those.
//! 4. What may be written, and what was taken, comes to its place, parents first.
//! 5. What is hidden is covered last, and so wins.

use std::cell::{Cell, RefCell};
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use libc::sock_filter;
use rustix::process::{Resource, Rlimit, getrlimit};

use crate::error::Error;
use crate::machine::Machine;
use crate::message::Failure;
use crate::op::{Op, Slots};
use crate::program::{Program, Rules, Texts};
use crate::spec::Spec;
use crate::view;

/// Bytes of stack of the program's process until it is the program.
const STACK: usize = 64 * 1024;

/// What the first process works from.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The program's ends of its streams.
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    /// Where the hub is heard, and noticed to be gone.
    pub(crate) control: OwnedFd,
    /// Where the hub is told.
    pub(crate) status: OwnedFd,
    /// All other descriptors, from and to.
    pub(crate) strangers: Vec<(u32, u32)>,
    /// Files by which control groups are entered.
    pub(crate) groups: Vec<Arc<File>>,
    /// The network namespace to go to, if none is made.
    pub(crate) network: Option<Arc<OwnedFd>>,
    /// The user in a namespace of users.
    pub(crate) identity: Option<Identity>,
    /// What is mounted.
    pub(crate) ops: Vec<Op>,
    pub(crate) slots: Slots,
    /// What is started then.
    pub(crate) program: Program,
    /// Under which filter of system calls.
    pub(crate) filter: Arc<[sock_filter]>,
    /// On which stack.
    pub(crate) stack: RefCell<Vec<u8>>,
    /// Why that failed.
    pub(crate) failed: Cell<Option<Failure>>,
}

/// One user and one group, as `uid_map` and `gid_map` take them.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) user: Vec<u8>,
    pub(crate) group: Vec<u8>,
}

impl Identity {
    /// Each mapped to itself.
    pub(crate) fn of(machine: &Machine) -> Self {
        let (user, group) = (machine.user, machine.group);
        Self {
            user: format!("{user} {user} 1").into_bytes(),
            group: format!("{group} {group} 1").into_bytes(),
        }
    }
}

/// The program's ends of all pipes.
pub(crate) struct Ends {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    pub(crate) control: OwnedFd,
    pub(crate) status: OwnedFd,
}

impl Plan {
    pub(crate) fn new(
        spec: &Spec,
        machine: &Machine,
        ends: Ends,
        groups: Vec<Arc<File>>,
    ) -> Result<Self, Error> {
        let (ops, slots) = view::build(spec, machine)?;
        let mut kept = vec![
            ends.stdin.as_raw_fd(),
            ends.stdout.as_raw_fd(),
            ends.stderr.as_raw_fd(),
            ends.control.as_raw_fd(),
            ends.status.as_raw_fd(),
        ];
        kept.extend(groups.iter().map(AsRawFd::as_raw_fd));
        let network = machine.nowhere.clone().filter(|_| !spec.network);
        kept.extend(network.iter().map(AsRawFd::as_raw_fd));
        let identity = (!machine.privileged).then(|| Identity::of(machine));
        Ok(Self {
            stdin: ends.stdin,
            stdout: ends.stdout,
            stderr: ends.stderr,
            control: ends.control,
            status: ends.status,
            strangers: gaps(kept),
            groups,
            network,
            identity,
            ops,
            slots,
            program: program(spec, machine)?,
            filter: machine.filter(spec.network),
            stack: RefCell::new(vec![0; STACK]),
            failed: Cell::new(None),
        })
    }

    /// Closes the program's ends, and leaves what explains a failure.
    pub(crate) fn into_ops(self) -> Vec<Op> {
        self.ops
    }
}

/// The ranges between numbers, from 0 to the last there can be.
fn gaps(kept: Vec<i32>) -> Vec<(u32, u32)> {
    let mut kept: Vec<u32> = kept.into_iter().map(i32::unsigned_abs).collect();
    kept.sort_unstable();
    let mut gaps = Vec::with_capacity(kept.len() + 1);
    let mut next = 0;
    for number in kept {
        if number > next {
            gaps.push((next, number - 1));
        }
        next = number + 1;
    }
    gaps.push((next, u32::MAX));
    gaps
}

fn program(spec: &Spec, machine: &Machine) -> Result<Program, Error> {
    let mut argv = vec![text("the name", &spec.name)?];
    for argument in &spec.args {
        argv.push(text("argument", argument)?);
    }
    let mut env = Vec::with_capacity(spec.env.len());
    for (name, value) in &spec.env {
        if name.is_empty() || name.as_bytes().contains(&b'=') {
            return Err(invalid(
                "variable",
                name,
                "has no name that a variable can have",
            ));
        }
        let mut variable = OsString::with_capacity(name.len() + value.len() + 1);
        variable.push(name);
        variable.push("=");
        variable.push(value);
        env.push(text("variable", &variable)?);
    }
    Ok(Program {
        path: path("program", &spec.program)?,
        argv: Texts::new(argv),
        env: Texts::new(env),
        cwd: path("cwd", &spec.cwd)?,
        limits: limits(spec, machine),
        rules: rules(spec, machine)?,
    })
}

/// The limits that each process carries itself.
fn limits(spec: &Spec, machine: &Machine) -> Vec<(Resource, Rlimit)> {
    let limits = &spec.limits;
    let counted = machine.groups.as_ref();
    let memory = limits
        .memory
        .filter(|_| counted.is_none_or(|g| !g.memory()));
    // Counted for a user; of this namespace, where there is one. For root it never holds.
    let processes = limits.processes.filter(|_| !machine.privileged);
    let wanted = [
        (Resource::Core, Some(0), 0),
        (Resource::Fsize, limits.file_size, 0),
        (Resource::Nofile, limits.open_files, 0),
        // A second more, so that the signal that can be told from others comes first.
        (
            Resource::Cpu,
            limits.cpu_time.map(|time| time.as_secs().max(1)),
            1,
        ),
        (Resource::As, memory, 0),
        (
            Resource::Nproc,
            processes.map(|count| u64::from(count) + 1),
            0,
        ),
    ];
    let set = wanted.into_iter().filter_map(|(resource, limit, more)| {
        let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let limit = limit?.min(most);
        let maximum = limit.saturating_add(more).min(most);
        let limit = Rlimit {
            current: Some(limit),
            maximum: Some(maximum),
        };
        Some((resource, limit))
    });
    set.collect()
}

/// What Landlock rules of files: all kinds of writing.
const WRITING: u64 = 1 << 1 | 0b1_1111_1111 << 4 | 1 << 13 | 1 << 14;
/// The part of it that a device takes.
const WRITING_A_FILE: u64 = 1 << 1 | 1 << 14;
/// TCP: to listen, and to connect.
const TCP: u64 = 0b11;
/// To reach abstract sockets, and to signal processes, outside.
const OUTSIDE: u64 = 0b11;

fn rules(spec: &Spec, machine: &Machine) -> Result<Option<Rules>, Error> {
    // Before the third version files cannot be truncated, or moved between folders,
    // under any rule: that would break more than it guards.
    if machine.landlock < 3 {
        return Ok(None);
    }
    let network = if machine.landlock >= 4 && !spec.network {
        TCP
    } else {
        0
    };
    let scope = if machine.landlock >= 6 { OUTSIDE } else { 0 };
    let mut allowed = vec![
        (c"/tmp".to_owned(), WRITING),
        (c"/dev".to_owned(), WRITING_A_FILE),
    ];
    for layer in &spec.layers {
        allowed.push((path("layer", layer.target())?, WRITING));
    }
    Ok(Some(Rules {
        ruled: [WRITING, network, scope],
        allowed,
    }))
}

/// A path as the kernel takes it: absolute and without detours.
pub(crate) fn path(what: &'static str, path: &Path) -> Result<CString, Error> {
    let detour = |part| !matches!(part, Component::RootDir | Component::Normal(_));
    if !path.is_absolute() || path.components().any(detour) {
        return Err(invalid(
            what,
            path.as_os_str(),
            "is not an absolute path without `..`",
        ));
    }
    // As it is understood: without `//`, `/./` and a `/` at the end.
    let plain: PathBuf = path.components().collect();
    text(what, plain.as_os_str())
}

fn text(what: &'static str, text: &OsStr) -> Result<CString, Error> {
    CString::new(text.to_owned().into_vec())
        .map_err(|_| invalid(what, text, "has a NUL character in it"))
}

fn invalid(what: &'static str, value: &OsStr, problem: &'static str) -> Error {
    Error::Invalid {
        what,
        value: value.to_string_lossy().into_owned(),
        problem,
    }
}
