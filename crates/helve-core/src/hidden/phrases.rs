//! Phrases by which a description speaks to the model behind people's backs.
//!
//! A row is a kind and a pattern of words: `a|b` is one or the other, `a_b` two words
//! together, `..n` at most so many words between, in the same sentence. Patterns are
//! short and gaps are bounded, so a text of any length is looked through in one pass.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::{STOP, Word, words};
use super::{Kind, Suspicion, mark};

const ROWS: &[(Kind, &str)] = &[
    // English.
    (
        Kind::Override,
        "ignore|disregard|forget|override|bypass ..3 previous|prior|above|earlier|preceding|foregoing|existing|other|system|your|safety ..2 instructions|instruction|directions|prompt|prompts|guidelines|directives|guardrails|programming|rules",
    ),
    (
        Kind::Override,
        "ignore|disregard|forget everything|anything ..3 above|before|previous|previously|earlier|told",
    ),
    (
        Kind::Override,
        "you_are_now|act_as_if_you|pretend_you_are|pretend_to_be ..3 unrestricted|jailbroken|dan|admin|administrator|root|system|developer_mode",
    ),
    (
        Kind::Override,
        "new|updated|real|actual instructions|system_prompt ..2 from|override|supersede|replace|follow",
    ),
    (
        Kind::Override,
        "take_precedence|takes_precedence|has_priority|have_priority|overrides ..3 over|all ..3 instructions|prompt|rules|user",
    ),
    (
        Kind::Secrecy,
        "do_not|dont|never|without|must_not|should_not|shouldnt|avoid tell|telling|inform|informing|notify|notifying|alert|alerting|warn|warning ..2 user|users|human|humans|person|people|operator|anyone",
    ),
    (
        Kind::Secrecy,
        "do_not|dont|never|without|must_not|should_not|shouldnt|avoid ..1 mention|mentioning|reveal|revealing|disclose|disclosing ..4 this|that|it|these|about|step|instruction|instructions ..6 user|users|human|humans|anyone",
    ),
    (
        Kind::Secrecy,
        "do_not|dont|never ..1 let ..2 user|users|human ..2 know|notice|see|find_out",
    ),
    (
        Kind::Secrecy,
        "hide|conceal|keep ..4 this|that|it|these|step|secret ..2 from|secret_from ..2 user|users|human|them",
    ),
    (
        Kind::Secrecy,
        "without ..2 user|users|users knowing|knowledge|noticing|being_aware|consent|permission",
    ),
    (
        Kind::Secrecy,
        "do_not|dont|never ..2 mention|say|explain|admit ..4 you_did|you_are_doing|you_have_done|you_read|why_you",
    ),
    (
        Kind::CredentialFile,
        "read|open|cat|load|include|pass|send|attach|append|paste|copy|extract|upload|dump|provide|access|get|fetch|retrieve|list|check|contents|content ..8 @keys",
    ),
    (
        Kind::CredentialFile,
        "@keys ..6 contents|content ..4 as|into|in|to",
    ),
    (
        Kind::Exfiltration,
        "send|post|upload|forward|transmit|exfiltrate|leak|bcc|cc|submit|copy|email|report ..8 conversation|history|messages|credentials|credential|secrets|passwords|password|keys|key|tokens|token|prompt|variables|data|files|everything|contents ..8 to|via ..4 @address",
    ),
    (
        Kind::Exfiltration,
        "send|post|upload|forward|transmit|exfiltrate|leak|bcc|cc|include|pass|append|paste|attach|embed|put|provide ..5 conversation_history|chat_history|entire_conversation|whole_conversation|full_conversation|previous_messages|all_messages|system_prompt|environment_variables|your_instructions|your_system ..6 as|in|into|to|with|via ..6 @address|parameter|argument|field|value|url|sidenote|notes|note|context|header|server",
    ),
    (
        Kind::Exfiltration,
        "exfiltrate|leak ..4 data|credentials|secrets|files|conversation|tokens|keys",
    ),
    (
        Kind::Exfiltration,
        "change|replace|set|redirect ..3 recipient|recipients|address|destination ..4 to ..2 @address",
    ),
    (
        Kind::Exfiltration,
        "always|must|also|secretly|silently bcc|cc|send|forward ..4 to ..2 @address",
    ),
    (
        Kind::Hijack,
        "before|prior_to using|calling|invoking|running|executing|use ..1 this|any|every|each|all|other ..1 tool|tools|function|functions ..4 read|open|cat|send|upload|access|fetch|download",
    ),
    (
        Kind::Hijack,
        "otherwise|or ..3 tool|it|this|function ..2 will|wont|will_not|cannot|does_not|doesnt ..1 work|function ..12 read|@keys",
    ),
    (
        Kind::Hijack,
        "whenever|when|if|after ..4 other|another|any tool|tools|function|server ..3 called|used|invoked|available|runs|executed ..3 you_must|always|must|first|instead|make_sure",
    ),
    (
        Kind::Hijack,
        "instead_of|rather_than ..3 trusted|other_servers|another_servers|original ..2 tool|tools",
    ),
    (
        Kind::Hijack,
        "secretly|silently|covertly|quietly ..3 read|send|call|invoke|execute|run|upload|copy|forward|include|add|collect|download|delete",
    ),
    // Chinese.
    (
        Kind::Override,
        "忽_略|无_视|忘_记|忘_掉|不_要_理_会|抛_弃|覆_盖|绕_过 ..6 之_前|以_上|先_前|上_述|前_面|此_前|所_有|系_统|原_有|一_切 ..5 指_令|指_示|规_则|提_示|命_令|限_制|约_束|设_定",
    ),
    (
        Kind::Secrecy,
        "不_要|不_得|禁_止|切_勿|勿|别|无_需|不_可|不_能 ..3 告_诉|告_知|通_知|透_露|提_及|泄_露|让|提_醒|向 ..6 用_户|使_用_者|人_类|任_何_人",
    ),
    (
        Kind::Secrecy,
        "对|向 ..1 用_户|使_用_者 ..3 保_密|隐_瞒|隐_藏",
    ),
    (
        Kind::Secrecy,
        "瞒_着|背_着|悄_悄|偷_偷|暗_中|秘_密_地 ..8 用_户|读_取|发_送|上_传|执_行|调_用|转_发|复_制|收_集",
    ),
    (
        Kind::Secrecy,
        "用_户 ..2 不_知_情|不_知_道|不_知_晓|未_察_觉 ..6 发_送|读_取|执_行|上_传|情_况_下|时|的",
    ),
    (
        Kind::CredentialFile,
        "读_取|打_开|查_看|获_取|发_送|包_含|附_上|上_传|复_制|提_供|访_问 ..10 @keys",
    ),
    (Kind::CredentialFile, "@keys ..6 内_容|文_件"),
    (
        Kind::Exfiltration,
        "发_送|上_传|转_发|传_送|提_交|泄_露|抄_送 ..10 @address",
    ),
    (
        Kind::Exfiltration,
        "把|将 ..6 对_话|聊_天_记_录|系_统_提_示|密_码|密_钥|凭_证|令_牌|环_境_变_量 ..10 发_送|上_传|转_发|传_送|发_到|传_到|作_为_参_数|填_入|写_入_参_数",
    ),
    (
        Kind::Hijack,
        "使_用|调_用|执_行|运_行 ..4 工_具|函_数 ..2 之_前|前 ..6 必_须|先|请 ..4 读_取|打_开|发_送|上_传|访_问|下_载",
    ),
];

