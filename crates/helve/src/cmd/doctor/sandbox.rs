//! What this machine gives to sandboxes: tried for real, what is lost without it, and
//! how to get it.

use std::path::{Path, PathBuf};

use helve_exec::{Ability, Given, Held};

use super::{Check, Status};
use crate::out;

/// Tries it in the state folder if there is one, else in a folder that is removed.
/// Where a sandbox is `required`, nothing runs without a whole one.
pub(super) async fn checks(state: &Path, required: bool) -> Vec<Check> {
    let state = state.to_owned();
    let given = tokio::task::spawn_blocking(move || find(&state)).await;
    match given {
        Ok(Ok(given)) => told(&given, required),
        Ok(Err(e)) => {
            let text = format!("cannot be tried: no folder can be made for it: {e}");
            vec![Check::new("sandbox", Status::Warn, text)]
        }
        Err(_) => vec![Check::new(
            "sandbox",
            Status::Warn,
            "the trial was cut short",
        )],
    }
}

fn find(state: &Path) -> std::io::Result<Given> {
    let beside;
    let folder: PathBuf = match state.canonicalize() {
        Ok(state) => state,
        Err(_) => {
            beside = tempfile::tempdir()?;
            beside.path().canonicalize()?
        }
    };
    Ok(Given::find(&folder))
}

/// The whole in one line, then one by one.
fn told(given: &Given, required: bool) -> Vec<Check> {
    let (status, text) = match given.held {
        Held::Whole => (
            Status::Ok,
            "whole: programs see, change and reach only what they may",
        ),
        Held::Copies => (
            Status::Warn,
            "programs that write run on copies of their folders, which takes room and time",
        ),
        Held::Nothing => (
            Status::Warn,
            "no sandbox: programs read and write what you can",
        ),
    };
    let summary = match required && given.held != Held::Whole {
        true => Check::new("sandbox", Status::Fail, text)
            .todo("`require_sandbox` is set, so that no program runs; mend what is named below"),
        false => Check::new("sandbox", status, text),
    };
    let mut checks = vec![summary];
    let mut said = None;
    for ability in &given.abilities {
        let check = one(ability);
        let todo = remedy(ability.name).filter(|_| !ability.works);
        // One cause breaks several; how to mend it is said once.
        checks.push(match todo {
            Some(todo) if said != Some(todo) => check.todo(todo),
            _ => check,
        });
        said = todo.or(said);
    }
    checks
}

fn one(ability: &Ability) -> Check {
    let (name, lost) = (ability.name, ability.lost);
    if ability.works {
        return Check::new("sandbox", Status::Ok, format!("{name} works"));
    }
    let why = ability.why.as_deref().unwrap_or("it does not work");
    let text = format!("no {name} ({why}): {lost}");
    let status = match is_wall(ability) {
        true => Status::Warn,
        false => Status::Note,
    };
    Check::new("sandbox", status, out::visible(&text))
}

/// Whether programs are held less well without it. What only costs room, time or
/// sharpness, or what only root can have, is not worth a warning.
fn is_wall(ability: &Ability) -> bool {
    let name = ability.name;
    let spared = ["reflink", "control group", "overlay with"];
    !spared.iter().any(|s| name.starts_with(s)) && !ability.lost.starts_with("nothing")
}

/// How to get it.
fn remedy(name: &str) -> Option<&'static str> {
    Some(match name {
        "user namespace" | "mount namespace" | "process namespace" | "network namespace"
        | "ipc namespace" | "read-only mounts" => {
            "allow namespaces: `sysctl user.max_user_namespaces` must not be 0; on Debian \
             `kernel.unprivileged_userns_clone=1`; on Ubuntu \
             `kernel.apparmor_restrict_unprivileged_userns=0`; in Docker `--cap-add SYS_ADMIN \
             --security-opt seccomp=unconfined --security-opt apparmor=unconfined`"
        }
        "own /proc" => "in Docker: `--security-opt systempaths=unconfined`",
        "overlay" => {
            "needs Linux 5.11, and a state folder that is not on an overlay itself; in \
             Docker, put the workspace on a volume"
        }
        "landlock" => "needs Linux 6.2, with `landlock` among `lsm=` of its command line",
        "seccomp" => "needs a kernel with `CONFIG_SECCOMP_FILTER`",
        "control group of processes" | "control group of memory" => {
            "`systemd-run --user --scope -p Delegate=yes helve up`, or a service with `Delegate=yes`"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
