//! The hub's own state is not there, whichever way leads to it.

use std::os::unix::fs::symlink;
use std::time::Duration;

use helve_changes::Access;

use super::*;

fn files(root: &Path) -> Files {
    let keeper = Keeper::open(&root.join(".helve/changes"), None).unwrap();
    let seen = [Root {
        path: root.to_owned(),
        access: Access::Write,
    }];
    let allowed = Allowed::new([root.to_owned()]);
    let run = RunId::fresh();
    Files::new(Arc::new(keeper), run, root.to_owned(), &seen, allowed)
}

#[tokio::test]
async fn no_way_leads_to_the_state() {
    for elsewhere in [false, true] {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("src")).unwrap();
        if elsewhere {
            std::fs::create_dir_all(root.join("lib/state")).unwrap();
            symlink("lib/state", root.join(".helve")).unwrap();
        }
        let files = files(&root);
        std::fs::write(root.join(".helve/key"), "state").unwrap();
        symlink("../.helve", root.join("src/in")).unwrap();
        symlink(root.join(".helve/key"), root.join("key")).unwrap();
        let mut ways = vec![
            ".helve",
            ".helve/key",
            "src/in/key",
            "key",
            "src/../.helve/key",
        ];
        if elsewhere {
            ways.extend(["lib/state/key", "lib/state", "src/../lib/state/key"]);
        }
        for way in ways {
            let read = files.read(way).await.unwrap_err();
            assert!(read.message.contains("own state"), "{way}: {read:?}");
            let written = files.write(format!("{way}/x"), "x").await.unwrap_err();
            assert!(written.message.contains("own state"), "{way}: {written:?}");
        }
        for moved in [".helve", "lib"].iter().take(1 + usize::from(elsewhere)) {
            let error = files.rename(*moved, "taken").await.unwrap_err();
            assert!(error.message.contains("own state"), "{error:?}");
            let error = files.remove_dir_all(*moved).await.unwrap_err();
            assert!(error.message.contains("own state"), "{error:?}");
            let copied = files.work(*moved, |d| d.copy(d.path(), Path::new("taken")));
            assert!(copied.await.unwrap_err().message.contains("own state"));
        }
        let names = files.list(".").await.unwrap();
        assert!(names.iter().all(|(name, _)| name != ".helve"), "{names:?}");
    }
}

#[tokio::test]
async fn looking_leaves_nothing_on_the_disk() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().canonicalize().unwrap();
    let files = files(&root);
    std::fs::write(root.join("a"), "a").unwrap();
    assert_eq!(files.read("a").await.unwrap(), b"a");
    assert_eq!(files.list(".").await.unwrap().len(), 1);
    let opened = files.0.as_ref().unwrap();
    assert!(!opened.keeper.stage_of(&opened.run).exists());
    assert!(files.finish().await.unwrap().is_none());
    files.write("b", "b").await.unwrap();
    assert_eq!(files.read("a").await.unwrap(), b"a");
    assert_eq!(files.list(".").await.unwrap().len(), 2);
    assert_eq!(
        files
            .finish()
            .await
            .unwrap()
            .unwrap()
            .changeset
            .changes
            .len(),
        1
    );
}

#[tokio::test]
async fn work_learns_that_nobody_waits() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().canonicalize().unwrap();
    let files = files(&root);
    let (told, learned) = tokio::sync::oneshot::channel();
    let work = files.work(".", move |desk| {
        while !desk.is_stopped() {
            std::thread::yield_now();
        }
        let _ = told.send(());
        Ok(())
    });
    let limit = Duration::from_millis(20);
    assert!(tokio::time::timeout(limit, work).await.is_err());
    learned.await.unwrap();
}
