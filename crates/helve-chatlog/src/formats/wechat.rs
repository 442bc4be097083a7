//! What the programs that export WeChat have in common: the numbers and names of its kinds of
//! messages, and the XML in which it keeps cards.

use crate::{ChatKind, Kind};

/// The kind of a message by its numbers. A card (49) tells by its second one what it is.
pub(crate) fn kind(number: i64, sub: i64) -> Kind {
    match number {
        1 => Kind::Text,
        3 => Kind::Image,
        34 => Kind::Voice,
        43 | 44 | 62 => Kind::Video,
        47 => Kind::Sticker,
        48 => Kind::Location,
        49 => card(sub),
        50 | 52 | 53 => Kind::Call,
        9999 | 10000 | 10002 => Kind::System,
        _ => Kind::Other,
    }
}

fn card(sub: i64) -> Kind {
    match sub {
        // A quote is words; so is a list that people fill in one after the other.
        1 | 53 | 57 => Kind::Text,
        2 => Kind::Image,
        6 | 74 => Kind::File,
        8 => Kind::Sticker,
        17 => Kind::Location,
        62 | 87 => Kind::System,
        2000..=2003 => Kind::Money,
        3..=5 | 19 | 24 | 33 | 36 | 40 | 51 | 63 | 76 | 88 | 92 => Kind::Link,
        _ => Kind::Other,
    }
}

/// The kind of a message by its name. The first row that it holds counts.
pub(crate) fn named(name: &str) -> Kind {
    let name = name.trim();
    if name.is_empty() {
        return Kind::Text;
    }
    let lower = name.to_lowercase();
    let holds = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    ROWS.iter()
        .find(|(words, _)| holds(words))
        .map_or(Kind::Other, |(_, kind)| *kind)
}

/// Longer names come before those that they hold.
const ROWS: &[(&[&str], Kind)] = &[
    (
        &[
            "系统",
            "撤回",
            "拍一拍",
            "群公告",
            "system",
            "recall",
            "notice",
            "join",
            "leave",
        ],
        Kind::System,
    ),
    (&["通话", "call"], Kind::Call),
    (
        &[
            "转账",
            "红包",
            "收款",
            "transfer",
            "red packet",
            "red_packet",
            "money",
            "payment",
        ],
        Kind::Money,
    ),
    (&["引用", "接龙", "回复", "quote", "reply"], Kind::Text),
    (&["表情", "贴纸", "sticker", "emoji"], Kind::Sticker),
    (&["位置", "location"], Kind::Location),
    (
        &[
            "视频号",
            "小程序",
            "链接",
            "分享",
            "音乐",
            "合并转发",
            "聊天记录",
            "卡片",
            "公众号",
            "link",
            "share",
            "card",
        ],
        Kind::Link,
    ),
    (
        &["图片", "照片", "image", "photo", "picture", "img"],
        Kind::Image,
    ),
    (&["语音", "voice", "audio", "ptt"], Kind::Voice),
    (&["视频", "video"], Kind::Video),
    (&["文件", "file", "document"], Kind::File),
    (&["文本", "文字", "text", "普通消息", "message"], Kind::Text),
];

/// The kind of a message that is only known by its text: programs write `[图片]`,
/// `![图片](address)` or `[文件|name](address)` for what is no text.
pub(crate) fn placeholder(text: &str) -> Kind {
    let text = text.trim();
    let inner = text.strip_prefix('!').unwrap_or(text);
    let Some(inner) = inner.strip_prefix('[') else {
        return Kind::Text;
    };
    let Some((label, rest)) = inner.split_once(']') else {
        return Kind::Text;
    };
    // Words behind it are somebody's own.
    let alone = rest.is_empty() || (rest.starts_with('(') && rest.ends_with(')'));
    if !alone || text.contains('\n') {
        return Kind::Text;
    }
    let label = label.split('|').next().unwrap_or(label).trim();
    match label {
        "图片" | "照片" | "Image" | "Photo" => Kind::Image,
        "语音" | "Voice" => Kind::Voice,
        "视频" | "Video" => Kind::Video,
        "动画表情" | "表情包" | "动态表情" | "Sticker" => Kind::Sticker,
        "文件" | "File" => Kind::File,
        "链接" | "小程序" | "合并转发" | "聊天记录" | "视频号" | "音乐" | "分享" | "卡片消息" => {
            Kind::Link
        }
        "位置" | "地理位置" | "位置共享" => Kind::Location,
        "语音通话" | "视频通话" | "通话" => Kind::Call,
        "转账" | "红包" | "微信转账" | "微信红包" | "QQ红包" => Kind::Money,
        "拍一拍" | "系统消息" | "撤回" => Kind::System,
        "名片" => Kind::Other,
        _ => Kind::Text,
    }
}

/// Between whom a conversation is, by its account.
pub(crate) fn chat_kind(account: &str) -> ChatKind {
    if account.ends_with("@chatroom") || account.ends_with("@im.chatroom") {
        ChatKind::Group
    } else if account.is_empty() {
        ChatKind::Unknown
    } else {
        ChatKind::Private
    }
}

/// What a person would read: of a card its title, of other XML nothing but a name or a place.
pub(crate) fn shown(kind: Kind, text: &str) -> String {
    let text = text.trim_end_matches(['\r', '\n']);
    let start = text.trim_start();
    let xml = start.starts_with('<')
        && (start.starts_with("<?xml")
            || start.starts_with("<msg")
            || start.starts_with("<sysmsg")
            || start.starts_with("<voipmsg"));
    if !xml {
        return text.to_owned();
    }
    let found = match kind {
        Kind::Location => attribute(start, "label").or_else(|| attribute(start, "poiname")),
        Kind::System => element(start, "content")
            .or_else(|| element(start, "replacemsg"))
            .or_else(|| element(start, "plain")),
        Kind::Image | Kind::Voice | Kind::Video | Kind::Sticker => None,
        _ => element(start, "title")
            .or_else(|| element(start, "des"))
            .or_else(|| attribute(start, "nickname")),
    };
    found.unwrap_or_default()
}

/// The message that a card quotes, by its name.
pub(crate) fn quoted(text: &str) -> Option<String> {
    let refer = text.find("<refermsg>").map(|at| &text[at..])?;
    element(refer, "svrid")
}

/// The text of the first element of that name that has one.
fn element(xml: &str, name: &str) -> Option<String> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let start = xml.find(&open)? + open.len();
    let length = xml[start..].find(&close)?;
    let inner = xml[start..start + length].trim();
    let inner = inner
        .strip_prefix("<![CDATA[")
        .and_then(|i| i.strip_suffix("]]>"))
        .map_or_else(|| unescape(inner), str::to_owned);
    (!inner.is_empty()).then_some(inner)
}

fn attribute(xml: &str, name: &str) -> Option<String> {
    let open = format!(" {name}=\"");
    let start = xml.find(&open)? + open.len();
    let length = xml[start..].find('"')?;
    let inner = unescape(&xml[start..start + length]);
    (!inner.is_empty()).then_some(inner)
}

/// The entities of XML and of Slack. `&amp;` comes last, so that nothing is resolved twice.
pub(crate) fn unescape(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&#39;", "'")
        .replace("&#x20;", " ")
        .replace("&amp;", "&")
}
