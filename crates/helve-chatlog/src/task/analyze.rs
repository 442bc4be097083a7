//! What found messages show, counted.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rustc_hash::{FxHashMap, FxHashSet};
use schemars::JsonSchema;
use serde::Serialize;

use crate::render::Evidence;
use crate::text::{self, Run};
use crate::{stop, variants};

/// Messages of which each is held against each.
const MOST_PAIRED: usize = 400;
/// The most hints of each kind, and the most quotes.
const MOST: usize = 5;

/// What messages show, taken together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Analysis {
    /// How many there are.
    pub messages: usize,
    /// By whom, those who say most first.
    pub by_person: Vec<Share>,
    /// By day, or by month where it goes over more than two; in the order of time.
    pub by_time: Vec<Bucket>,
    /// The earliest, where any has a time.
    pub first: Option<u64>,
    /// The latest.
    pub last: Option<u64>,
    /// Days from the earliest to the latest.
    pub days: Option<i64>,
    /// What was said more than once.
    pub repeated: Vec<Repeated>,
    /// Where one seems to agree with another.
    pub agreement: Vec<Hint>,
    /// Where one seems to contradict another.
    pub contradiction: Vec<Hint>,
    /// What to quote: the first and the last, and what has most in common with the rest.
    pub quotes: Vec<Quote>,
    /// How many messages were too many to be held against each other.
    pub not_compared: usize,
}

/// What one person has of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Share {
    /// Who.
    pub sender: String,
    /// How many messages.
    pub messages: usize,
    /// Their earliest line.
    pub first: u64,
    /// Their latest.
    pub last: u64,
}

/// How many in a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Bucket {
    /// The day or month.
    pub time: String,
    /// How many messages.
    pub messages: usize,
}

/// Something said more than once, in much the same words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Repeated {
    /// As it was said first.
    pub text: String,
    /// Where.
    pub lines: Vec<u64>,
    /// By whom.
    pub senders: Vec<String>,
}

/// Two messages that seem to agree or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Hint {
    /// The earlier one.
    pub one: u64,
    /// The later one.
    pub other: u64,
    /// What it is seen by.
    pub why: &'static str,
}

/// A message to quote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Quote {
    /// Its number.
    pub line: u64,
    /// Who says it.
    pub sender: String,
    /// What it says.
    pub text: String,
}

