//! The first process of a sandbox: number 1 of its process namespace.
//!
//! It is a copy of the hub's memory in which one thread goes on. So it does nothing
//! but raw system calls on what was prepared before: no allocation, no lock, no
//! panic. It sets the sandbox up, starts the program, reaps whatever is orphaned,
//! tells how the program ended, and ends; by that the kernel kills all that is left,
//! whatever session or group it went to.
//!
//! It also watches a pipe that the hub holds. When the hub is gone, so is this.

use std::ffi::{c_int, c_void};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::{self, Mode, OFlags};
use rustix::io::{Errno, Result};
use rustix::process::{DumpableBehavior, set_dumpable_behavior, umask};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    set_capabilities, set_capabilities_secure_bits, set_no_new_privs,
};

use crate::message::{Failure, Message, Step};
use crate::plan::{Identity, Plan};
use crate::{program, sys};

/// Signals that wait while the first process works: all.
pub(crate) const ALL: sys::Signals = !0;

/// The byte that asks for a polite end.
pub(crate) const TERMINATE: u8 = b'T';

/// Sets up the sandbox and stays until the program has ended.
pub(crate) fn run(plan: &Plan) -> ! {
    sys::default_signals();
    match set_up(plan).and_then(|notes| Ok((notes, start(plan)?))) {
        Ok((notes, program)) => {
            tell(plan, Message::Started { notes });
            attend(plan, program);
        }
        Err(failure) => tell(plan, Message::Failed(failure)),
    }
    sys::exit(0)
}

fn set_up(plan: &Plan) -> std::result::Result<i32, Failure> {
    for (index, (first, last)) in plan.strangers.iter().enumerate() {
        sys::close_range(*first, *last).map_err(|e| Step::Descriptors.failed(index, e))?;
    }
    if let Some(network) = &plan.network {
        sys::enter_network(network.as_fd()).map_err(|e| Step::Network.failed(0, e))?;
    }
    umask(Mode::empty());
    for (index, file) in plan.groups.iter().enumerate() {
        // In the group before anything else, so that all is counted. The own number
        // is `0`; a move of oneself is the one that does not wait for the others.
        rustix::io::write(file, b"0").map_err(|e| Step::Group.failed(index, e))?;
    }
    if let Some(identity) = &plan.identity {
        identify(identity).map_err(|e| Step::Identity.failed(0, e))?;
    }
    // What the hub had in memory is here as well, and is for nobody's eyes.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|e| Step::Privileges.failed(0, e))?;
    let _ = rustix::system::sethostname(b"sandbox");
    let mut notes = 0;
    for (index, op) in plan.ops.iter().enumerate() {
        notes |= op
            .perform(&plan.slots)
            .map_err(|e| Step::Mount.failed(index, e))?;
    }
    drop_privileges().map_err(|e| Step::Privileges.failed(1, e))?;
    Ok(notes)
}

/// Maps the one user to itself.
pub(crate) fn identify(identity: &Identity) -> Result<()> {
    write_file(c"/proc/self/setgroups", b"deny")?;
    write_file(c"/proc/self/uid_map", &identity.user)?;
    write_file(c"/proc/self/gid_map", &identity.group)
}

fn write_file(path: &std::ffi::CStr, text: &[u8]) -> Result<()> {
    let file = fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file, text).map(drop)
}

/// Gives up every capability, for ever.
fn drop_privileges() -> Result<()> {
    for capability in 0..64 {
        match drop_bounding(capability) {
            Ok(()) => {}
            // The first that this kernel does not know.
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(errno),
        }
    }
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    set_capabilities_secure_bits(bits)?;
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    set_capabilities(
        None,
        CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        },
    )?;
    set_no_new_privs(true)
}

fn drop_bounding(capability: u32) -> Result<()> {
    // By number: a kernel may know more capabilities than this program.
    // SAFETY: touches no memory.
    let done = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    match done {
        0 => Ok(()),
        // SAFETY: the location of errno is valid for the life of the thread.
        _ => Err(Errno::from_raw_os_error(unsafe {
            *libc::__errno_location()
        })),
    }
}

/// Starts the program, and returns its number when it has become itself.
fn start(plan: &Plan) -> std::result::Result<i32, Failure> {
    extern "C" fn become_program(plan: *mut c_void) -> c_int {
        // SAFETY: it is the plan that `start` gave, which is alive until this process
        // is another program or has ended.
        let plan = unsafe { &*plan.cast::<Plan>() };
        plan.failed.set(Some(program::start(plan)));
        sys::exit(127)
    }
    sys::wake_on_child().map_err(|e| Step::Process.failed(0, e))?;
    let mut stack = plan.stack.borrow_mut();
    // SAFETY: the body ends in `exit` or in another program; it writes to `failed`
    // alone, which is read after it.
    let program = unsafe { sys::vfork(become_program, plan, &mut stack) };
    let program = program.map_err(|e| Step::Process.failed(1, e))?;
    for stream in [&plan.stdin, &plan.stdout, &plan.stderr] {
        // Who reads them must see the end when the program closes them.
        sys::close(stream.as_raw_fd());
    }
    plan.failed.get().map_or(Ok(program), Err)
}

/// Reaps, listens to the hub, and tells how the program ended.
fn attend(plan: &Plan, program: i32) {
    let but_children = ALL & !(1 << (libc::SIGCHLD - 1));
    loop {
        while let Ok((id, status)) = sys::reap() {
            if id == program {
                tell(plan, Message::Ended { status });
                return;
            }
            if id == 0 {
                break;
            }
        }
        let control = plan.control.as_fd();
        if sys::wait_readable(control.as_raw_fd(), but_children).is_ok() && !obey(control) {
            return;
        }
    }
}

/// Does what the hub asks. `false` when it is gone.
fn obey(control: BorrowedFd<'_>) -> bool {
    let mut byte = [0];
    match rustix::io::read(control, &mut byte) {
        Ok(0) => false,
        Ok(_) => {
            if byte == [TERMINATE] {
                sys::signal_all(libc::SIGTERM);
            }
            true
        }
        Err(_) => true,
    }
}

fn tell(plan: &Plan, message: Message) {
    // Nobody reads when the hub is gone, and then nothing is to be told.
    let _ = rustix::io::write(&plan.status, &message.to_bytes());
}
