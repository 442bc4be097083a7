//! Vectors on disk.
//!
//! Those that are made here stand in the file of what made them. Those that come from elsewhere
//! cost time and money, so their file grows batch by batch: what a stopped run has written is
//! kept, and a batch that was cut off in the middle is left out.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{VectorError, Vectors};
use crate::derived::{Bad, FileError, Reader, Writer};

const MAGIC: [u8; 8] = *b"HLVVECTS";
const VERSION: u32 = 1;
/// Bytes of a checksum that are kept.
const SUM: usize = 8;

impl Vectors {
    pub(crate) fn write(&self, out: &mut Writer<'_>) -> io::Result<()> {
        out.u64(self.dims as u64)?;
        out.list(&self.lines, u64::to_le_bytes)?;
        out.list(&self.scales, f32::to_le_bytes)?;
        out.list(&self.bytes, i8::to_le_bytes)
    }

    pub(crate) fn read(input: &mut Reader) -> Result<Self, Bad> {
        let dims = usize::try_from(input.u64()?).map_err(|_| Bad::Shape("too many dimensions"))?;
        let lines: Vec<u64> = input.list(u64::from_le_bytes)?;
        let scales: Vec<f32> = input.list(f32::from_le_bytes)?;
        let bytes: Vec<i8> = input.list(i8::from_le_bytes)?;
        let fits =
            scales.len() == lines.len() && lines.len().checked_mul(dims) == Some(bytes.len());
        if !fits {
            return Err(Bad::Shape("vectors of another size"));
        }
        let ascending = lines.windows(2).all(|pair| pair[0] < pair[1]);
        let present = lines.iter().copied().collect();
        Ok(Self {
            dims,
            lines,
            bytes,
            scales,
            present,
            ascending,
        })
    }
}

/// Vectors that come from elsewhere, with the file that they are kept in.
#[derive(Debug)]
pub struct VectorFile {
    path: PathBuf,
    file: File,
    /// Where the next batch goes.
    end: u64,
    vectors: Vectors,
}

/// Why a batch is not kept.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// It cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// It does not fit.
    #[error(transparent)]
    Vector(#[from] VectorError),
}

impl VectorFile {
    /// Opens the file, or begins it. The label says what made the vectors (a model's name): with
    /// another label or size the file is refused, since such vectors cannot be compared.
    pub fn open(path: &Path, dims: usize, label: &str) -> Result<Self, FileError> {
        let io = |source| FileError::Io {
            path: path.to_owned(),
            source,
        };
        let damaged = |why| FileError::Damaged {
            path: path.to_owned(),
            why,
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let head = head(dims, label);
        if length == 0 {
            file.write_all(&head)
                .and_then(|()| file.sync_all())
                .map_err(io)?;
            let vectors = Vectors::new(dims);
            return Ok(Self {
                path: path.to_owned(),
                file,
                end: head.len() as u64,
                vectors,
            });
        }
        let mut input = BufReader::with_capacity(1 << 18, &file);
        let mut start = vec![0; 12.min(usize::try_from(length).unwrap_or(12))];
        input.read_exact(&mut start).map_err(io)?;
        if start.len() < 12 || start[..8] != MAGIC {
            return Err(damaged("another kind of file"));
        }
        let found = u32::from_le_bytes([start[8], start[9], start[10], start[11]]);
        if found != VERSION {
            return Err(FileError::Version {
                path: path.to_owned(),
                found,
                wanted: VERSION,
            });
        }
        let mut rest = vec![0; head.len() - 12];
        if length < head.len() as u64 || input.read_exact(&mut rest).is_err() || rest != head[12..]
        {
            return Err(damaged("vectors of another model or size"));
        }
        let mut vectors = Vectors::new(dims);
        let mut end = head.len() as u64;
        // A batch that is cut off was never confirmed: the next one takes its place.
        while let Some(size) =
            next_batch(&mut input, dims, length - end, &mut vectors).map_err(|bad| match bad {
                Bad::Io(source) => io(source),
                Bad::Shape(why) => damaged(why),
            })?
        {
            end += size;
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            end,
            vectors,
        })
    }

    /// What there is so far.
    #[must_use]
    pub fn vectors(&self) -> &Vectors {
        &self.vectors
    }

