//! Which system calls a program may make: a seccomp filter.
//!
//! It stands behind the namespaces and the missing capabilities, for what would get
//! around them and for parts of the kernel that no tool needs. Nothing is killed:
//! a refused call says so, and programs that can do without go on.

use libc::{c_long, sock_filter};

/// What a call of another machine's kind is known by, and where the kernel puts what
/// is asked. Both supported machines have the low half of an argument first.
#[cfg(target_arch = "x86_64")]
const MACHINE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const MACHINE: u32 = 0xC000_00B7;

const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// From here on the numbers are those of x32, which would go around the list.
#[cfg(target_arch = "x86_64")]
const FOREIGN: u32 = 0x4000_0000;
#[cfg(target_arch = "aarch64")]
const FOREIGN: u32 = u32::MAX;

/// All flags of `clone` that make a namespace.
const NAMESPACES: u32 = 0x7E02_0000;

/// Terminal injection: typing into a terminal, and the console's own menu.
const TERMINAL: [u32; 2] = [0x5412, 0x541C];

/// Families of addresses with network: Unix, IPv4, IPv6, and netlink for its names.
const FAMILIES: [u32; 4] = [1, 2, 10, 16];

const ALLOW: u32 = 0x7FFF_0000;
const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
const UNKNOWN: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
const NO_FAMILY: u32 = libc::SECCOMP_RET_ERRNO | libc::EAFNOSUPPORT as u32;

/// Refused on every machine.
const REFUSED: &[c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_fanotify_init,
    // The kernel itself.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The machine's name and time.
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    // Newer than libc's names: `open_tree_attr`.
    467,
];

/// Refused where they are.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[c_long] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS__sysctl,
];
#[cfg(target_arch = "aarch64")]
const REFUSED_HERE: &[c_long] = &[libc::SYS_kexec_file_load];

/// The filter of a program with network, or without.
pub(crate) fn build(network: bool) -> Vec<sock_filter> {
    let mut code = vec![load(ARCHITECTURE), equal(MACHINE, 1, 0), answer(REFUSE)];
    code.extend([load(NUMBER), at_least(FOREIGN, 0, 1), answer(REFUSE)]);

    // `clone3` has its flags in memory, where a filter cannot look; the C library
    // goes on with `clone` when it is not there.
    code.extend([equal(number(libc::SYS_clone3), 0, 1), answer(UNKNOWN)]);
    let namespaces = [
        load(ARGUMENTS),
        any_of(NAMESPACES, 0, 1),
        answer(REFUSE),
        answer(ALLOW),
    ];
    on_call(&mut code, libc::SYS_clone, &namespaces);
    let [typing, console] = TERMINAL;
    let terminal = [
        load(ARGUMENTS + 8),
        equal(typing, 1, 0),
        equal(console, 0, 1),
        answer(REFUSE),
        answer(ALLOW),
    ];
    on_call(&mut code, libc::SYS_ioctl, &terminal);
    let mut refused = [REFUSED, REFUSED_HERE].concat();
    if network {
        let [a, b, c, d] = FAMILIES;
        let families = [
            load(ARGUMENTS),
            equal(a, 3, 0),
            equal(b, 2, 0),
            equal(c, 1, 0),
            equal(d, 0, 1),
            answer(ALLOW),
            answer(NO_FAMILY),
        ];
        on_call(&mut code, libc::SYS_socket, &families);
    } else {
        refused.push(libc::SYS_socket);
    }
    search(&mut code, &ranges(refused));
    code
}

/// The same, as first and last of those that follow each other.
fn ranges(mut numbers: Vec<c_long>) -> Vec<(u32, u32)> {
    numbers.sort_unstable();
    numbers.dedup();
    let mut found: Vec<(u32, u32)> = Vec::new();
    for number in numbers.into_iter().map(number) {
        match found.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => found.push((number, number)),
        }
    }
    found
}

/// Halves the ranges until one is left. The kernel walks the filter for every
/// number there is when it is installed, so that a list would take its time.
fn search(code: &mut Vec<sock_filter>, ranges: &[(u32, u32)]) {
    let (before, rest) = ranges.split_at(ranges.len() / 2);
    let Some(((first, last), after)) = rest.split_first() else {
        code.push(answer(ALLOW));
        return;
    };
    let above = code.len();
    code.push(at_least(last + 1, 0, 0));
    code.extend([at_least(*first, 0, 1), answer(REFUSE)]);
    search(code, before);
    let skipped = code.len() - above - 1;
    code[above].jt = u8::try_from(skipped).expect("half of the list is shorter than a jump");
    search(code, after);
}

/// What is to be done on one call. The number is loaded again for what follows.
fn on_call(code: &mut Vec<sock_filter>, call: c_long, block: &[sock_filter]) {
    let length = u8::try_from(block.len()).expect("blocks are short");
    code.push(equal(number(call), 0, length));
    code.extend_from_slice(block);
}

fn number(call: c_long) -> u32 {
    u32::try_from(call).expect("numbers of system calls are small")
}

fn load(offset: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

fn equal(value: u32, yes: u8, no: u8) -> sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value, yes, no)
}

fn at_least(value: u32, yes: u8, no: u8) -> sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, value, yes, no)
}

fn any_of(bits: u32, yes: u8, no: u8) -> sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, bits, yes, no)
}

fn answer(value: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, value, 0, 0)
}

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    let code = u16::try_from(code).expect("codes have 16 bits");
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests;
