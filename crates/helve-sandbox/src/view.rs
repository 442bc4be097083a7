//! What the program sees of the machine's files, as a list of changes.

use std::ffi::{CStr, CString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::machine::Machine;
use crate::mounts;
use crate::op::{Op, Slots, is_folder};
use crate::plan::path;
use crate::spec::{Layer, Spec, dress_upper};
use crate::sys::{NO_DEV, NO_EXEC, NO_SUID, READ_ONLY};

/// The devices that there are.
const DEVICES: [(&str, u32, u32); 6] = [
    ("null", 1, 3),
    ("zero", 1, 5),
    ("full", 1, 7),
    ("random", 1, 8),
    ("urandom", 1, 9),
    ("tty", 5, 0),
];

const LINKS: [(&str, &CStr); 4] = [
    ("fd", c"/proc/self/fd"),
    ("stdin", c"/proc/self/fd/0"),
    ("stdout", c"/proc/self/fd/1"),
    ("stderr", c"/proc/self/fd/2"),
];

/// Where the program has its own folder for files that nobody keeps; one folder
/// under all names.
const OWN: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// What of `/proc` tells of the machine, or of other users, rather than of the program.
const MASKED: [&CStr; 4] = [
    c"/proc/kcore",
    c"/proc/keys",
    c"/proc/timer_list",
    c"/proc/kmsg",
];

/// The least and the most that the kernel takes as the highest process number.
const LEAST_IDS: u32 = 301;
const MOST_IDS: u32 = 4 * 1024 * 1024;

/// The order in which changes are made, and the descriptors between them.
pub(crate) fn build(spec: &Spec, machine: &Machine) -> Result<(Vec<Op>, Slots), Error> {
    let mut view = View {
        machine,
        ops: vec![Op::Private],
        slots: 0,
        places: Vec::new(),
    };
    view.take_layers(spec)?;
    view.take_visible(spec)?;
    let devices = view.take_devices();
    view.places.sort_by(|a, b| a.path.cmp(&b.path));
    view.scratch(spec)?;
    view.points()?;
    view.bound_ids(spec);
    view.cover();
    let (folder, file) = (view.slot(), view.slot());
    view.open(folder, c"/tmp/none");
    view.open(file, c"/tmp/nil");
    let device_folder = view.take(c"/tmp/dev".to_owned());
    let own = OWN.map(|_| view.take(c"/tmp/tmp".to_owned()));
    view.ops.push(Op::Lock);

    view.place(
        device_folder,
        c"/dev".to_owned(),
        READ_ONLY | NO_SUID | NO_EXEC,
    );
    for (slot, name) in devices {
        view.place(slot, name, NO_SUID | NO_EXEC);
    }
    for (slot, name) in own.into_iter().zip(OWN) {
        if machine.folders.contains(&PathBuf::from(name)) {
            view.place(slot, path("folder", Path::new(name))?, NO_SUID | NO_DEV);
        }
    }
    for place in std::mem::take(&mut view.places) {
        view.place(place.slot, path("path", &place.path)?, place.attributes);
    }
    for hidden in &spec.hidden {
        let path = path("hidden path", hidden)?;
        view.ops.push(Op::Hide { path, folder, file });
    }
    Ok((view.ops, Slots::new(view.slots)))
}

/// Something that was taken, and where it goes.
struct Place {
    path: PathBuf,
    slot: usize,
    attributes: u64,
    folder: bool,
}

struct View<'m> {
    machine: &'m Machine,
    ops: Vec<Op>,
    slots: usize,
    places: Vec<Place>,
}

