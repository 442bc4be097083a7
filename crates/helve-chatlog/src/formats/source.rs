//! A file that can be read from its beginning as often as it takes.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::rc::Rc;

use super::decode::{self, Decoded, Letters};
use super::error::ReadError;

/// A file on the disk, in a folder, or in an archive.
pub(crate) trait Source {
    /// From its beginning.
    fn open(&mut self) -> io::Result<Box<dyn Read + '_>>;
}

/// A file on the disk.
pub(crate) struct FileSource<'f>(pub(crate) &'f File);

impl Source for FileSource<'_> {
    fn open(&mut self) -> io::Result<Box<dyn Read + '_>> {
        let mut file = self.0;
        file.seek(SeekFrom::Start(0))?;
        Ok(Box::new(file))
    }
}

/// A file as text: UTF-8, whatever it was. Bytes that are no letters stay invalid, so that
/// whoever reads the record sees it.
pub(crate) struct Text<'t> {
    source: &'t mut dyn Source,
    letters: Letters,
    read: Rc<Cell<u64>>,
}

/// Whether what is read counts as progress: a look ahead does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    Ahead,
    Read,
}

impl<'t> Text<'t> {
    /// Finds out how its letters are written.
    pub(crate) fn of(source: &'t mut dyn Source, read: Rc<Cell<u64>>) -> Result<Self, ReadError> {
        let letters = decode::detect(&mut *source.open()?)?;
        Ok(Self {
            source,
            letters,
            read,
        })
    }

    /// From its beginning.
    pub(crate) fn open(&mut self, pass: Pass) -> Result<Box<dyn BufRead + '_>, ReadError> {
        let counted = Counted {
            inner: self.source.open()?,
            read: (pass == Pass::Read).then(|| Rc::clone(&self.read)),
        };
        let mut plain = BufReader::with_capacity(64 << 10, counted);
        Ok(match self.letters {
            Letters::Utf8 { mark } => {
                if mark {
                    io::copy(&mut (&mut plain).take(3), &mut io::sink())?;
                }
                Box::new(plain)
            }
            Letters::Other(encoding) => Box::new(Decoded::new(plain, encoding)),
        })
    }
}

/// Counts what goes through.
struct Counted<R> {
    inner: R,
    read: Option<Rc<Cell<u64>>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(into)?;
        if let Some(read) = &self.read {
            read.set(read.get() + n as u64);
        }
        Ok(n)
    }
}
