//! The filter, run as the kernel would run it.

use super::*;

/// What the filter answers to a call.
fn ask(code: &[sock_filter], machine: u32, number: u32, arguments: [u32; 2]) -> u32 {
    let (mut at, mut loaded) = (0, 0);
    loop {
        let step = code[at];
        let jump = |yes: bool| usize::from(if yes { step.jt } else { step.jf });
        at += 1;
        match u32::from(step.code) {
            0x20 => {
                loaded = match step.k {
                    NUMBER => number,
                    ARCHITECTURE => machine,
                    16 => arguments[0],
                    24 => arguments[1],
                    other => panic!("loads {other}"),
                }
            }
            0x15 => at += jump(loaded == step.k),
            0x35 => at += jump(loaded >= step.k),
            0x45 => at += jump(loaded & step.k != 0),
            0x06 => return step.k,
            other => panic!("code {other:#x}"),
        }
    }
}

#[test]
fn the_list_is_refused_and_all_else_is_not() {
    let refused = [REFUSED, REFUSED_HERE].concat();
    for network in [false, true] {
        let code = build(network);
        for call in 0..600 {
            let special = [libc::SYS_clone3, libc::SYS_socket].contains(&call);
            let expected = match call {
                libc::SYS_clone3 => UNKNOWN,
                libc::SYS_socket if !network => REFUSE,
                libc::SYS_socket => NO_FAMILY,
                _ if refused.contains(&call) => REFUSE,
                _ => ALLOW,
            };
            let answer = ask(&code, MACHINE, number(call), [0, 0]);
            assert_eq!(
                answer, expected,
                "call {call}, network {network}, special {special}"
            );
        }
    }
}

#[test]
fn arguments_are_looked_at() {
    let code = build(true);
    let ask = |call, arguments| ask(&code, MACHINE, number(call), arguments);
    for namespace in [
        0x0002_0000,
        0x0200_0000,
        0x0400_0000,
        0x0800_0000,
        0x1000_0000,
        0x2000_0000,
        0x4000_0000,
    ] {
        assert_eq!(
            ask(libc::SYS_clone, [namespace | 17, 0]),
            REFUSE,
            "{namespace:#x}"
        );
    }
    // A thread, and a fork.
    assert_eq!(ask(libc::SYS_clone, [0x003d_0f00, 0]), ALLOW);
    assert_eq!(ask(libc::SYS_clone, [0x0120_0011, 0]), ALLOW);
    for (family, answer) in [
        (1, ALLOW),
        (2, ALLOW),
        (10, ALLOW),
        (16, ALLOW),
        (17, NO_FAMILY),
        (38, NO_FAMILY),
        (40, NO_FAMILY),
    ] {
        assert_eq!(ask(libc::SYS_socket, [family, 0]), answer, "{family}");
    }
    for (request, answer) in [
        (0x5412, REFUSE),
        (0x541c, REFUSE),
        (0x5401, ALLOW),
        (0x5413, ALLOW),
    ] {
        assert_eq!(ask(libc::SYS_ioctl, [0, request]), answer, "{request:#x}");
    }
}

#[test]
fn other_machines_are_refused() {
    let code = build(true);
    assert_eq!(ask(&code, 0x4000_0003, 20, [0, 0]), REFUSE);
    if cfg!(target_arch = "x86_64") {
        assert_eq!(ask(&code, MACHINE, 0x4000_0000 + 39, [0, 0]), REFUSE);
    }
}
