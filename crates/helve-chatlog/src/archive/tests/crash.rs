//! Whatever happens half way, the next start finds the old state or the new one.

use std::path::Path;

use super::*;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}

fn state(archive: &Archive) -> (u64, Vec<(u64, String)>, Vec<u64>) {
    (archive.generation(), texts(archive), find(archive, "hello"))
}

/// What the archive's folder holds when something happens, at each point of it.
fn points(archive: &Archive, copies: &Path, act: impl FnOnce(&Archive)) -> Vec<&'static str> {
    let (folder, to) = (archive.folder.clone(), copies.to_owned());
    let (tell, told) = std::sync::mpsc::channel();
    *archive.at.lock().unwrap() = Some(Box::new(move |point| {
        copy(&folder, &to.join(point));
        tell.send(point).unwrap();
        true
    }));
    act(archive);
    *archive.at.lock().unwrap() = None;
    told.try_iter().collect()
}

#[test]
fn an_import_is_all_or_none() {
    let (folder, archive) = open();
    import(&archive, &[message("c", "a", 0, "hello")]);
    let old = state(&archive);
    let copies = folder.path().join("copies");
    let met = points(&archive, &copies, |archive| {
        import(
            archive,
            &[
                message("c", "a", 1, "hello again"),
                message("d", "e", 1, "x"),
            ],
        );
    });
    let new = state(&archive);
    assert_ne!(old, new);
    assert_eq!(met, ["written", "committed"]);
    for (point, expect) in [("written", &old), ("committed", &new)] {
        let copied = Archive::open(&copies.join(point)).unwrap();
        assert_eq!(&state(&copied), expect, "{point}");
        // And it goes on from there.
        import(&copied, &[message("c", "a", 9, "hello after")]);
        assert_eq!(find(&copied, "hello after").len(), 1, "{point}");
    }
}

#[test]
fn a_failed_import_changes_nothing() {
    let (_folder, archive) = open();
    import(&archive, &[message("c", "a", 0, "hello")]);
    let old = state(&archive);
    let staged = stage(&archive, &[message("c", "a", 1, "hello again")]);
    *archive.at.lock().unwrap() = Some(Box::new(|point| point != "written"));
    let failed = archive.apply(&staged.id, &ImportNote::default(), &mut watch);
    assert!(matches!(failed, Err(ArchiveError::Cancelled)));
    *archive.at.lock().unwrap() = None;
    assert_eq!(state(&archive), old);
    archive
        .apply(&staged.id, &ImportNote::default(), &mut watch)
        .unwrap();
    assert_eq!(find(&archive, "hello"), [1, 2]);
}

#[test]
fn what_is_staged_and_damaged_is_refused() {
    let (_folder, archive) = open();
    let staged = stage(&archive, &[message("c", "a", 1, "hello")]);
    let path = archive.folder.join("incoming").join(&staged.id);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("hello", "jello")).unwrap();
    let failed = archive.apply(&staged.id, &ImportNote::default(), &mut watch);
    assert!(
        matches!(failed, Err(ArchiveError::Damaged(_))),
        "{failed:?}"
    );
    assert_eq!((archive.generation(), texts(&archive)), (0, vec![]));
}

#[test]
fn a_withdrawal_is_caught_up_by_the_index() {
    let (folder, archive) = open();
    let first = import(
        &archive,
        &[message("c", "a", 0, "hello"), message("c", "a", 0, "you")],
    );
    import(&archive, &[message("c", "a", 1, "hello again")]);
    let copies = folder.path().join("copies");
    points(&archive, &copies, |archive| {
        archive.withdraw(&first.id).unwrap();
    });
    let copied = Archive::open(&copies.join("committed")).unwrap();
    assert_eq!(state(&copied), state(&archive));
    assert_eq!(find(&copied, "hello"), [3]);
    // Not even in the index.
    let lines = copied.writer().index.as_ref().unwrap().lines().unwrap();
    assert_eq!(lines.iter().collect::<Vec<_>>(), [3]);
}

#[test]
fn what_is_derived_is_made_anew() {
    let (_folder, archive) = open();
    let all: Vec<Message> = (0..50)
        .map(|n| message("c", "a", n, &format!("hello {n} 你好")))
        .collect();
    import(&archive, &all);
    let (expect, at) = (state(&archive), archive.folder.clone());
    drop(archive);
    let damage = |folder: &str| {
        for entry in std::fs::read_dir(at.join(folder))
            .unwrap()
            .map(Result::unwrap)
        {
            let mut bytes = std::fs::read(entry.path()).unwrap();
            let middle = bytes.len() / 2;
            if let Some(byte) = bytes.get_mut(middle) {
                *byte ^= 0x55;
            }
            std::fs::write(entry.path(), bytes).unwrap();
        }
    };
    let ways: [(&str, &dyn Fn()); 6] = [
        ("nothing", &|| {}),
        ("no index", &|| {
            std::fs::remove_dir_all(at.join("index")).unwrap();
        }),
        ("no texts", &|| {
            std::fs::remove_dir_all(at.join("flat")).unwrap();
        }),
        ("damaged index", &|| damage("index")),
        ("damaged texts", &|| damage("flat")),
        ("cut index", &|| {
            for entry in std::fs::read_dir(at.join("index"))
                .unwrap()
                .map(Result::unwrap)
            {
                std::fs::write(entry.path(), "").unwrap();
            }
        }),
    ];
    for (what, harm) in ways {
        harm();
        let archive = Archive::open(&at).unwrap();
        assert_eq!(state(&archive), expect, "{what}");
        let ask = Keywords {
            words: vec!["hello".into()],
            limit: 1,
            ..Keywords::default()
        };
        assert_eq!(
            archive.keywords(&ask).unwrap().source,
            Source::Index,
            "{what}"
        );
        // What is known is still known.
        assert_eq!(stage(&archive, &all).known, 50, "{what}");
    }
}
