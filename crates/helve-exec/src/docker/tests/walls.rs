//! What a container is and is not given.

use std::os::unix::fs::{MetadataExt, chown};

use helve_kernel::ErrorKind;

use super::*;

#[tokio::test]
async fn it_is_nobody_special() {
    let place = Place::open(&OVERLAYS).await;
    let script = "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status | tr -s '\\t ' ' '; \
                  ls /dev | tr '\\n' ' '; hostname; id -u";
    let said = place.said(&place.sh(script), json!({})).await;
    let none = "0000000000000000";
    let lines: Vec<&str> = said.lines().collect();
    for (i, set) in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]
        .iter()
        .enumerate()
    {
        assert_eq!(lines[i], format!("{set}: {none}"));
    }
    assert_eq!(&lines[5..7], ["NoNewPrivs: 1", "Seccomp: 2"]);
    assert!(lines[7].ends_with("zero helve"), "{said}");
    for device in ["sd", "vd", "kmsg", "mem", "fuse", "kvm"] {
        let has = lines[7].split(' ').any(|d| d.starts_with(device));
        assert!(!has, "{device} in {said}");
    }
}

#[tokio::test]
async fn its_root_is_read_only_unless_it_says_otherwise() {
    let place = Place::open(&OVERLAYS).await;
    let script = "echo x > /new; echo y > /bin/busybox; echo $?; cat /new";
    let def = place.tool(&json!({"command": ["sh", "-c", script], "any_exit": true}));
    let data = place.call(&def, json!({})).await.result.unwrap();
    assert!(
        data["stderr"].as_str().unwrap().contains("Read-only"),
        "{data}"
    );
    assert_eq!(data["stdout"], "1\n");
    let script = "echo x > /new; cat /new";
    let def = place.tool(&json!({"command": ["sh", "-c", script], "read_only": false}));
    assert_eq!(place.said(&def, json!({})).await, "x\n");
    // Of the next one it is the image's again.
    let def = place.tool(&json!({"command": ["ls", "/new"], "read_only": false}));
    assert!(place.call(&def, json!({})).await.result.is_err());
}

#[tokio::test]
async fn its_tmp_is_its_own() {
    let place = Place::open(&OVERLAYS).await;
    let script = "ls -A /tmp | grep -v '^.tmp'; cp /bin/busybox /tmp/true && /tmp/true && echo runs; \
                  grep ' /tmp ' /proc/mounts | grep -o 'nosuid,nodev'; \
                  dd if=/dev/zero of=/tmp/big bs=1M count=300 2>&1 | grep -o 'No space left'";
    let def = place.tool(&json!({"command": ["sh", "-c", script], "memory": "1GB"}));
    let said = place.said(&def, json!({})).await;
    assert_eq!(said, "runs\nnosuid,nodev\nNo space left\n");
}

#[tokio::test]
async fn it_runs_as_whom_it_says() {
    let place = Place::open(&OVERLAYS).await;
    for (user, wanted) in [("nobody", "65534 65534\n"), ("1234:4321", "1234 4321\n")] {
        let script = "echo $(id -u) $(id -g)";
        let def = place.tool(&json!({"command": ["sh", "-c", script], "user": user}));
        assert_eq!(place.said(&def, json!({})).await, wanted);
    }
    // What it writes is its own, where it may write.
    let data = place.root().join("data");
    chown(&data, Some(1234), Some(4321)).unwrap();
    let mut def = place.writer("echo x > data/own && ! echo y > data/old.txt", &["data"]);
    let settings = &mut def.executor.as_mut().unwrap().settings;
    settings.insert("user".to_owned(), json!("1234:4321"));
    let answer = place.call(&def, json!({})).await;
    assert!(answer.result.is_ok(), "{answer:?}");
    let own = fs::metadata(data.join("own")).unwrap();
    assert_eq!((own.uid(), own.gid()), (1234, 4321));
}

#[tokio::test]
async fn what_it_may_only_read_is_seen_where_it_is() {
    let place = Place::open(&OVERLAYS).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let elsewhere = elsewhere.path().canonicalize().unwrap();
    fs::write(elsewhere.join("file"), "there\n").unwrap();
    let file = elsewhere.join("file").display().to_string();
    let mut def = place.sh(&format!("cat {file}; echo x > {file}"));
    def.allowed_paths = vec![helve_core::def::AllowedPath {
        path: elsewhere.display().to_string(),
        access: None,
    }];
    let error = place.call(&def, json!({})).await.result.unwrap_err();
    assert!(error.message.contains("Read-only"), "{error}");
    let mut def = place.sh(&format!("cat {file}"));
    assert!(
        place.call(&def, json!({})).await.result.is_err(),
        "it was not allowed"
    );
    def.allowed_paths = vec![helve_core::def::AllowedPath {
        path: elsewhere.display().to_string(),
        access: None,
    }];
    assert_eq!(place.said(&def, json!({})).await, "there\n");
}

