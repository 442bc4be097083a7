//! A description in the old style, taken apart.

/// What a description holds beside what the tool does.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Parts {
    pub rest: String,
    pub triggers: Vec<String>,
    pub prerequisites: Vec<String>,
    pub warnings: Vec<String>,
}

/// Which parts stay where they are.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Kept {
    pub triggers: bool,
    pub prerequisites: bool,
    pub warnings: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    When,
    Prerequisite,
    Important,
}

const MARKS: &[(&str, Mark)] = &[
    ("When you need to", Mark::When),
    ("PREREQUISITES", Mark::Prerequisite),
    ("PREREQUISITE", Mark::Prerequisite),
    ("IMPORTANT", Mark::Important),
];

pub(super) fn take_apart(text: &str) -> Parts {
    let mut parts = Parts {
        rest: without(text, Kept::default()),
        ..Parts::default()
    };
    for (mark, body) in marked(text) {
        let body = body.trim().trim_end_matches(['.', '。']).trim().to_owned();
        match mark {
            _ if body.is_empty() => {}
            Mark::When => parts.triggers.extend(triggers(&body)),
            Mark::Prerequisite => parts.prerequisites.push(body),
            Mark::Important => parts.warnings.push(body),
        }
    }
    parts
}

/// The description without the parts that moved.
pub(super) fn without(text: &str, kept: Kept) -> String {
    let mut out = String::new();
    let mut last = 0;
    for (mark, span, _) in spans(text) {
        let keep = match mark {
            Mark::When => kept.triggers,
            Mark::Prerequisite => kept.prerequisites,
            Mark::Important => kept.warnings,
        };
        if !keep {
            out.push_str(text[last..span.0].trim_end_matches(' '));
            last = span.1;
            // One space between what stood before and what comes after.
            if !out.is_empty() && !text[last..].trim_start_matches(' ').is_empty() {
                let rest = text[last..].trim_start_matches(' ');
                // A paragraph that is gone leaves no gap.
                let rest = if out.ends_with("\n\n") {
                    rest.trim_start_matches('\n')
                } else {
                    rest
                };
                last = text.len() - rest.len();
                if !rest.starts_with('\n') && !out.ends_with('\n') {
                    out.push(' ');
                }
            }
        }
    }
    if last == 0 {
        return text.to_owned();
    }
    out.push_str(&text[last..]);
    out.trim().to_owned()
}

fn marked(text: &str) -> impl Iterator<Item = (Mark, &str)> {
    spans(text).into_iter().map(|(mark, _, body)| (mark, body))
}

/// Each marked sentence: its mark, where it stands, and what follows the mark. A
/// mark has a colon behind it; without one it is a word like any other.
fn spans(text: &str) -> Vec<(Mark, (usize, usize), &str)> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let found = MARKS
            .iter()
            .flat_map(|(word, mark)| {
                text[at..]
                    .match_indices(word)
                    .map(move |(i, _)| (at + i, *word, *mark))
            })
            .filter_map(|(start, word, mark)| {
                let rest = &text[start + word.len()..];
                let body = rest.trim_start_matches(' ').strip_prefix([':', '：'])?;
                let body = text.len() - body.trim_start_matches(' ').len();
                begins_sentence(text, start).then_some((start, body, mark))
            })
            .min_by_key(|(start, body, _)| (*start, *body));
        let Some((start, body, mark)) = found else {
            break;
        };
        let end = sentence_end(text, body);
        out.push((mark, (start, end), &text[body..end]));
        at = end.max(body);
    }
    out
}

fn begins_sentence(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches(' ');
    before.is_empty()
        || before.ends_with('\n')
        || before.ends_with(['.', '!', '?', '。', '！', '？', ';', ')'])
}

/// The end of the sentence that begins at `from`: a full stop before white space
/// and a capital, or before nothing.
fn sentence_end(text: &str, from: usize) -> usize {
    for (i, c) in text[from..].char_indices() {
        let end = from + i + c.len_utf8();
        let rest = &text[end..];
        let so_far = &text[from..end];
        let abbreviated = ["e.g.", "i.e.", "etc.", "vs.", "cf."]
            .iter()
            .any(|a| so_far.ends_with(a));
        let stop = match c {
            // A line of its own ends where the line does.
            '\n' => return from + i,
            _ if abbreviated => false,
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => {
                let next = rest.trim_start();
                next.is_empty()
                    || next.len() < rest.len()
                        && !next.starts_with(|c: char| c.is_lowercase() || c == '(')
            }
            _ => false,
        };
        if stop {
            return end;
        }
    }
    text.len()
}

/// `(1) …, (2) …` as a list; otherwise the one.
fn triggers(body: &str) -> Vec<String> {
    let mut items = Vec::new();
    let mut starts = Vec::new();
    let mut number = 1;
    let mut at = 0;
    while let Some(i) = body[at..].find(&format!("({number})")) {
        let start = at + i;
        at = start + format!("({number})").len();
        starts.push((start, at));
        number += 1;
    }
    for (i, (_, from)) in starts.iter().enumerate() {
        let to = starts.get(i + 1).map_or(body.len(), |(start, _)| *start);
        items.push(&body[*from..to]);
    }
    if starts.first().is_none_or(|(start, _)| *start > 0) {
        items = vec![body];
    }
    items
        .into_iter()
        .map(|item| {
            item.trim()
                .trim_end_matches([',', ';', '，', '；', '.'])
                .trim()
        })
        .filter(|item| !item.is_empty())
        .map(|item| format!("When you need to {}", lower_first(item)))
        .collect()
}

/// `Open a page` → `open a page`, but `URL check` stays.
fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().unwrap_or_default();
    let second = chars.clone().next().unwrap_or(' ');
    match first.is_uppercase() && !second.is_uppercase() {
        true => first.to_lowercase().chain(chars).collect(),
        false => text.to_owned(),
    }
}