/// Marks of prompts, in small letters without blanks.
const MARKUP: &[&str] = &[
    "<important>",
    "<important!>",
    "</important>",
    "<system>",
    "</system>",
    "<system_prompt>",
    "<system-reminder>",
    "<secret>",
    "<hidden>",
    "<instruction>",
    "<instructions>",
    "<admin>",
    "<critical>",
    "<override>",
    "<assistant>",
    "<|im_start|>",
    "<|im_end|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|endoftext|>",
    "<|start_header_id|>",
    "[inst]",
    "[/inst]",
    "<<sys>>",
    "<重要>",
    "<系统>",
    "<指令>",
    "【系统指令】",
    "[系统指令]",
    "[system]:",
    "[systemmessage]",
];

/// One part of a pattern: words in a row, of which one must stand there.
#[derive(Debug)]
enum Part {
    Gap(usize),
    One(Vec<Vec<String>>),
}

#[derive(Debug)]
struct Pattern {
    kind: Kind,
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Table {
    patterns: Vec<Pattern>,
    /// Which patterns begin with a word.
    first: HashMap<String, Vec<usize>>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let patterns: Vec<Pattern> = ROWS.iter().map(|(kind, row)| pattern(*kind, row)).collect();
    let mut first: HashMap<String, Vec<usize>> = HashMap::new();
    for (i, pattern) in patterns.iter().enumerate() {
        if let Some(Part::One(choices)) = pattern.parts.first() {
            for word in choices.iter().filter_map(|c| c.first()) {
                let rows = first.entry(word.clone()).or_default();
                if rows.last() != Some(&i) {
                    rows.push(i);
                }
            }
        }
    }
    Table { patterns, first }
});