#[tokio::test]
async fn no_socket_of_an_engine_is_mounted() {
    let place = Place::open(&OVERLAYS).await;
    let socket = variable("HELVE_TEST_DOCKER");
    let folder = Path::new(socket.strip_prefix("unix://").unwrap())
        .parent()
        .unwrap();
    for risk in [helve_core::def::Risk::Read, helve_core::def::Risk::Write] {
        let mut def = place.writer("true", &[folder.to_str().unwrap()]);
        def.risk = Some(risk);
        let error = place.call(&def, json!({})).await.result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Permission, "{error}");
        assert!(error.message.contains("socket"), "{error}");
    }
}

#[tokio::test]
async fn the_network_is_there_where_it_is_granted() {
    let place = Place::open(&OVERLAYS).await;
    let script = "tail -n +3 /proc/net/dev | grep -c eth0";
    let def = place.tool(&json!({"command": ["sh", "-c", script], "network": true}));
    assert_eq!(place.said(&def, json!({})).await, "1\n");
    let executor = OVERLAYS.on(&place.root());
    assert_eq!(
        executor.holds(&def),
        Err("it may use the network".to_owned())
    );
    assert_eq!(executor.holds(&place.sh("true")), Ok(()));
}

#[tokio::test]
async fn paths_that_no_overlay_can_name_are_copied() {
    let place = Place::open(&OVERLAYS).await;
    let odd = "a,b:c\\d \"e";
    fs::create_dir(place.root().join(odd)).unwrap();
    let def =
        place.tool(&json!({"command": ["sh", "-c", "echo x > \"$DIR/x\""], "env": {"DIR": odd}}));
    let mut def = def;
    def.risk = Some(helve_core::def::Risk::Write);
    def.allowed_paths = place.writer("", &[odd]).allowed_paths;
    let answer = place.call(&def, json!({})).await;
    assert!(answer.result.is_ok(), "{answer:?}");
    assert!(
        answer.meta.notes[0].contains("on a copy"),
        "{:?}",
        answer.meta.notes
    );
    let written = fs::read_to_string(place.root().join(odd).join("x"));
    assert_eq!(written.unwrap(), "x\n");
    let undone = place.undo(&answer).await;
    assert!(undone.result.is_ok(), "{undone:?}");
    assert!(!place.root().join(odd).join("x").exists());
}

#[tokio::test]
async fn the_report_says_what_is_there() {
    let place = Place::open(&OVERLAYS).await;
    let absent = format!("sha256:{}", "0".repeat(64));
    let mut settings = settings();
    settings.images.push(absent.clone());
    let executor = OVERLAYS.with(&place.root(), settings);
    let folder = tempfile::tempdir().unwrap();
    let report = executor.report(folder.path()).await.unwrap();
    assert!(report.engine.starts_with("Docker "), "{report:?}");
    assert_eq!(report.address, variable("HELVE_TEST_DOCKER"));
    assert_eq!(report.overlays, Overlays::Work);
    assert_eq!(
        (report.present, report.missing),
        (vec![image()], vec![absent])
    );
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
    let executor = COPIES.on(&place.root());
    let report = executor.report(folder.path()).await.unwrap();
    assert_eq!(report.overlays, Overlays::NotRoot);
}

/// A file system in a folder, gone with this.
struct Mounted(PathBuf);

impl Mounted {
    #[allow(clippy::disallowed_methods)]
    fn run(program: &str, args: &[&str]) {
        let ran = std::process::Command::new(program).args(args).status();
        assert!(ran.unwrap().success(), "{program} {args:?}");
    }

    fn at(folder: &Path) -> Self {
        let path = folder.to_str().unwrap();
        Self::run("mount", &["-t", "tmpfs", "tmpfs", path]);
        Self(folder.to_owned())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        Self::run("umount", &[self.0.to_str().unwrap()]);
    }
}

/// Engines make a folder read-only, but not what is mounted in it.
#[tokio::test]
async fn what_is_mounted_inside_is_neither_seen_nor_written() {
    let place = Place::open(&OVERLAYS).await;
    let inside = place.root().join("data/inside");
    fs::create_dir(&inside).unwrap();
    let _mounted = Mounted::at(&inside);
    fs::write(inside.join("file"), "inside\n").unwrap();
    let def = place.sh("ls -A data/inside; ! echo x > data/inside/file");
    assert_eq!(place.said(&def, json!({})).await, "");
    assert_eq!(fs::read_to_string(inside.join("file")).unwrap(), "inside\n");
    let def = place.writer("echo x > data/inside/file", &["data"]);
    let error = place.call(&def, json!({})).await.result.unwrap_err();
    assert!(error.message.contains("is mounted inside"), "{error}");
}
