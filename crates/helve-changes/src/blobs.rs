//! Before-images: contents by their hash, compressed, each kept once.
//!
//! - *Read back means checked.* A content whose hash is another one is an error that
//!   names it, and never reaches a file.
//! - *Whole or not there.* A content is written aside and renamed.
//! - *Durable in one go.* Writing syncs nothing; whoever needs the images durable calls
//!   [`Blobs::sync`] once for all of them.
//! - *A capture and a sweep exclude each other*, by a lock on the folder that a crash
//!   gives back: see [`Lease`] and [`Gc`].

mod gc;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use helve_core::audit::Hash;
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};

use crate::error::{At, Error, ImageFault};
pub use gc::{Gc, Kept, Plan, Retention};

/// Contents by their hash, in a folder.
#[derive(Debug)]
pub struct Blobs {
    folder: PathBuf,
    quota: Option<u64>,
    /// Bytes on disk; counted when first asked for.
    used: Mutex<Option<u64>>,
    next: AtomicU64,
    /// Folders of images that are known to be on the disk.
    durable: Mutex<BTreeSet<PathBuf>>,
}

/// Holds off the sweep while contents are written that no manifest names yet. Keep it
/// until the manifest is recorded.
#[derive(Debug)]
pub struct Lease(#[expect(dead_code, reason = "closing it gives the lock back")] File);

/// Files up to this size are read in one piece.
pub(crate) const SMALL: u64 = 1 << 20;

/// How much of a larger one is held at a time.
pub(crate) const PIECE: usize = 256 * 1024;

/// Fast: before-images are written on the way of every call and seldom read.
const LEVEL: i32 = 1;

/// Above how many files one sync of the file system is cheaper than one of each.
const FEW: usize = 8;

thread_local! {
    static COMPRESSOR: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
}

impl Blobs {
    /// Opens the store in `folder`, and makes it if it is not there. With a quota, a
    /// capture whose images do not fit is refused.
    pub fn open(folder: &Path, quota: Option<u64>) -> Result<Self, Error> {
        let aside = folder.join("tmp");
        fs::create_dir_all(&aside).at("make the folder", &aside)?;
        Ok(Self {
            folder: folder.to_owned(),
            quota,
            used: Mutex::new(None),
            next: AtomicU64::new(0),
            durable: Mutex::default(),
        })
    }

    /// Holds off the sweep. Waits while one is under way.
    pub fn lease(&self) -> Result<Lease, Error> {
        let file = self.lock_file()?;
        flock(&file, FlockOperation::LockShared).at("lock", &self.folder)?;
        Ok(Lease(file))
    }

    fn lock_file(&self) -> Result<File, Error> {
        let path = self.folder.join("lock");
        let mut options = File::options();
        options.create(true).truncate(false).write(true);
        options.open(&path).at("open", &path)
    }

    /// Whether a content is there.
    pub fn has(&self, hash: &Hash) -> bool {
        self.place(hash).is_file()
    }

    /// Writes a content to `to`, and fails if it is not the content of that hash.
    /// What was written before the failure is worth nothing.
    pub fn read(&self, hash: &Hash, to: &mut dyn Write) -> Result<u64, Error> {
        let path = self.place(hash);
        let fault = |why| Error::Image { hash: *hash, why };
        let file = match File::open(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(fault(ImageFault::Missing));
            }
            file => file.at("open", &path)?,
        };
        let mut from = zstd::stream::read::Decoder::new(file).at("read", &path)?;
        let mut sum = Sha256::new();
        let mut piece = vec![0; PIECE];
        let mut size = 0;
        loop {
            // What cannot be decompressed is not what was stored.
            let length = from
                .read(&mut piece)
                .map_err(|_| fault(ImageFault::Tampered))?;
            if length == 0 {
                break;
            }
            sum.update(&piece[..length]);
            size += length as u64;
            to.write_all(&piece[..length]).at("restore from", &path)?;
        }
        match Hash::from_bytes(sum.finalize().into()) == *hash {
            true => Ok(size),
            false => Err(fault(ImageFault::Tampered)),
        }
    }

    /// A content that is small enough to be held.
    pub fn read_small(&self, hash: &Hash) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.read(hash, &mut bytes)?;
        Ok(bytes)
    }

    /// Keeps a content whose hash is known.
    pub(crate) fn put(&self, hash: &Hash, bytes: &[u8]) -> Result<(), Error> {
        match self.has(hash) {
            true => Ok(()),
            false => self.put_anew(hash, bytes),
        }
    }

    /// The same, also where it is there: it may have been lost in part when the system went
    /// down, or may never reach the disk.
    pub(crate) fn put_anew(&self, hash: &Hash, bytes: &[u8]) -> Result<(), Error> {
        let packed = COMPRESSOR.with_borrow_mut(|compressor| {
            if compressor.is_none() {
                *compressor = Some(zstd::bulk::Compressor::new(LEVEL)?);
            }
            let compressor = compressor.as_mut().expect("set a line above");
            compressor.compress(bytes)
        });
        let packed = packed.at("compress for", &self.folder)?;
        if !self.has(hash) {
            self.charge(packed.len() as u64)?;
        }
        let (aside, mut file) = self.aside()?;
        file.write_all(&packed).at("write", &aside)?;
        self.settle(&aside, hash)
    }

    /// Keeps what is read, and tells its hash and size; never more than a piece of it
    /// is held.
    pub(crate) fn put_stream(&self, from: &mut dyn Read) -> Result<(Hash, u64), Error> {
        let (aside, file) = self.aside()?;
        let result = self.pack(from, file, &aside);
        if result.is_err() {
            let _ = fs::remove_file(&aside);
        }
        let (hash, size) = result?;
        self.settle(&aside, &hash)?;
        Ok((hash, size))
    }

    /// Keeps a file's content, in one piece if it is small; its hash.
    pub(crate) fn put_file(&self, from: &mut File, size: u64) -> Result<Hash, Error> {
        if size > SMALL {
            return Ok(self.put_stream(from)?.0);
        }
        let mut bytes = Vec::with_capacity(size as usize + 1);
        from.read_to_end(&mut bytes).at("read into", &self.folder)?;
        let hash = Hash::of(&bytes);
        self.put(&hash, &bytes)?;
        Ok(hash)
    }

    fn pack(&self, from: &mut dyn Read, to: File, aside: &Path) -> Result<(Hash, u64), Error> {
        let mut packer = zstd::stream::write::Encoder::new(to, LEVEL).at("write", aside)?;
        let mut sum = Sha256::new();
        let mut piece = vec![0; PIECE];
        let (mut size, mut charged) = (0u64, 0);
        loop {
            let length = from.read(&mut piece).at("read into", aside)?;
            if length == 0 {
                break;
            }
            sum.update(&piece[..length]);
            size += length as u64;
            packer.write_all(&piece[..length]).at("write", aside)?;
            charged += self.charge_grown(packer.get_ref(), charged)?;
        }
        let file = packer.finish().at("write", aside)?;
        self.charge_grown(&file, charged)?;
        Ok((Hash::from_bytes(sum.finalize().into()), size))
    }

    fn charge_grown(&self, file: &File, charged: u64) -> Result<u64, Error> {
        if self.quota.is_none() {
            return Ok(0);
        }
        let length = file.metadata().at("look at", &self.folder)?.len();
        self.charge(length - charged)?;
        Ok(length - charged)
    }

    fn aside(&self) -> Result<(PathBuf, File), Error> {
        loop {
            let next = self.next.fetch_add(1, Ordering::Relaxed);
            let path = self
                .folder
                .join(format!("tmp/{}-{next}", std::process::id()));
            match File::create_new(&path) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                file => return Ok((path.clone(), file.at("create", &path)?)),
            }
        }
    }

    fn settle(&self, aside: &Path, hash: &Hash) -> Result<(), Error> {
        let place = self.place(hash);
        match fs::rename(aside, &place) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let folder = place.parent().unwrap_or(&self.folder);
                fs::create_dir_all(folder).at("make the folder", folder)?;
                fs::rename(aside, &place).at("write", &place)
            }
            done => done.at("write", &place),
        }
    }

    fn place(&self, hash: &Hash) -> PathBuf {
        let name = hash.to_string();
        self.folder.join(&name[..2]).join(&name[2..])
    }

    /// Takes bytes from the quota, if there is one.
    fn charge(&self, bytes: u64) -> Result<(), Error> {
        let Some(quota) = self.quota else {
            return Ok(());
        };
        let mut used = self
            .used
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let before = match *used {
            Some(used) => used,
            None => self.measure()?,
        };
        if before + bytes > quota {
            return Err(Error::Quota {
                needed: bytes,
                free: quota.saturating_sub(before),
            });
        }
        *used = Some(before + bytes);
        Ok(())
    }

    /// How many bytes the images take on disk.
    pub fn measure(&self) -> Result<u64, Error> {
        Ok(self.list()?.iter().map(|(_, size)| size).sum())
    }

    /// Every image with its size on disk.
    fn list(&self) -> Result<Vec<(Hash, u64)>, Error> {
        let mut found = Vec::new();
        for shelf in fs::read_dir(&self.folder).at("read", &self.folder)? {
            let shelf = shelf.at("read", &self.folder)?;
            // Whatever else somebody put here is not ours, least of all a link.
            if !shelf.file_type().at("look at", &shelf.path())?.is_dir() {
                continue;
            }
            let Some(start) = shelf
                .file_name()
                .to_str()
                .filter(|n| n.len() == 2)
                .map(str::to_owned)
            else {
                continue;
            };
            for image in fs::read_dir(shelf.path()).at("read", &shelf.path())? {
                let image = image.at("read", &shelf.path())?;
                let name = image
                    .file_name()
                    .to_str()
                    .map(|end| format!("{start}{end}"));
                let Some(hash) = name.as_deref().and_then(Hash::parse) else {
                    continue;
                };
                let size = image.metadata().at("look at", &image.path())?.len();
                found.push((hash, size));
            }
        }
        Ok(found)
    }

    /// Makes images durable: each of a few, or the file system at once. Fails if one is
    /// not there.
    pub fn sync(&self, images: &[Hash]) -> Result<(), Error> {
        self.check(images)?;
        if images.len() > FEW {
            return sync_all(&self.folder);
        }
        let mut folders = BTreeSet::new();
        for hash in images {
            let path = self.place(hash);
            let file = File::open(&path).at("open", &path)?;
            file.sync_all().at("sync", &path)?;
            folders.extend(path.parent().map(Path::to_owned));
        }
        for folder in &folders {
            sync_folder(folder)?;
        }
        self.sync_folders(folders)
    }

    /// Makes the folders of images durable themselves: once, as none is ever removed.
    fn sync_folders(&self, folders: BTreeSet<PathBuf>) -> Result<(), Error> {
        let mut durable = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
        if !folders.is_subset(&durable) {
            sync_folder(&self.folder)?;
            durable.extend(folders);
        }
        Ok(())
    }

    /// Fails if an image is not there.
    pub(crate) fn check(&self, images: &[Hash]) -> Result<(), Error> {
        match images.iter().find(|hash| !self.has(hash)) {
            Some(hash) => Err(Error::Image {
                hash: *hash,
                why: ImageFault::Missing,
            }),
            None => Ok(()),
        }
    }
}

/// Makes a folder's entries durable.
pub(crate) fn sync_folder(path: &Path) -> Result<(), Error> {
    let folder = File::open(path).at("open", path)?;
    folder.sync_all().at("sync", path)
}

/// Makes everything on the file system of a folder durable.
pub(crate) fn sync_all(path: &Path) -> Result<(), Error> {
    let folder = File::open(path).at("open", path)?;
    rustix::fs::syncfs(&folder).at("sync the file system of", path)
}
