//! What goes wrong: with images, with the engine, and with what is left of a run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use bollard::Docker;
use bollard::models::{ContainerCreateBody, VolumeCreateRequest};
use bollard::query_parameters::{
    CommitContainerOptions, CreateContainerOptions, ListContainersOptions, ListVolumesOptions,
    RemoveImageOptions,
};
use helve_kernel::{ErrorKind, RunState};
use tokio::io::copy_bidirectional;
use tokio::net::{UnixListener, UnixStream};

use super::*;
use crate::contract::{ann, succeeded};

/// Whoever asks the engine without Helve.
async fn engine() -> Docker {
    Engine::connect(&settings()).await.unwrap().docker
}

/// How many containers and volumes have the mark of a workspace's hub.
async fn marked(docker: &Docker, root: &Path) -> (usize, usize) {
    let hub = Marks::of(root).labels("")["helve.hub"].clone();
    let filters = HashMap::from([("label".to_owned(), vec![format!("helve.hub={hub}")])]);
    let containers = ListContainersOptions {
        all: true,
        filters: Some(filters.clone()),
        ..ListContainersOptions::default()
    };
    let volumes = ListVolumesOptions {
        filters: Some(filters),
    };
    let containers = docker.list_containers(Some(containers)).await.unwrap();
    let volumes = docker.list_volumes(Some(volumes)).await.unwrap();
    (containers.len(), volumes.volumes.unwrap_or_default().len())
}

async fn with(place: Place<'static>, settings: DockerSettings) -> Place<'static> {
    let executor = OVERLAYS.with(&place.root(), settings);
    place.with_executor(Arc::new(executor)).await
}

#[tokio::test]
async fn images_that_may_not_run() {
    let place = Place::open(&OVERLAYS).await;
    let absent = format!("sha256:{}", "0".repeat(64));
    let digest = format!("busybox@{absent}");
    let mut settings = settings();
    settings.images.extend([absent.clone(), digest.clone()]);
    let executor = OVERLAYS.with(&place.root(), settings);
    let other = format!("sha256:{}", "1".repeat(64));
    for (image, kind, says, hint) in [
        (
            absent.as_str(),
            ErrorKind::Dependency,
            "is not on this machine",
            "docker load",
        ),
        (
            &digest,
            ErrorKind::Dependency,
            "is not on this machine",
            "docker pull busybox@sha256:",
        ),
        (
            "helve-test:1",
            ErrorKind::Validation,
            "named by a tag",
            "docker image inspect",
        ),
        (
            &other,
            ErrorKind::Permission,
            "not among those",
            "`images` under `[docker]`",
        ),
        (
            "../x",
            ErrorKind::Validation,
            "no name of an image",
            "busybox@sha256",
        ),
    ] {
        let def = place.tool(&json!({"command": ["true"], "image": image}));
        let error = executor.inspect(&def).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(says), "{error}");
        assert!(error.hint.as_ref().unwrap().contains(hint), "{error:?}");
    }
    let none = DockerSettings {
        images: Vec::new(),
        ..super::settings()
    };
    let executor = OVERLAYS.with(&place.root(), none);
    let error = executor.inspect(&place.sh("true")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Permission, "{error}");
}

/// Another image with the same files: a container of the first, committed.
async fn second_image(docker: &Docker, name: &str, label: &str) -> String {
    let body = ContainerCreateBody {
        image: Some(image()),
        cmd: Some(vec!["true".to_owned()]),
        labels: Some(HashMap::from([("test".to_owned(), label.to_owned())])),
        ..ContainerCreateBody::default()
    };
    let made = docker.create_container(None::<CreateContainerOptions>, body.clone());
    let id = made.await.unwrap().id;
    let options = CommitContainerOptions {
        container: Some(id.clone()),
        repo: Some(name.to_owned()),
        tag: Some("1".to_owned()),
        ..CommitContainerOptions::default()
    };
    let config = bollard::models::ContainerConfig {
        env: Some(vec![
            format!("LABEL={label}"),
            "PATH=/bin:/of/the/image".to_owned(),
        ]),
        volumes: Some(vec!["/kept".to_owned()]),
        ..bollard::models::ContainerConfig::default()
    };
    let made = docker.commit_container(options, config).await.unwrap();
    docker.remove_container(&id, None).await.unwrap();
    made.id
}

