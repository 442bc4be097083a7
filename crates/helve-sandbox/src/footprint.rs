//! How much of this process's own program file is in its memory.
//!
//! A start goes through far more code than any call later. What it touched stays mapped, with
//! 64 KB around each page, although nobody needs it any more; and what is mapped is looked at
//! whenever a process is made of this one.

use std::ffi::{c_int, c_void};
use std::io;

/// Lets go of the code and the constants that are mapped of this program's file. Nothing is
/// lost: whatever is touched again comes back out of the system's cache of files.
pub fn let_go_of_code() -> io::Result<()> {
    for (start, length) in constant() {
        // SAFETY: the range is a segment of the program that is loaded to be read only, for as long
        // as the process lives, so that each of its pages can be had again as it is in the file.
        let dropped = unsafe { libc::madvise(start as *mut _, length, libc::MADV_DONTNEED) };
        if dropped != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// The segments of this program that are never written, from page to page: what is relocated
/// when it is loaded, and made read only then, is not among them.
fn constant() -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    // SAFETY: the function gets back exactly this vector, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(segments), (&raw mut found).cast()) };
    found
}

/// Called with each object that is loaded; the program itself is the first.
unsafe extern "C" fn segments(
    object: *mut libc::dl_phdr_info,
    _size: usize,
    found: *mut c_void,
) -> c_int {
    // SAFETY: the caller hands over an object, its table of segments, and what it was given.
    let (object, found, table) = unsafe {
        let object = &*object;
        let found = &mut *found.cast::<Vec<(usize, usize)>>();
        let count = usize::from(object.dlpi_phnum);
        let table = std::slice::from_raw_parts(object.dlpi_phdr, count);
        (object, found, table)
    };
    // SAFETY: it asks for a number, and touches no memory of ours.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let page = usize::try_from(page).unwrap_or(1 << 16);
    let read_only = table
        .iter()
        .filter(|segment| segment.p_type == libc::PT_LOAD && segment.p_flags & libc::PF_W == 0);
    found.extend(read_only.map(|segment| {
        let start = (object.dlpi_addr + segment.p_vaddr) as usize;
        let end = (start + segment.p_memsz as usize).next_multiple_of(page);
        let start = start - start % page;
        (start, end - start)
    }));
    // The others are not of the program.
    1
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use super::*;

    /// The place, the access and the resident kB of each mapping of this program's file.
    fn mappings() -> Vec<((usize, usize), String, u64)> {
        let program = fs::read_link("/proc/self/exe").unwrap();
        let program = program.to_str().unwrap();
        let mut found: Vec<((usize, usize), String, u64)> = Vec::new();
        let mut here = false;
        for line in fs::read_to_string("/proc/self/smaps").unwrap().lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let Some((start, end)) = words[0].split_once('-') {
                here = line.ends_with(program);
                let place = |text| usize::from_str_radix(text, 16).unwrap();
                let range = (place(start), place(end) - place(start));
                found.extend(here.then(|| (range, words[1].to_owned(), 0)));
            } else if here && words[0] == "Rss:" {
                found.last_mut().unwrap().2 = words[1].parse().unwrap();
            }
        }
        found
    }

    #[test]
    fn what_is_let_go_of_is_mapped_to_be_read_only() {
        let (constant, mapped) = (constant(), mappings());
        assert!(!constant.is_empty());
        for range in &constant {
            let found = mapped.iter().find(|(place, ..)| place == range).unwrap();
            assert!(matches!(&found.1[..], "r--p" | "r-xp"), "{found:?}");
        }
        let code = mapped.iter().filter(|(_, access, _)| access == "r-xp");
        for (range, ..) in code {
            assert!(constant.contains(range), "{constant:x?} {range:x?}");
        }
    }

    #[test]
    fn code_comes_back_when_it_is_needed() {
        let tried = || (0..500).map(|n| format!("{n:?}")).collect::<String>();
        let code = || -> u64 {
            let all = mappings().into_iter();
            all.filter(|(_, access, _)| access == "r-xp")
                .map(|m| m.2)
                .sum()
        };
        let (before, mapped) = (tried(), code());
        let_go_of_code().unwrap();
        let left = code();
        assert!(left < mapped, "{left} kB of {mapped} are left");
        assert_eq!(tried(), before);
    }
}
