//! What the machine is said to give.

use helve_sandbox::abilities;

use crate::support::{World, both, is_root};

both! {
    fn what_works_here_is_found() {
        let world = World::new();
        let found = abilities(&world.path("state"));
        let works = |name: &str| found.iter().find(|a| a.name == name).map(|a| a.works);
        for name in [
            "user namespace", "mount namespace", "process namespace", "network namespace",
            "ipc namespace", "read-only mounts", "own /proc", "overlay", "landlock", "seccomp",
        ] {
            assert_eq!(works(name), Some(true), "{name}: {found:#?}");
        }
        let all = works("overlay with redirect_dir, index, metacopy");
        assert_eq!(all, Some(is_root()), "{found:#?}");
        for ability in &found {
            assert_eq!(ability.works, ability.why.is_none(), "{ability:?}");
            assert!(!ability.lost.is_empty());
        }
        let left: Vec<_> = std::fs::read_dir(world.path("state")).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "the secret alone, not {left:?}");
    }
}

both! {
    fn a_folder_that_is_not_there_is_told() {
        let world = World::new();
        let found = abilities(&world.path("none"));
        let overlay = found.iter().find(|ability| ability.name == "overlay").unwrap();
        assert_eq!(overlay.why.as_deref(), Some("No such file or directory (os error 2)"));
    }
}
