//! The contract of executors, on a machine that gives everything, or less.

use helve_core::def::ExecutorKind;

use super::*;
use crate::cage::Kind;
use crate::contract::{Place, Subject, whole_contract, writing_contract};

/// This machine, as if it gave just that.
struct Host(Ground);

const WHOLE: Host = Host(Ground::WHOLE);
const COPIES: Host = Host(Ground {
    sandboxed: true,
    kind: Kind::Copies,
});
const NOTHING: Host = Host(Ground {
    sandboxed: false,
    kind: Kind::Nothing,
});

impl Host {
    fn on(&self, root: &Path) -> HostExecutor {
        let executor = HostExecutor::new(root).with_grace(Duration::from_millis(100));
        executor.ground.set(self.0).unwrap();
        executor
    }
}

impl Subject for Host {
    fn kind(&self) -> ExecutorKind {
        ExecutorKind::Host
    }

    fn executor(&self, root: &Path) -> Arc<dyn Executor> {
        Arc::new(self.on(root))
    }

    fn notes(&self) -> &'static [&'static str] {
        match self.0.kind {
            Kind::Overlays => &[],
            Kind::Copies => &["it ran on a copy"],
            Kind::Nothing => &["no sandbox"],
        }
    }
}

whole_contract!(WHOLE);

mod on_copies {
    use super::*;

    writing_contract!(COPIES);
}

mod without_a_sandbox {
    use super::*;

    writing_contract!(NOTHING);
}

#[tokio::test]
async fn an_archive_does_not_lead_out() {
    let place = Place::open(&WHOLE).await;
    let before = place.files();
    let script = "echo x > data/f; tar -cPf data/a.tar --transform 's,.*,../beside.txt,' data/f; \
                  tar -xPf data/a.tar -C data";
    let answer = place
        .call(&place.writer(script, &["data"]), json!({}))
        .await;
    assert!(answer.result.is_err(), "{answer:?}");
    assert_eq!(place.files(), before);
}

#[tokio::test]
async fn a_folder_with_the_state_in_it_is_not_copied() {
    for host in [COPIES, NOTHING] {
        let place = Place::open(&host).await;
        let before = place.files();
        let def = place.writer("echo x > data/x", &["."]);
        let error = place.call(&def, json!({})).await.result.unwrap_err();
        assert!(error.message.contains("cannot be copied"), "{error}");
        assert_eq!(place.files(), before);
    }
}

#[tokio::test]
async fn a_disk_that_fills_up_stops_whoever_fills_it() {
    let place = Place::open(&WHOLE).await;
    let mut executor = HostExecutor::new(place.root());
    // No disk has so much room.
    executor.room = u64::MAX;
    let place = place.with_executor(Arc::new(executor)).await;
    let before = place.files();
    let script = "while :; do echo more >> data/more; done";
    let def = place.writer(script, &["data"]);
    let error = place.call(&def, json!({})).await.result.unwrap_err();
    assert!(error.message.contains("filled the disk"), "{error}");
    assert_eq!(place.files(), before);
}

#[tokio::test]
async fn a_sandbox_that_is_required_is_not_done_without() {
    for host in [COPIES, NOTHING] {
        let place = Place::open(&host).await;
        let executor = host.on(&place.root()).require_sandbox(true);
        let place = place.with_executor(Arc::new(executor)).await;
        let before = place.files();
        let def = place.writer("echo x > data/x", &["data"]);
        let error = place.call(&def, json!({})).await.result.unwrap_err();
        assert!(error.message.contains("requires"), "{error}");
        assert_eq!(place.files(), before);
    }
}
