//! What is mounted where, as `/proc/self/mountinfo` tells it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Which folder of its file system is seen.
    pub(crate) root: PathBuf,
    /// Where.
    pub(crate) point: PathBuf,
    /// The kind of its file system.
    pub(crate) kind: String,
    /// The options of the file system, with commas between.
    pub(crate) options: String,
}

/// Where something is mounted inside a folder, if anything is: an overlay does not show it.
pub fn mounted_inside(folder: &Path) -> io::Result<Option<PathBuf>> {
    let inside = |point: &PathBuf| point != folder && point.starts_with(folder);
    Ok(points()?.into_iter().find(inside))
}

/// Where something is mounted.
pub(crate) fn points() -> io::Result<Vec<PathBuf>> {
    Ok(all()?.into_iter().map(|mount| mount.point).collect())
}

/// All mounts that this process sees.
pub(crate) fn all() -> io::Result<Vec<Mount>> {
    let text = fs::read("/proc/self/mountinfo")?;
    Ok(text.split(|byte| *byte == b'\n').filter_map(read).collect())
}

fn read(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let (root, point) = (fields.nth(3)?, fields.next()?);
    let mut rest = fields.skip_while(|field| *field != b"-").skip(1);
    let (kind, options) = (rest.next()?, rest.nth(1)?);
    Some(Mount {
        root: unescape(root),
        point: unescape(point),
        kind: String::from_utf8_lossy(kind).into_owned(),
        options: String::from_utf8_lossy(options).into_owned(),
    })
}

/// Space, tab, newline and backslash stand as three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((byte, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| *byte == b'\\');
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(code) => {
                plain.push(code);
                rest = &after[3..];
            }
            None => {
                plain.push(*byte);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_with_its_escapes() {
        let line = br"36 35 98:0 /mnt1 /my\040folder\134x rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let mount = Mount {
            root: "/mnt1".into(),
            point: r"/my folder\x".into(),
            kind: "ext3".to_owned(),
            options: "rw,errors=continue".to_owned(),
        };
        assert_eq!(read(line), Some(mount));
        assert_eq!(read(b""), None);
    }
}
