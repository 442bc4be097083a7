//! What is asked for, and what found messages say of it, as far as that can be counted.
//!
//! Nothing here understands: what agrees or contradicts is a hint, with the lines that it comes
//! from, for a reader to judge.

mod analyze;

use schemars::JsonSchema;
use serde::Serialize;

pub use analyze::{Analysis, Bucket, Hint, Quote, Repeated, Share, analyze};

use crate::dates::{DateSpan, Now, dates};
use crate::expand::{Named, find_people, keywords, range};
use crate::message::Person;

/// What kind of answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// Somebody.
    Who,
    /// A time.
    When,
    /// A place.
    Where,
    /// A reason.
    Why,
    /// A way.
    How,
    /// A number.
    HowMany,
    /// A summary.
    Summarize,
    /// What differs.
    Compare,
    /// Messages.
    Find,
    /// Yes or no.
    Whether,
    /// Anything else.
    What,
}

/// In what form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// An answer in a sentence.
    Answer,
    /// A number.
    Number,
    /// A list.
    List,
    /// A table.
    Table,
    /// In the order of time.
    Timeline,
    /// A summary.
    Summary,
    /// The messages' own words.
    Quotes,
}

/// A task, taken apart.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Task {
    /// What is asked.
    pub intent: Intent,
    /// In what form it is wanted.
    pub output: Output,
    /// How many, where it says so.
    pub limit: Option<usize>,
    /// About whom, or by whom.
    pub people: Vec<Named>,
    /// The times that it names.
    pub dates: Vec<DateSpan>,
    /// From when on, in milliseconds since 1970, UTC.
    pub since: Option<i64>,
    /// Until when, which no longer belongs to it.
    pub until: Option<i64>,
    /// What it says it is about: "about …", 关于…, and what stands in quotes.
    pub topics: Vec<String>,
    /// Words to look for.
    pub keywords: Vec<String>,
}

/// Takes a task apart.
#[must_use]
pub fn parse_task(text: &str, people: &[Person], now: &Now) -> Task {
    let lower = text.to_lowercase();
    let spans = dates(text, now);
    let mut rest = text.to_owned();
    for span in spans.iter().rev() {
        rest.replace_range(span.at.clone(), " ");
    }
    let (named, rest) = find_people(&rest, people);
    let (since, until) = range(&spans, &now.zone);
    let intent = intent(&lower);
    let mut keywords = keywords(&rest);
    keywords.retain(|word| !FORM.contains(&word.to_lowercase().as_str()));
    Task {
        intent,
        output: output(&lower, intent),
        limit: limit(&lower),
        people: named,
        since,
        until,
        dates: spans,
        topics: topics(&rest),
        keywords,
    }
}

/// Words of the form that is wanted, and not of what is looked for.
const FORM: [&str; 16] = [
    "summary",
    "table",
    "timeline",
    "quotes",
    "quote",
    "messages",
    "message",
    "top",
    "compare",
    "difference",
    "表格",
    "时间线",
    "原话",
    "时间轴",
    "對比",
    "对比",
];

/// What asks for each, the more telling first.
const INTENTS: &[(Intent, &[&str])] = &[
    (
        Intent::Summarize,
        &[
            "summar", "sum up", "overview", "recap", "tl;dr", "总结", "概括", "归纳", "總結",
            "小结", "梳理",
        ],
    ),
    (
        Intent::Compare,
        &[
            "compare",
            "difference between",
            "differ from",
            "versus",
            " vs ",
            "比较",
            "对比",
            "區別",
            "区别",
            "比較",
            "不同",
        ],
    ),
    (
        Intent::HowMany,
        &[
            "how many",
            "how much",
            "how often",
            "number of",
            "count of",
            "多少",
            "几次",
            "几个",
            "幾次",
            "幾個",
            "几条",
        ],
    ),
    (
        Intent::When,
        &[
            "when ",
            "when's",
            "what time",
            "what date",
            "which day",
            "什么时候",
            "什麼時候",
            "何时",
            "哪天",
            "哪一天",
            "几点",
            "几号",
            "哪年",
            "时间是",
        ],
    ),
    (
        Intent::Where,
        &[
            "where",
            "which place",
            "哪里",
            "哪儿",
            "哪裡",
            "在哪",
            "什么地方",
            "何处",
        ],
    ),
    (
        Intent::Why,
        &[
            "why",
            "what reason",
            "how come",
            "为什么",
            "為什麼",
            "为何",
            "原因",
            "怎么会",
        ],
    ),
    (
        Intent::Who,
        &[
            "who ",
            "who's",
            "whom",
            "whose",
            "which person",
            "谁",
            "誰",
            "哪位",
            "什么人",
            "何人",
        ],
    ),
    (
        Intent::Find,
        &[
            "find",
            "search",
            "show me",
            "look for",
            "list",
            "give me",
            "quote",
            "找出",
            "查找",
            "找到",
            "搜索",
            "列出",
            "搜一下",
            "查一下",
            "找一下",
        ],
    ),
    (
        Intent::How,
        &["how ", "in what way", "怎么", "怎麼", "如何", "怎样"],
    ),
    (
        Intent::Whether,
        &[
            "whether",
            "是否",
            "有没有",
            "有沒有",
            "是不是",
            "会不会",
            "能不能",
        ],
    ),
];

