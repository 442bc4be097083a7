//! Whatever the bytes are, nothing panics.

use proptest::prelude::*;

use super::*;
use crate::formats::{write_message, write_person};
use crate::{Chat, ChatKind, Kind, Sender};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn message() -> impl Strategy<Value = Message> {
    let text = || any::<String>();
    let some = || proptest::option::of(any::<String>());
    let kind = proptest::sample::select(vec![Kind::Text, Kind::Image, Kind::System, Kind::Other]);
    let chat_kind =
        proptest::sample::select(vec![ChatKind::Private, ChatKind::Group, ChatKind::Unknown]);
    let chat = (text(), text(), chat_kind).prop_map(|(id, name, kind)| Chat { id, name, kind });
    let own = proptest::option::of(any::<bool>());
    let sender = (text(), text(), own).prop_map(|(id, name, is_self)| Sender { id, name, is_self });
    let time = proptest::option::of(any::<i64>());
    (some(), chat, sender, time, kind, text(), some()).prop_map(
        |(id, chat, sender, time, kind, text, reply_to)| Message {
            id,
            chat,
            sender,
            time,
            kind,
            text,
            reply_to,
        },
    )
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn what_is_written_is_read_back(
        messages in proptest::collection::vec(message(), 1..8),
        people in proptest::collection::vec((any::<String>(), any::<String>(), any::<Vec<String>>()), 0..3),
    ) {
        let mut raw = Vec::new();
        let people: Vec<_> = people
            .into_iter()
            .map(|(id, name, aliases)| Person { id, name, aliases })
            .collect();
        for person in &people {
            write_person(&mut raw, person).unwrap();
        }
        for message in &messages {
            write_message(&mut raw, message).unwrap();
        }
        let (format, got) = good(&raw, "x.jsonl");
        prop_assert_eq!(format, Format::HelveJsonl);
        prop_assert_eq!(got.messages, messages);
        prop_assert_eq!(got.people, people);
        prop_assert!(got.malformed.is_empty());
    }

    #[test]
    fn random_bytes_do_not_panic(raw in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = of(&raw, "x");
    }

    #[test]
    fn random_text_does_not_panic(
        start in proptest::sample::select(vec!["", "{", "[{", "time,text\n", "[1/2/24, 3:04] ", "消息记录\n", "PK\u{3}\u{4}"]),
        text in "[\\[\\]{}\":,;0-9/ .\\-\nA-Da-d年上下午]{0,200}",
    ) {
        let _ = of(format!("{start}{text}").as_bytes(), "x");
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn changed_fixtures_do_not_panic(
        which in 0..FIXTURES.len(),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..12),
        dropped in any::<(proptest::sample::Index, u8)>(),
    ) {
        let (_, fixture, name, _) = FIXTURES[which];
        let mut raw = bytes(fixture);
        for (at, byte) in changes {
            let at = at.index(raw.len());
            raw[at] = byte;
        }
        let at = dropped.0.index(raw.len());
        let end = (at + usize::from(dropped.1)).min(raw.len());
        raw.drain(at..end);
        let _ = of(&raw, name);
    }
}

#[test]
fn zero_bytes_and_line_ends_of_all_kinds() {
    let table = "time,sender,text\r\n2024-03-05 09:00:00,a,one\n2024-03-05 09:00:01,b,t\0wo\r\n\r\n\n2024-03-05 09:00:02,c,\"x\r\ny\"\n";
    let (_, got) = good(table.as_bytes(), "x.csv");
    let texts: Vec<_> = got.messages.iter().map(|m| &*m.text).collect();
    assert_eq!(texts, ["one", "t\0wo", "x\r\ny"]);
}

#[test]
fn a_long_line_is_read_and_a_longer_one_left_out() {
    let line = |n: usize| {
        format!(
            "{{\"time\":1709600000,\"sender\":\"a\",\"text\":\"{}\"}}\n",
            "x".repeat(n)
        )
    };
    let raw = format!("{}{}{}", line(1), line(5 << 20), line(2));
    let (_, got) = good(raw.as_bytes(), "x.jsonl");
    let lengths: Vec<_> = got.messages.iter().map(|m| m.text.len()).collect();
    assert_eq!(lengths, [1, 5 << 20, 2]);
    let raw = format!("{}{}{}", line(1), line(17 << 20), line(2));
    let (_, got) = good(raw.as_bytes(), "x.jsonl");
    assert_eq!(got.messages.len(), 2);
    assert_eq!(got.malformed, [(2, "longer than 16 MB".to_owned())]);
}

#[test]
fn deep_nesting_does_not_overflow() {
    let deep = format!(
        "{{\"chatlab\":{}{},\"messages\":[]}}",
        "[".repeat(200_000),
        "]".repeat(200_000)
    );
    assert!(of(deep.as_bytes(), "x").0.is_err());
    let deep = format!(
        "[{{\"type\":\"message\",\"ts\":\"1709600000.1\",\"user\":\"u\",\"x\":{}{}}}]",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert!(of(deep.as_bytes(), "x").0.is_err());
}

#[test]
fn a_quote_that_is_never_closed_is_bounded() {
    let raw = format!("time,sender,text\n1709600000,a,\"{}", "x\n".repeat(9 << 20));
    let error = of(raw.as_bytes(), "x.csv").0.unwrap_err();
    assert!(matches!(error, ReadError::Broken { .. }), "{error:?}");
}
