//! What there is, who speaks, and which messages have certain words.

use std::collections::BTreeMap;

use helve_chatlog::archive::{Cursor, Found, Hits, Keywords, Order, Pattern, PersonEntry, Source};
use helve_kernel::{Ctx, Sourced, ToolError, tool};
use schemars::JsonSchema;
use serde::Serialize;

use super::given::{Among, By, Detail, Said, in_order, load, nobody, persons, shown};
use super::service::{ChatLog, Opened, told};
use super::sourced;
use super::times::Range;

/// What there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Stats {
    /// How many messages.
    pub(super) total_messages: u64,
    /// The chats, the fullest first.
    pub(super) chats: Vec<Chat>,
    /// Who speaks, the busiest first.
    pub(super) senders: Vec<Sender>,
    /// How many there are of each kind: `text`, `image`.
    pub(super) kinds: BTreeMap<String, u64>,
    /// The earliest message (RFC 3339); empty where there is none.
    pub(super) first: String,
    /// The latest.
    pub(super) last: String,
    /// How many sessions: stretches without a pause of half an hour.
    pub(super) sessions: u64,
    /// What was imported.
    pub(super) imports: Vec<Import>,
    /// How many senders and chats are not listed here.
    pub(super) not_listed: usize,
}

/// A chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Chat {
    /// Its id.
    pub(super) id: String,
    /// Its name.
    pub(super) name: String,
    /// How many messages.
    pub(super) messages: u64,
    /// The earliest message.
    pub(super) first: String,
    /// The latest.
    pub(super) last: String,
}

/// Somebody who speaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Sender {
    /// The account.
    pub(super) id: String,
    /// The name.
    pub(super) name: String,
    /// Other names.
    pub(super) aliases: Vec<String>,
    /// How many messages.
    pub(super) messages: u64,
    /// Whether it is the one who exported.
    pub(super) is_self: bool,
}

impl From<PersonEntry> for Sender {
    fn from(person: PersonEntry) -> Self {
        Self {
            id: person.id,
            name: person.name,
            aliases: person.aliases,
            messages: person.messages,
            is_self: person.is_self,
        }
    }
}

/// An import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Import {
    /// Its id.
    pub(super) id: String,
    /// The file.
    pub(super) file: String,
    /// What program wrote it.
    pub(super) format: String,
    /// How many messages it brought that were new.
    pub(super) new: u64,
    /// How many lines could not be read.
    pub(super) malformed: u64,
    /// Whether it was taken back.
    pub(super) withdrawn: bool,
}

/// Tells what chats there are: how many messages, who speaks, from when to when. Use it when you begin with a question about chats.
///
/// `senders` and `chats` are the names by which the other tools know them; an account or an id
/// is never ambiguous.
#[tool(
    group = "chatlog",
    title = "What chats there are",
    category = "Chatlog",
    risk = "read",
    idempotent,
    output,
    timeout = "5m",
    aliases = ["get_chatlog_stats", "mcp__chatlog__get_chatlog_stats"],
    triggers = ["When a question is about past conversations", "When you need to know who speaks in a chat"],
    related = [("chatlog_search", "finds messages by words"), ("chatlog_import", "takes in an export")],
    example(scenario = "What is there", params = {}, expected = "Counts, chats, senders, and the span of time")
)]
pub(super) async fn stats(
    ctx: &Ctx,
    /// The most chats and senders that are listed.
    #[default(50)]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
) -> Result<Sourced<Stats>, ToolError> {
    let log = ctx.service::<ChatLog>()?;
    log.work(move |opened| {
        let stats = opened.archive.stats().map_err(|e| told(&e))?;
        let zone = &opened.zone;
        let hidden = |all: usize| all.saturating_sub(limit);
        let not_listed = hidden(stats.chats.len()) + hidden(stats.senders.len());
        let chats = stats.chats.into_iter().take(limit).map(|chat| Chat {
            id: chat.id,
            name: chat.name,
            messages: chat.messages,
            first: shown(chat.first, zone),
            last: shown(chat.last, zone),
        });
        let kinds = stats.kinds.iter().map(|(kind, count)| {
            let kind = serde_json::to_value(kind).unwrap_or_default();
            (kind.as_str().unwrap_or_default().to_owned(), *count)
        });
        let imports = stats.imports.into_iter().map(|import| Import {
            withdrawn: import.state == helve_chatlog::archive::ImportState::Withdrawn,
            id: import.id,
            file: import.file,
            format: import.format,
            new: import.new,
            malformed: import.malformed,
        });
        let data = Stats {
            total_messages: stats.messages,
            chats: chats.collect(),
            senders: stats
                .senders
                .into_iter()
                .take(limit)
                .map(Into::into)
                .collect(),
            kinds: kinds.collect(),
            first: shown(stats.first, zone),
            last: shown(stats.last, zone),
            sessions: stats.sessions,
            imports: imports.collect(),
            not_listed,
        };
        Ok(sourced(opened, "database", data))
    })
    .await
}

