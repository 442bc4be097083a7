//! Real containers, in the engine that `tests/docker.sh` starts.

#![allow(clippy::unwrap_used)]

mod contract;
mod faults;
mod walls;

use std::fs;
use std::path::Path;

use helve_core::def::ExecutorKind;

use super::*;
use crate::contract::{Place, Subject};

/// Containers of the test's image.
struct Containers {
    kind: Kind,
}

const OVERLAYS: Containers = Containers {
    kind: Kind::Overlays,
};
const COPIES: Containers = Containers { kind: Kind::Copies };

impl Containers {
    fn on(&self, root: &Path) -> DockerExecutor {
        self.with(root, settings())
    }

    fn with(&self, root: &Path, settings: DockerSettings) -> DockerExecutor {
        let mut executor = DockerExecutor::new(root, settings);
        executor.kind = self.kind;
        executor.with_grace(Duration::from_millis(200))
    }
}

impl Subject for Containers {
    fn kind(&self) -> ExecutorKind {
        ExecutorKind::Docker
    }

    fn executor(&self, root: &Path) -> Arc<dyn Executor> {
        Arc::new(self.on(root))
    }

    fn settings(&self) -> Value {
        json!({"image": image()})
    }

    fn notes(&self) -> &'static [&'static str] {
        match self.kind {
            Kind::Overlays => &[],
            _ => &["it ran on a copy"],
        }
    }
}

/// What a hub on the test's engine is told.
fn settings() -> DockerSettings {
    DockerSettings {
        socket: Some(variable("HELVE_TEST_DOCKER")),
        images: vec![image()],
        ..DockerSettings::default()
    }
}

/// The id of the image that the tests have.
fn image() -> String {
    variable("HELVE_TEST_IMAGE")
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test is told where its engine is"
)]
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!(
            "these tests need a Docker: `export $(tests/docker.sh start)`, or run ./test, which \
             does it"
        )
    })
}