fn unique(name: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{name}-{}-{count}", std::process::id())
}

async fn forget(docker: &Docker, image: &str) {
    let options = RemoveImageOptions {
        force: true,
        ..RemoveImageOptions::default()
    };
    docker
        .remove_image(image, Some(options), None)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_tag_that_means_another_image_does_not_run() {
    let docker = engine().await;
    let name = unique("helve-moving");
    let first = second_image(&docker, &name, "one").await;
    let tagged = format!("{name}:1");
    let settings = DockerSettings {
        images: vec![tagged.clone()],
        tags: true,
        ..settings()
    };
    let place = with(Place::open(&OVERLAYS).await, settings).await;
    let def = place.tool(&json!({"command": ["sh", "-c", "echo $LABEL"], "image": tagged}));
    assert_eq!(place.said(&def, json!({})).await, "one\n");
    // The same name, another image.
    let second = second_image(&docker, &name, "two").await;
    assert_ne!(first, second);
    let error = place.again(&def, json!({})).await.result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
    assert!(error.message.contains("has changed since"), "{error}");
    assert_eq!(place.said(&def, json!({})).await, "two\n");
    // And one that is gone.
    forget(&docker, &tagged).await;
    let error = place.again(&def, json!({})).await.result.unwrap_err();
    assert!(error.message.contains("is not on this machine"), "{error}");
    forget(&docker, &first).await;
}

#[tokio::test]
async fn an_image_has_its_own_variables_and_no_volumes() {
    let docker = engine().await;
    let name = unique("helve-own");
    let id = second_image(&docker, &name, "mine").await;
    let settings = DockerSettings {
        images: vec![id.clone()],
        ..settings()
    };
    let place = with(Place::open(&OVERLAYS).await, settings).await;
    let script = "echo $LABEL $PATH $HOME $LANG; grep ' /kept ' /proc/mounts | cut -d' ' -f3";
    let def = place.tool(&json!({"command": ["sh", "-c", script], "image": id}));
    let said = place.said(&def, json!({})).await;
    assert_eq!(
        said,
        "mine /bin:/of/the/image /nonexistent C.UTF-8\ntmpfs\n"
    );
    forget(&docker, &id).await;
}

#[tokio::test]
async fn an_engine_that_is_not_there() {
    let place = Place::open(&OVERLAYS).await;
    let nowhere = place.root().join("nothing.sock");
    let settings = DockerSettings {
        socket: Some(format!("unix://{}", nowhere.display())),
        ..settings()
    };
    let executor = OVERLAYS.with(&place.root(), settings);
    let error = executor.inspect(&place.sh("true")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Dependency);
    assert!(error.message.contains("cannot be reached"), "{error}");
}

/// Passes connections on to the engine until it is dropped: then all of them break.
struct Between {
    socket: PathBuf,
    _folder: tempfile::TempDir,
    task: tokio::task::JoinHandle<()>,
}

impl Between {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("between.sock");
        let task = Self::pass(&socket);
        Self {
            socket,
            _folder: folder,
            task,
        }
    }

    fn pass(socket: &Path) -> tokio::task::JoinHandle<()> {
        let listener = UnixListener::bind(socket).unwrap();
        let engine = variable("HELVE_TEST_DOCKER");
        let engine = engine.strip_prefix("unix://").unwrap().to_owned();
        tokio::spawn(async move {
            let mut all = tokio::task::JoinSet::new();
            while let Ok((mut near, _)) = listener.accept().await {
                let engine = engine.clone();
                all.spawn(async move {
                    let mut far = UnixStream::connect(&engine).await.unwrap();
                    let _ = copy_bidirectional(&mut near, &mut far).await;
                });
            }
        })
    }

    fn settings(&self) -> DockerSettings {
        DockerSettings {
            socket: Some(self.socket.display().to_string()),
            ..settings()
        }
    }

    /// As if the engine had gone away.
    async fn cut(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
        fs::remove_file(&self.socket).unwrap();
    }

    /// As if it were back.
    fn mend(&mut self) {
        self.task = Self::pass(&self.socket);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_goes_away_in_the_middle() {
    let docker = engine().await;
    let mut between = Between::new();
    let place = with(Place::open(&OVERLAYS).await, between.settings()).await;
    let before = place.files();
    let def = place.writer("echo x > data/x; echo ready; sleep 30", &["data"]);
    place.register(&def).await.unwrap();
    let run = helve_kernel::RunId::fresh();
    let call = helve_kernel::Call::new(ann(), def.name.as_str(), json!({})).run(run.clone());
    let began = std::time::Instant::now();
    let (answer, ()) = tokio::join!(place.kernel.call(call), async {
        place.says(&run, "ready").await;
        between.cut().await;
    });
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "it waited for the program"
    );
    let error = answer.result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Dependency, "{error}");
    assert!(error.message.contains("unknown"), "{error}");
    assert_eq!(place.files(), before);
    assert_eq!(marked(&docker, &place.root()).await, (1, 1));

    // While it is away nothing runs.
    let error = place.again(&def, json!({})).await.result.unwrap_err();
    assert!(error.message.contains("cannot be reached"), "{error}");

    // When it is back, what was left is removed before anything else.
    between.mend();
    let quick = place.writer("echo y > data/y", &["data"]);
    let answer = place.call(&quick, json!({})).await;
    assert!(succeeded(&answer), "{answer:?}");
    assert_eq!(marked(&docker, &place.root()).await, (0, 0));
    between.task.abort();
}

