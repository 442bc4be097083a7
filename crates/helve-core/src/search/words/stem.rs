//! Light stemming of English.
//!
//! Endings that only inflect are taken off, and the few that make a doer or a deed
//! of a verb; nothing is cut back to a root, because `general` and `generate`, or
//! `organ` and `organization`, are different tools.

use std::borrow::Cow;

/// Forms that no ending explains. Sorted by the first.
pub(super) const IRREGULAR: &[(&str, &str)] = &[
    ("analyses", "analyz"),
    ("analysis", "analyz"),
    ("analytic", "analyz"),
    ("analytical", "analyz"),
    ("analytics", "analyz"),
    ("bought", "buy"),
    ("built", "build"),
    ("children", "child"),
    ("chose", "choos"),
    ("chosen", "choos"),
    ("customer", "customer"),
    ("customers", "customer"),
    ("daily", "day"),
    ("drawn", "draw"),
    ("driven", "driv"),
    ("feet", "foot"),
    ("found", "find"),
    ("given", "giv"),
    ("held", "hold"),
    ("hourly", "hour"),
    ("indices", "index"),
    ("kept", "keep"),
    ("knives", "knif"),
    ("lives", "lif"),
    ("loaned", "loan"),
    ("lost", "los"),
    ("made", "mak"),
    ("matrices", "matrix"),
    ("men", "man"),
    ("met", "meet"),
    ("mice", "mous"),
    ("movies", "movi"),
    ("news", "news"),
    ("paid", "pay"),
    ("people", "person"),
    ("ran", "run"),
    ("red", "red"),
    ("sent", "send"),
    ("series", "series"),
    ("sold", "sell"),
    ("species", "species"),
    ("spent", "spend"),
    ("spoken", "speak"),
    ("taken", "tak"),
    ("taught", "teach"),
    ("taxes", "tax"),
    ("teeth", "tooth"),
    ("thought", "think"),
    ("vertices", "vertex"),
    ("weather", "weather"),
    ("weekly", "week"),
    ("wives", "wif"),
    ("women", "woman"),
    ("written", "writ"),
    ("wrote", "writ"),
    ("yearly", "year"),
];

/// The stem of a word in small letters.
pub(crate) fn stem(word: &str) -> Cow<'_, str> {
    if word.len() < 3 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return Cow::Borrowed(word);
    }
    if let Ok(i) = IRREGULAR.binary_search_by_key(&word, |(form, _)| form) {
        return Cow::Borrowed(IRREGULAR[i].1);
    }
    let mut stem = singular(word);
    for rule in [verb, doer, spelling] {
        stem = match stem {
            Cow::Borrowed(s) => rule(s),
            Cow::Owned(s) => Cow::Owned(rule(&s).into_owned()),
        };
    }
    stem
}

fn singular(word: &str) -> Cow<'_, str> {
    if word.len() < 4 || !word.ends_with('s') {
        return Cow::Borrowed(word);
    }
    for kept in ["ss", "us", "is"] {
        if word.ends_with(kept) {
            return Cow::Borrowed(word);
        }
    }
    if let Some(s) = word.strip_suffix("ies") {
        return match s.len() > 2 {
            true => Cow::Owned(format!("{s}y")),
            false => Cow::Owned(format!("{s}ie")),
        };
    }
    for ending in ["sses", "xes", "ches", "shes", "zzes"] {
        if word.ends_with(ending) {
            return Cow::Borrowed(&word[..word.len() - 2]);
        }
    }
    Cow::Borrowed(&word[..word.len() - 1])
}

fn has_vowel(stem: &str) -> bool {
    stem.bytes().any(|b| b"aeiouy".contains(&b))
}

fn verb(word: &str) -> Cow<'_, str> {
    for ending in ["ing", "ed"] {
        if let Some(s) = word.strip_suffix(ending)
            && s.len() >= 3
            && has_vowel(s)
            && !(ending == "ed" && s.ends_with('e'))
        {
            return Cow::Borrowed(undoubled(s));
        }
    }
    Cow::Borrowed(word)
}

/// `plann` is `plan`, but `fill` stays.
fn undoubled(stem: &str) -> &str {
    let bytes = stem.as_bytes();
    let (Some(last), Some(before)) = (bytes.last(), bytes.iter().rev().nth(1)) else {
        return stem;
    };
    match last == before && b"bdgkmnprt".contains(last) && stem.len() > 3 {
        true => &stem[..stem.len() - 1],
        false => stem,
    }
}

fn doer(word: &str) -> Cow<'_, str> {
    if let Some(s) = word.strip_suffix("isation").filter(|s| s.len() > 2) {
        return Cow::Owned(format!("{s}iz"));
    }
    for (ending, taken, least) in [
        ("ization", 5, 3),
        ("ation", 3, 3),
        ("ition", 3, 3),
        ("ction", 3, 2),
        ("ssion", 3, 2),
        ("ution", 3, 3),
        ("ator", 2, 3),
        ("ctor", 2, 3),
        ("itor", 2, 3),
    ] {
        if let Some(s) = word.strip_suffix(ending) {
            return match s.len() >= least {
                true => Cow::Borrowed(&word[..word.len() - taken]),
                false => Cow::Borrowed(word),
            };
        }
    }
    if let Some(s) = word
        .strip_suffix("er")
        .filter(|s| s.len() >= 5 && has_vowel(s))
    {
        return Cow::Borrowed(undoubled(s));
    }
    if word.len() > 6
        && let Some(s) = word.strip_suffix("ly")
    {
        return Cow::Borrowed(s);
    }
    Cow::Borrowed(word)
}

/// British and American alike, and no silent `e`.
fn spelling(word: &str) -> Cow<'_, str> {
    if word.len() > 5
        && let Some(s) = word
            .strip_suffix("ise")
            .or_else(|| word.strip_suffix("is"))
            .filter(|s| s.len() > 4)
    {
        return Cow::Owned(format!("{s}iz"));
    }
    if word.len() > 5
        && let Some(s) = word
            .strip_suffix("yse")
            .or_else(|| word.strip_suffix("ys"))
            .filter(|s| s.len() > 3)
    {
        return Cow::Owned(format!("{s}yz"));
    }
    if word.len() > 5
        && let Some(s) = word.strip_suffix("our").filter(|s| s.len() >= 3)
    {
        return Cow::Owned(format!("{s}or"));
    }
    match word.len() > 3 && word.ends_with('e') && !word.ends_with("ee") {
        true => Cow::Borrowed(&word[..word.len() - 1]),
        false => Cow::Borrowed(word),
    }
}