/// What was found of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct OfPerson {
    /// Who it is; nothing where the name is not clear.
    pub(super) person: Option<Sender>,
    /// Who may be meant. Ask again with an id.
    pub(super) candidates: Vec<Sender>,
    /// How many messages they wrote.
    pub(super) total_messages: u64,
    /// How many messages name them, by whomever.
    pub(super) mentions: u64,
    /// The numbers of the messages on this page.
    pub(super) line_numbers: Vec<u64>,
    /// The messages, by chat and time, with those around them.
    pub(super) messages: Vec<Said>,
    /// Where the next page begins, as `cursor`; empty at the end.
    pub(super) next: String,
}

/// Shows the messages of a person, newest first. Use it when the question is what somebody said.
///
/// - A name that several people have is not guessed: `candidates` lists them.
/// - With context, the messages around each are there too (`context`).
/// - `mentions` counts the messages that name the person; `chatlog_search` finds them.
#[tool(
    group = "chatlog",
    title = "Messages of a person",
    category = "Chatlog",
    risk = "read",
    idempotent,
    output,
    timeout = "60s",
    aliases = ["search_person", "mcp__chatlog__search_person"],
    triggers = ["When the question is what somebody said", "When you need to know how somebody writes"],
    related = [("chatlog_search", "finds their messages by words"), ("chatlog_stats", "lists who speaks")],
    example(scenario = "What Ann said", params = {"person": "Ann"}, expected = "Her newest messages with those around them")
)]
pub(super) async fn person(
    ctx: &Ctx,
    /// The name, another name, or the account.
    #[schemars(length(min = 1, max = 200))]
    person: String,
    /// Whether messages around theirs are shown.
    #[default(true)]
    include_context: bool,
    /// The most of their messages.
    #[default(50)]
    #[schemars(range(min = 1, max = 500))]
    max_messages: usize,
    /// How many messages before each.
    #[default(2)]
    #[schemars(range(max = 50))]
    context_before: u32,
    /// How many messages after each.
    #[default(2)]
    #[schemars(range(max = 50))]
    context_after: u32,
    /// Where the last page ended: its `next`; empty for the first.
    #[default("")]
    #[schemars(length(max = 200))]
    cursor: String,
) -> Result<Sourced<OfPerson>, ToolError> {
    let log = ctx.service::<ChatLog>()?;
    log.work(move |opened| {
        let found = match opened.archive.people(person.trim()) {
            Found::One(found) => found,
            Found::Several(several) => {
                let data = OfPerson {
                    person: None,
                    candidates: several.into_iter().map(Into::into).collect(),
                    total_messages: 0,
                    mentions: 0,
                    line_numbers: Vec::new(),
                    messages: Vec::new(),
                    next: String::new(),
                };
                return Ok(sourced(opened, "people", data));
            }
            Found::Nobody { nearest } => return Err(nobody(&person, &nearest)),
        };
        let filter = helve_chatlog::archive::Filter {
            senders: vec![found.no],
            ..Default::default()
        };
        let after = cursor_of(&cursor)?;
        let archive = &opened.archive;
        let hits = archive.browse(&filter, Order::Newest, max_messages, after);
        let hits = hits.map_err(|e| told(&e))?;
        let around = if include_context {
            (context_before, context_after)
        } else {
            (0, 0)
        };
        let (messages, _) = load(opened, &hits.lines, around, WHOLE)?;
        let data = OfPerson {
            mentions: mentions(opened, &found)?,
            person: Some(found.into()),
            candidates: Vec::new(),
            total_messages: hits.total,
            line_numbers: hits.lines,
            messages,
            next: hits.next.map(|next| next.to_string()).unwrap_or_default(),
        };
        Ok(sourced(opened, "database", data))
    })
    .await
}

/// Messages that are shown beside their numbers, whole but for what is very long.
pub(super) const WHOLE: Detail = Detail {
    metadata: true,
    max_chars: 4_000,
};

/// How many messages have one of the names of a person.
fn mentions(opened: &Opened, person: &PersonEntry) -> Result<u64, ToolError> {
    let mut words: Vec<String> = person.aliases.clone();
    words.push(person.name.clone());
    // A name of one letter stands in any text.
    words.retain(|word| word.trim().chars().count() > 1);
    if words.is_empty() {
        return Ok(0);
    }
    let asked = Keywords {
        words,
        limit: 1,
        order: Order::Newest,
        ..Keywords::default()
    };
    let hits = opened.archive.keywords(&asked).map_err(|e| told(&e))?;
    Ok(hits.total)
}

fn cursor_of(text: &str) -> Result<Option<Cursor>, ToolError> {
    match text.trim() {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|e| told(&e)),
    }
}

/// Messages that have certain words.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct Matches {
    /// Their numbers, in the order asked for.
    pub(super) line_numbers: Vec<u64>,
    /// How many there are in all.
    pub(super) total_matches: u64,
    /// How many messages have each of the words.
    pub(super) keyword_breakdown: BTreeMap<String, u64>,
    /// The messages themselves, where context was asked for.
    pub(super) messages: Vec<Said>,
    /// Where the next page begins, as `cursor`; empty at the end.
    pub(super) next: String,
}

