//! Every environment variable that Helve reads, in one place.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// A variable: its name, and what it does.
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) says: &'static str,
}

/// All of them, as the documentation lists them.
pub(crate) const VARIABLES: &[Variable] = &[
    Variable {
        name: "HELVE_URL",
        says: "The hub that commands talk to, instead of the one of this workspace",
    },
    Variable {
        name: "HELVE_TOKEN",
        says: "The token that commands show, instead of the one of this terminal",
    },
    Variable {
        name: "HELVE_LISTEN",
        says: "Where `helve up` listens, over `server.listen`",
    },
    Variable {
        name: "HELVE_LOG",
        says: "How much the hub tells on standard error: `quiet`, `info` (the default) or `debug`",
    },
    Variable {
        name: "XDG_CONFIG_HOME",
        says: "Where the user's own `helve/config.toml` is; `~/.config` if not set",
    },
    Variable {
        name: "HOME",
        says: "The user's folder, for `~/.config`",
    },
    Variable {
        name: "PATH",
        says: "Where formatters of a project are looked for",
    },
    Variable {
        name: "RUSTUP_HOME",
        says: "Where rustup keeps its toolchains; `~/.rustup` if not set",
    },
    Variable {
        name: "DOCKER_HOST",
        says: "Where the container engine listens, under `docker.socket`",
    },
    Variable {
        name: "XDG_RUNTIME_DIR",
        says: "Where a user's own Docker or Podman has its socket",
    },
    Variable {
        name: "USER",
        says: "What the person at the terminal is called on the record",
    },
];

/// What a variable says; an empty one says nothing.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place where it is read"
)]
fn get(name: &'static str) -> Option<String> {
    debug_assert!(
        VARIABLES.iter().any(|v| v.name == name),
        "{name} is not listed"
    );
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

pub(crate) fn url() -> Option<String> {
    get("HELVE_URL")
}

pub(crate) fn token() -> Option<String> {
    get("HELVE_TOKEN")
}

pub(crate) fn listen() -> Option<String> {
    get("HELVE_LISTEN")
}

#[cfg(feature = "docker")]
pub(crate) fn docker_host() -> Option<String> {
    get("DOCKER_HOST")
}

#[cfg(feature = "docker")]
pub(crate) fn runtime_folder() -> Option<PathBuf> {
    get("XDG_RUNTIME_DIR").map(PathBuf::from)
}

pub(crate) fn log() -> Option<String> {
    get("HELVE_LOG")
}

/// The value of a variable that the configuration names for a secret. It is the one
/// that is not listed: its name is the operator's.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place where it is read"
)]
pub(crate) fn secret(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

/// What servers of `.mcp.json` get of the environment, beside what is configured for them.
/// Nothing of ours is in it, and nothing that looks like a secret.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place where it is read"
)]
pub(crate) fn for_servers() -> BTreeMap<String, String> {
    const BASE: [&str; 14] = [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "TMPDIR",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
    ];
    let found = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?));
    BASE.into_iter().filter_map(found).collect()
}

/// What `${NAME}` in `.mcp.json` stands for. What is ours is not for others.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place where it is read"
)]
pub(crate) fn named(name: &str) -> Option<String> {
    match name.starts_with("HELVE_") {
        true => None,
        false => std::env::var(name).ok(),
    }
}

/// The variables that there are, by name; the value of one where `shown` says so.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place where it is read"
)]
pub(crate) fn variables(shown: impl Fn(&str) -> bool) -> BTreeMap<String, Option<String>> {
    let texts = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        let value = value.into_string().ok().filter(|_| shown(&name));
        Some((name, value))
    });
    texts
        .filter(|(name, _)| !name.starts_with("HELVE_"))
        .collect()
}

/// Where the person who started the hub finds their programs.
pub(crate) fn programs() -> Vec<PathBuf> {
    let path = get("PATH").unwrap_or_default();
    std::env::split_paths(&path).collect()
}

/// Where rustup keeps its toolchains.
pub(crate) fn rustup_home() -> Option<PathBuf> {
    let home = || get("HOME").map(|home| PathBuf::from(home).join(".rustup"));
    get("RUSTUP_HOME").map(PathBuf::from).or_else(home)
}

/// The folder of the user's own configuration.
pub(crate) fn config_home() -> Option<PathBuf> {
    let home = || get("HOME").map(|home| PathBuf::from(home).join(".config"));
    get("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home)
}

/// What the person at the terminal is called.
pub(crate) fn user() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let name: String = get("USER")
        .unwrap_or_default()
        .chars()
        .filter(|c| plain(*c))
        .collect();
    format!("user:{}", if name.is_empty() { "local" } else { &name })
}