#[tokio::test]
async fn leftovers_of_this_hub_are_removed_and_nobody_elses() {
    let docker = engine().await;
    let place = Place::open(&OVERLAYS).await;
    let stranger = tempfile::tempdir().unwrap();
    for root in [place.root(), stranger.path().to_owned()] {
        let name = unique("helve-left");
        let labels = Marks::of(&root).labels("run_of_yesterday");
        let volume = VolumeCreateRequest {
            name: Some(name.clone()),
            labels: Some(labels.clone()),
            ..VolumeCreateRequest::default()
        };
        docker.create_volume(volume).await.unwrap();
        let body = ContainerCreateBody {
            image: Some(image()),
            cmd: Some(vec!["sleep".to_owned(), "60".to_owned()]),
            labels: Some(labels),
            ..ContainerCreateBody::default()
        };
        let named = CreateContainerOptions {
            name: Some(name.clone()),
            ..CreateContainerOptions::default()
        };
        docker.create_container(Some(named), body).await.unwrap();
        docker.start_container(&name, None).await.unwrap();
    }
    let executor = OVERLAYS.on(&place.root());
    // Nobody asked for the engine yet, and so it is not asked.
    assert_eq!(executor.tidy().await.unwrap(), 0);
    assert_eq!(marked(&docker, &place.root()).await, (1, 1));
    executor.inspect(&place.sh("true")).await.unwrap();
    // A run at work is not a leftover.
    let live = executor.marks.begin("run_of_yesterday");
    assert_eq!(
        executor
            .marks
            .sweep(&executor.link.known().unwrap())
            .await
            .unwrap(),
        0
    );
    drop(live);
    assert_eq!(executor.tidy().await.unwrap(), 2);
    assert_eq!(executor.tidy().await.unwrap(), 0);
    assert_eq!(marked(&docker, &place.root()).await, (0, 0));
    assert_eq!(marked(&docker, stranger.path()).await, (1, 1));
    OVERLAYS
        .on(stranger.path())
        .marks
        .sweep(&Engine::connect(&settings()).await.unwrap())
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_run_leaves_nothing() {
    let docker = engine().await;
    let place = Place::open(&OVERLAYS).await;
    let executor = OVERLAYS.on(&place.root());
    let place = place.with_executor(Arc::new(executor.clone())).await;
    let root = place.root();
    let def = place.sh("sleep 60");
    let print = executor.inspect(&def).await.unwrap().unwrap();
    let (id, args) = (helve_kernel::RunId::fresh(), serde_json::Map::new());
    let call = Call {
        def: &def,
        args: &args,
        id: &id,
        run: id.as_str(),
        fingerprint: Some(&print),
        artifacts: None,
        keeper: None,
        writable: &[],
        readable: &[],
    };
    let stop = CancellationToken::new();
    tokio::select! {
        _ = executor.perform(call, &Nowhere, &stop) => panic!("it ended"),
        () = async {
            while marked(&docker, &root).await.0 == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        } => {}
    }
    executor.close().await;
    assert_eq!(marked(&docker, &root).await, (0, 0));
}

/// While its container is made, started, or at work.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopped_at_any_moment_it_leaves_nothing() {
    let docker = engine().await;
    let place = Place::open(&OVERLAYS).await;
    let before = place.files();
    let def = place.writer("echo x > data/x; sleep 60", &["data"]);
    place.register(&def).await.unwrap();
    for delay in [0, 5, 20, 50, 100, 150, 200, 250, 300, 400, 600] {
        let run = helve_kernel::RunId::fresh();
        let call = helve_kernel::Call::new(ann(), def.name.as_str(), json!({})).run(run.clone());
        let (answer, ()) = tokio::join!(place.kernel.call(call), async {
            while place.kernel.run(&run).await.is_err() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            tokio::time::sleep(Duration::from_millis(delay)).await;
            place.kernel.cancel(&ann(), &run).await.unwrap();
        });
        assert_eq!(
            answer.meta.state,
            Some(RunState::Cancelled),
            "{delay}: {answer:?}"
        );
        assert_eq!(marked(&docker, &place.root()).await, (0, 0), "{delay}");
    }
    assert_eq!(place.files(), before);
    assert!(!place.has_stages());
}

