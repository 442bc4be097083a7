//! Attacks on files: writing where nothing may be written, and seeing what is hidden.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};

use helve_sandbox::{Error, Layer, Spec, remove_work};

use crate::support::{World, both, is_root};

both! {
    fn writes_land_in_the_upper_folder_alone() {
        let world = World::new();
        let seen = world.sh("echo new > old; echo x > made; rm -r sub; cat old made; ls");
        assert_eq!(seen, "new\nx\nmade\nold\n");
        assert_eq!(world.text("ws/old"), "old\n");
        assert!(!world.path("ws/made").exists() && world.path("ws/sub").is_dir());
        assert_eq!(world.text("state/upper/old"), "new\n");
        assert_eq!(world.text("state/upper/made"), "x\n");
        let deleted = fs::symlink_metadata(world.path("state/upper/sub")).unwrap();
        assert!(deleted.file_type().is_char_device() && deleted.rdev() == 0);
    }
}

both! {
    fn the_work_folder_can_be_removed() {
        let world = World::new();
        world.sh("echo new > old");
        remove_work(&world.path("state/work")).unwrap();
        assert!(!world.path("state/work").exists() && world.path("state/upper").exists());
    }
}

both! {
    fn nothing_is_written_outside() {
        let world = World::new();
        let file = world.path("out/file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        let before = fs::metadata(&file).unwrap();
        let path = file.to_str().unwrap();
        for attempt in ["write", "chmod", "chown", "utime", "setxattr", "unlink"] {
            assert_eq!(world.try_to(&[attempt, path]), "EROFS", "{attempt}");
        }
        assert!(["EXDEV", "EROFS"].contains(&world.try_to(&["rename", path]).as_str()));
        for root in ["/proc/self/root", "/proc/thread-self/root", "/proc/self/cwd/../../"] {
            let way = format!("{root}{path}");
            let told = world.try_to(&["write", &way]);
            assert!(["EROFS", "ENOENT"].contains(&told.as_str()), "{way}: {told}");
        }
        let after = fs::metadata(&file).unwrap();
        assert_eq!(world.text("out/file"), "old\n");
        assert_eq!(
            (before.mode(), before.uid(), before.mtime_nsec(), before.ctime_nsec()),
            (after.mode(), after.uid(), after.mtime_nsec(), after.ctime_nsec()),
        );
    }
}

both! {
    fn a_program_without_layers_writes_to_its_tmp_alone() {
        let world = World::new();
        let ran = world.run(&world.reading(
            "for d in /tmp /var/tmp /dev/shm; do echo x > $d/f && cat $d/f; done
             for d in . / /etc /usr /dev /proc/sys/kernel /sys /run $HOME/; do
                 (echo x > $d/f) 2>/dev/null && echo wrote $d; done; true",
        ));
        assert_eq!(ran.out, "x\nx\nx\n", "{ran:?}");
        assert!(!std::path::Path::new("/tmp/f").exists());
    }
}

both! {
    fn an_old_hard_link_leads_nowhere() {
        let world = World::new();
        fs::hard_link(world.path("out/file"), world.path("ws/link")).unwrap();
        world.sh("echo new > link; chmod 777 link");
        assert_eq!(world.text("out/file"), "old\n");
        assert_eq!(fs::metadata(world.path("out/file")).unwrap().mode() & 0o777 , 0o644);
    }
}

both! {
    fn links_lead_nowhere_that_is_not_reached_without() {
        let world = World::new();
        let (out, state) = (world.path("out"), world.path("state"));
        let ran = world.run(&world.script(&format!(
            "ln -s {0} out; ln -s {1} state; echo new > out/file; ls -A state/ | wc -l",
            out.display(),
            state.display(),
        )));
        assert_eq!(ran.out, "0\n", "{ran:?}");
        assert_eq!(world.text("out/file"), "old\n");
    }
}

both! {
    fn what_is_hidden_stays_hidden() {
        // The state lies in the workspace, as it does by default, and so do the
        // folders of the overlay.
        let world = World::new();
        let state = world.path("ws/.state");
        for name in ["", "upper", "work"] {
            fs::create_dir(state.join(name)).unwrap();
        }
        fs::write(state.join("secret"), "secret").unwrap();
        fs::write(world.path("ws/key"), "secret").unwrap();
        let spec = Spec {
            layers: vec![Layer::Overlay {
                target: world.path("ws"),
                upper: state.join("upper"),
                work: state.join("work"),
            }],
            hidden: vec![state.clone(), world.path("ws/key"), world.path("ws/none")],
            ..world.script(
                "echo x > made; ls -A .state; cat key; cat .state/secret 2>&1;
                 echo x > .state/upper/made || echo refused; echo x > key || echo refused;
                 mv .state moved 2>&1 || echo refused; rm -f key 2>/dev/null || echo refused",
            )
        };
        let ran = world.run(&spec);
        let shown: Vec<_> = ran.out.lines().filter(|line| *line == "refused").collect();
        assert_eq!(shown.len(), 4, "{ran:?}");
        assert!(!ran.out.contains("secret\n") && !ran.out.ends_with("secret"), "{ran:?}");
        assert_eq!(fs::read_to_string(state.join("upper/made")).unwrap(), "x\n");
        assert_eq!(fs::read_to_string(state.join("secret")).unwrap(), "secret");
    }
}

both! {
    fn hiding_wins_over_a_layer_inside() {
        let world = World::new();
        let spec = Spec {
            hidden: vec![world.path("ws"), world.path("state")],
            cwd: "/".into(),
            ..world.script(&format!("ls {}", world.path("ws").display()))
        };
        assert_eq!(world.run(&spec).out, "");
    }
}

both! {
    fn a_bind_is_written_and_nothing_else_is() {
        let world = World::new();
        fs::create_dir(world.path("state/copy")).unwrap();
        fs::write(world.path("state/copy/old"), "copy\n").unwrap();
        let spec = Spec {
            layers: vec![Layer::Bind {
                target: world.path("ws"),
                source: world.path("state/copy"),
            }],
            ..world.script("cat old; echo new > old; echo x > made")
        };
        assert_eq!(world.run(&spec).out, "copy\n");
        assert_eq!(world.text("ws/old"), "old\n");
        assert_eq!(world.text("state/copy/old"), "new\n");
        assert_eq!(world.text("state/copy/made"), "x\n");
    }
}

both! {
    fn names_of_folders_mean_nothing() {
        let world = World::new();
        let name = "a,b:c\\d e\tf\"g";
        for part in ["", "state"] {
            fs::create_dir(world.path(part).join(name)).unwrap();
        }
        for part in ["upper", "work"] {
            fs::create_dir(world.path("state").join(name).join(part)).unwrap();
        }
        let spec = Spec {
            layers: vec![Layer::Overlay {
                target: world.path(name),
                upper: world.path("state").join(name).join("upper"),
                work: world.path("state").join(name).join("work"),
            }],
            cwd: world.path(name),
            ..world.script("echo x > made")
        };
        let ran = world.run(&spec);
        assert!(ran.ended.status.success(), "{ran:?}");
        assert!(world.path("state").join(name).join("upper/made").exists());
    }
}

both! {
    fn there_are_no_devices_but_harmless_ones() {
        let world = World::new();
        let seen = world.sh("ls /dev | tr '\\n' ' '; echo x > /dev/null; head -c 3 /dev/zero | wc -c;
            echo y > /dev/stdout; echo z | cat /dev/stdin; head -c 2 /dev/urandom | wc -c");
        let devices = "fd full null random shm stderr stdin stdout tty urandom zero ";
        assert_eq!(seen, format!("{devices}3\ny\nz\n2\n"));
        for place in [world.path("ws/node").to_str().unwrap(), "/tmp/node", "/dev/shm/node"] {
            assert_eq!(world.try_to(&["mknod", place]), "EPERM", "{place}");
        }
        assert_eq!(world.try_to(&["read", "/dev/vda"]), "ENOENT");
        let tty = world.try_to(&["read", "/dev/tty"]);
        assert_eq!(tty, "ENXIO");
    }
}

#[test]
fn a_device_file_on_the_disk_cannot_be_opened() {
    // A user cannot make one to begin with.
    if !is_root() {
        // This test makes a device file, which takes root.
        return;
    }
    let world = World::new();
    for place in ["out/disk", "ws/disk"] {
        let number = rustix::fs::makedev(1, 5);
        let (mode, kind) = (0o666.into(), rustix::fs::FileType::CharacterDevice);
        rustix::fs::mknodat(rustix::fs::CWD, world.path(place), kind, mode, number).unwrap();
        let told = world.try_to(&["read", world.path(place).to_str().unwrap()]);
        assert_eq!(told, "EACCES", "{place}");
    }
}

#[test]
fn folders_in_tmp_are_seen_where_they_are() {
    let world = World::at(std::path::Path::new("/tmp"));
    let script =
        "cat old ../out/file; echo x > made; echo x > ../out/made || ls ..; ls -A /tmp | wc -l";
    let spec = Spec {
        visible: vec![world.folder.path().to_owned()],
        ..world.script(script)
    };
    let ran = world.run(&spec);
    assert_eq!(ran.out, "old\nold\nout\nstate\nws\n1\n", "{ran:?}");
    assert_eq!(world.text("state/upper/made"), "x\n");
    // Without asking, they are not.
    let spec = Spec {
        visible: Vec::new(),
        ..world.script(script)
    };
    assert_eq!(world.run(&spec).out, "old\nws\n1\n");
}

#[test]
fn a_mount_inside_a_layer_is_seen_but_not_written() {
    if !is_root() {
        // This test mounts, which takes root.
        return;
    }
    let world = World::new();
    let inside = world.path("ws/sub");
    rustix::mount::mount(
        "none",
        &inside,
        "tmpfs",
        rustix::mount::MountFlags::empty(),
        None,
    )
    .unwrap();
    fs::write(inside.join("file"), "inside\n").unwrap();
    let ran =
        world.run(&world.script("cat sub/file; echo x > sub/file || echo refused; echo x > made"));
    rustix::mount::unmount(&inside, rustix::mount::UnmountFlags::DETACH).unwrap();
    assert_eq!(ran.out, "inside\nrefused\n", "{ran:?}");
    assert!(world.path("state/upper/made").exists());
}

#[test]
fn nothing_is_mounted_for_others() {
    if !is_root() {
        // This test mounts, which takes root.
        return;
    }
    // Where mounts are shared, as systemd has them, what is mounted in one namespace
    // comes to all.
    let shared = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let flags = rustix::mount::MountFlags::empty();
    rustix::mount::mount("none", shared.path(), "tmpfs", flags, None).unwrap();
    let all = rustix::mount::MountPropagationFlags::SHARED;
    rustix::mount::mount_change(shared.path(), all).unwrap();
    let world = World::at(shared.path());
    let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap();
    let before = mounts();
    let started = world.start(&world.script("echo x > made; read x")).unwrap();
    let during = mounts();
    let ran = crate::support::finish(started);
    drop(world);
    rustix::mount::unmount(shared.path(), rustix::mount::UnmountFlags::DETACH).unwrap();
    assert_eq!(before, during);
    assert_eq!(ran.ended.status.code(), Some(1));
}

both! {
    fn a_layer_behind_a_link_is_refused() {
        let world = World::new();
        std::os::unix::fs::symlink(world.path("out"), world.path("link")).unwrap();
        fs::create_dir(world.path("out/inner")).unwrap();
        for target in ["link", "link/inner"] {
            let mut spec = world.script("true");
            let Some(Layer::Overlay { target: place, .. }) = spec.layers.first_mut() else {
                panic!("an overlay");
            };
            *place = world.path(target);
            let error = world.start(&spec).unwrap_err();
            assert!(error.to_string().contains("laying"), "{error}");
        }
    }
}

#[test]
fn folders_can_be_renamed_and_hard_links_hold_for_root() {
    if !is_root() {
        // Only root has overlays with redirects.
        return;
    }
    let world = World::new();
    fs::write(world.path("ws/sub/file"), "in\n").unwrap();
    fs::hard_link(world.path("ws/old"), world.path("ws/twin")).unwrap();
    let started = world
        .start(&world.script("mv sub moved; cat moved/file; echo new > old; cat twin"))
        .unwrap();
    assert_eq!(started.missing(), Vec::<&str>::new());
    assert_eq!(crate::support::finish(started).out, "in\nnew\n");
}

both! {
    fn a_mount_inside_a_layer_takes_root() {
        let world = World::new();
        let spec = Spec {
            layers: vec![Layer::Overlay {
                target: "/dev".into(),
                upper: world.path("state/upper"),
                work: world.path("state/work"),
            }],
            ..world.script("true")
        };
        let started = world.start(&spec);
        if !is_root() {
            let Err(Error::NestedMount { target, inside }) = started else {
                panic!("{started:?}");
            };
            assert!(target == std::path::Path::new("/dev") && inside.starts_with("/dev"));
        }
    }
}
