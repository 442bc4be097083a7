//! How much of this process's own program file is in its memory.
//!
//! A start goes through far more code than any call later. What it touched stays mapped, with
//! 64 KB around each page, although nobody needs it any more; and what is mapped is looked at
//! whenever a process is made of this one.

use std::fs;
use std::io;
use std::path::Path;

/// Lets go of the code and the constants that are mapped of this program's file. Nothing is
/// lost: whatever is touched again comes back out of the system's cache of files.
pub fn let_go_of_code() -> io::Result<()> {
    let program = fs::read_link("/proc/self/exe")?;
    let maps = fs::read_to_string("/proc/self/smaps")?;
    for (start, length) in droppable(&maps, &program) {
        // SAFETY: the range is a private mapping of a file that cannot be written and of which
        // no page was ever changed, so that each of its pages can be had again as it is.
        // Nothing else is ever mapped at the place of the program itself.
        let dropped = unsafe { libc::madvise(start as *mut _, length, libc::MADV_DONTNEED) };
        if dropped != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Where the file is mapped to be read only, and none of its pages is this process's own.
fn droppable(maps: &str, program: &Path) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut last = None;
    for line in maps.lines() {
        if let Some(mapping) = mapping(line) {
            let (range, access, file) = mapping;
            let read_only = matches!(access, "r--p" | "r-xp");
            last = Some(range).filter(|_| read_only && Path::new(file) == program);
        } else if let Some(own) = line.strip_prefix("Anonymous:") {
            found.extend(last.take().filter(|_| own.trim() == "0 kB"));
        }
    }
    found
}

type Mapping<'l> = ((usize, usize), &'l str, &'l str);

/// The first line of a mapping: its place and length, its access, and its file.
fn mapping(line: &str) -> Option<Mapping<'_>> {
    let (place, rest) = line.split_once(' ')?;
    let (start, end) = place.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    // Access, offset, device and number; then the file, whose name may have spaces.
    let mut words = rest.splitn(5, ' ');
    let access = words.next()?;
    let file = words.nth(3).unwrap_or_default().trim_start();
    Some(((start, end.checked_sub(start)?), access, file))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const MAPS: &str = "\
1000-3000 r--p 00000000 fe:00 5320082                    /opt/a b
Rss:                   8 kB
Anonymous:             0 kB
3000-4000 r-xp 00002000 fe:00 5320082                    /opt/a b
Anonymous:             0 kB
4000-5000 r--p 00003000 fe:00 5320082                    /opt/a b
Anonymous:             4 kB
5000-6000 rw-p 00004000 fe:00 5320082                    /opt/a b
Anonymous:             0 kB
6000-7000 r-xp 00000000 fe:00 7                          /opt/a
Anonymous:             0 kB
7000-8000 r--p 00000000 00:00 0 
Anonymous:             0 kB
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]
Anonymous:             0 kB
";

    #[test]
    fn only_what_is_as_the_file_has_it_is_let_go_of() {
        let found = droppable(MAPS, Path::new("/opt/a b"));
        assert_eq!(found, [(0x1000, 0x2000), (0x3000, 0x1000)]);
        assert_eq!(droppable(MAPS, Path::new("/opt/b")), []);
    }

    /// How many kB of code of this program are mapped.
    fn code() -> u64 {
        let program = fs::read_link("/proc/self/exe").unwrap();
        let maps = fs::read_to_string("/proc/self/smaps").unwrap();
        let (mut here, mut sum) = (false, 0);
        for line in maps.lines() {
            if let Some((_, access, file)) = mapping(line) {
                here = access == "r-xp" && Path::new(file) == program;
            } else if let Some(size) = line.strip_prefix("Rss:").filter(|_| here) {
                sum += size.trim().trim_end_matches(" kB").parse::<u64>().unwrap();
            }
        }
        sum
    }

    #[test]
    fn code_comes_back_when_it_is_needed() {
        let tried = || (0..500).map(|n| format!("{n:?}")).collect::<String>();
        let (before, mapped) = (tried(), code());
        let_go_of_code().unwrap();
        let left = code();
        assert!(left < mapped, "{left} kB of {mapped} are left");
        assert_eq!(tried(), before);
    }
}
