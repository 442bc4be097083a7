//! Where the machine has no groups to give, there is little to test.

use super::*;

#[test]
fn those_of_one_process_do_not_get_in_each_others_way() {
    let (one, other) = (Groups::find(), Groups::find());
    assert_eq!(one.is_ok(), other.is_ok(), "{one:?} {other:?}");
}

#[test]
fn a_group_that_somebody_removed_is_made_again() {
    let Ok(groups) = Groups::find() else {
        return;
    };
    let groups = Arc::new(groups);
    let group = groups.borrow(&Limits::default()).unwrap();
    let folder = group.parts[0].folder.clone();
    group.finish();
    fs::remove_dir(&folder).unwrap();
    let group = groups.borrow(&Limits::default()).unwrap();
    assert!(group.parts.iter().all(|part| part.folder.is_dir()));
    assert!(!folder.exists());
}
