//! What the chats are about.

use std::collections::BTreeMap;

use helve_chatlog::Provenance;
use helve_chatlog::archive::Order;
use helve_kernel::{Ctx, Sourced, ToolError, tool};
use schemars::JsonSchema;
use serde::Serialize;

use super::given::Among;
use super::service::{ChatLog, told};
use super::sourced;
use super::times::Range;

/// What the chats are about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Topics {
    /// Those of the most sessions first.
    pub(super) topics: Vec<Topic>,
    /// How many fit, of which these are the first.
    pub(super) total: usize,
}

/// A topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Topic {
    /// The tag.
    pub(super) topic: String,
    /// In how many sessions it is a topic.
    pub(super) sessions: u64,
    /// How many messages those have.
    pub(super) messages: u64,
    /// In how many of them it is written.
    pub(super) mentions: u64,
    /// Who says so: `auto`, `llm`, `user`.
    pub(super) provenance: String,
}

fn word(provenance: Provenance) -> String {
    let word = serde_json::to_value(provenance).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}

/// Lists what the chats are about, as tags. Use it when you need an overview, or the words that people use.
///
/// Tags are found without a model: titles, names, and words that stand out in a stretch of
/// talk. After a large import the first call may take a minute.
#[tool(
    group = "chatlog",
    title = "What the chats are about",
    category = "Chatlog",
    risk = "read",
    idempotent,
    output,
    timeout = "10m",
    aliases = ["list_topics", "mcp__chatlog__list_topics"],
    triggers = ["When you need an overview of what was talked about", "When you need the words that people use for something"],
    related = [("chatlog_by_topics", "finds the messages of a topic")],
    example(scenario = "Topics with travel in them", params = {"pattern": "travel", "limit": 20}, expected = "Tags with counts")
)]
pub(super) async fn topics(
    ctx: &Ctx,
    /// The most topics.
    #[default(50)]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
    /// Only tags that contain this; `*` and `?` stand for any letters. Empty for all.
    #[default("")]
    #[schemars(length(max = 200))]
    pattern: String,
) -> Result<Sourced<Topics>, ToolError> {
    let log = ctx.service::<ChatLog>()?;
    log.work(move |opened| {
        let all = opened.topics()?;
        let pattern = pattern.trim();
        let found = all.list((!pattern.is_empty()).then_some(pattern), limit);
        let topics = found.topics.into_iter().map(|topic| Topic {
            topic: topic.tag,
            sessions: topic.sessions,
            messages: topic.messages,
            mentions: topic.mentions,
            provenance: word(topic.provenance),
        });
        let data = Topics {
            topics: topics.collect(),
            total: found.total,
        };
        Ok(sourced(opened, "topics", data))
    })
    .await
}

/// Messages of topics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct OfTopics {
    /// The numbers of the messages, newest first; those that have the tag in them before the
    /// others of their sessions.
    pub(super) line_numbers: Vec<u64>,
    /// How many there are in all.
    pub(super) total_matches: u64,
    /// How many messages each topic has.
    pub(super) topic_breakdown: BTreeMap<String, u64>,
    /// Which tag was taken for which that was asked for, where they differ.
    pub(super) taken: BTreeMap<String, String>,
    /// Topics that there are not.
    pub(super) unknown: Vec<String>,
}

/// Finds the messages that belong to topics. Use it when a tag of chatlog_topics fits the question.
///
/// A topic belongs to a stretch of talk, so messages come back that do not have the word in
/// them. A tag that is not there is looked for without case and width, then as a part; `taken` says so.
#[tool(
    group = "chatlog",
    title = "Messages of topics",
    category = "Chatlog",
    risk = "read",
    idempotent,
    output,
    timeout = "10m",
    aliases = ["search_by_topics", "mcp__chatlog__search_by_topics"],
    triggers = ["When a topic fits the question better than a word"],
    related = [("chatlog_topics", "lists the topics"), ("chatlog_load", "shows the messages")],
    example(scenario = "About spending and habits", params = {"topics": ["消费", "习惯"]}, expected = "Line numbers, and how many each topic has")
)]
#[expect(clippy::too_many_arguments, reason = "they are those of the tool")]
pub(super) async fn by_topics(
    ctx: &Ctx,
    /// The tags.
    #[schemars(length(min = 1, max = 50))]
    topics: Vec<String>,
    /// The most messages.
    #[default(100)]
    #[schemars(range(min = 1, max = 5000))]
    max_results: usize,
    /// Whether a message must belong to all of them.
    #[default(false)]
    match_all: bool,
    /// Only messages of these persons; empty for anybody.
    #[default(Vec::new())]
    senders: Vec<String>,
    /// Only messages of these chats; empty for all.
    #[default(Vec::new())]
    chats: Vec<String>,
    /// Not before; empty for any time.
    #[default("")]
    since: String,
    /// Not after; empty for any time.
    #[default("")]
    until: String,
    /// Only messages of one of these ranges of time; empty for any time.
    #[default(Vec::new())]
    #[schemars(length(max = 50))]
    ranges: Vec<Range>,
) -> Result<Sourced<OfTopics>, ToolError> {
    let log = ctx.service::<ChatLog>()?;
    log.work(move |opened| {
        let wanted: Vec<String> = topics
            .iter()
            .map(|topic| topic.trim().to_owned())
            .filter(|topic| !topic.is_empty())
            .collect();
        if wanted.is_empty() {
            return Err(
                ToolError::validation("there is no topic").with_hint("`chatlog_topics` lists them")
            );
        }
        let among = Among {
            chats,
            senders,
            since,
            until,
            ranges,
        };
        let mut filter = among.filter(opened)?;
        let found = opened.topics()?.lines(&wanted, 10);
        let all = if match_all { &found.all } else { &found.any };
        let small = |lines: &roaring::RoaringTreemap| -> roaring::RoaringBitmap {
            lines
                .iter()
                .filter_map(|line| u32::try_from(line).ok())
                .collect()
        };
        let mut written = roaring::RoaringTreemap::new();
        let (mut breakdown, mut taken) = (BTreeMap::new(), BTreeMap::new());
        for tag in &found.tags {
            written |= &tag.mentions;
            *breakdown.entry(tag.tag.clone()).or_insert(0) += tag.lines.len();
            if tag.tag != tag.wanted {
                taken.insert(tag.tag.clone(), tag.wanted.clone());
            }
        }
        filter.lines = Some(small(all));
        let archive = &opened.archive;
        let hits = archive.browse(&filter, Order::Newest, max_results, None);
        let total = hits.map_err(|e| told(&e))?.total;
        filter.lines = Some(small(&(written & all)));
        let first = archive.browse(&filter, Order::Newest, max_results, None);
        let mut lines = first.map_err(|e| told(&e))?.lines;
        if lines.len() < max_results {
            let named: std::collections::HashSet<u64> = lines.iter().copied().collect();
            filter.lines = Some(small(all));
            let rest = archive.browse(&filter, Order::Newest, max_results, None);
            let rest = rest.map_err(|e| told(&e))?.lines.into_iter();
            lines.extend(rest.filter(|line| !named.contains(line)));
            lines.truncate(max_results);
        }
        let data = OfTopics {
            line_numbers: lines,
            total_matches: total,
            topic_breakdown: breakdown,
            taken,
            unknown: found.unknown,
        };
        Ok(sourced(opened, "topics", data))
    })
    .await
}