impl View<'_> {
    fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    fn take(&mut self, path: CString) -> usize {
        let slot = self.slot();
        self.ops.push(Op::Take { slot, path });
        slot
    }

    fn open(&mut self, slot: usize, path: &CStr) {
        let path = path.to_owned();
        self.ops.push(Op::Open { slot, path });
    }

    fn place(&mut self, slot: usize, path: CString, attributes: u64) {
        self.ops.push(Op::Place {
            slot,
            path,
            attributes,
        });
    }

    fn take_layers(&mut self, spec: &Spec) -> Result<(), Error> {
        for layer in &spec.layers {
            let slot = match layer {
                Layer::Overlay {
                    target,
                    upper,
                    work,
                } => {
                    dress_upper(upper, target)
                        .map_err(|e| Error::setup(format!("preparing `{}`", upper.display()), e))?;
                    self.take_nested(target)?;
                    let slot = self.slot();
                    self.ops.push(Op::Overlay {
                        slot,
                        lower: path("layer", target)?,
                        upper: path("upper folder", upper)?,
                        work: path("work folder", work)?,
                        privileged: self.machine.privileged,
                    });
                    slot
                }
                Layer::Bind { source, .. } => self.take(path("source", source)?),
            };
            let target = layer.target();
            if self.places.iter().any(|place| place.path == *target) {
                return Err(Error::Invalid {
                    what: "layer",
                    value: target.display().to_string(),
                    problem: "is named twice",
                });
            }
            self.places.push(Place {
                path: target.clone(),
                slot,
                attributes: NO_SUID | NO_DEV,
                folder: true,
            });
        }
        Ok(())
    }

    /// An overlay shows nothing of what is mounted inside its folder. It is put back,
    /// read-only.
    fn take_nested(&mut self, target: &Path) -> Result<(), Error> {
        let mounts = mounts::points().map_err(|e| Error::setup("reading the mounts", e))?;
        for inside in mounts {
            if inside == target || !inside.starts_with(target) {
                continue;
            }
            if !self.machine.privileged {
                // The kernel binds such mounts to their place for a user namespace.
                return Err(Error::NestedMount {
                    target: target.to_owned(),
                    inside,
                });
            }
            self.take_read_only(inside)?;
        }
        Ok(())
    }

    fn take_visible(&mut self, spec: &Spec) -> Result<(), Error> {
        let mut visible = spec.visible.clone();
        if spec.network {
            // How names are resolved is often told in a file in `/run`.
            visible.extend(fs::canonicalize("/etc/resolv.conf").ok());
        }
        visible.sort();
        for visible in visible {
            path("visible path", &visible)?;
            let covered = self.covered(&visible).is_some();
            let there = self.places.iter().any(|p| visible.starts_with(&p.path));
            if covered && !there {
                self.take_read_only(visible)?;
            }
        }
        Ok(())
    }

    fn take_read_only(&mut self, from: PathBuf) -> Result<(), Error> {
        if self.places.iter().any(|place| place.path == from) {
            return Ok(());
        }
        let folder = is_folder(&from)
            .map_err(|e| Error::setup(format!("opening `{}`", from.display()), e))?;
        let slot = self.take(path("path", &from)?);
        self.places.push(Place {
            path: from,
            slot,
            attributes: READ_ONLY | NO_SUID | NO_DEV,
            folder,
        });
        Ok(())
    }

    /// Who may not make devices takes them from the machine.
    fn take_devices(&mut self) -> Vec<(usize, CString)> {
        if self.machine.makes_devices {
            return Vec::new();
        }
        let names = DEVICES.map(|(name, ..)| named("/dev", name));
        names
            .into_iter()
            .map(|name| (self.take(name.clone()), name))
            .collect()
    }

    /// The file system in memory, mounted where it is covered later.
    fn scratch(&mut self, spec: &Spec) -> Result<(), Error> {
        let size = spec.limits.tmp_size;
        let files = (size / 4096).max(1024);
        let options = CString::new(format!("mode=755,size={size},nr_inodes={files}"))
            .expect("numbers have no NUL");
        self.ops.push(Op::Scratch {
            path: c"/tmp".to_owned(),
            options,
        });
        self.folder(c"/tmp/tmp", 0o1777);
        self.folder(c"/tmp/none", 0o555);
        self.ops.push(Op::File {
            path: c"/tmp/nil".to_owned(),
        });
        self.folder(c"/tmp/dev", 0o755);
        self.folder(c"/tmp/dev/shm", 0o755);
        for (name, major, minor) in DEVICES {
            let path = named("/tmp/dev", name);
            self.ops.push(if self.machine.makes_devices {
                let number = rustix::fs::makedev(major, minor);
                Op::Device { path, number }
            } else {
                Op::File { path }
            });
        }
        for (name, to) in LINKS {
            let path = named("/tmp/dev", name);
            self.ops.push(Op::Link { path, to });
        }
        Ok(())
    }

    fn folder(&mut self, path: &CStr, mode: u32) {
        let path = path.to_owned();
        self.ops.push(Op::Folder { path, mode });
    }

    /// The folder of the machine that is covered and has this path in it, and the
    /// folder that covers it.
    fn covered(&self, path: &Path) -> Option<(PathBuf, PathBuf)> {
        let own = OWN
            .iter()
            .map(|own| (PathBuf::from(own), PathBuf::from("/tmp/tmp")));
        let empty = self.machine.emptied.iter().enumerate();
        let empty = empty.map(|(i, path)| (path.clone(), PathBuf::from(format!("/tmp/c{i}"))));
        own.chain(empty)
            .find(|(covered, _)| path.starts_with(covered))
    }

    /// Makes the folders and files to which what was taken is put, in what covers.
    fn points(&mut self) -> Result<(), Error> {
        for i in 0..self.machine.emptied.len() {
            self.folder(&numbered(i), 0o755);
        }
        let mut ops = Vec::new();
        for (index, place) in self.places.iter().enumerate() {
            let Some((covered, cover)) = self.covered(&place.path) else {
                continue;
            };
            let above = self.places.iter().take(index);
            if above
                .into_iter()
                .any(|above| place.path.starts_with(&above.path))
            {
                continue;
            }
            let Ok(rest) = place.path.strip_prefix(&covered) else {
                continue;
            };
            let mut at = cover;
            let mut parts = rest.components().peekable();
            while let Some(part) = parts.next() {
                at.push(part);
                let path = path("path", &at)?;
                ops.push(if parts.peek().is_some() || place.folder {
                    Op::Folder { path, mode: 0o755 }
                } else {
                    Op::File { path }
                });
            }
        }
        self.ops.append(&mut ops);
        Ok(())
    }

    /// Bounds the numbers of processes, and by that the processes.
    fn bound_ids(&mut self, spec: &Spec) {
        let Some(processes) = spec.limits.processes.filter(|_| self.machine.bounds_ids) else {
            return;
        };
        let most = processes.saturating_add(2).clamp(LEAST_IDS, MOST_IDS);
        let text = CString::new(most.to_string()).expect("numbers have no NUL");
        let path = c"/proc/sys/kernel/pid_max".to_owned();
        self.ops.push(Op::Write { path, text });
    }

    /// Covers what is replaced by nothing, and mounts `/proc`.
    fn cover(&mut self) {
        // Who is in the group of `gid` sees all; unless told otherwise, that is root's.
        let nobody = if self.machine.privileged {
            c"hidepid=2,gid=4294967294"
        } else {
            c"hidepid=2"
        };
        self.ops.push(Op::Proc {
            options: nobody.to_owned(),
            empty: c"/tmp/none".to_owned(),
        });
        for masked in MASKED {
            self.bind(c"/tmp/nil".to_owned(), masked.to_owned());
        }
        let machine = self.machine;
        for (i, emptied) in machine.emptied.iter().enumerate() {
            self.bind(numbered(i), named("", emptied));
        }
        for masked in &machine.masked {
            self.bind(c"/tmp/none".to_owned(), named("", masked));
        }
    }

    fn bind(&mut self, from: CString, to: CString) {
        self.ops.push(Op::Bind { from, to });
    }
}

fn numbered(index: usize) -> CString {
    CString::new(format!("/tmp/c{index}")).expect("numbers have no NUL")
}

/// A path of fixed names.
fn named(folder: &str, name: impl AsRef<Path>) -> CString {
    let mut path = folder.as_bytes().to_vec();
    let name = name.as_ref();
    if !name.is_absolute() {
        path.push(b'/');
    }
    path.extend_from_slice(name.as_os_str().as_bytes());
    CString::new(path).expect("these names have no NUL")
}
