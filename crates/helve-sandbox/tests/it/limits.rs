//! Programs that take too much.

use std::time::Duration;

use helve_sandbox::{Limit, Limits, Spec};

use crate::support::{World, both, is_root};

fn limited(world: &World, script: &str, limits: Limits) -> Spec {
    Spec {
        limits,
        ..world.script(script)
    }
}

both! {
    fn a_fork_bomb_stays_small() {
        let world = World::new();
        let limits = Limits { processes: Some(20), ..Limits::default() };
        // Never more than 60 in any case, and all end with the program.
        let bomb = "i=0; while [ $i -lt 60 ]; do sleep 30 & i=$((i+1)); done; set -- /proc/[0-9]*; echo $#";
        let ran = world.run(&limited(&world, bomb, limits.clone()));
        let most: Option<u32> = ran.out.lines().next().and_then(|line| line.trim().parse().ok());
        assert!(most.is_none_or(|most| most <= 22), "{ran:?}");
        if is_root() {
            assert_eq!(ran.ended.hit, Some(Limit::Processes), "{ran:?}");
        }
        let ran = world.run(&limited(&world, "true; true", limits));
        assert_eq!((ran.ended.status.code(), ran.ended.hit), (Some(0), None));
    }
}

both! {
    fn a_memory_bomb_is_stopped() {
        let world = World::new();
        let limits = Limits { memory: Some(64 << 20), ..Limits::default() };
        let bomb = "exec perl -e '$x = \"x\" x (400 << 20); print length $x'";
        let ran = world.run(&limited(&world, bomb, limits));
        assert!(!ran.ended.status.success() && ran.out.is_empty(), "{ran:?}");
        if is_root() {
            assert_eq!(ran.ended.hit, Some(Limit::Memory));
        }
    }
}

both! {
    fn files_and_tmp_do_not_fill_the_disk() {
        let world = World::new();
        let limits = Limits { file_size: Some(1 << 20), tmp_size: 2 << 20, ..Limits::default() };
        let ran = world.run(&limited(&world, "exec head -c 3000000 /dev/zero > big", limits.clone()));
        assert_eq!(ran.ended.hit, Some(Limit::FileSize), "{ran:?}");
        assert_eq!(world.path("state/upper/big").metadata().unwrap().len(), 1 << 20);
        let fill = "for i in 1 2 3 4; do head -c 1000000 /dev/zero > /tmp/$i || echo full; done; ls /dev/shm /var/tmp | wc -l";
        let ran = world.run(&limited(&world, fill, limits.clone()));
        assert!(ran.out.starts_with("full\nfull\n"), "{ran:?}");
        let ran = world.run(&limited(&world, "cd /tmp; i=0; while mkdir $i; do i=$((i+1)); done 2>/dev/null; echo $i", limits));
        assert!(ran.out.trim().parse::<u32>().unwrap() < 1100, "{ran:?}");
    }
}

both! {
    fn descriptors_and_time_are_bounded() {
        let world = World::new();
        let limits = Limits {
            open_files: Some(10),
            cpu_time: Some(Duration::from_secs(1)),
            ..Limits::default()
        };
        assert_eq!(world.run(&limited(&world, "ulimit -n", limits.clone())).out, "10\n");
        let ran = world.run(&limited(&world, "while :; do :; done", limits));
        assert_eq!(ran.ended.hit, Some(Limit::CpuTime), "{ran:?}");
    }
}
