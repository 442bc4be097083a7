//! Files that are not UTF-8, and those that are so only nearly.

use encoding_rs::{BIG5, GB18030, GBK};

use super::*;

fn utf16(text: &str, mark: [u8; 2], unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let units = text.encode_utf16().flat_map(unit);
    mark.into_iter().chain(units).collect()
}

#[test]
fn every_text_is_read_in_utf16() {
    for (format, fixture, name, malformed) in FIXTURES {
        let text = String::from_utf8(bytes(fixture)).unwrap();
        for (mark, unit) in [
            ([0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]),
            ([0xfe, 0xff], u16::to_be_bytes),
        ] {
            let (found, got) = good(&utf16(&text, mark, unit), name);
            assert_eq!(found, *format, "{fixture}");
            same(fixture, &got, &expected(*format), *malformed);
        }
    }
}

#[test]
fn chinese_encodings_are_found() {
    for (format, fixture, name, malformed) in FIXTURES {
        let text = String::from_utf8(bytes(fixture)).unwrap();
        let (gb, _, _) = GB18030.encode(&text);
        let (found, got) = good(&gb, name);
        assert_eq!(found, *format, "{fixture}");
        same(fixture, &got, &expected(*format), *malformed);
    }
    let line =
        "2024-03-05 09:00:00,王小明,w,讀書會,r@chatroom,請問圖書館明天開門嗎？謝謝大家的幫忙。\n";
    let table = format!(
        "Time,SenderName,Sender,TalkerName,Talker,Content\n{}",
        line.repeat(30)
    );
    for encoding in [BIG5, GBK] {
        let (raw, _, lost) = encoding.encode(&table);
        assert!(!lost);
        let (_, got) = good(&raw, "x.csv");
        assert_eq!(
            got.messages[29].text,
            "請問圖書館明天開門嗎？謝謝大家的幫忙。"
        );
        assert_eq!(got.messages[29].sender.name, "王小明");
    }
}

#[test]
fn the_first_letter_may_come_late() {
    let head = "time,sender,text\n";
    let plain = "2024-03-05 09:00:00,bob,only ascii here\n".repeat(60_000);
    let (late, _, _) = GBK.encode("2024-03-05 09:00:00,鲍勃,这些都是很晚才出现的中文字\n");
    let raw = [head.as_bytes(), plain.as_bytes(), &late.repeat(20)].concat();
    let (_, got) = good(&raw, "x.csv");
    assert_eq!(got.messages.last().unwrap().sender.name, "鲍勃");
    assert!(got.progress.len() >= 2, "{:?}", got.progress);
    assert!(got.progress.windows(2).all(|w| w[0] <= w[1]));
    assert_eq!(*got.progress.last().unwrap(), raw.len() as u64);
}

/// A few damaged places are told, and never become other letters.
#[test]
fn damaged_records_are_left_out() {
    for (fixture, broken) in [
        ("chatlog_csv.csv", "早上好"),
        ("chatlog_json.json", "早上好"),
        ("jsonl.jsonl", "消息 4"),
    ] {
        let text = String::from_utf8(bytes(fixture)).unwrap();
        let at = text.find(broken).unwrap() + 1;
        let mut raw = text.into_bytes();
        raw[at] = 0xff;
        let (format, got) = good(&raw, "x");
        let whole = expected(format);
        assert_eq!(got.messages.len() + 1, whole.messages.len(), "{fixture}");
        assert_eq!(got.malformed.len(), 2, "{fixture}");
        assert!(
            got.malformed.iter().any(|(_, w)| w.contains("no letters")),
            "{fixture}"
        );
        assert!(
            got.messages.iter().all(|m| !m.text.contains('\u{FFFD}')),
            "{fixture}"
        );
    }
}

/// In a text, a damaged line takes its message with it, and no other.
#[test]
fn a_damaged_line_of_a_text_takes_its_message_with_it() {
    let text = String::from_utf8(bytes("whatsapp_txt.txt")).unwrap();
    let at = text.find("第二行").unwrap() + 1;
    let mut raw = text.into_bytes();
    raw[at] = 0xff;
    let (_, got) = good(&raw, "WhatsApp Chat with Trip.txt");
    let mut whole = expected(Format::WhatsappTxt).messages;
    whole.remove(2);
    assert_eq!(got.messages, whole);
}

#[test]
fn what_is_no_text_is_refused() {
    let noise: Vec<u8> = (0..40_000u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    for raw in [
        noise,
        vec![0; 5000],
        b"SQLite format 3\0\0\0\0\0\0\0\0\0\0\0\0".to_vec(),
    ] {
        assert!(of(&raw, "x.csv").0.is_err());
    }
}

/// In another encoding too, what means nothing is told and not made up.
#[test]
fn damaged_records_of_other_encodings_are_left_out() {
    let line = "2024-03-05 09:00:00,鲍勃,这些都是很普通的中文字\n";
    let (row, _, _) = GBK.encode(line);
    let mut raw = [b"time,sender,text\n".as_slice(), &row.repeat(30)].concat();
    let at = raw.len() - 4;
    raw[at] = 0xff;
    let (_, got) = good(&raw, "x.csv");
    assert_eq!((got.messages.len(), got.malformed.len()), (29, 1));
    assert!(
        got.messages
            .iter()
            .all(|m| m.text == "这些都是很普通的中文字")
    );
}
