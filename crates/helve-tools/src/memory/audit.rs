//! What a look through one's memories finds: said twice, old, or not for keeping.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::kept::{Memory, likeness, pairs, plain};

/// What is wrong with memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Problem {
    /// They say the same.
    Duplicate,
    /// They say nearly the same, or the opposite.
    Similar,
    /// It was noted long ago, or its time is over.
    Stale,
    /// It holds what looks like a password or a key.
    Secret,
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Finding {
    /// What is wrong.
    pub problem: Problem,
    /// The memories that it is about.
    pub ids: Vec<String>,
    /// Why, in words. Never what the memory says.
    pub why: String,
}

/// From how much on two texts count as similar.
const SIMILAR: f64 = 0.7;
/// After how many days what speaks of today has no meaning any more.
const SOON_OVER: i64 = 30;

/// Words of texts that are about a day and not about a person.
const OF_THE_DAY: &[&str] = &[
    "today",
    "tomorrow",
    "tonight",
    "this week",
    "next week",
    "right now",
    "currently",
    "今天",
    "明天",
    "今晚",
    "本周",
    "这周",
    "下周",
    "目前",
    "现在",
];

/// Looks through memories that hold.
pub(super) fn look(memories: &[&Memory], now: Timestamp, stale_days: i64) -> Vec<Finding> {
    let mut found = Vec::new();
    let texts: Vec<String> = memories.iter().map(|m| plain(&m.content)).collect();
    let mut same: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, text) in texts.iter().enumerate() {
        same.entry(text).or_default().push(i);
    }
    let ids = |of: &[usize]| of.iter().map(|i| memories[*i].id.clone()).collect();
    for alike in same.values().filter(|alike| alike.len() > 1) {
        found.push(Finding {
            problem: Problem::Duplicate,
            ids: ids(alike),
            why: format!("{} say the same", alike.len()),
        });
    }
    for (a, b) in near(&texts) {
        found.push(Finding {
            problem: Problem::Similar,
            ids: ids(&[a, b]),
            why: "nearly the same words; one may have replaced the other".to_owned(),
        });
    }
    for memory in memories {
        let finding = |problem, why| Finding {
            problem,
            ids: vec![memory.id.clone()],
            why,
        };
        if let Some(why) = stale(memory, now, stale_days) {
            found.push(finding(Problem::Stale, why));
        }
        let whole = format!("{}\n{} {}", memory.content, memory.key, memory.value);
        if let Some(what) = secret(&whole) {
            let why = format!("it holds {what}; forget it, and purge what is kept of it");
            found.push(finding(Problem::Secret, why));
        }
    }
    found.sort();
    found
}

/// Pairs of texts that are nearly the same, and not the same. Only those are compared that
/// share one of the rarest pairs of letters of both: whoever shares seven of ten shares one of
/// any four, in the same order for all.
fn near(texts: &[String]) -> BTreeSet<(usize, usize)> {
    let sets: Vec<_> = texts.iter().map(|text| pairs(text)).collect();
    let mut count: HashMap<(char, char), usize> = HashMap::new();
    for pair in sets.iter().flatten() {
        *count.entry(*pair).or_default() += 1;
    }
    let mut having: HashMap<(char, char), Vec<usize>> = HashMap::new();
    let mut near = BTreeSet::new();
    for (i, set) in sets.iter().enumerate() {
        let mut rarest: Vec<(char, char)> = set.iter().copied().collect();
        rarest.sort_by_key(|pair| (count[pair], *pair));
        rarest.truncate(set.len() * 3 / 10 + 1);
        let mut others: Vec<usize> = Vec::new();
        for pair in rarest {
            let having = having.entry(pair).or_default();
            others.extend(&*having);
            having.push(i);
        }
        others.sort_unstable();
        others.dedup();
        let alike = others
            .into_iter()
            .filter(|j| texts[i] != texts[*j] && likeness(set, &sets[*j]) >= SIMILAR);
        near.extend(alike.map(|j| (j, i)));
    }
    near
}

fn stale(memory: &Memory, now: Timestamp, stale_days: i64) -> Option<String> {
    let noted: Timestamp = memory.created.parse().ok()?;
    let days = (now.as_second() - noted.as_second()) / 86_400;
    if days >= stale_days {
        return Some(format!("noted {days} days ago"));
    }
    let small = memory.content.to_lowercase();
    let of_the_day = OF_THE_DAY.iter().any(|word| small.contains(word));
    (of_the_day && days >= SOON_OVER).then(|| format!("about a day {days} days ago"))
}

/// What a text holds that is not for keeping.
pub(super) fn secret(text: &str) -> Option<&'static str> {
    if text.contains("-----BEGIN ") && text.contains("PRIVATE KEY") {
        return Some("a private key");
    }
    if text.split_whitespace().any(is_token) {
        return Some("what looks like an access key");
    }
    let small = text.to_lowercase();
    let words = [
        "password",
        "passwd",
        "passphrase",
        "api key",
        "apikey",
        "密码",
        "口令",
        "密钥",
    ];
    let told = words.iter().any(|word| {
        small.match_indices(word).any(|(at, _)| {
            let rest = small[at + word.len()..].trim_start();
            let rest = ["is", ":", "=", "：", "是", "为"]
                .iter()
                .find_map(|sign| rest.strip_prefix(sign));
            rest.is_some_and(|rest| rest.trim_start().chars().take(4).count() == 4)
        })
    });
    told.then_some("a password")
}

/// Whether a word is a key by its look.
fn is_token(word: &str) -> bool {
    const BEGIN: &[&str] = &[
        "sk-",
        "sk_live_",
        "ghp_",
        "gho_",
        "github_pat_",
        "glpat-",
        "AKIA",
        "xoxb-",
        "xoxp-",
        "AIza",
        "eyJ",
    ];
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
    // Where it stands behind `key=`.
    let word = word.rsplit(['=', ':', '"', '\'']).next().unwrap_or(word);
    word.len() >= 16 && BEGIN.iter().any(|begin| word.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        /// What is found by looking at some is what is found by comparing all.
        #[test]
        fn whoever_is_near_is_found(texts in prop::collection::vec("[a-d ]{0,14}", 0..14)) {
            let sets: Vec<_> = texts.iter().map(|text| pairs(text)).collect();
            let mut all = BTreeSet::new();
            for i in 0..texts.len() {
                let alike = (i + 1..texts.len()).filter(|j| {
                    texts[i] != texts[*j] && likeness(&sets[i], &sets[*j]) >= SIMILAR
                });
                all.extend(alike.map(|j| (i, j)));
            }
            prop_assert_eq!(near(&texts), all);
        }
    }
}