    /// Adds a batch, and has it on disk when it returns. Lines that have a vector keep it; gives
    /// how many were taken. Of a batch with a vector that does not fit, none is.
    pub fn add(&mut self, batch: &[(u64, Vec<f32>)]) -> Result<usize, BatchError> {
        let mut fresh = Vectors::new(self.vectors.dims);
        for (line, vector) in batch {
            if !self.vectors.present.contains(*line) {
                fresh.push(*line, vector)?;
            } else {
                fresh.check(vector)?;
            }
        }
        if fresh.is_empty() {
            return Ok(0);
        }
        let block = block(&fresh);
        let written = (|| {
            // What a cut batch left behind must not follow this one.
            self.file.set_len(self.end)?;
            self.file.seek(SeekFrom::Start(self.end))?;
            self.file.write_all(&block)?;
            self.file.sync_data()
        })();
        written.map_err(|source| FileError::Io {
            path: self.path.clone(),
            source,
        })?;
        self.end += block.len() as u64;
        append(&mut self.vectors, &fresh);
        Ok(fresh.len())
    }
}

fn append(to: &mut Vectors, from: &Vectors) {
    for (row, &line) in from.lines.iter().enumerate() {
        if to.present.insert(line) {
            let bytes = &from.bytes[row * from.dims..(row + 1) * from.dims];
            to.push_raw(line, bytes.iter().copied(), from.scales[row]);
        }
    }
}

fn head(dims: usize, label: &str) -> Vec<u8> {
    let mut head = MAGIC.to_vec();
    head.extend(VERSION.to_le_bytes());
    head.extend((dims as u64).to_le_bytes());
    head.extend((label.len() as u64).to_le_bytes());
    head.extend(label.as_bytes());
    head.extend(sum(&head));
    head
}

fn block(vectors: &Vectors) -> Vec<u8> {
    let mut block = (vectors.len() as u64).to_le_bytes().to_vec();
    vectors
        .lines
        .iter()
        .for_each(|line| block.extend(line.to_le_bytes()));
    vectors
        .scales
        .iter()
        .for_each(|scale| block.extend(scale.to_le_bytes()));
    block.extend(vectors.bytes.iter().flat_map(|byte| byte.to_le_bytes()));
    block.extend(sum(&block));
    block
}

fn sum(bytes: &[u8]) -> [u8; SUM] {
    let mut sum = [0; SUM];
    sum.copy_from_slice(&Sha256::digest(bytes)[..SUM]);
    sum
}

/// Reads a batch; nothing where the file ends, within a batch or after one. Gives its size.
fn next_batch(
    input: &mut impl Read,
    dims: usize,
    left: u64,
    to: &mut Vectors,
) -> Result<Option<u64>, Bad> {
    let mut count = [0; 8];
    if left < 8 {
        return Ok(None);
    }
    input.read_exact(&mut count).map_err(Bad::Io)?;
    let rows = u64::from_le_bytes(count);
    let size = rows
        .checked_mul(12 + dims as u64)
        .and_then(|size| size.checked_add(SUM as u64));
    let Some(size) = size.filter(|&size| size <= left - 8) else {
        return Ok(None);
    };
    let mut body = count.to_vec();
    body.resize(
        8 + usize::try_from(size).map_err(|_| Bad::Shape("too long"))?,
        0,
    );
    input.read_exact(&mut body[8..]).map_err(Bad::Io)?;
    let (body, check) = body.split_at(body.len() - SUM);
    if sum(body) != check {
        return Err(Bad::Shape("the checksum of a batch differs"));
    }
    let rows = usize::try_from(rows).map_err(|_| Bad::Shape("too long"))?;
    let (lines, rest) = body[8..].split_at(rows * 8);
    let (scales, bytes) = rest.split_at(rows * 4);
    for row in 0..rows {
        let mut line = [0; 8];
        line.copy_from_slice(&lines[row * 8..row * 8 + 8]);
        let mut scale = [0; 4];
        scale.copy_from_slice(&scales[row * 4..row * 4 + 4]);
        let line = u64::from_le_bytes(line);
        if to.present.insert(line) {
            let bytes = bytes[row * dims..(row + 1) * dims]
                .iter()
                .map(|&byte| byte as i8);
            to.push_raw(line, bytes, f32::from_le_bytes(scale));
        }
    }
    Ok(Some(8 + size))
}
