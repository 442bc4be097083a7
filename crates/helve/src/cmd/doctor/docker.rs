//! What there is to run containers with. An engine that is not there is worth a word only;
//! that tools cannot run without it is told of the tools.

use std::path::Path;

use helve_exec::{DockerExecutor, DockerReport, Overlays};

use super::{Check, Status};
use crate::config::Config;
use crate::out;

/// Asks the engine, and tries an overlay in the state folder if there is one.
pub(super) async fn checks(root: &Path, state: &Path, config: &Config) -> Vec<Check> {
    let executor = DockerExecutor::new(root.to_owned(), config.docker.settings());
    let beside;
    let folder = match state.canonicalize() {
        Ok(state) => state,
        Err(_) => match tempfile::tempdir() {
            Ok(folder) => {
                beside = folder;
                beside.path().to_owned()
            }
            Err(e) => {
                let text = format!("cannot be tried: no folder can be made for it: {e}");
                return vec![Check::new("docker", Status::Warn, text)];
            }
        },
    };
    match executor.report(&folder).await {
        Ok(report) => told(&report),
        Err(error) => {
            let check = Check::new("docker", Status::Note, out::visible(&error.message));
            vec![match error.hint {
                Some(hint) => check.todo(out::visible(&hint)),
                None => check,
            }]
        }
    }
}

fn told(report: &DockerReport) -> Vec<Check> {
    let engine = format!("{} at {}", report.engine, report.address);
    vec![
        Check::new("docker", Status::Ok, out::visible(&engine)),
        overlays(&report.overlays),
        images(report),
    ]
}

fn overlays(overlays: &Overlays) -> Check {
    let (status, text) = match overlays {
        Overlays::Work => (
            Status::Ok,
            "what containers write is held back by overlays".to_owned(),
        ),
        Overlays::NotRoot => (
            Status::Note,
            "what containers write is held back by copies, because helve is not root".to_owned(),
        ),
        Overlays::Refused(why) => (
            Status::Note,
            format!("what containers write is held back by copies: {why}"),
        ),
        Overlays::Untried => (
            Status::Note,
            "whether overlays work is not known: there is no image to try it with".to_owned(),
        ),
        Overlays::Elsewhere => (
            Status::Note,
            "on another machine: tools with `allowed_paths` do not run there".to_owned(),
        ),
    };
    Check::new("docker", status, out::visible(&text))
}

fn images(report: &DockerReport) -> Check {
    let (present, listed) = (
        report.present.len(),
        report.present.len() + report.missing.len(),
    );
    if listed == 0 {
        return Check::new("docker", Status::Note, "no image may run")
            .todo("list those that may: `images = [\"busybox@sha256:…\"]` under `[docker]`");
    }
    let text = format!(
        "{present} of {} that may run are there",
        out::count(listed, "image")
    );
    match report.missing.first() {
        None => Check::new("docker", Status::Ok, text),
        Some(missing) => {
            let todo = format!("`docker pull {missing}`, or take it out of `images`");
            Check::new("docker", Status::Warn, text).todo(out::visible(&todo))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(overlays: Overlays, present: &[&str], missing: &[&str]) -> DockerReport {
        let all = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        DockerReport {
            address: "unix:///x".to_owned(),
            engine: "Docker 1".to_owned(),
            overlays,
            present: all(present),
            missing: all(missing),
        }
    }

    fn lines(report: &DockerReport) -> Vec<String> {
        let line = |c: Check| format!("{} {}", c.status.word(), c.found);
        told(report).into_iter().map(line).collect()
    }

    #[test]
    fn what_is_there_is_told() {
        let found = lines(&report(Overlays::Work, &["a", "b"], &[]));
        let wanted = [
            "ok Docker 1 at unix:///x",
            "ok what containers write is held back by overlays",
            "ok 2 of 2 images that may run are there",
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn what_is_not_is_told_as_well() {
        let refused = Overlays::Refused("no".to_owned());
        let found = lines(&report(refused, &["a"], &["b"]));
        assert_eq!(
            found[1],
            "note what containers write is held back by copies: no"
        );
        assert_eq!(found[2], "warn 1 of 2 images that may run are there");
        let found = lines(&report(Overlays::Untried, &[], &[]));
        assert_eq!(found[2], "note no image may run");
    }
}
