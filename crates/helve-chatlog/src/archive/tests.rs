use std::collections::BTreeSet;
use std::ops::ControlFlow;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::message::{Chat, ChatKind, Kind, Message, Person, Sender};

mod crash;
mod recall;

/// What happens at a point of a change; whether it goes on from there.
pub(super) type At = Box<dyn FnMut(&'static str) -> bool + Send>;

/// A message of a chat by somebody, a minute after the other.
pub(super) fn message(chat: &str, sender: &str, minute: i64, text: &str) -> Message {
    Message {
        id: None,
        chat: Chat {
            id: chat.into(),
            name: format!("chat {chat}"),
            kind: ChatKind::Group,
        },
        sender: Sender {
            id: sender.into(),
            name: format!("Name {sender}"),
            is_self: None,
        },
        time: Some(1_700_000_000_000 + minute * 60_000),
        kind: Kind::Text,
        text: text.into(),
        reply_to: None,
    }
}

pub(super) fn watch(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

pub(super) fn stage(archive: &Archive, messages: &[Message]) -> Staged {
    let mut produce = |sink: &mut dyn Sink| {
        for message in messages {
            sink.message(message.clone())?;
        }
        Ok(())
    };
    archive.stage(&mut produce, &mut watch).unwrap()
}

pub(super) fn import(archive: &Archive, messages: &[Message]) -> Import {
    let staged = stage(archive, messages);
    let note = ImportNote {
        file: "a.json".into(),
        format: "test".into(),
        malformed: 0,
    };
    let import = archive.apply(&staged.id, &note, &mut watch).unwrap();
    assert_eq!(import.new, staged.new);
    import
}

pub(super) fn open() -> (TempDir, Archive) {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::open(&folder.path().join("a")).unwrap();
    (folder, archive)
}

pub(super) fn find(archive: &Archive, word: &str) -> Vec<u64> {
    let ask = Keywords {
        words: vec![word.into()],
        order: Order::Oldest,
        limit: 1000,
        ..Keywords::default()
    };
    archive.keywords(&ask).unwrap().lines
}

fn texts(archive: &Archive) -> Vec<(u64, String)> {
    let mut all = Vec::new();
    archive.each(&mut |entry| {
        all.push((entry.line, entry.text.to_owned()));
        ControlFlow::Continue(())
    });
    all
}

#[test]
fn what_is_staged_is_not_seen_until_it_is_applied() {
    let (_folder, archive) = open();
    let mut produce = |sink: &mut dyn Sink| {
        sink.message(message("c", "a", 0, "hello"))?;
        sink.malformed(2, "no time".into())?;
        sink.message(message("c", "b", 5, "world"))?;
        sink.message(message("c", "b", 5, "world"))?;
        Ok(())
    };
    let staged = archive.stage(&mut produce, &mut watch).unwrap();
    let expect = Staged {
        id: staged.id.clone(),
        messages: 3,
        new: 3,
        known: 0,
        malformed: 1,
        malformed_samples: vec![Malformed {
            place: 2,
            why: "no time".into(),
        }],
        chats: 1,
        people: 2,
        first: Some(1_700_000_000_000),
        last: Some(1_700_000_300_000),
    };
    assert_eq!(staged, expect);
    assert_eq!(archive.generation(), 0);
    assert!(find(&archive, "hello").is_empty());
    assert_eq!(archive.import(&staged.id).unwrap(), None);

    let note = ImportNote {
        file: "f".into(),
        format: "g".into(),
        malformed: 1,
    };
    let import = archive.apply(&staged.id, &note, &mut watch).unwrap();
    assert_eq!((import.messages, import.new, import.malformed), (3, 3, 1));
    assert_eq!(find(&archive, "world"), [2, 3]);
    assert_eq!(archive.generation(), 1);
    let again = archive.apply(&staged.id, &note, &mut watch);
    assert!(matches!(again, Err(ArchiveError::Applied(_))), "{again:?}");
}

#[test]
fn the_same_export_has_the_same_id() {
    let (_folder, archive) = open();
    let export = [message("c", "a", 0, "hello")];
    let first = stage(&archive, &export);
    assert_eq!(first, stage(&archive, &export));
    archive.discard(&first.id).unwrap();
    assert!(matches!(
        archive.discard(&first.id),
        Err(ArchiveError::NotStaged(_))
    ));
    assert!(matches!(
        archive.discard("../archive.db"),
        Err(ArchiveError::BadId(_))
    ));
}

#[test]
fn a_longer_export_adds_only_what_is_new() {
    let (_folder, archive) = open();
    // Two that are alike are two.
    let mut export = vec![
        message("c", "a", 0, "ok"),
        message("c", "a", 0, "ok"),
        message("c", "b", 1, "hello"),
    ];
    import(&archive, &export);
    export.push(message("c", "a", 0, "ok"));
    export.push(message("d", "a", 0, "ok"));
    let staged = stage(&archive, &export);
    assert_eq!((staged.new, staged.known), (2, 3));
    assert_eq!(import(&archive, &export).new, 2);
    assert_eq!(find(&archive, "ok"), [1, 2, 4, 5]);
}

#[test]
fn what_has_a_name_is_known_by_it() {
    let (_folder, archive) = open();
    let named = |id: &str, text: &str| Message {
        id: Some(id.into()),
        ..message("c", "a", 0, text)
    };
    import(
        &archive,
        &[
            named("1", "first"),
            named("2", "second"),
            named("1", "first"),
        ],
    );
    let import = import(
        &archive,
        &[named("2", "second, changed"), named("3", "third")],
    );
    assert_eq!((import.messages, import.new), (2, 1));
    let all = texts(&archive);
    assert_eq!(
        all,
        [
            (1, "first".into()),
            (2, "second".into()),
            (3, "third".into())
        ]
    );
}

#[test]
fn keys_that_collide_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::open_with(folder.path(), Keys { mask: 1 }).unwrap();
    let export: Vec<Message> = (0..40)
        .map(|n| Message {
            id: (n % 2 == 0).then(|| n.to_string()),
            ..message("c", "a", n, &format!("text {n}"))
        })
        .collect();
    let apply = |messages: &[Message]| {
        let id = stage(&archive, messages).id;
        archive
            .apply(&id, &ImportNote::default(), &mut watch)
            .unwrap()
            .new
    };
    assert_eq!(apply(&export), 40);
    let longer: Vec<Message> = export
        .iter()
        .cloned()
        .chain([message("c", "a", 50, "more")])
        .collect();
    assert_eq!(apply(&longer), 1);
    assert_eq!(texts(&archive).len(), 41);
}

#[test]
fn what_two_imports_have_is_shown_while_one_is_live() {
    let (_folder, archive) = open();
    let [a, b, c] = ["a", "b", "c"].map(|text| message("c", "a", 0, text));
    let one = import(&archive, &[a, b.clone()]).id;
    let two = import(&archive, &[b, c]).id;
    let shown = || {
        texts(&archive)
            .into_iter()
            .map(|(line, _)| line)
            .collect::<Vec<_>>()
    };
    assert_eq!(shown(), [1, 2, 3]);
    archive.withdraw(&one).unwrap();
    assert_eq!(shown(), [2, 3]);
    assert_eq!(
        (find(&archive, "a"), find(&archive, "b")),
        (vec![], vec![2])
    );
    assert!(matches!(
        archive.withdraw(&one),
        Err(ArchiveError::Withdrawn(_))
    ));
    archive.withdraw(&two).unwrap();
    assert!(shown().is_empty());
    archive.restore(&one).unwrap();
    assert_eq!(shown(), [1, 2]);
    assert_eq!(
        (find(&archive, "b"), find(&archive, "c")),
        (vec![2], vec![])
    );
    assert!(matches!(
        archive.restore(&one),
        Err(ArchiveError::NotWithdrawn(_))
    ));
    // Lines are not given again.
    import(&archive, &[message("c", "a", 9, "d")]);
    assert_eq!(shown(), [1, 2, 4]);
    assert_eq!(archive.load(&[3, 4], 0, 0).unwrap().missing, [3]);
    assert_eq!(archive.generation(), 6);
}

#[test]
fn context_is_of_the_same_chat_and_comes_once() {
    let (_folder, archive) = open();
    let mut all: Vec<Message> = (0..6)
        .map(|n| message("c", "a", n, &format!("c{n}")))
        .collect();
    all.extend((0..3).map(|n| message("d", "b", n * 60, &format!("d{n}"))));
    // Later in the file and earlier in time.
    all.push(message("c", "a", -5, "before"));
    all[3].id = Some("three".into());
    all[5].reply_to = Some("three".into());
    import(&archive, &all);
    let loaded = archive.load(&[2, 4, 99], 1, 1).unwrap();
    let seen: Vec<(u64, bool)> = loaded.messages.iter().map(|m| (m.line, m.hit)).collect();
    assert_eq!(
        seen,
        [(1, false), (2, true), (3, false), (4, true), (5, false)]
    );
    assert_eq!(loaded.missing, [99]);
    let loaded = archive.load(&[1, 9], 3, 1).unwrap();
    let seen: Vec<(u64, u64)> = loaded
        .messages
        .iter()
        .map(|m| (m.line, m.session))
        .collect();
    assert_eq!(seen, [(10, 10), (1, 10), (2, 10), (7, 7), (8, 8), (9, 9)]);
    assert_eq!(
        archive.load(&[6], 0, 0).unwrap().messages[0].reply_to,
        Some(4)
    );
    assert_eq!(archive.stats().unwrap().sessions, 4);
}

#[test]
fn an_export_can_be_imported_again() {
    let (_folder, archive) = open();
    let all = [message("c", "a", 0, "One ，"), message("d", "b", 1, "two")];
    import(&archive, &all);
    let mut out = Vec::new();
    assert_eq!(archive.export(&Filter::default(), &mut out).unwrap(), 2);
    let lines = String::from_utf8(out).unwrap();
    let read: Vec<Message> = lines
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(read, all);
    let filter = Filter {
        chats: vec![ChatNo(2)],
        ..Filter::default()
    };
    assert_eq!(archive.export(&filter, &mut Vec::new()).unwrap(), 1);
}

#[test]
fn a_name_is_never_guessed() {
    let (_folder, archive) = open();
    let by = |id: &str, name: &str| Message {
        sender: Sender {
            id: id.into(),
            name: name.into(),
            is_self: None,
        },
        ..message("c", id, 0, "x")
    };
    let mut produce = |sink: &mut dyn Sink| {
        sink.message(by("1", "Li Lei"))?;
        sink.message(by("2", "Li Lei"))?;
        sink.message(by("3", "小王"))?;
        sink.message(by("4", "Caroline"))?;
        sink.person(Person {
            id: "3".into(),
            name: "小王".into(),
            aliases: vec!["王经理".into()],
        })?;
        Ok(())
    };
    let staged = archive.stage(&mut produce, &mut watch).unwrap();
    archive
        .apply(&staged.id, &ImportNote::default(), &mut watch)
        .unwrap();
    let who = |name: &str| match archive.people(name) {
        Found::One(person) => person.id,
        Found::Several(all) => format!("{} of them", all.len()),
        Found::Nobody { nearest } => format!("nobody: {}", nearest.join(" ")),
    };
    for (name, expect) in [
        ("1", "1"),
        ("Li Lei", "2 of them"),
        ("小王", "3"),
        ("王经理", "3"),
        ("CAROLINE", "4"),
        ("ｃaroline", "4"),
        ("Carolina", "nobody: Caroline"),
        ("", "nobody: "),
    ] {
        assert_eq!(who(name), expect, "{name}");
    }
    archive.add_alias(PersonNo(4), "Caro").unwrap();
    assert_eq!(who("caro"), "4");
    assert!(archive.remove_alias(PersonNo(4), "Caro").unwrap());
    archive.merge(PersonNo(2), PersonNo(1)).unwrap();
    assert_eq!(who("Li Lei"), "1");
    let filter = Filter {
        senders: vec![PersonNo(2)],
        ..Filter::default()
    };
    assert_eq!(archive.export(&filter, &mut Vec::new()).unwrap(), 2);
    archive.split(PersonNo(2)).unwrap();
    assert_eq!(who("Li Lei"), "2 of them");
    assert!(matches!(
        archive.merge(PersonNo(1), PersonNo(77)),
        Err(ArchiveError::NoPerson(_))
    ));
    assert!(matches!(archive.chats("CHAT C"), Found::One(chat) if chat.id == "c"));
    assert!(matches!(archive.chats("chat x"), Found::Nobody { nearest } if nearest == ["chat c"]));
}

#[test]
fn patterns_see_what_was_written() {
    let (_folder, archive) = open();
    let all = ["Call 13800138000", "（全角）", "call me"].map(|text| message("c", "a", 0, text));
    import(&archive, &all);
    let find = |regex: &str| {
        let ask = Pattern {
            regex: regex.into(),
            limit: 10,
            ..Pattern::default()
        };
        archive.pattern(&ask, &|| false).map(|hits| hits.lines)
    };
    assert_eq!(find(r"\d{11}").unwrap(), [1]);
    assert_eq!(find("（.*）").unwrap(), [2]);
    assert_eq!(find("(?i)CALL").unwrap(), [3, 1]);
    assert_eq!(find("CALL").unwrap(), [] as [u64; 0]);
    assert!(matches!(find("("), Err(ArchiveError::Pattern(_))));
    assert!(matches!(find(""), Err(ArchiveError::BlankKeyword)));
}

#[test]
fn blank_keywords_are_refused() {
    let (_folder, archive) = open();
    for words in [vec![], vec![""], vec!["a", " \u{3000}"], vec!["\u{200B}"]] {
        let words: Vec<String> = words.into_iter().map(String::from).collect();
        let got = archive.keywords(&Keywords {
            words,
            limit: 1,
            ..Keywords::default()
        });
        assert!(matches!(got, Err(ArchiveError::BlankKeyword)), "{got:?}");
    }
}

#[test]
fn a_second_process_and_a_newer_version_are_refused() {
    let (folder, archive) = open();
    let at = folder.path().join("a");
    assert!(matches!(Archive::open(&at), Err(ArchiveError::Busy(_))));
    drop(archive);
    let conn = Connection::open(at.join("archive.db")).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    drop(conn);
    let newer = Archive::open(&at).map(|_| ());
    assert!(
        matches!(newer, Err(ArchiveError::Newer { found: 99, .. })),
        "{newer:?}"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(
            std::fs::metadata(&at).unwrap().permissions().mode() & 0o777,
            0o700
        );
    }
}

#[test]
fn many_small_imports_are_put_together() {
    let (_folder, archive) = open();
    let all: Vec<Message> = (0..40)
        .map(|n| message("c", "a", n, &format!("hello {n}")))
        .collect();
    for one in &all {
        import(&archive, std::slice::from_ref(one));
    }
    assert!(archive.view().flats.len() < flat::MOST_SMALL);
    assert_eq!(find(&archive, "hello"), (1..=40).collect::<Vec<_>>());
    assert_eq!(stage(&archive, &all).known, 40);
    let at = archive.folder.clone();
    drop(archive);
    assert_eq!(
        find(&Archive::open(&at).unwrap(), "hello 3"),
        [4, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40]
    );
}

#[test]
fn what_was_withdrawn_is_restored_and_not_applied_again() {
    let (_folder, archive) = open();
    let all = [message("c", "a", 0, "hello")];
    let id = import(&archive, &all).id;
    archive.withdraw(&id).unwrap();
    assert!(matches!(archive.people("a"), Found::Nobody { .. }));
    assert_eq!(stage(&archive, &all).id, id);
    let again = archive.apply(&id, &ImportNote::default(), &mut watch);
    assert!(
        matches!(again, Err(ArchiveError::Withdrawn(_))),
        "{again:?}"
    );
    let unknown = archive.withdraw("nothing");
    assert!(
        matches!(unknown, Err(ArchiveError::NoImport(_))),
        "{unknown:?}"
    );
}

#[test]
fn what_nobody_wanted_for_a_month_goes() {
    let (_folder, archive) = open();
    let [old, young] =
        ["old", "young"].map(|text| stage(&archive, &[message("c", "a", 0, text)]).id);
    let at = archive.folder.clone();
    drop(archive);
    let incoming = at.join("incoming");
    let file = File::options()
        .write(true)
        .open(incoming.join(&old))
        .unwrap();
    file.set_modified(SystemTime::now() - STAGED_FOR - Duration::from_secs(60))
        .unwrap();
    std::fs::write(incoming.join("writing-0"), "half").unwrap();
    drop(Archive::open(&at).unwrap());
    let left: Vec<_> = std::fs::read_dir(incoming)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, [young.as_str()]);
}
