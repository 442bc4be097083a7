//! Small rules: what is empty, what is unknown, who "me" is, mappings, order of keys.

use super::*;
use crate::{Kind, Mapping};

#[test]
fn nothing_is_empty() {
    for raw in [
        "",
        "\n\n  \n",
        "\u{feff}",
        "Time,SenderName,Sender,TalkerName,Talker,Content\n",
        "time,sender,text\n",
        "{\"chatlab\":{},\"meta\":{},\"messages\":[]}",
        "{\"name\":\"a\",\"type\":\"personal_chat\",\"id\":1,\"messages\":[]}",
    ] {
        let (result, _) = of(raw.as_bytes(), "x");
        assert!(
            matches!(result, Err(ReadError::Empty)),
            "{raw:?}: {result:?}"
        );
    }
}

#[test]
fn what_is_unknown_says_what_was_seen() {
    for (raw, seen) in [
        (
            "{\"a\":1,\"b\":[]}",
            "a JSON document with the keys `a`, `b`",
        ),
        ("[{\"x\":1}]", "a JSON list whose elements have `x`"),
        ("{\"x\":1}\n{\"x\":2}\n", "lines of JSON with the keys `x`"),
        (
            "alpha,beta\n1,2\n",
            "a table with the columns `alpha`, `beta`",
        ),
        (
            "Dear diary\nnothing\n",
            "a text that begins with `Dear diary`",
        ),
    ] {
        let error = of(raw.as_bytes(), "x").0.unwrap_err().to_string();
        assert!(
            error.contains(seen) && error.contains("`mapping`"),
            "{error}"
        );
    }
}

#[test]
fn a_mapping_says_which_column_is_which() {
    let raw = "wann\tWer\tWas\n2024-03-05 09:00\tAnn\thello\n2024-03-05 09:01\tBob\t你好\n";
    let mapping = Mapping {
        text: "Was".to_owned(),
        time: Some("wann".to_owned()),
        sender: Some("Wer".to_owned()),
        ..Mapping::default()
    };
    let mut with = options();
    with.mapping = Some(mapping.clone());
    let (result, got) = run(Input::File(file(raw.as_bytes())), "x", &with);
    assert_eq!(result.unwrap(), Format::Csv);
    assert_eq!(
        (&*got.messages[1].text, &*got.messages[1].sender.name),
        ("你好", "Bob")
    );

    let lines = "{\"wann\":1709600000,\"Wer\":\"Ann\",\"Was\":\"hi\"}\n";
    let (result, got) = run(Input::File(file(lines.as_bytes())), "x", &with);
    assert_eq!(result.unwrap(), Format::Jsonl);
    assert_eq!(got.messages[0].time, Some(1_709_600_000_000));

    with.mapping = Some(Mapping {
        text: "was".to_owned(),
        ..mapping
    });
    let error = run(Input::File(file(raw.as_bytes())), "x", &with)
        .0
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the `mapping` names `was`, which it does not have; it has `Was`, `wann`, `Wer`"
    );
}

#[test]
fn me_is_named_where_the_export_only_says_me() {
    let mut with = options();
    with.me = Some("Bob".to_owned());
    let (_, got) = run(Input::File(file(&bytes("pywxdump_csv.csv"))), "x", &with);
    let own = &got.messages[1].sender;
    assert_eq!((&*own.name, own.is_self), ("Bob", Some(true)));
    with.me = Some("Alice".to_owned());
    let (_, got) = run(Input::File(file(&bytes("whatsapp_txt.txt"))), "x", &with);
    let own: Vec<_> = got.messages.iter().map(|m| m.sender.is_self).collect();
    assert_eq!(own[1..3], [Some(true), Some(false)]);
    assert_eq!(own[11], None, "nobody says a notice");
}

#[test]
fn a_chat_is_named_by_the_options_then_by_the_file() {
    let mut with = options();
    with.chat = Some("Named".to_owned());
    let (_, got) = run(
        Input::File(file(&bytes("whatsapp_txt.txt"))),
        "_chat.txt",
        &with,
    );
    assert_eq!(got.messages[0].chat.name, "Named");
    for (name, title) in [
        ("WhatsApp Chat with Ann.txt", "Ann"),
        ("WhatsApp Chat - Ann & Bob.zip/_chat.txt", "Ann & Bob"),
        ("a/b/与Ann的 WhatsApp 聊天.txt", "Ann"),
        ("export.2024.json", "export.2024"),
        ("", ""),
    ] {
        assert_eq!(look::title(name), title, "{name}");
    }
}

