//! Copying a file, or a folder with all that is in it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{self as sys, Mode};
use rustix::io::Errno;

use super::{Files, Last, Place, special};
use crate::error::{At, Error};
use crate::tree::Thing;

/// What a copy keeps of a mode: not that it runs as somebody else.
const KEPT: u32 = 0o777;

impl Files {
    /// Copies a file, a link as such, or a folder with all in it, to where nothing is.
    /// The folder that it goes to must be there. `stopped` ends it early.
    pub fn copy(&self, from: &Path, to: &Path, stopped: &AtomicBool) -> Result<(), Error> {
        let old = self.resolve(from, Last::Kept)?;
        let new = self.writable(to, Last::Kept)?;
        self.holds_nothing_hidden(&old, from)?;
        if new.root == old.root && new.rel.starts_with(&old.rel) {
            return Err(Errno::INVAL).at("copy into itself", from);
        }
        if self.seen(&new).at("copy to", to)?.is_some() {
            return Err(Errno::EXIST).at("copy to", to);
        }
        self.copy_one(&old, &new, stopped)
    }

    fn copy_one(&self, old: &Place, new: &Place, stopped: &AtomicBool) -> Result<(), Error> {
        if stopped.load(Ordering::Relaxed) {
            return Err(Error::Stopped);
        }
        let (from, to) = (self.real(old), self.real(new));
        match self.found(old, &from)?.kind {
            Thing::File(mut content, own) => {
                let file = self.fresh_with(new, &to, Some(&mut content))?;
                let mode = Mode::from_raw_mode(own.mode & KEPT);
                sys::fchmod(&file, mode).at("copy to", &to)
            }
            Thing::Dir(_, own) => {
                self.make_dir(new, &to)?;
                for (name, _) in self.list(&from)? {
                    let beneath = |place: &Place| Place {
                        root: place.root,
                        rel: place.rel.join(&name),
                    };
                    self.copy_one(&beneath(old), &beneath(new), stopped)?;
                }
                // Last: nothing could be put into a folder that may not be written.
                let upper = self.roots[new.root].upper();
                let fd = upper.folder(&new.rel).at("copy to", &to)?;
                let mode = Mode::from_raw_mode(own.mode & KEPT);
                sys::fchmod(&fd, mode).at("copy to", &to)
            }
            Thing::Symlink(link) => self.symlink(&link.target, &to),
            _ => Err(special(&from)),
        }
    }
}
