//! Folders and archives: exports of several files, and several exports together.
//!
//! Nothing is unpacked to the disk, and a path of an archive is only a name: one that leads
//! out of it is left out. What an archive may unpack to is bounded before and while reading.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use zip::ZipArchive;

use super::error::ReadError;
use super::out::Out;
use super::source::Source;
use super::{Format, Job, look, qq_exporter, read_one, slack};
use crate::{Folder, Options};

/// The most files of an archive.
const MOST_FILES: usize = 200_000;
/// How much larger than its packed form a file may be, once it is larger than [`SMALL`]. Text
/// packs ten times, at most some fifty; a bomb a thousand times.
const RATIO: u64 = 200;
const SMALL: u64 = 8 << 20;

/// A limit that is hit while reading.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refused(pub(crate) String);

/// Files by their names.
pub(crate) trait Tree {
    fn names(&self) -> &[String];
    fn source(&mut self, at: usize) -> Box<dyn Source + '_>;
}

/// Says in which file it went wrong.
pub(crate) fn within(file: &str, why: ReadError) -> ReadError {
    match why {
        ReadError::Stopped(_) | ReadError::In { .. } => why,
        why => ReadError::In {
            file: file.to_owned(),
            why: Box::new(why),
        },
    }
}

pub(crate) fn read_folder(
    folder: &dyn Folder,
    name: &str,
    options: &Options,
    out: &mut Out<'_>,
) -> Result<Format, ReadError> {
    let mut names = folder.names()?;
    names.sort();
    read_tree(&mut FolderTree { folder, names }, name, options, out)
}

pub(crate) fn read_zip(
    file: &File,
    name: &str,
    options: &Options,
    out: &mut Out<'_>,
) -> Result<Format, ReadError> {
    let mut reader = BufReader::new(file);
    let packed = reader.seek(SeekFrom::End(0))?;
    reader.seek(SeekFrom::Start(0))?;
    let archive = ZipArchive::new(reader).map_err(|error| match error {
        zip::result::ZipError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            ReadError::Io(error)
        }
        // The list of its files stands at its end.
        _ => ReadError::Cut { place: 1 },
    })?;
    let mut tree = ZipTree::new(archive, packed, options, out)?;
    read_tree(&mut tree, name, options, out)
}

fn read_tree(
    tree: &mut dyn Tree,
    name: &str,
    options: &Options,
    out: &mut Out<'_>,
) -> Result<Format, ReadError> {
    if let Some(root) = slack::root(tree.names()) {
        let format = slack::read_tree(tree, &root, options, out)?;
        out.finish()?;
        return Ok(format);
    }
    let names = tree.names().to_vec();
    let mut found = None;
    let mut trouble = None;
    let mut taken: Vec<&str> = Vec::new();
    for (at, path) in names.iter().enumerate() {
        if path != "manifest.json" && !path.ends_with("/manifest.json") {
            continue;
        }
        let job = Job {
            options,
            title: look::title(&format!("{name}/{path}")),
        };
        let format = qq_exporter::read_chunks(tree, at, &job, out);
        if let Some(format) = format.map_err(|why| within(path, why))? {
            found.get_or_insert(format);
            taken.push(path.strip_suffix("manifest.json").unwrap_or_default());
        }
    }
    for (at, path) in names.iter().enumerate() {
        if taken.iter().any(|folder| path.starts_with(folder)) || !may_be_text(path) {
            continue;
        }
        let place = at as u64 + 1;
        if path.to_lowercase().ends_with(".zip") {
            let why = format!("`{path}` is an archive within: unpack it first");
            trouble.get_or_insert(ReadError::TooLarge { why: why.clone() });
            out.left_out(place, why)?;
            continue;
        }
        let label = format!("{name}/{path}");
        let result = {
            let mut source = tree.source(at);
            read_one(source.as_mut(), &label, options, out)
        };
        match result {
            Ok(format) => {
                found.get_or_insert(format);
            }
            // What lies beside an export is no part of it.
            Err(why @ (ReadError::Unknown { .. } | ReadError::Empty)) => {
                out.left_out(place, format!("`{path}`: {why}"))?;
                trouble.get_or_insert(within(path, why));
            }
            Err(why) => return Err(within(path, why)),
        }
    }
    match (found, trouble) {
        (Some(format), _) if out.messages() > 0 => {
            out.finish()?;
            Ok(format)
        }
        (_, Some(trouble)) => Err(trouble),
        (_, None) => Err(ReadError::Unknown {
            seen: format!("a folder of {} files, none of them an export", names.len()),
        }),
    }
}

