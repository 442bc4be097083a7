//! The lines that differ.

use imara_diff::{Algorithm, Diff, InternedInput, sources::byte_lines};

/// Lines that differ, with some around them.
#[derive(Debug)]
pub(super) struct Hunk {
    /// First line before, from 1, and how many.
    pub(super) before: (u32, u32),
    /// The same after.
    pub(super) after: (u32, u32),
    /// Each with what became of it.
    pub(super) lines: Vec<(Sign, Vec<u8>)>,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Same,
    Removed,
    Added,
}

impl Sign {
    pub(super) fn byte(self) -> u8 {
        match self {
            Self::Same => b' ',
            Self::Removed => b'-',
            Self::Added => b'+',
        }
    }
}

/// The hunks between two texts, each line with its end.
pub(super) fn hunks(before: &[u8], after: &[u8], context: u32) -> Vec<Hunk> {
    let input = InternedInput::new(byte_lines(before), byte_lines(after));
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let line = |token: &imara_diff::Token| input.interner[*token].to_vec();
    let (total, total_after) = (input.before.len() as u32, input.after.len() as u32);

    // Changes that are near each other share a hunk.
    let mut groups: Vec<Vec<imara_diff::Hunk>> = Vec::new();
    for hunk in diff.hunks() {
        match groups.last_mut() {
            Some(group)
                if group
                    .last()
                    .is_some_and(|l| hunk.before.start - l.before.end <= 2 * context) =>
            {
                group.push(hunk);
            }
            _ => groups.push(vec![hunk]),
        }
    }
    let mut out = Vec::new();
    for group in groups {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let start = first.before.start.saturating_sub(context);
        let start_after = first.after.start - (first.before.start - start);
        let end = (last.before.end + context).min(total);
        let end_after = (last.after.end + (end - last.before.end)).min(total_after);
        let mut lines = Vec::new();
        let mut at = start;
        let same = |from: u32, to: u32, lines: &mut Vec<(Sign, Vec<u8>)>| {
            for token in &input.before[from as usize..to as usize] {
                lines.push((Sign::Same, line(token)));
            }
        };
        for hunk in &group {
            same(at, hunk.before.start, &mut lines);
            for token in &input.before[hunk.before.start as usize..hunk.before.end as usize] {
                lines.push((Sign::Removed, line(token)));
            }
            for token in &input.after[hunk.after.start as usize..hunk.after.end as usize] {
                lines.push((Sign::Added, line(token)));
            }
            at = hunk.before.end;
        }
        same(at, end, &mut lines);
        let number = |start: u32, count: u32| (if count == 0 { start } else { start + 1 }, count);
        out.push(Hunk {
            before: number(start, end - start),
            after: number(start_after, end_after - start_after),
            lines,
        });
    }
    out
}

impl Hunk {
    /// As it stands in a diff.
    pub(super) fn text(&self) -> Vec<u8> {
        let (b, a) = (self.before, self.after);
        let mut out = format!("@@ -{},{} +{},{} @@\n", b.0, b.1, a.0, a.1).into_bytes();
        for (sign, line) in &self.lines {
            out.push(sign.byte());
            out.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                out.extend_from_slice(b"\n\\ No newline at end of file\n");
            }
        }
        out
    }
}
