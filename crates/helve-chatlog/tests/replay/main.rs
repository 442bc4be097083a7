//! Replays the corpus of the fuzz target `chat_export`, and the fixtures of every format.

mod target;

use std::path::Path;

fn replay(folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(&folder).expect("the folder is there");
    let mut replayed = 0;
    for entry in entries {
        let path = entry.expect("a folder can be listed").path();
        if path.is_file() {
            target::chat_export(&std::fs::read(&path).expect("a file can be read"));
            replayed += 1;
        }
    }
    assert!(replayed > 0, "{} is empty", folder.display());
}

#[test]
fn the_corpus() {
    replay("../../fuzz/corpus/chat_export");
}

#[test]
fn the_fixtures() {
    replay("testdata/formats");
}
