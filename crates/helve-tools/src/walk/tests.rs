//! Patterns fit what globset says that they fit.

use globset::GlobBuilder;
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn a_pattern_fits_as_it_always_did(
        pattern in prop::collection::vec(
            prop::sample::select(vec!["*", "**", "/", "?", "a", "b.", "[a-c]", "[!a]", "{a,b.rs}", "é", "\\*"]), 1..7,
        ),
        path in prop::collection::vec(
            prop::sample::select(vec!["a", "b", "b.", "rs", "/", "é", "*", "x\n"]), 0..7,
        ),
    ) {
        let (pattern, path) = (pattern.concat(), path.concat());
        let Ok(ours) = glob(&pattern, "pattern") else {
            return Ok(());
        };
        let pattern = pattern.strip_prefix("./").unwrap_or(&pattern);
        let theirs = GlobBuilder::new(pattern).literal_separator(true).build();
        let theirs = theirs.expect("it was read above").compile_matcher();
        prop_assert_eq!(ours.is_match(Path::new(&path)), theirs.is_match(&path), "{} {}", pattern, path);
    }
}
