//! What WhatsApp writes in place of what is no text, in the languages of its phones.

use super::discord::by_name;
use crate::Kind;

const MARKS: [char; 4] = ['\u{200E}', '\u{200F}', '\u{202A}', '\u{FEFF}'];

/// Whole texts, in small letters.
const WHOLE: &[(Kind, &[&str])] = &[
    // What was left out, without saying of which kind.
    (
        Kind::Other,
        &[
            "<media omitted>",
            "<省略多媒体文件>",
            "<忽略多媒体文件>",
            "<已忽略多媒体文件>",
            "<媒体内容已省略>",
            "<略過多媒體檔>",
            "<省略多媒體檔案>",
            "<medien ausgeschlossen>",
            "<multimedia omitido>",
            "<archivo omitido>",
            "<médias omis>",
            "<mídia oculta>",
            "<arquivo de mídia oculto>",
            "<media omessi>",
            "<без медиафайлов>",
            "<メディアは含まれていません>",
            "<미디어 파일을 제외한 내용>",
            "<media weggelaten>",
            "<medya dahil edilmedi>",
            "<media tidak disertakan>",
            "<pominięto multimedia>",
            "contact card omitted",
            "名片已忽略",
            "kontaktkarte ausgelassen",
        ],
    ),
    (
        Kind::Image,
        &[
            "image omitted",
            "图像已忽略",
            "图片已忽略",
            "忽略图片",
            "圖片已略過",
            "略過圖片",
            "bild weggelassen",
            "imagen omitida",
            "image absente",
            "imagem ocultada",
            "immagine omessa",
            "изображение отсутствует",
            "画像は含まれていません",
            "이미지 생략됨",
            "afbeelding weggelaten",
            "görüntü dahil edilmedi",
            "gambar tidak disertakan",
        ],
    ),
    (
        Kind::Video,
        &[
            "video omitted",
            "gif omitted",
            "视频已忽略",
            "忽略视频",
            "影片已略過",
            "略過影片",
            "video weggelassen",
            "video omitido",
            "vidéo absente",
            "vídeo ocultado",
            "video omesso",
            "видео отсутствует",
            "動画は含まれていません",
            "동영상 생략됨",
            "video note omitted",
            "gif 已忽略",
        ],
    ),
    (
        Kind::Voice,
        &[
            "audio omitted",
            "音频已忽略",
            "语音已忽略",
            "忽略音频",
            "音訊已略過",
            "audio weggelassen",
            "audio omitido",
            "audio omis",
            "áudio ocultado",
            "audio omesso",
            "аудиофайл отсутствует",
            "音声は含まれていません",
            "오디오 생략됨",
        ],
    ),
    (
        Kind::Sticker,
        &[
            "sticker omitted",
            "贴图已忽略",
            "表情已忽略",
            "忽略贴图",
            "貼圖已略過",
            "sticker weggelassen",
            "sticker omitido",
            "sticker omis",
            "figurinha omitida",
            "sticker non incluso",
            "стикер отсутствует",
            "ステッカーは含まれていません",
            "스티커 생략됨",
        ],
    ),
    (
        Kind::File,
        &[
            "document omitted",
            "文件已忽略",
            "文档已忽略",
            "忽略文件",
            "文件已略過",
            "dokument weggelassen",
            "documento omitido",
            "document manquant",
            "documento omesso",
            "документ отсутствует",
        ],
    ),
    (
        Kind::Call,
        &[
            "missed voice call",
            "missed video call",
            "missed group voice call",
            "missed group video call",
            "未接语音通话",
            "未接视频通话",
            "未接語音通話",
            "未接視訊通話",
            "未接听语音通话",
            "未接听视频通话",
            "verpasster sprachanruf",
            "verpasster videoanruf",
            "llamada perdida",
            "appel vocal manqué",
            "appel vidéo manqué",
        ],
    ),
    (
        Kind::System,
        &[
            "this message was deleted",
            "you deleted this message",
            "此消息已删除",
            "您删除了此消息",
            "你删除了这条消息",
            "此訊息已刪除",
            "你已刪除此訊息",
            "diese nachricht wurde gelöscht",
            "du hast diese nachricht gelöscht",
            "se eliminó este mensaje",
            "eliminaste este mensaje",
            "ce message a été supprimé",
            "mensagem apagada",
            "essa mensagem foi apagada",
            "questo messaggio è stato eliminato",
            "данное сообщение удалено",
            "このメッセージは削除されました",
            "삭제된 메시지입니다",
        ],
    ),
];

