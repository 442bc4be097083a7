//! The container that a tool runs in, as the engine is told of it.
//!
//! Never privileged, without any capability and without a device; no program in it gains
//! rights by being set-uid; its root is read-only; it has no network. Whatever a
//! definition does not grant is not there.

use std::collections::HashMap;
use std::path::Path;

use bollard::models::{ContainerCreateBody, HealthConfig, HostConfig, HostConfigLogConfig, Mount};

use super::engine::Image;
use super::settings::Settings;
use crate::environment;
use crate::process::Spec;

/// The size of `/tmp`, and of what an image wants a volume for, in bytes.
const TMP: u64 = 256 << 20;

/// What Helve sets only where the image says nothing: it knows its own folders.
const IMAGES_OWN: [&str; 3] = ["PATH", "HOME", "LANG"];

/// What is asked of the engine.
pub(crate) fn build(
    spec: &Spec,
    settings: &Settings,
    image: &Image,
    mounts: Vec<Mount>,
    labels: HashMap<String, String>,
) -> ContainerCreateBody {
    ContainerCreateBody {
        image: Some(image.id.clone()),
        // Both are set, so that nothing of the image's own command is left.
        entrypoint: Some(vec![shown(&spec.program)]),
        cmd: Some(spec.args.clone()),
        env: Some(env(spec, settings, image)),
        working_dir: Some(shown(&spec.cwd)),
        user: Some(settings.user.clone().unwrap_or_else(own_user)),
        hostname: Some("helve".to_owned()),
        labels: Some(labels),
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        open_stdin: Some(true),
        stdin_once: Some(true),
        // Nothing runs but the command.
        healthcheck: Some(HealthConfig {
            test: Some(vec!["NONE".to_owned()]),
            ..HealthConfig::default()
        }),
        host_config: Some(host(settings, image, mounts)),
        ..ContainerCreateBody::default()
    }
}

fn host(settings: &Settings, image: &Image, mounts: Vec<Mount>) -> HostConfig {
    let network = match settings.common.network {
        true => "bridge",
        false => "none",
    };
    let limits = &settings.limits;
    HostConfig {
        privileged: Some(false),
        cap_drop: Some(vec!["ALL".to_owned()]),
        security_opt: Some(vec!["no-new-privileges".to_owned()]),
        readonly_rootfs: Some(settings.read_only),
        network_mode: Some(network.to_owned()),
        ipc_mode: Some("private".to_owned()),
        // The first process reaps what its children leave, and passes signals on.
        init: Some(true),
        memory: Some(limits.memory),
        // Memory and swap together: there is no swap beyond.
        memory_swap: Some(limits.memory),
        nano_cpus: Some(limits.nano_cpus),
        pids_limit: Some(limits.pids),
        tmpfs: Some(scratch(image, &mounts)),
        mounts: Some(mounts),
        // What it says is read as it comes, and kept by the hub.
        log_config: Some(HostConfigLogConfig {
            typ: Some("none".to_owned()),
            config: None,
        }),
        // Removed when all of it has been read.
        auto_remove: Some(false),
        ..HostConfig::default()
    }
}

/// As whom a tool runs that says nothing of it: as the hub's own user, so that what it
/// writes belongs to that user. Where that is root it is root without capabilities: it
/// owns what root owns and may change that within what is mounted for it, but it cannot
/// pass over the modes of files, change owners, mount, or reach a device.
fn own_user() -> String {
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    format!("{}:{}", user.as_raw(), group.as_raw())
}

/// All variables: the image's, then ours. A name alone takes away what engines set.
fn env(spec: &Spec, settings: &Settings, image: &Image) -> Vec<String> {
    let has = |name: &str| image.env.iter().any(|v| v.split('=').next() == Some(name));
    let says = |name: &str| settings.common.env.iter().any(|(n, _)| n == name);
    let mut env = vec!["HOSTNAME".to_owned()];
    for (name, value) in environment::settled(&spec.env) {
        if !IMAGES_OWN.contains(&name) || says(name) || !has(name) {
            env.push(format!("{name}={value}"));
        }
    }
    env
}

/// `/tmp`, and folders for which the image wants volumes: in memory, and gone with it.
fn scratch(image: &Image, mounts: &[Mount]) -> HashMap<String, String> {
    let options = format!("rw,exec,nosuid,nodev,mode=1777,size={TMP}");
    let mounted = |path: &str| mounts.iter().any(|m| m.target.as_deref() == Some(path));
    let tmp = ["/tmp"].into_iter();
    let folders = tmp.chain(image.volumes.iter().map(String::as_str));
    let folders = folders.filter(|path| !mounted(path));
    folders
        .map(|path| (path.to_owned(), options.clone()))
        .collect()
}

/// Paths that came so far are text.
fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