/// Whether a file may be an export: pictures and sounds lie beside many.
fn may_be_text(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    if path.starts_with("__MACOSX/") || file.starts_with('.') || file.is_empty() {
        return false;
    }
    let ending = file
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_lowercase());
    ending.is_none_or(|ending| {
        let known = ["json", "jsonl", "ndjson", "csv", "tsv", "txt", "log", "zip"];
        known.contains(&&*ending)
    })
}

struct FolderTree<'f> {
    folder: &'f dyn Folder,
    names: Vec<String>,
}

impl Tree for FolderTree<'_> {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn source(&mut self, at: usize) -> Box<dyn Source + '_> {
        Box::new(FolderFile {
            folder: self.folder,
            name: &self.names[at],
        })
    }
}

struct FolderFile<'f> {
    folder: &'f dyn Folder,
    name: &'f str,
}

impl Source for FolderFile<'_> {
    fn open(&mut self) -> io::Result<Box<dyn Read + '_>> {
        self.folder.open(self.name)
    }
}

struct ZipTree<'z> {
    archive: ZipArchive<BufReader<&'z File>>,
    names: Vec<String>,
    /// Where each name stands in the archive.
    entries: Vec<usize>,
}

impl<'z> ZipTree<'z> {
    fn new(
        mut archive: ZipArchive<BufReader<&'z File>>,
        packed: u64,
        options: &Options,
        out: &mut Out<'_>,
    ) -> Result<Self, ReadError> {
        let refuse = |why: String| Err(ReadError::TooLarge { why });
        if archive.len() > MOST_FILES {
            return refuse(format!("it has {} files", archive.len()));
        }
        let mut all = 0u64;
        let mut files = Vec::new();
        for at in 0..archive.len() {
            let broken = |why: String| ReadError::Broken {
                place: at as u64 + 1,
                why,
            };
            let entry = archive
                .by_index_raw(at)
                .map_err(|e| broken(e.to_string()))?;
            if entry.is_dir() {
                continue;
            }
            let name = entry.name().replace('\\', "/");
            if entry.enclosed_name().is_none() || name.split('/').any(|part| part == "..") {
                out.left_out(at as u64 + 1, format!("`{name}` leads out of the archive"))?;
                continue;
            }
            if !may_be_text(&name) {
                continue;
            }
            if entry.encrypted() {
                return Err(broken(format!("`{name}` is locked with a password")));
            }
            let size = entry.size();
            all = all.saturating_add(size);
            if all > options.max_unpacked {
                return refuse(format!(
                    "it would be more than {} bytes, `max_unpacked`",
                    options.max_unpacked
                ));
            }
            let swollen = size / RATIO > entry.compressed_size().max(1) && size > SMALL;
            if swollen || (all / RATIO > packed.max(1) && all > SMALL) {
                return refuse(format!(
                    "`{name}` unpacks to more than {RATIO} times its size"
                ));
            }
            files.push((name, at));
        }
        files.sort();
        let (names, entries) = files.into_iter().unzip();
        Ok(Self {
            archive,
            names,
            entries,
        })
    }
}

impl Tree for ZipTree<'_> {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn source(&mut self, at: usize) -> Box<dyn Source + '_> {
        Box::new(ZipFile {
            entry: self.entries[at],
            archive: &mut self.archive,
        })
    }
}

struct ZipFile<'a, 'z> {
    archive: &'a mut ZipArchive<BufReader<&'z File>>,
    entry: usize,
}

impl Source for ZipFile<'_, '_> {
    fn open(&mut self) -> io::Result<Box<dyn Read + '_>> {
        let entry = self
            .archive
            .by_index(self.entry)
            .map_err(io::Error::other)?;
        let left = entry.size();
        Ok(Box::new(Guarded { inner: entry, left }))
    }
}

/// Ends a file that is longer than the archive says.
struct Guarded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(into)?;
        match self.left.checked_sub(n as u64) {
            Some(left) => self.left = left,
            None => {
                let why = "a file is longer than the archive says".to_owned();
                return Err(io::Error::other(Refused(why)));
            }
        }
        Ok(n)
    }
}
