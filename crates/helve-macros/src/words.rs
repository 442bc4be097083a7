//! The rules of a definition that are checked while compiling.
//!
//! `helve-core` has the same ones for definitions in files; the tests here hold
//! each against its twin.

use std::time::Duration;

/// The most characters that a name may have.
const MAX_NAME: usize = 64;

/// Each level of risk, and the variant that stands for it.
pub(crate) const RISKS: [(&str, &str); 4] = [
    ("read", "Read"),
    ("exec_low", "ExecLow"),
    ("exec_high", "ExecHigh"),
    ("write", "Write"),
];

/// The most retries, and the longest wait before one, in milliseconds.
pub(crate) const MAX_RETRIES: u64 = 100;
pub(crate) const MAX_DELAY_MS: u64 = 3_600_000;

/// The full name of a tool in a group, which may be written out already.
pub(crate) fn in_group(group: &str, name: &str) -> String {
    match name.strip_prefix(group).is_some_and(|r| r.starts_with('_')) {
        true => name.to_owned(),
        false => format!("{group}_{name}"),
    }
}

/// Why a text is not a tool's name.
pub(crate) fn name_problem(name: &str) -> Option<String> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let length = name.chars().count();
    match name.chars().find(|c| !allowed(*c)) {
        _ if name.is_empty() => Some("the name is empty".to_owned()),
        Some(found) => Some(format!(
            "the name `{}` has `{}`; only small letters, digits and underscores are allowed",
            name.escape_debug(),
            found.escape_debug(),
        )),
        None if !name.starts_with(|c: char| c.is_ascii_lowercase()) => {
            Some(format!("the name `{name}` must begin with a small letter"))
        }
        None if length > MAX_NAME => Some(format!(
            "the name has {length} characters, more than the {MAX_NAME} allowed"
        )),
        None => None,
    }
}

/// The same name as it could be written, if one can be had without guessing.
pub(crate) fn canonical(name: &str) -> Option<String> {
    let mut out = String::new();
    let mut last = '_';
    for c in name.chars() {
        match c {
            'A'..='Z' => {
                if last.is_ascii_lowercase() || last.is_ascii_digit() {
                    out.push('_');
                }
                out.push(c.to_ascii_lowercase());
            }
            '-' | '.' | ':' | '/' | ' ' => out.push('_'),
            _ => out.push(c),
        }
        last = c;
    }
    name_problem(&out).is_none().then_some(out)
}

/// Whether an alias is a name that some vendor could have given.
pub(crate) fn is_foreign(alias: &str) -> bool {
    (1..=128).contains(&alias.len())
        && alias
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_.:/-".contains(&b))
}

/// A time with its unit: whole milliseconds, above zero, at most a year.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (digits, unit) = text.split_at(split);
    let scale = match unit.trim() {
        "ms" => 1.0,
        "s" => 1_000.0,
        "m" | "min" => 60_000.0,
        "h" => 3_600_000.0,
        _ => return None,
    };
    within_a_year(digits.trim().parse::<f64>().ok()? * scale)
}

/// A time in seconds, under the same limits.
pub(crate) fn seconds(seconds: u64) -> Option<Duration> {
    within_a_year(seconds as f64 * 1_000.0)
}

fn within_a_year(millis: f64) -> Option<Duration> {
    let year = 365.0 * 24.0 * 3_600_000.0;
    let millis = millis.round();
    (1.0..=year)
        .contains(&millis)
        .then(|| Duration::from_millis(millis as u64))
}

/// What a word was probably meant to be, as the end of a sentence.
pub(crate) fn did_you_mean(word: &str, known: &[&str]) -> String {
    let near = |k: &&&str| strsim::jaro_winkler(&word.to_ascii_lowercase(), k);
    let best = known.iter().max_by(|a, b| near(a).total_cmp(&near(b)));
    match best.filter(|k| near(k) >= 0.75) {
        Some(best) => format!("did you mean `{best}`?"),
        None => format!("known: `{}`", known.join("`, `")),
    }
}

#[cfg(test)]
mod tests;
