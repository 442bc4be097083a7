//! The program's process, from its making to the program itself.
//!
//! It shares the memory of the first process, which waits. The same holds as there:
//! raw system calls on what was prepared, nothing else.

use std::ffi::{CString, c_char};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use rustix::fs::{self, Mode, OFlags};
use rustix::io::{Errno, Result};
use rustix::process::{Resource, Rlimit, chdir, setrlimit, setsid, umask};

use crate::message::{Failure, Step};
use crate::plan::Plan;
use crate::sys;

/// What is started, as the kernel takes it.
#[derive(Debug)]
pub(crate) struct Program {
    /// Its file.
    pub(crate) path: CString,
    /// Its name and arguments.
    pub(crate) argv: Texts,
    /// Its variables.
    pub(crate) env: Texts,
    /// Its folder.
    pub(crate) cwd: CString,
    /// Its limits.
    pub(crate) limits: Vec<(Resource, Rlimit)>,
    /// Where it may write, if Landlock can be had.
    pub(crate) rules: Option<Rules>,
}

/// An array of C strings.
#[derive(Debug)]
pub(crate) struct Texts {
    /// Keeps what the pointers point to.
    _texts: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl Texts {
    pub(crate) fn new(texts: Vec<CString>) -> Self {
        let mut pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Self {
            _texts: texts,
            pointers,
        }
    }
}

/// What Landlock allows.
#[derive(Debug)]
pub(crate) struct Rules {
    /// What is ruled at all: of files, of the network, of other processes.
    pub(crate) ruled: [u64; 3],
    /// What of that is allowed beneath which folder.
    pub(crate) allowed: Vec<(CString, u64)>,
}

/// Becomes the program. Returns only why not.
pub(crate) fn start(plan: &Plan) -> Failure {
    match prepare(plan) {
        Ok(()) => {
            let Program {
                path, argv, env, ..
            } = &plan.program;
            let (argv, env) = (argv.pointers.as_ptr(), env.pointers.as_ptr());
            // SAFETY: `Texts` ends both with NULL and keeps the strings.
            Step::Exec.failed(0, unsafe { sys::exec(path, argv, env) })
        }
        Err(failure) => failure,
    }
}

fn prepare(plan: &Plan) -> std::result::Result<(), Failure> {
    let program = &plan.program;
    streams(plan).map_err(|e| Step::Session.failed(0, e))?;
    umask(Mode::from_raw_mode(0o022));
    chdir(program.cwd.as_c_str()).map_err(|e| Step::Cwd.failed(0, e))?;
    if let Some(rules) = &program.rules {
        enter_rules(rules).map_err(|e| Step::Paths.failed(0, e))?;
    }
    for (index, (resource, limit)) in program.limits.iter().enumerate() {
        setrlimit(*resource, *limit).map_err(|e| Step::Limits.failed(index, e))?;
    }
    sys::filter_calls(&plan.filter).map_err(|e| Step::Calls.failed(0, e))?;
    sys::block_signals(0);
    Ok(())
}

/// Its own session, so that no terminal is in reach; the three streams, and no other
/// descriptor.
fn streams(plan: &Plan) -> Result<()> {
    setsid()?;
    for (number, stream) in (0..).zip([&plan.stdin, &plan.stdout, &plan.stderr]) {
        sys::dup2(stream.as_raw_fd(), number)?;
    }
    sys::close_range(3, u32::MAX)
}

fn enter_rules(rules: &Rules) -> Result<()> {
    let ruleset = sys::landlock_create(Some(&rules.ruled))?;
    let ruleset = i32::try_from(ruleset).map_err(|_| Errno::BADF)?;
    // SAFETY: the kernel has just made this descriptor, for us alone.
    let ruleset = unsafe { OwnedFd::from_raw_fd(ruleset) };
    for (path, rights) in &rules.allowed {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        match fs::open(path.as_c_str(), flags, Mode::empty()) {
            Ok(folder) => sys::landlock_allow(ruleset.as_fd(), *rights, folder.as_fd())?,
            // Hidden, or never there: then nothing is written there either.
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
    }
    sys::landlock_enter(ruleset.as_fd())
}