/// Behind the name of a file that lies beside the text.
const ATTACHED: &[&str] = &[
    " (file attached)",
    " (文件附件)",
    " (附件)",
    " (檔案附件)",
    " (datei angehängt)",
    " (archivo adjunto)",
    " (fichier joint)",
    " (arquivo anexado)",
    " (file allegato)",
    " (файл добавлен)",
];

/// Before its name, within `<` and `>`.
const ENCLOSED: &[&str] = &[
    "attached: ",
    "附件：",
    "附件:",
    "anhang: ",
    "adjunto: ",
    "pièce jointe : ",
    "anexado: ",
    "allegato: ",
];

/// Before a place.
const PLACES: &[&str] = &[
    "location: ",
    "位置：",
    "位置: ",
    "standort: ",
    "ubicación: ",
    "live location shared",
];

/// The kind of a text, and what a person would read of it.
pub(crate) fn content(text: &str) -> (Kind, String) {
    let marked = text.starts_with(MARKS);
    let clean = text.replace(MARKS, "");
    let clean = edited(clean.trim());
    let (first, more) = clean.split_once('\n').unwrap_or((clean, ""));
    let lower = first.to_lowercase();
    // A file first, then its caption.
    if let Some(name) = file(first, &lower) {
        let kind = match by_name(name) {
            Kind::Image if name.ends_with(".webp") => Kind::Sticker,
            kind => kind,
        };
        let text = if more.is_empty() { name } else { clean };
        return (kind, text.to_owned());
    }
    let plain = lower.trim_end_matches(['.', '。']);
    if let Some((kind, _)) = WHOLE.iter().find(|(_, words)| words.contains(&plain)) {
        // The words that say so are no words of anybody; a caption is.
        let text = match kind {
            Kind::Call | Kind::System => clean,
            _ => more,
        };
        return (*kind, text.to_owned());
    }
    // `Report.pdf • 3 pages document omitted` says its name.
    if let Some(name) = lower.strip_suffix(" document omitted") {
        let name = first.get(..name.len()).unwrap_or(first);
        return (Kind::File, name.trim().to_owned());
    }
    if PLACES.iter().any(|p| lower.starts_with(p)) {
        return (Kind::Location, clean.to_owned());
    }
    // WhatsApp marks its own words; what is none of the above is a notice.
    let kind = if marked { Kind::System } else { Kind::Text };
    (kind, clean.to_owned())
}

/// The name of a file that lies beside the text.
fn file<'f>(first: &'f str, lower: &str) -> Option<&'f str> {
    if let Some(words) = ATTACHED.iter().find(|words| lower.ends_with(**words)) {
        let end = first.len().checked_sub(words.len())?;
        return first.get(..end);
    }
    let inner = first.strip_prefix('<')?.strip_suffix('>')?;
    let lower = lower.strip_prefix('<')?;
    let words = ENCLOSED.iter().find(|words| lower.starts_with(**words))?;
    inner.get(words.len()..)
}

/// Without the note that it was changed.
fn edited(text: &str) -> &str {
    for note in [
        "<This message was edited>",
        "<消息已编辑>",
        "<此消息已编辑>",
        "<此訊息已編輯>",
    ] {
        if let Some(rest) = text.strip_suffix(note) {
            return rest.trim_end();
        }
    }
    text
}
