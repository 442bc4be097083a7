use std::fmt::Write as _;

use super::*;

/// What is told of a machine on which these do not work.
fn check(held: Held, required: bool, broken: &[&'static str], wanted: &str) {
    let names = [
        ("user namespace", "no program can be run in a sandbox"),
        ("mount namespace", "no program can be run in a sandbox"),
        (
            "overlay",
            "programs that write run on a copy of their folder",
        ),
        ("landlock", "a second wall"),
        ("control group of memory", "limits are less sharp"),
        ("reflink", "copies take room"),
    ];
    let abilities = names.map(|(name, lost)| Ability {
        name,
        works: !broken.contains(&name),
        lost,
        why: broken.contains(&name).then(|| "said \u{1b}".to_owned()),
    });
    let mut text = String::new();
    let abilities = abilities.to_vec();
    for check in told(&Given { held, abilities }, required) {
        let (status, found) = (check.status.word(), check.found);
        let found = found.split(['(', ',']).next().unwrap_or_default().trim();
        assert!(!found.contains('\u{1b}'));
        let todo = check.todo.map(|t| t.split(' ').next().map(str::to_owned));
        writeln!(
            text,
            "{status} {found} {}",
            todo.flatten().unwrap_or_default()
        )
        .unwrap();
    }
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|l| l.trim().to_owned());
        lines.filter(|l| !l.is_empty()).collect()
    };
    assert_eq!(lines(&text), lines(wanted));
}

#[test]
fn all_works() {
    check(
        Held::Whole,
        true,
        &[],
        "
        ok whole: programs see
        ok user namespace works
        ok mount namespace works
        ok overlay works
        ok landlock works
        ok control group of memory works
        ok reflink works
        ",
    );
}

#[test]
fn a_wall_less_is_a_warning_and_a_comfort_less_is_not() {
    check(
        Held::Copies,
        false,
        &["overlay", "landlock", "control group of memory", "reflink"],
        "
        warn programs that write run on copies of their folders
        ok user namespace works
        ok mount namespace works
        warn no overlay needs
        warn no landlock needs
        note no control group of memory `systemd-run
        note no reflink
        ",
    );
}

#[test]
fn how_to_mend_it_is_said_once_and_what_is_required_fails() {
    check(
        Held::Nothing,
        true,
        &["user namespace", "mount namespace"],
        "
        fail no sandbox: programs read and write what you can `require_sandbox`
        warn no user namespace allow
        warn no mount namespace
        ok overlay works
        ok landlock works
        ok control group of memory works
        ok reflink works
        ",
    );
}

#[test]
fn everything_that_can_be_missing_has_a_remedy_or_needs_none() {
    let folder = tempfile::tempdir().unwrap();
    let given = Given::find(folder.path());
    let without: Vec<&str> = given
        .abilities
        .iter()
        .map(|a| a.name)
        .filter(|name| remedy(name).is_none())
        .collect();
    let wanted = ["overlay with redirect_dir, index, metacopy", "reflink"];
    assert_eq!(without, wanted);
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none());
}
