//! How the letters of a file are written, and the way from there to UTF-8.
//!
//! A mark at the beginning decides. Without one, what is UTF-8 but for a few damaged places is
//! UTF-8; anything else is what its bytes look most like. What has no meaning comes out as the
//! byte 0xFF, which UTF-8 never has: it is for the reader of the record to leave it out.

use std::io::{self, BufRead, Read};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    BIG5, Decoder, DecoderResult, EUC_JP, EUC_KR, Encoding, GB18030, GBK, SHIFT_JIS, UTF_16BE,
    UTF_16LE,
};

use super::error::ReadError;

/// How many bytes decide, from the first one on that is not ASCII.
const SAMPLE: usize = 1 << 20;

/// How the letters of a file are written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Letters {
    Utf8 { mark: bool },
    Other(&'static Encoding),
}

/// Reads as far as it takes to tell.
pub(crate) fn detect(reader: &mut dyn Read) -> Result<Letters, ReadError> {
    let mut block = vec![0; 64 << 10];
    let mut sample = Vec::new();
    let mut first = true;
    let mut zeros = 0usize;
    let mut total = 0usize;
    loop {
        let n = read_some(reader, &mut block)?;
        let part = &block[..n];
        if first {
            first = false;
            if part.starts_with(b"\xef\xbb\xbf") {
                return Ok(Letters::Utf8 { mark: true });
            }
            if part.starts_with(b"\xff\xfe") {
                return Ok(Letters::Other(UTF_16LE));
            }
            if part.starts_with(b"\xfe\xff") {
                return Ok(Letters::Other(UTF_16BE));
            }
        }
        if total < SAMPLE {
            zeros += memchr::memchr_iter(0, part).count();
            total += n;
        }
        if !sample.is_empty() || !part.is_ascii() {
            sample.extend_from_slice(part);
        }
        if n == 0 || sample.len() >= SAMPLE {
            return judge(&sample, n == 0, zeros, total);
        }
    }
}

fn judge(sample: &[u8], whole: bool, zeros: usize, total: usize) -> Result<Letters, ReadError> {
    if zeros * 20 > total {
        return Err(ReadError::Encoding {
            why: "it is full of zero bytes, as a database or a picture is".to_owned(),
        });
    }
    let (mut good, mut bad) = (0, 0);
    let mut at = 0;
    for chunk in sample.utf8_chunks() {
        at += chunk.valid().len() + chunk.invalid().len();
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        // A letter that the end of the sample cuts is not wrong.
        let cut = at == sample.len() && may_begin(chunk.invalid());
        bad += usize::from(!chunk.invalid().is_empty() && !cut);
    }
    if bad * 2 <= good || bad == 0 {
        return Ok(Letters::Utf8 { mark: false });
    }
    let found = guess(sample, whole);
    let (decoded, _, _) = found.decode(sample);
    let letters = decoded.chars().count().max(1);
    let odd = decoded
        .chars()
        .filter(|c| *c == '\u{FFFD}' || (c.is_control() && !c.is_ascii_whitespace()))
        .count();
    if odd * 20 > letters {
        return Err(ReadError::Encoding {
            why: format!("it looks most like {}, but much of it is not", found.name()),
        });
    }
    Ok(Letters::Other(found))
}

/// What the bytes look most like. One damaged byte rules an encoding out for the detector, so
/// those of many letters are tried on the lines that they can read, if these are almost all.
fn guess(sample: &[u8], whole: bool) -> &'static Encoding {
    let first = likeliest(sample, whole);
    for encoding in [GB18030, BIG5, SHIFT_JIS, EUC_KR, EUC_JP] {
        if first == encoding {
            return first;
        }
        let mut readable = Vec::with_capacity(sample.len());
        let (mut lines, mut dropped) = (0, 0);
        for line in sample.split_inclusive(|b| *b == b'\n') {
            lines += 1;
            match encoding.decode_without_bom_handling(line).1 {
                true => dropped += 1,
                false => readable.extend_from_slice(line),
            }
        }
        let few = dropped > 0 && dropped * 20 <= lines.max(20);
        if few && likeliest(&readable, true) == encoding {
            return encoding;
        }
    }
    first
}

fn likeliest(sample: &[u8], whole: bool) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, whole);
    let found = detector.guess(None, Utf8Detection::Deny);
    // GB18030 has all of GBK, and the letters that came later.
    if found == GBK { GB18030 } else { found }
}

/// Whether these bytes are the beginning of a letter.
fn may_begin(bytes: &[u8]) -> bool {
    match bytes {
        [] => true,
        [lead, rest @ ..] => {
            let length = match lead {
                0xC2..=0xDF => 2,
                0xE0..=0xEF => 3,
                0xF0..=0xF4 => 4,
                _ => return false,
            };
            bytes.len() < length && rest.iter().all(|b| b & 0xC0 == 0x80)
        }
    }
}

fn read_some(reader: &mut dyn Read, into: &mut [u8]) -> io::Result<usize> {
    let mut seen = 0;
    while seen < into.len() {
        match reader.read(&mut into[seen..])? {
            0 => break,
            n => seen += n,
        }
    }
    Ok(seen)
}

/// A text that comes out as UTF-8.
pub(crate) struct Decoded<R> {
    inner: R,
    decoder: Decoder,
    out: Vec<u8>,
    at: usize,
    done: bool,
}

impl<R: BufRead> Decoded<R> {
    pub(crate) fn new(inner: R, encoding: &'static Encoding) -> Self {
        Self {
            inner,
            decoder: encoding.new_decoder_with_bom_removal(),
            out: Vec::new(),
            at: 0,
            done: false,
        }
    }

    fn more(&mut self) -> io::Result<()> {
        self.out.clear();
        self.at = 0;
        while self.out.is_empty() && !self.done {
            let raw = self.inner.fill_buf()?;
            let last = raw.is_empty();
            let length = raw.len();
            let mut from = 0;
            loop {
                let room = self
                    .decoder
                    .max_utf8_buffer_length_without_replacement(length - from);
                let start = self.out.len();
                self.out.resize(start + room.unwrap_or(4096).max(16), 0);
                let (result, read, written) = self.decoder.decode_to_utf8_without_replacement(
                    &raw[from..],
                    &mut self.out[start..],
                    last,
                );
                self.out.truncate(start + written);
                from += read;
                match result {
                    DecoderResult::InputEmpty => break,
                    DecoderResult::OutputFull => {}
                    DecoderResult::Malformed(..) => self.out.push(0xFF),
                }
            }
            self.inner.consume(length);
            self.done = last;
        }
        Ok(())
    }
}

impl<R: BufRead> BufRead for Decoded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.out.len() {
            self.more()?;
        }
        Ok(&self.out[self.at..])
    }

    fn consume(&mut self, n: usize) {
        self.at = (self.at + n).min(self.out.len());
    }
}

impl<R: BufRead> Read for Decoded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let have = self.fill_buf()?;
        let n = have.len().min(into.len());
        into[..n].copy_from_slice(&have[..n]);
        self.consume(n);
        Ok(n)
    }
}
