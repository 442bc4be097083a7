//! What stands in a file where something else was looked for.
//!
//! A model that is told only "not found" guesses again. Told which line comes nearest and
//! how it differs, it mends its call.

use helve_kernel::ToolError;

/// How many lines are compared, and how much of each.
const MOST_LINES: usize = 20_000;
const MOST_CHARS: usize = 160;

/// How alike two lines must be to be named.
const ALIKE: f64 = 0.5;

/// What is said of a text that is not there.
pub(super) fn not_found(text: &str, old: &str, shown: &str) -> ToolError {
    let error = ToolError::not_found(format!("`old_string` does not stand in `{shown}`"));
    let Some(near) = near(text, old) else {
        return error.with_hint("`file_read` shows what is there; copy it from there exactly");
    };
    let why = match near.only_spaces {
        true => "it differs only in spaces, tabs or line ends",
        false => "it comes nearest",
    };
    error.with_hint(format!(
        "line {} of the file is `{}`, where `old_string` has `{}`: {why}. Copy the text from the file exactly (`file_read` with offset {})",
        near.line, visible(near.there), visible(near.wanted), near.line
    ))
}

struct Near<'t> {
    line: usize,
    there: &'t str,
    wanted: &'t str,
    only_spaces: bool,
}

fn near<'t>(text: &'t str, old: &'t str) -> Option<Near<'t>> {
    let lines: Vec<&str> = text.lines().take(MOST_LINES).collect();
    let wanted: Vec<&str> = old.lines().collect();
    let first = wanted.iter().position(|line| !line.trim().is_empty())?;
    spaced(&lines, &wanted[first..]).or_else(|| likest(&lines, &wanted[first..]))
}

/// A place at which all lines are the same but for spaces.
fn spaced<'t>(lines: &[&'t str], wanted: &[&'t str]) -> Option<Near<'t>> {
    let same = |a: &str, b: &str| a.split_whitespace().eq(b.split_whitespace());
    let fits = |window: &&[&str]| window.iter().zip(wanted).all(|(a, b)| same(a, b));
    let at = lines.windows(wanted.len()).position(|w| fits(&w))?;
    let pairs = lines[at..].iter().zip(wanted).enumerate();
    let (more, (there, wanted)) = pairs.into_iter().find(|(_, (a, b))| a != b).or_else(|| {
        // Only the line ends differ.
        Some((0, (&lines[at], &wanted[0])))
    })?;
    Some(Near {
        line: at + more + 1,
        there,
        wanted,
        only_spaces: true,
    })
}

/// The place that shares the most: its first line that differs.
fn likest<'t>(lines: &[&'t str], wanted: &[&'t str]) -> Option<Near<'t>> {
    let short = |line: &'t str| super::super::cut(line.trim(), MOST_CHARS).0;
    let first = short(wanted[0]);
    let alike = |line: &'t str| strsim::normalized_damerau_levenshtein(short(line), first);
    let scored = lines.iter().enumerate().map(|(at, line)| (at, alike(line)));
    let (at, score) = scored.fold(
        (0, 0.0),
        |best: (usize, f64), next| {
            if next.1 > best.1 { next } else { best }
        },
    );
    if score < ALIKE {
        return None;
    }
    let mut pairs = lines[at..].iter().zip(wanted).enumerate();
    let (more, (there, wanted)) = pairs.find(|(_, (a, b))| a != b)?;
    Some(Near {
        line: at + more + 1,
        there,
        wanted,
        only_spaces: false,
    })
}

/// A line in which spaces at the ends, tabs and the like can be seen.
fn visible(line: &str) -> String {
    let (line, left) = super::super::cut(line, MOST_CHARS);
    let more = if left > 0 { "…" } else { "" };
    format!("{}{more}", line.replace('\t', "\\t").replace('\r', "\\r"))
}
