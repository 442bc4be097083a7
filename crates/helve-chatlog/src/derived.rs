//! Files that can be made anew: written whole or not at all, and checked when read.
//!
//! A head with a name, a version and the archive's generation; then the body; then its SHA-256.
//! Whatever does not fit is an error, never a guess: the caller makes the file again.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Why a file that was made from the archive cannot be used or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The disk says no.
    #[error("`{}` could not be read or written", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not what was written.
    #[error("`{}` is damaged ({why}); build it again", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What does not fit.
        why: &'static str,
    },
    /// Another version of this program wrote it.
    #[error("`{}` has version {found}, not {wanted}; build it again", path.display())]
    Version {
        /// Which file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version that is read here.
        wanted: u32,
    },
}

/// What kind of file it is.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    pub(crate) magic: [u8; 8],
    pub(crate) version: u32,
}

/// Writes a file: beside it first, and then in its place.
pub(crate) fn save(
    path: &Path,
    format: Format,
    generation: u64,
    body: impl FnOnce(&mut Writer<'_>) -> io::Result<()>,
) -> Result<(), FileError> {
    let err = |source| FileError::Io {
        path: path.to_owned(),
        source,
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let beside = path.with_file_name(name);
    let write = || -> io::Result<()> {
        let mut file = BufWriter::with_capacity(1 << 18, File::create(&beside)?);
        let mut writer = Writer {
            file: &mut file,
            sum: Sha256::new(),
        };
        writer.bytes(&format.magic)?;
        writer.u32(format.version)?;
        writer.u64(generation)?;
        body(&mut writer)?;
        let sum = writer.sum.finalize();
        file.write_all(&sum)?;
        file.into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|source| {
        // It is of no use to anyone, and the first error is the one to tell.
        let _ = fs::remove_file(&beside);
        err(source)
    })
}

/// Reads a file, and gives its generation beside what the body holds.
pub(crate) fn load<T>(
    path: &Path,
    format: Format,
    body: impl FnOnce(&mut Reader) -> Result<T, Bad>,
) -> Result<(u64, T), FileError> {
    let io = |source| FileError::Io {
        path: path.to_owned(),
        source,
    };
    let damaged = |why| FileError::Damaged {
        path: path.to_owned(),
        why,
    };
    let file = File::open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    let left = length.checked_sub(32).ok_or_else(|| damaged("too short"))?;
    let mut reader = Reader {
        file: BufReader::with_capacity(1 << 18, file),
        sum: Sha256::new(),
        left,
    };
    let bad = |bad| match bad {
        Bad::Io(source) => io(source),
        Bad::Shape(why) => damaged(why),
    };
    if reader.bytes(8).map_err(bad)? != format.magic {
        return Err(damaged("another kind of file"));
    }
    let found = reader.u32().map_err(bad)?;
    if found != format.version {
        return Err(FileError::Version {
            path: path.to_owned(),
            found,
            wanted: format.version,
        });
    }
    let generation = reader.u64().map_err(bad)?;
    let value = body(&mut reader).map_err(bad)?;
    if reader.left != 0 {
        return Err(damaged("longer than its content"));
    }
    let mut sum = [0; 32];
    reader.file.read_exact(&mut sum).map_err(io)?;
    if reader.sum.finalize().as_slice() != sum {
        return Err(damaged("its checksum differs"));
    }
    Ok((generation, value))
}

/// Why a body cannot be read.
pub(crate) enum Bad {
    Io(io::Error),
    Shape(&'static str),
}

pub(crate) struct Writer<'f> {
    file: &'f mut BufWriter<File>,
    sum: Sha256,
}

impl Writer<'_> {
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.file.write_all(bytes)
    }

    pub(crate) fn u32(&mut self, value: u32) -> io::Result<()> {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, value: u64) -> io::Result<()> {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.u64(text.len() as u64)?;
        self.bytes(text.as_bytes())
    }

    /// Many values of a fixed size, their number first.
    pub(crate) fn list<T: Copy, const N: usize>(
        &mut self,
        values: &[T],
        bytes: impl Fn(T) -> [u8; N],
    ) -> io::Result<()> {
        self.u64(values.len() as u64)?;
        let mut chunk = Vec::with_capacity(N * 8192);
        for values in values.chunks(8192) {
            chunk.clear();
            values
                .iter()
                .for_each(|&value| chunk.extend_from_slice(&bytes(value)));
            self.bytes(&chunk)?;
        }
        Ok(())
    }
}

pub(crate) struct Reader {
    file: BufReader<File>,
    sum: Sha256,
    left: u64,
}

impl Reader {
    /// So many bytes, and no more memory than the file is long.
    pub(crate) fn bytes(&mut self, count: u64) -> Result<Vec<u8>, Bad> {
        if count > self.left {
            return Err(Bad::Shape("shorter than its content"));
        }
        self.left -= count;
        let count = usize::try_from(count).map_err(|_| Bad::Shape("too long"))?;
        let mut bytes = vec![0; count];
        self.file.read_exact(&mut bytes).map_err(Bad::Io)?;
        self.sum.update(&bytes);
        Ok(bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Bad> {
        let mut value = [0; 4];
        value.copy_from_slice(&self.bytes(4)?);
        Ok(u32::from_le_bytes(value))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Bad> {
        let mut value = [0; 8];
        value.copy_from_slice(&self.bytes(8)?);
        Ok(u64::from_le_bytes(value))
    }

    pub(crate) fn text(&mut self) -> Result<String, Bad> {
        let count = self.u64()?;
        String::from_utf8(self.bytes(count)?)
            .map_err(|_| Bad::Shape("no text where text should be"))
    }

    /// What [`Writer::list`] wrote.
    pub(crate) fn list<T, const N: usize>(
        &mut self,
        value: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>, Bad> {
        let count = self.u64()?;
        let size = count
            .checked_mul(N as u64)
            .filter(|&size| size <= self.left);
        if size.is_none() {
            return Err(Bad::Shape("shorter than its content"));
        }
        let mut values = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
        let mut to_read = count;
        while to_read > 0 {
            let now = to_read.min(8192);
            let bytes = self.bytes(now * N as u64)?;
            values.extend(bytes.chunks_exact(N).map(|chunk| {
                let mut one = [0; N];
                one.copy_from_slice(chunk);
                value(one)
            }));
            to_read -= now;
        }
        Ok(values)
    }
}
