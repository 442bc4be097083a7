//! The system calls that rustix does not have.
//!
//! All of them may be used between `clone` and `exec`: they allocate nothing, take
//! no lock and leave the memory of the caller alone, but for what is said.

use std::ffi::{CStr, c_int, c_long, c_void};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::{Errno, Result};

/// A signal set of the kernel's size.
pub(crate) type Signals = u64;

/// Number of signals.
const SIGNALS: c_int = 64;

/// The kernel's `struct sigaction` with the default action: all zeroes, on every machine.
const DEFAULT_ACTION: [u64; 4] = [0; 4];

/// The kernel's `struct mount_attr`.
#[repr(C)]
#[derive(Default)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// No writing.
pub(crate) const READ_ONLY: u64 = 1;
/// No program gains rights by its file.
pub(crate) const NO_SUID: u64 = 2;
/// No devices.
pub(crate) const NO_DEV: u64 = 4;
/// No programs.
pub(crate) const NO_EXEC: u64 = 8;

fn check(result: c_long) -> Result<c_long> {
    if result >= 0 {
        return Ok(result);
    }
    // SAFETY: the location of errno is valid for the life of the thread.
    Err(Errno::from_raw_os_error(unsafe {
        *libc::__errno_location()
    }))
}

/// What `clone` returned to whom.
pub(crate) enum Cloned {
    /// The process that called: its child's pidfd.
    Parent(OwnedFd),
    /// The new process.
    Child,
}

/// Makes a process with a copy of this memory, of which only this thread goes on.
///
/// # Safety
/// The child must call nothing but what is safe after a fork of a program with
/// threads, and must never return from the function that called this.
pub(crate) unsafe fn fork(namespaces: c_int) -> Result<Cloned> {
    let mut pidfd: c_int = -1;
    let flags = namespaces | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY: without CLONE_VM the child has its own copy of the stack, so that none
    // needs to be given; `pidfd` outlives the call. The order of the last two
    // arguments differs between machines, and both are unused.
    let id = check(unsafe {
        libc::syscall(
            libc::SYS_clone,
            c_long::from(flags),
            0_usize,
            &raw mut pidfd,
            0_usize,
            0_usize,
        )
    })?;
    if id == 0 {
        return Ok(Cloned::Child);
    }
    // SAFETY: the kernel has just made this descriptor, for us alone.
    Ok(Cloned::Parent(unsafe { OwnedFd::from_raw_fd(pidfd) }))
}

/// Runs `body` in a process that shares this memory, on another stack, and goes on
/// when it has become another program or ended. Returns its number.
///
/// # Safety
/// `body` must never return, and must change nothing that the caller relies on.
/// `stack` must be used by nobody else.
pub(crate) unsafe fn vfork<T>(
    body: extern "C" fn(*mut c_void) -> c_int,
    given: &T,
    stack: &mut [u8],
) -> Result<i32> {
    let top = stack.as_mut_ptr_range().end;
    let top = top.map_addr(|address| address & !15);
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let given = std::ptr::from_ref(given).cast_mut().cast::<c_void>();
    // SAFETY: the stack is ours, aligned, and used upwards to its end; what `given`
    // points to outlives the call, which returns after the other process is done.
    let id = unsafe { libc::clone(body, top.cast(), flags, given) };
    check(c_long::from(id)).map(|_| id)
}

/// A network namespace with nothing in it, made by a thread that then ends.
pub(crate) fn empty_network() -> std::io::Result<OwnedFd> {
    let made = std::thread::spawn(|| {
        // SAFETY: touches no memory, and no namespace but of this thread.
        check(c_long::from(unsafe { libc::unshare(libc::CLONE_NEWNET) }))?;
        std::fs::File::open("/proc/thread-self/ns/net").map(OwnedFd::from)
    });
    let ended = |_| std::io::Error::other("the thread ended");
    made.join().map_err(ended)?
}

/// Goes into a network namespace.
pub(crate) fn enter_network(namespace: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: touches no memory.
    let done = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
    check(c_long::from(done)).map(drop)
}

/// Ends this process at once, without the clean-up of the program it was.
pub(crate) fn exit(code: c_int) -> ! {
    // SAFETY: never returns, and touches no memory.
    unsafe { libc::_exit(code) }
}

/// Replaces this process by a program.
///
/// # Safety
/// `argv` and `envp` must be NULL-terminated arrays of C strings.
pub(crate) unsafe fn exec(
    path: &CStr,
    argv: *const *const libc::c_char,
    envp: *const *const libc::c_char,
) -> Errno {
    // SAFETY: as the caller promises.
    let result = unsafe { libc::execve(path.as_ptr(), argv, envp) };
    check(c_long::from(result)).err().unwrap_or(Errno::INVAL)
}