/// Counts what messages show.
#[must_use]
pub fn analyze(evidence: &[Evidence<'_>], zone: &TimeZone) -> Analysis {
    let mut order: Vec<&Evidence<'_>> = evidence.iter().collect();
    order.sort_by_key(|m| (m.time.is_none(), m.time, m.line));
    order.dedup_by_key(|m| m.line);
    let timed: Vec<&&Evidence<'_>> = order.iter().filter(|m| m.time.is_some()).collect();
    let read: Vec<Read<'_>> = order
        .iter()
        .take(MOST_PAIRED)
        .map(|m| Read::new(m))
        .collect();
    let mut analysis = Analysis {
        messages: order.len(),
        by_person: by_person(&order),
        by_time: by_time(&order, zone),
        first: timed.first().map(|m| m.line),
        last: timed.last().map(|m| m.line),
        days: timed
            .first()
            .and_then(|first| Some(timed.last()?.time?.checked_sub(first.time?)? / 86_400_000)),
        not_compared: order.len() - read.len(),
        quotes: quotes(&order, &read),
        ..Analysis::default()
    };
    compare(&read, &mut analysis);
    analysis
}

fn by_person(order: &[&Evidence<'_>]) -> Vec<Share> {
    let mut shares: Vec<Share> = Vec::new();
    let mut places: FxHashMap<&str, usize> = FxHashMap::default();
    for message in order {
        let place = *places.entry(message.sender).or_insert_with(|| {
            shares.push(Share {
                sender: message.sender.to_owned(),
                messages: 0,
                first: message.line,
                last: message.line,
            });
            shares.len() - 1
        });
        shares[place].messages += 1;
        shares[place].last = message.line;
    }
    shares.sort_by_key(|share| std::cmp::Reverse(share.messages));
    shares
}

fn by_time(order: &[&Evidence<'_>], zone: &TimeZone) -> Vec<Bucket> {
    let dates: Vec<_> = order
        .iter()
        .filter_map(|m| Timestamp::from_millisecond(m.time?).ok())
        .map(|time| time.to_zoned(zone.clone()).date())
        .collect();
    let months: FxHashSet<(i16, i8)> = dates.iter().map(|d| (d.year(), d.month())).collect();
    let mut buckets: BTreeMap<String, usize> = BTreeMap::new();
    for date in dates {
        let label = if months.len() > 2 {
            date.strftime("%Y-%m").to_string()
        } else {
            date.to_string()
        };
        *buckets.entry(label).or_insert(0) += 1;
    }
    buckets
        .into_iter()
        .map(|(time, messages)| Bucket { time, messages })
        .collect()
}

/// A message, with what is held against others.
struct Read<'m> {
    message: &'m Evidence<'m>,
    terms: FxHashSet<u64>,
    numbers: FxHashSet<String>,
    denies: bool,
    agrees: bool,
    disagrees: bool,
}

const DENIALS: [&str; 14] = [
    "not", "no", "never", "n't", "cannot", "without", "不", "没", "別", "别", "未", "非", "沒",
    "无",
];
const ASSENTS: [&str; 16] = [
    "agree",
    "agreed",
    "exactly",
    "indeed",
    "of course",
    "right",
    "true",
    "+1",
    "yes",
    "同意",
    "没错",
    "对的",
    "确实",
    "赞成",
    "是的",
    "正是",
];
const DISSENTS: [&str; 12] = [
    "disagree",
    "wrong",
    "nonsense",
    "not true",
    "on the contrary",
    "不同意",
    "不对",
    "错了",
    "胡说",
    "不是这样",
    "反对",
    "并非",
];

impl<'m> Read<'m> {
    fn new(message: &'m Evidence<'m>) -> Self {
        let stemmer = text::english();
        let mut terms = FxHashSet::default();
        let mut numbers = FxHashSet::default();
        text::runs(message.text, |run| match run {
            Run::Cjk(run) => {
                let letters: Vec<char> = run
                    .chars()
                    .map(variants::simplified)
                    .filter(|c| !stop::is_particle(*c))
                    .collect();
                terms.extend(
                    letters
                        .windows(2)
                        .map(|pair| text::key(2, pair.iter().copied())),
                );
            }
            Run::Word { word, .. } if word.starts_with(|c: char| c.is_ascii_digit()) => {
                numbers.insert(word.to_owned());
            }
            Run::Word { word, .. } => {
                let folded: String = word.chars().map(text::fold_char).collect();
                if !stop::is_stop(&folded) {
                    terms.insert(text::key(3, text::stem(&stemmer, word).chars()));
                }
            }
        });
        let folded = text::fold(message.text);
        let short = folded.chars().count() <= 60;
        let says = |words: &[&str]| {
            words.iter().any(
                |word| match word.is_ascii() && !word.contains(['+', ' ', '\'']) {
                    true => folded
                        .split(|c: char| !c.is_alphanumeric())
                        .any(|w| w == *word),
                    false => folded.contains(word),
                },
            )
        };
        let disagrees = short && says(&DISSENTS);
        Self {
            message,
            terms,
            numbers,
            denies: says(&DENIALS),
            agrees: short && !disagrees && says(&ASSENTS),
            disagrees,
        }
    }

    /// What share of the terms of both is in both.
    fn likeness(&self, other: &Self) -> f64 {
        if self.terms.len() < 2 || other.terms.len() < 2 {
            return 0.0;
        }
        let both = self
            .terms
            .iter()
            .filter(|term| other.terms.contains(term))
            .count() as f64;
        both / (self.terms.len() + other.terms.len()) as f64 * 2.0
    }
}

fn compare(read: &[Read<'_>], analysis: &mut Analysis) {
    let mut grouped = vec![false; read.len()];
    for (n, one) in read.iter().enumerate() {
        let mut same: Vec<usize> = vec![n];
        for (m, other) in read.iter().enumerate().skip(n + 1) {
            let likeness = one.likeness(other);
            let by_another = one.message.sender != other.message.sender;
            let pair = |why| Hint {
                one: one.message.line,
                other: other.message.line,
                why,
            };
            if likeness >= 0.5 && one.denies != other.denies {
                push(
                    &mut analysis.contradiction,
                    pair("much the same words, and only one denies"),
                );
            } else if likeness >= 0.6
                && one.numbers != other.numbers
                && !one.numbers.is_empty()
                && !other.numbers.is_empty()
            {
                push(
                    &mut analysis.contradiction,
                    pair("much the same words with other numbers"),
                );
            } else if likeness >= 0.7 {
                if by_another {
                    push(
                        &mut analysis.agreement,
                        pair("much the same words by another"),
                    );
                }
                if !grouped[m] {
                    same.push(m);
                }
            }
            if m == n + 1 && by_another && one.message.chat == other.message.chat {
                if other.disagrees {
                    push(&mut analysis.contradiction, pair("the answer says no"));
                } else if other.agrees {
                    push(&mut analysis.agreement, pair("the answer says yes"));
                }
            }
        }
        if same.len() > 1 && !grouped[n] && analysis.repeated.len() < MOST {
            same.iter().for_each(|&m| grouped[m] = true);
            let mut senders: Vec<String> = Vec::new();
            for &m in &same {
                if !senders.iter().any(|s| s == read[m].message.sender) {
                    senders.push(read[m].message.sender.to_owned());
                }
            }
            analysis.repeated.push(Repeated {
                text: one.message.text.to_owned(),
                lines: same.iter().map(|&m| read[m].message.line).collect(),
                senders,
            });
        }
    }
}

fn push(to: &mut Vec<Hint>, hint: Hint) {
    if to.len() < MOST {
        to.push(hint);
    }
}

fn quotes(order: &[&Evidence<'_>], read: &[Read<'_>]) -> Vec<Quote> {
    let mut common: FxHashMap<u64, f64> = FxHashMap::default();
    for term in read.iter().flat_map(|one| &one.terms) {
        *common.entry(*term).or_insert(0.0) += 1.0;
    }
    let mut central: Vec<(f64, &Evidence<'_>)> = read
        .iter()
        .map(|one| {
            let sum: f64 = one.terms.iter().map(|term| common[term] - 1.0).sum();
            (sum / (one.terms.len() as f64 + 3.0), one.message)
        })
        .collect();
    central.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(x.line.cmp(&y.line)));
    let mut lines = FxHashSet::default();
    let ends = order.first().into_iter().chain(order.last()).copied();
    ends.chain(central.into_iter().map(|(_, message)| message))
        .filter(|message| !message.text.trim().is_empty() && lines.insert(message.line))
        .take(MOST)
        .map(|m| Quote {
            line: m.line,
            sender: m.sender.to_owned(),
            text: m.text.to_owned(),
        })
        .collect()
}
