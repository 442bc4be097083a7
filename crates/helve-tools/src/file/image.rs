//! What a file is that is no text, by its first bytes.

/// What is known of a file by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) mime: &'static str,
    /// Width and height, of an image that tells them at once.
    pub(super) size: Option<(u32, u32)>,
}

impl Known {
    pub(super) fn is_image(self) -> bool {
        self.mime.starts_with("image/")
    }
}

/// What begins like this, and is no text.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xFF\xD8\xFF", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"\0\0\x01\0", "image/x-icon"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xFD7zXZ\0", "application/x-xz"),
    (b"\x28\xB5\x2F\xFD", "application/zstd"),
    (b"7z\xBC\xAF\x27\x1C", "application/x-7z-compressed"),
    (b"\x7FELF", "application/x-elf"),
    (b"\0asm", "application/wasm"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
];

/// What a file is that begins with these bytes.
pub(super) fn known(head: &[u8]) -> Option<Known> {
    let riff = |kind: &[u8]| head.starts_with(b"RIFF") && head.get(8..12) == Some(kind);
    let iso = |kind: &[u8]| head.get(4..8) == Some(b"ftyp") && head.get(8..12) == Some(kind);
    let found = MAGIC.iter().find(|(magic, _)| head.starts_with(magic));
    let mime = match found {
        Some((_, mime)) => mime,
        None if riff(b"WEBP") => "image/webp",
        None if riff(b"WAVE") => "audio/wav",
        None if iso(b"avif") => "image/avif",
        None if iso(b"heic") => "image/heic",
        None if head.get(4..8) == Some(b"ftyp") => "video/mp4",
        // Two letters are little; the length of the file and the header tell more.
        None if head.starts_with(b"BM") && head.get(6..10) == Some(&[0; 4]) => "image/bmp",
        None => return None,
    };
    let size = match mime {
        "image/png" => big(head, 16).zip(big(head, 20)),
        "image/gif" => short(head, 6).zip(short(head, 8)),
        "image/jpeg" => jpeg(head),
        "image/webp" => webp(head),
        _ => None,
    };
    Some(Known { mime, size })
}

fn big(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_be_bytes(four))
}

fn short(bytes: &[u8], at: usize) -> Option<u32> {
    let two = bytes.get(at..at + 2)?.try_into().ok()?;
    Some(u16::from_le_bytes(two).into())
}

/// From segment to segment, to the one that begins a frame.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| {
        Some(u32::from(u16::from_be_bytes(
            bytes.get(at..at + 2)?.try_into().ok()?,
        )))
    };
    let mut at = 2;
    loop {
        let kind = match bytes.get(at..at + 2)? {
            [0xFF, kind] => *kind,
            _ => return None,
        };
        let frame = matches!(kind, 0xC0..=0xCF) && !matches!(kind, 0xC4 | 0xC8 | 0xCC);
        if frame {
            return number(at + 7).zip(number(at + 5));
        }
        at += 2 + number(at + 2)? as usize;
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    let three = |at: usize| {
        let [a, b, c] = bytes.get(at..at + 3)?.try_into().ok()?;
        Some(u32::from_le_bytes([a, b, c, 0]))
    };
    match bytes.get(12..16)? {
        b"VP8X" => Some((three(24)? + 1, three(27)? + 1)),
        b"VP8 " => Some((short(bytes, 26)? & 0x3FFF, short(bytes, 28)? & 0x3FFF)),
        b"VP8L" => {
            let bits = u32::from_le_bytes(bytes.get(21..25)?.try_into().ok()?);
            Some(((bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1))
        }
        _ => None,
    }
}