fn pattern(kind: Kind, row: &str) -> Pattern {
    let part = |text: &str| match text.strip_prefix("..").and_then(|n| n.parse().ok()) {
        Some(gap) => Part::Gap(gap),
        None => {
            let words = |choice: &str| choice.split('_').map(str::to_owned).collect();
            Part::One(text.split('|').map(words).collect())
        }
    };
    Pattern {
        kind,
        parts: row.split(' ').map(part).collect(),
    }
}

pub(super) fn find(text: &str, found: &mut Vec<Suspicion>) {
    markup(text, found);
    // The shortest phrase has several words.
    if text.len() < 8 {
        return;
    }
    let table = &*TABLE;
    let words = words(text);
    let mut told = Vec::new();
    for (i, word) in words.iter().enumerate() {
        for row in table.first.get(&word.text).into_iter().flatten() {
            let pattern = &table.patterns[*row];
            if told.contains(&pattern.kind) {
                continue;
            }
            if let Some(end) = matches(&pattern.parts, &words, i) {
                told.push(pattern.kind);
                found.push(mark(text, word.at, words[end - 1].end, pattern.kind));
            }
        }
    }
}

/// Where a pattern ends that begins at that word.
fn matches(parts: &[Part], words: &[Word], at: usize) -> Option<usize> {
    match parts {
        [] => Some(at),
        [Part::One(choices), rest @ ..] => choices.iter().find_map(|choice| {
            let there = words.get(at..at + choice.len())?;
            let same = there.iter().zip(choice).all(|(w, c)| w.text == *c);
            same.then(|| matches(rest, words, at + choice.len()))?
        }),
        [Part::Gap(most), rest @ ..] => {
            let here = words.get(at..).unwrap_or_default();
            let room = here.iter().take(*most).take_while(|w| w.text != STOP);
            (0..=room.count()).find_map(|skipped| matches(rest, words, at + skipped))
        }
    }
}

fn markup(text: &str, found: &mut Vec<Suspicion>) {
    if !text.contains(['<', '[', '【']) {
        return;
    }
    for (at, _) in text.match_indices(['<', '[', '【']) {
        let mut near = String::new();
        for (i, c) in text[at..].char_indices().take(40) {
            if c.is_whitespace() || super::characters::is_unseen(c) {
                continue;
            }
            near.extend(c.to_lowercase());
            if !MARKUP.iter().any(|m| m.starts_with(&near)) {
                break;
            }
            if MARKUP.contains(&near.as_str()) {
                let end = at + i + c.len_utf8();
                found.push(mark(text, at, end, Kind::PromptMarkup));
                return;
            }
        }
    }
}