#[test]
fn keys_come_in_any_order() {
    let (_, got) = good(&bytes("weflow_json.json"), "x");
    assert_eq!(
        got.messages[0].chat.id, "wxid_ann",
        "`session` comes behind `messages`"
    );
    let single = r#"{"messages":[{"id":1,"type":"message","date":"2024-03-05T09:00:00","from":"A","from_id":"user1","text":"hi"}],"id":7,"type":"personal_chat","name":"A"}"#;
    let (format, got) = good(single.as_bytes(), "x");
    assert_eq!(format, Format::TelegramJson);
    assert_eq!(
        (&*got.messages[0].chat.id, got.messages[0].time),
        ("7", Some(1_709_600_400_000))
    );
}

#[test]
fn too_much_that_is_wrong_is_another_format() {
    let head = "Time,SenderName,Sender,TalkerName,Talker,Content\n";
    let good_row = "2024-03-05 09:00:00,A,a,B,b,x\n";
    let bad_row = "not a time,A,a,B,b,x\n";
    let raw = format!("{head}{}{}", good_row.repeat(11), bad_row.repeat(10));
    assert!(
        of(raw.as_bytes(), "x").0.is_ok(),
        "ten of twenty-one are wrong"
    );
    let raw = format!("{head}{}{}", good_row.repeat(10), bad_row.repeat(11));
    let error = of(raw.as_bytes(), "x").0.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("11 of 21 records are no chatlog_csv"),
        "{error}"
    );
}

#[test]
fn a_sink_that_wants_no_more_ends_it() {
    struct Full(u32);
    impl Sink for Full {
        fn message(&mut self, _: Message) -> Result<(), Stop> {
            self.0 += 1;
            match self.0 {
                3 => Err(Stop("enough".into())),
                _ => Ok(()),
            }
        }
        fn person(&mut self, _: Person) -> Result<(), Stop> {
            Ok(())
        }
        fn malformed(&mut self, _: u64, _: String) -> Result<(), Stop> {
            Ok(())
        }
        fn progress(&mut self, _: u64) -> Result<(), Stop> {
            Ok(())
        }
    }
    for (_, fixture, name, _) in FIXTURES {
        let mut full = Full(0);
        let result = read(
            Input::File(file(&bytes(fixture))),
            name,
            &options(),
            &mut full,
        );
        assert!(matches!(result, Err(ReadError::Stopped(_))), "{fixture}");
        assert_eq!(full.0, 3, "{fixture}");
    }
}

#[test]
fn whatsapp_speaks_many_languages() {
    for (line, sender, hour, kind, text) in [
        (
            "2024/3/5 下午3:04 - 张三: <省略多媒体文件>",
            "张三",
            15,
            Kind::Other,
            "",
        ),
        (
            "2024/3/5 凌晨3:04 - 张三: 你好",
            "张三",
            3,
            Kind::Text,
            "你好",
        ),
        (
            "[2024/3/5 下午3:04:05] 张三: \u{200e}图像已忽略",
            "张三",
            15,
            Kind::Image,
            "",
        ),
        (
            "15.03.24, 15:04 - Ännchen: <Medien ausgeschlossen>",
            "Ännchen",
            15,
            Kind::Other,
            "",
        ),
        (
            "15/03/2024, 3:04 p. m. - José: <Multimedia omitido>",
            "José",
            15,
            Kind::Other,
            "",
        ),
        (
            "3/15/24, 3:04\u{202f}PM - A: IMG-1.jpg (file attached)\nlook",
            "A",
            15,
            Kind::Image,
            "IMG-1.jpg (file attached)\nlook",
        ),
        (
            "3/15/24, 3:04 AM - A: STK-1.webp (file attached)",
            "A",
            3,
            Kind::Sticker,
            "STK-1.webp",
        ),
        (
            "2024-03-05, 15:04 - A created group \"B\"",
            "",
            15,
            Kind::System,
            "A created group \"B\"",
        ),
        (
            "2024. 3. 5. 오후 3:04 - A: 삭제된 메시지입니다.",
            "A",
            15,
            Kind::System,
            "삭제된 메시지입니다.",
        ),
    ] {
        let with = Options::default();
        let (result, got) = run(
            Input::File(file(format!("{line}\n").as_bytes())),
            "x",
            &with,
        );
        assert_eq!(result.unwrap(), Format::WhatsappTxt, "{line}");
        let message = &got.messages[0];
        let found = message.time.unwrap() / 3_600_000 % 24;
        assert_eq!(
            (&*message.sender.name, found, message.kind, &*message.text),
            (sender, hour, kind, text),
            "{line}"
        );
    }
}
