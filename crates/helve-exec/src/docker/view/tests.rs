//! What is mounted, without an engine.

#![allow(clippy::unwrap_used)]

use std::fs;

use helve_kernel::ErrorKind;

use super::*;

/// A workspace with state, a folder to write, and one beside it.
struct Files {
    folder: tempfile::TempDir,
    make: Make,
}

impl Files {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for path in [
            "work/.helve/changes",
            "work/data",
            "beside",
            "stage/u",
            "stage/w",
            "cover",
        ] {
            fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        let make = Make::Docker;
        Self { folder, make }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    fn overlay(&self, target: &str) -> Layer {
        Layer::Overlay {
            target: self.at(target),
            upper: self.at("stage/u"),
            work: self.at("stage/w"),
        }
    }

    fn build(&self, readable: &[&str], layers: Vec<Layer>) -> Result<View, Unstarted> {
        let readable: Vec<PathBuf> = readable.iter().map(|p| self.at(p)).collect();
        build(&Parts {
            address: &Address::Unix(self.at("engine.sock")),
            make: self.make,
            root: &self.at("work"),
            readable: &readable,
            layers,
            hidden: vec![self.at("work/.helve"), self.at("work/.helve/changes")],
            cover: Some(&self.at("cover")),
            name: "helve-run",
            labels: &HashMap::new(),
        })
    }

    /// `type from → to`, `ro` where it is read-only, with paths from the folder.
    fn shown(&self, view: &View) -> Vec<String> {
        let top = self.at("").display().to_string();
        let show = |mount: &Mount| {
            let typ = mount.typ.unwrap().to_string();
            let source = mount.source.clone().unwrap_or_default();
            let target = mount.target.clone().unwrap();
            let mode = match mount.read_only {
                Some(true) => " ro",
                _ => "",
            };
            format!("{typ} {source} → {target}{mode}").replace(&top, "")
        };
        view.mounts.iter().map(show).collect()
    }
}

#[test]
fn the_workspace_is_seen_without_its_state() {
    let files = Files::new();
    let view = files.build(&[], Vec::new()).unwrap();
    let wanted = ["bind work → work ro", "bind cover → work/.helve ro"];
    assert_eq!(files.shown(&view), wanted);
    assert!(view.volumes.is_empty());
    let recursive = |m: &Mount| m.bind_options.as_ref().unwrap().non_recursive != Some(true);
    assert!(!view.mounts.iter().any(recursive));
}

#[test]
fn what_may_be_written_is_an_overlay_or_a_copy() {
    let files = Files::new();
    let view = files.build(&["work/data", "beside"], vec![files.overlay("work/data")]);
    let view = view.unwrap();
    let wanted = [
        "bind work → work ro",
        "bind beside → beside ro",
        "volume helve-run-0 → work/data",
        "bind cover → work/.helve ro",
    ];
    assert_eq!(files.shown(&view), wanted);
    let options = &view.volumes[0].driver_opts.as_ref().unwrap()["o"];
    let top = files.at("");
    let top = top.display();
    let wanted =
        format!("lowerdir={top}work/data,upperdir={top}stage/u,workdir={top}stage/w,{OVERLAY}");
    assert_eq!(*options, wanted);

    let copy = Layer::Bind {
        target: files.at("work/data"),
        source: files.at("stage/u"),
    };
    let view = files.build(&[], vec![copy]).unwrap();
    assert_eq!(files.shown(&view)[1], "bind stage/u → work/data");

    // The workspace itself: seen once, and its state not at all.
    let view = files.build(&["work"], vec![files.overlay("work")]).unwrap();
    let wanted = ["volume helve-run-0 → work", "bind cover → work/.helve ro"];
    assert_eq!(files.shown(&view), wanted);
}

#[test]
fn nothing_is_mounted_twice_or_into_the_state() {
    let files = Files::new();
    let view = files.build(
        &["work/data", "work/.helve/changes", "gone", ""],
        Vec::new(),
    );
    let wanted = ["bind  →  ro", "bind cover → work/.helve ro"];
    assert_eq!(files.shown(&view.unwrap()), wanted);
}

#[test]
fn what_no_container_may_have() {
    let files = Files::new();
    let refused = |built: Result<View, Unstarted>| built.unwrap_err().error();
    let error = refused(files.build(&[], vec![files.overlay("work/.helve/changes")]));
    assert_eq!(error.kind, ErrorKind::Permission, "{error}");
    let root = Layer::Bind {
        target: "/".into(),
        source: files.at("beside"),
    };
    let error = refused(files.build(&[], vec![root]));
    assert_eq!(error.kind, ErrorKind::Validation, "{error}");
    fs::write(files.at("beside/engine.sock"), "").unwrap();
    let built = build(&Parts {
        address: &Address::Unix(files.at("beside/engine.sock")),
        make: Make::Docker,
        root: &files.at("work"),
        readable: &[files.at("beside")],
        layers: Vec::new(),
        hidden: Vec::new(),
        cover: None,
        name: "",
        labels: &HashMap::new(),
    });
    let error = refused(built);
    assert!(error.message.contains("socket"), "{error}");
}

#[test]
fn a_path_that_would_be_more_than_a_path_is_no_overlay() {
    let files = Files::new();
    for name in ["a,ro", "a:b", "a\\b", "a\"b", "a\nb"] {
        fs::create_dir(files.at("work").join(name)).unwrap();
        let layer = files.overlay(&format!("work/{name}"));
        let built = files.build(&[], vec![layer]);
        assert!(matches!(built, Err(Unstarted::Sandbox(_))), "{name}");
    }
}

#[test]
fn podman_takes_no_path_that_would_be_more() {
    let mut files = Files::new();
    files.make = Make::Podman;
    assert!(files.build(&["beside"], Vec::new()).is_ok());
    fs::create_dir(files.at("beside,rw")).unwrap();
    let error = files.build(&["beside,rw"], Vec::new()).unwrap_err().error();
    assert!(error.message.contains("Podman"), "{error}");
    files.make = Make::Docker;
    assert!(files.build(&["beside,rw"], Vec::new()).is_ok());
}
