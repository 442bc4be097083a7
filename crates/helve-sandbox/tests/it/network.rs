//! Attacks over the network and over sockets of this machine.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use helve_sandbox::Spec;

use crate::support::{World, both, is_root};

/// What is tried, and what is told without network and with it.
fn attempts(world: &World, network: bool, attempts: &[[&str; 2]]) -> Vec<String> {
    let tried = attempts.iter().map(|attempt| {
        let spec = Spec {
            network,
            ..world.attack(attempt)
        };
        world.run(&spec).out.trim().to_owned()
    });
    tried.collect()
}

both! {
    fn nobody_is_reached_without_network() {
        let world = World::new();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let name = format!("helve-test-{}", std::process::id());
        let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let (tcp, udp) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
        let (tcp, udp) = (tcp.to_string(), udp.to_string());
        let tried = [["tcp", &tcp], ["udp", &udp], ["abstract", &name], ["vsock", ""], ["pair", ""]];
        let told = attempts(&world, false, &tried);
        assert_eq!(told, ["socket EPERM", "socket EPERM", "socket EPERM", "EPERM", "done"]);
        let told = attempts(&world, true, &tried);
        assert_eq!(told, ["send done", "send done", "connect EPERM", "EAFNOSUPPORT", "done"]);
    }
}

#[test]
fn sockets_of_daemons_are_out_of_sight() {
    if !is_root() {
        // This test makes a socket in `/run`, which takes root.
        return;
    }
    let world = World::new();
    let folder = tempfile::tempdir_in("/run").unwrap();
    let path = folder.path().join("docker.sock");
    let _daemon = UnixListener::bind(&path).unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(
        attempts(&world, true, &[["unix", path]]),
        ["connect ENOENT"]
    );
    assert_eq!(world.sh("ls -A /run | wc -l"), "0\n");
}

both! {
    fn names_can_be_resolved_with_network() {
        let world = World::new();
        let spec = Spec {
            network: true,
            ..world.script("cmp /etc/resolv.conf /etc/resolv.conf && echo same")
        };
        assert_eq!(world.run(&spec).out, "same\n");
    }
}