/// Gives every signal its default action.
pub(crate) fn default_signals() {
    for signal in 1..=SIGNALS {
        // SAFETY: the action is as long as the kernel's and lives for ever. KILL and
        // STOP are refused, which is as well.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                DEFAULT_ACTION.as_ptr(),
                0_usize,
                size_of::<Signals>(),
            )
        };
    }
}

/// Has the end of a child wake who waits for it, and nothing else.
pub(crate) fn wake_on_child() -> Result<()> {
    extern "C" fn nothing(_: c_int) {}
    // SAFETY: all zeroes is a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as *const () as usize;
    // SAFETY: the handler does nothing, which any thread may do at any time.
    let result = unsafe { libc::sigaction(libc::SIGCHLD, &raw const action, std::ptr::null_mut()) };
    check(c_long::from(result)).map(drop)
}

/// Sets which signals wait, and returns which did until now.
pub(crate) fn block_signals(set: Signals) -> Signals {
    let mut before: Signals = 0;
    // SAFETY: both sets have the kernel's size and outlive the call.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const set,
            &raw mut before,
            size_of::<Signals>(),
        )
    };
    before
}

/// Waits until there is something to read, the other end is closed, or a signal
/// that is not in `blocked` has come.
pub(crate) fn wait_readable(fd: RawFd, blocked: Signals) -> Result<()> {
    let mut poll = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: `poll` and `blocked` outlive the call; no time limit is given.
    check(unsafe {
        libc::syscall(
            libc::SYS_ppoll,
            &raw mut poll,
            1_usize,
            0_usize,
            &raw const blocked,
            size_of::<Signals>(),
        )
    })
    .map(drop)
}

/// Reaps a child that has ended, if there is one: its number and raw status.
pub(crate) fn reap() -> Result<(i32, i32)> {
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    let id = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    check(c_long::from(id)).map(|_| (id, status))
}

/// Sends a signal to every other process of the namespace, if this is its first one.
/// Anywhere else it would reach the whole machine.
pub(crate) fn signal_all(signal: c_int) {
    // SAFETY: touches no memory.
    if unsafe { libc::getpid() } == 1 {
        // SAFETY: as above.
        unsafe { libc::kill(-1, signal) };
    }
}

/// Closes all descriptors from one number to another.
pub(crate) fn close_range(first: u32, last: u32) -> Result<()> {
    // SAFETY: the caller of this crate's child side owns no descriptor that it
    // would close a second time: it forgets those which it does not keep.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) }).map(drop)
}

/// Closes one.
pub(crate) fn close(fd: RawFd) {
    // SAFETY: as for `close_range`.
    unsafe { libc::close(fd) };
}

/// Makes `to` another name of `from`, kept over `exec`.
pub(crate) fn dup2(from: RawFd, to: RawFd) -> Result<()> {
    // SAFETY: touches no memory.
    check(c_long::from(unsafe { libc::dup2(from, to) })).map(drop)
}

/// Sets and clears attributes of a mount, or of a whole tree of them.
pub(crate) fn set_mount(
    tree: BorrowedFd<'_>,
    path: &CStr,
    set: u64,
    clear: u64,
    recursive: bool,
) -> Result<()> {
    let attributes = MountAttributes {
        set,
        clear,
        ..MountAttributes::default()
    };
    let flags = if recursive { libc::AT_RECURSIVE } else { 0 } | libc::AT_EMPTY_PATH;
    // SAFETY: path and attributes outlive the call, and the size is theirs.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    })
    .map(drop)
}

/// Makes a Landlock ruleset, or asks for the version of Landlock (`None`).
pub(crate) fn landlock_create(rules: Option<&[u64; 3]>) -> Result<c_long> {
    let (address, size, flags) = match rules {
        Some(rules) => (rules.as_ptr(), size_of_val(rules), 0),
        None => (std::ptr::null(), 0, 1),
    };
    // SAFETY: `rules` outlives the call and has the size that is given. The kernel
    // takes a longer structure than it knows if the rest is zero.
    check(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, address, size, flags) })
}

/// Allows rights beneath a folder.
pub(crate) fn landlock_allow(
    ruleset: BorrowedFd<'_>,
    rights: u64,
    folder: BorrowedFd<'_>,
) -> Result<()> {
    #[repr(C, packed)]
    struct Beneath {
        rights: u64,
        folder: i32,
    }
    let rule = Beneath {
        rights,
        folder: folder.as_raw_fd(),
    };
    // SAFETY: `rule` has the kernel's layout of `landlock_path_beneath_attr`, type 1.
    check(unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.as_raw_fd(),
            1,
            &raw const rule,
            0,
        )
    })
    .map(drop)
}

/// Puts this process under a ruleset.
pub(crate) fn landlock_enter(ruleset: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: touches no memory.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) })
        .map(drop)
}

/// Puts this process under a filter of system calls.
pub(crate) fn filter_calls(filter: &[libc::sock_filter]) -> Result<()> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| Errno::INVAL)?,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel only reads the program, which outlives the call.
    check(unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            &raw const program,
        )
    })
    .map(drop)
}