/// Finds messages that contain certain words, literally. Use it when you know words that must be there.
///
/// - Nothing is missed: parts of words, single characters, Chinese and English; case and width
///   of letters do not matter. `regex` takes each keyword as a pattern instead.
/// - Several senders, chats and times in one call: `since` and `until` bound all of it, `ranges` are several
///   stretches, written like `2024-03-01`, `last week` or `去年三月`.
/// - With `context`, the messages and those around them come with it, so no second call is needed.
#[tool(
    group = "chatlog",
    title = "Find messages by words",
    category = "Chatlog",
    risk = "read",
    idempotent,
    output,
    timeout = "60s",
    aliases = ["search_by_keywords", "mcp__chatlog__search_by_keywords", "chatlog_keywords"],
    triggers = ["When you know a word that the messages must contain", "When something must be found without a gap"],
    related = [("chatlog_evidence", "finds by a question"), ("chatlog_load", "shows messages by their numbers")],
    example(
        scenario = "What Ann wrote about the trip",
        params = {"keywords": ["trip", "旅行"], "target_person": "Ann", "context": 2},
        expected = "Numbers, counts, and the messages with two around each"
    ),
    example(
        scenario = "Two summers",
        params = {"keywords": ["beach"], "ranges": [{"since": "2023-06-01", "until": "2023-08-31"}, {"since": "2024-06-01", "until": "2024-08-31"}]},
        expected = "Numbers and counts of messages of either summer"
    )
)]
#[expect(clippy::too_many_arguments, reason = "they are those of the tool")]
pub(super) async fn search(
    ctx: &Ctx,
    /// The words.
    #[schemars(length(min = 1, max = 50))]
    keywords: Vec<String>,
    /// Only messages of this person; empty for anybody.
    #[default("")]
    target_person: String,
    /// The most messages of one page.
    #[default(100)]
    #[schemars(range(min = 1, max = 5000))]
    max_results: usize,
    /// Whether a message must contain all of the words.
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
    /// In which order.
    #[default(By::Relevance)]
    order: By,
    /// How many messages around each are shown; -1 for numbers only.
    #[default(-1)]
    #[schemars(range(min = -1, max = 20))]
    context: i32,
    /// Whether the keywords are regular expressions.
    #[default(false)]
    regex: bool,
    /// Where the last page ended: its `next`; empty for the first.
    #[default("")]
    #[schemars(length(max = 200))]
    cursor: String,
) -> Result<Sourced<Matches>, ToolError> {
    let log = ctx.service::<ChatLog>()?;
    log.work(move |opened| {
        let words: Vec<String> = keywords
            .iter()
            .map(|word| word.trim().to_owned())
            .filter(|word| !word.is_empty())
            .collect();
        if words.is_empty() {
            return Err(ToolError::validation("there is no keyword")
                .with_hint("give at least one word that the messages contain"));
        }
        let among = Among {
            chats,
            senders,
            since,
            until,
            ranges,
        };
        let mut filter = among.filter(opened)?;
        filter.senders.extend(persons(opened, &target_person)?);
        let after = cursor_of(&cursor)?;
        let order = order.into();
        let hits = match regex {
            true => opened.archive.pattern(
                &Pattern {
                    regex: pattern(&words, match_all)?,
                    filter,
                    order,
                    limit: max_results,
                    after,
                },
                &|| false,
            ),
            false => opened.archive.keywords(&Keywords {
                words: words.clone(),
                all: match_all,
                filter,
                order,
                limit: max_results,
                after,
            }),
        };
        let hits = hits.map_err(|e| told(&e))?;
        let source = match hits.source {
            Source::Index => "index",
            Source::Scan => "scan",
        };
        Ok(sourced(
            opened,
            source,
            matches(opened, hits, &words, context)?,
        ))
    })
    .await
}

/// One pattern of several.
fn pattern(words: &[String], all: bool) -> Result<String, ToolError> {
    match (words, all) {
        ([one], _) => Ok(one.clone()),
        (several, false) => Ok(several
            .iter()
            .map(|word| format!("(?:{word})"))
            .collect::<Vec<_>>()
            .join("|")),
        (_, true) => Err(
            ToolError::validation("several patterns cannot all be asked for")
                .with_hint("write one pattern, or search without `regex`"),
        ),
    }
}

fn matches(
    opened: &Opened,
    hits: Hits,
    words: &[String],
    context: i32,
) -> Result<Matches, ToolError> {
    let messages = match u32::try_from(context) {
        Err(_) => Vec::new(),
        Ok(around) => {
            let (messages, _) = load(opened, &hits.lines, (around, around), WHOLE)?;
            match around {
                0 => in_order(messages, &hits.lines),
                _ => messages,
            }
        }
    };
    Ok(Matches {
        line_numbers: hits.lines,
        total_matches: hits.total,
        keyword_breakdown: words.iter().cloned().zip(hits.per_word).collect(),
        messages,
        next: hits.next.map(|next| next.to_string()).unwrap_or_default(),
    })
}