struct Nowhere;

#[async_trait]
impl Sink for Nowhere {
    async fn log(&self, _: helve_kernel::Stream, _: Vec<u8>) {}
}

#[tokio::test]
async fn an_engine_elsewhere_gets_no_paths() {
    let address = Address::parse("tcp://127.0.0.1:1").unwrap();
    let mut engine = Engine::connect(&settings()).await.unwrap();
    engine.address = address;
    let place = Place::open(&OVERLAYS).await;
    let executor = OVERLAYS.on(&place.root());
    for def in [
        place.writer("true", &["data"]),
        place.tool(&json!({"command": ["true"], "cwd": "data"})),
    ] {
        let wanted = Settings::of(&def).unwrap();
        let error = executor.look(&def, &wanted, &engine).await.unwrap_err();
        assert!(error.message.contains("does not see the files"), "{error}");
    }
    let def = place.sh("true");
    let found = executor
        .look(&def, &Settings::of(&def).unwrap(), &engine)
        .await;
    let found = found.unwrap();
    assert_eq!((found.root, found.cwd), (None, PathBuf::from("/")));
}

#[tokio::test]
async fn nothing_is_left_of_any_end() {
    let docker = engine().await;
    let place = Place::open(&OVERLAYS).await;
    let state = |answer: helve_kernel::Answer| answer.meta.state.unwrap();
    let good = place
        .call(&place.writer("echo x > data/x", &["data"]), json!({}))
        .await;
    assert_eq!(state(good), RunState::Succeeded);
    let bad = place
        .call(&place.writer("exit 1", &["data"]), json!({}))
        .await;
    assert_eq!(state(bad), RunState::Failed);
    let absent = place
        .call(&place.command(&["no-such-program"]), json!({}))
        .await;
    let error = absent.result.unwrap_err();
    assert!(error.message.contains("no-such-program"), "{error}");
    let mut slow = place.writer("sleep 60", &["data"]);
    slow.timeout = Some(Duration::from_secs(2));
    assert_eq!(
        state(place.call(&slow, json!({})).await),
        RunState::TimedOut
    );
    assert_eq!(marked(&docker, &place.root()).await, (0, 0));
    assert!(!place.has_stages());
}