const YES_NO: [&str; 16] = [
    "did ", "does ", "do ", "is ", "are ", "was ", "were ", "has ", "have ", "had ", "can ",
    "could ", "will ", "would ", "should ", "am ",
];

fn intent(lower: &str) -> Intent {
    let found = INTENTS
        .iter()
        .find(|(_, words)| words.iter().any(|word| has(lower, word)));
    match found {
        Some((intent, _)) => *intent,
        None if YES_NO
            .iter()
            .any(|word| lower.trim_start().starts_with(word)) =>
        {
            Intent::Whether
        }
        None if lower.trim_end().ends_with(['吗', '嗎'])
            || lower.contains("吗？")
            || lower.contains("吗?") =>
        {
            Intent::Whether
        }
        None => Intent::What,
    }
}

/// Whether a word stands there; one in Latin letters must begin there.
fn has(text: &str, word: &str) -> bool {
    let latin = word.is_ascii();
    text.match_indices(word).any(|(at, _)| {
        !latin
            || !text[..at]
                .chars()
                .next_back()
                .is_some_and(|c| c.is_ascii_alphanumeric())
    })
}

fn output(lower: &str, intent: Intent) -> Output {
    let asks = |words: &[&str]| words.iter().any(|word| has(lower, word));
    if asks(&["table", "表格", "列表格"]) {
        return Output::Table;
    }
    if asks(&[
        "timeline",
        "chronolog",
        "in order of time",
        "时间线",
        "時間線",
        "时间轴",
        "按时间",
    ]) {
        return Output::Timeline;
    }
    if asks(&[
        "quote",
        "verbatim",
        "exact words",
        "原话",
        "原文",
        "原話",
        "引用",
    ]) {
        return Output::Quotes;
    }
    match intent {
        Intent::Summarize => Output::Summary,
        Intent::HowMany => Output::Number,
        Intent::Find => Output::List,
        _ if asks(&["list", "列出", "清单", "清單", "哪些"]) => Output::List,
        _ => Output::Answer,
    }
}

/// "Top 5", "前十条".
fn limit(lower: &str) -> Option<usize> {
    for (before, after) in [
        ("top ", ""),
        ("first ", ""),
        ("at most ", ""),
        ("前", "条"),
        ("前", "個"),
        ("前", "个"),
        ("最多", ""),
    ] {
        for (at, _) in lower.match_indices(before) {
            let rest = &lower[at + before.len()..];
            let digits: String = rest
                .chars()
                .take_while(char::is_ascii_digit)
                .take(6)
                .collect();
            if !digits.is_empty() && rest[digits.len()..].trim_start().starts_with(after) {
                return digits.parse().ok();
            }
        }
    }
    None
}

/// What the task says it is about.
fn topics(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut keep = |topic: &str| {
        let topic = topic
            .trim()
            .trim_matches(|c: char| c.is_ascii_punctuation() || c == '的')
            .trim();
        if !topic.is_empty() && topic.chars().count() <= 40 && !found.iter().any(|f| f == topic) {
            found.push(topic.to_owned());
        }
    };
    for (open, close) in [('《', '》'), ('“', '”'), ('「', '」'), ('"', '"')] {
        let mut rest = text;
        while let Some(at) = rest.find(open) {
            let inner = &rest[at + open.len_utf8()..];
            let Some(end) = inner.find(close) else { break };
            keep(&inner[..end]);
            rest = &inner[end + close.len_utf8()..];
        }
    }
    let stops = ['?', '？', '.', '。', ',', '，', '!', '！', ';', '；', '\n'];
    for lead in ["关于", "有关", "關於", "有關"] {
        for (at, _) in text.match_indices(lead) {
            let rest = &text[at + lead.len()..];
            let end = rest
                .find(|c| stops.contains(&c) || "的说話话聊讨討".contains(c))
                .unwrap_or(rest.len());
            keep(&rest[..end]);
        }
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    for at in 0..words.len() {
        if ["about", "regarding", "concerning"].contains(&words[at].to_lowercase().as_str()) {
            let mut topic = Vec::new();
            for word in &words[at + 1..] {
                let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
                let first = topic.is_empty();
                if !crate::stop::is_stop(&bare.to_lowercase()) {
                    topic.push(bare);
                } else if !first {
                    break;
                }
                if word.ends_with(stops) || topic.len() == 4 {
                    break;
                }
            }
            keep(&topic.join(" "));
        }
    }
    found
}

#[cfg(test)]
mod tests;
