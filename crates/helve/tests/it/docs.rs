//! The documents say what the program does, because the program is asked.

use std::fmt::Write as _;
use std::path::Path;

use helve_core::lint::{Severity, rules::RULES};

use crate::run::{Folder, root};

/// Runs every `$ helve …` of the README, one after the other in one workspace, and
/// compares what a person sees. Ids, times and hashes differ from run to run.
#[test]
fn the_readme_shows_what_happens() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let folder = Folder::new();
    copy(&root().join("examples"), &folder.path().join("examples"));
    folder.write(
        "helve.toml",
        std::fs::read(root().join("helve.toml")).unwrap(),
    );
    let mut blocks = 0;
    for block in readme.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        let (command, wanted) = block.split_once('\n').unwrap();
        let args: Vec<&str> = command
            .strip_prefix("$ helve ")
            .unwrap()
            .split(' ')
            .collect();
        let ran = folder.helve(&args);
        // What is said before or after the data depends on the command.
        let orders = [
            format!("{}{}", ran.err, ran.out),
            format!("{}{}", ran.out, ran.err),
        ];
        assert!(
            orders.iter().any(|o| lasting(o) == lasting(wanted)),
            "{command}\n{}",
            orders.join("\n--- or\n")
        );
        blocks += 1;
    }
    assert_eq!(blocks, 16);
}

/// A text without what differs from run to run: words with digits of a length or a
/// shape that ids, times and hashes have. How wide columns are differs with them.
fn lasting(text: &str) -> String {
    let masked = |word: &str| {
        let digits = word.chars().filter(char::is_ascii_digit).count();
        let id = digits > 0 && word.len() >= 8;
        let time = digits > 0 && word.ends_with(['s', 'm', 'h']) && word.len() <= 6;
        let clock = digits >= 6 && word.contains(':');
        let counted = word.starts_with("timing_ms=");
        id || time || clock || counted
    };
    let lines = text.lines().map(|line| {
        let words = line.split_whitespace().map(|word| match masked(word) {
            true => "#",
            false => word,
        });
        words.collect::<Vec<_>>().join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(std::fs::copy(&path, &target).unwrap()),
        }
    }
}

#[test]
fn the_example_tools_are_beyond_reproach() {
    let folder = Folder::new();
    let examples = root().join("examples/tools");
    let ran = folder
        .helve(&["check", "--strict", "--json", examples.to_str().unwrap()])
        .ended(0);
    assert_eq!(ran.json()["tools"], 6);
    let docker = root().join("examples/docker");
    let ran = folder.helve(&["check", "--strict", "--json", docker.to_str().unwrap()]);
    assert_eq!(ran.ended(0).json()["tools"], 1);
}

/// `docs/tools.md`: the tools that a hub has by itself.
#[test]
fn the_page_of_built_in_tools() {
    let mut text = "# Built-in tools\n\nWhat a hub has the minute it is up, printed from the definitions. Each tool also \
                    answers to\n`internal_<name>`, `mcp__<group>__<action>` and `mcp__helve__<name>`. `[toolsets]` of `helve.toml` \
                    turns sets and\nsingle tools off and on.\n"
        .to_owned();
    let mut last = String::new();
    let mut line = |text: &mut String, set: &str, def: &helve_core::ToolDef| {
        if set != last {
            write!(
                text,
                "\n## {set}\n\n| tool | risk | other names | |\n|---|---|---|---|\n"
            )
            .unwrap();
            last = set.to_owned();
        }
        let risk = def.risk.unwrap().as_str();
        let names: Vec<String> = def.aliases.iter().map(|a| format!("`{a}`")).collect();
        let off = if def.enabled { "" } else { ", off" };
        let (name, says) = (&def.name, &def.description);
        writeln!(
            text,
            "| `{name}` | {risk}{off} | {} | {says} |",
            names.join(", ")
        )
        .unwrap();
    };
    for set in helve_tools::toolsets().unwrap() {
        for tool in set.tools() {
            line(&mut text, set.name(), &tool.def);
        }
    }
    line(&mut text, "shell", &helve_tools::shell::exec().unwrap());
    page("tools.md", &text);
}

/// Compares a generated page with the one in `docs/`; `HELVE_BLESS=1` writes it.
fn page(name: &str, text: &str) {
    let path = root().join("docs").join(name);
    if std::env::var_os("HELVE_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written, text,
        "docs/{name} is out of date: HELVE_BLESS=1 cargo nextest run -p helve docs"
    );
}

#[test]
fn the_page_of_rules() {
    let mut text = "# Rules of `helve check`\n\nPrinted from the table in `helve-core`. Errors make a tool unusable; \
warnings count as errors with `--strict`; `V` rules hold with `--for` alone.\n\n| code | rule | asks that | mended by `--fix` |\n|---|---|---|---|\n"
        .to_owned();
    for rule in RULES {
        let fix = if rule.fixable { "yes" } else { "" };
        let severity = match rule.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let _ = writeln!(
            text,
            "| {} | `{}` ({severity}) | {} | {fix} |",
            rule.code, rule.name, rule.asks
        );
    }
    page("rules.md", &text);
}

#[test]
fn the_page_of_fields() {
    let mut text = "# Fields of a definition\n\nPrinted from the table in `helve-core`. A definition is a file in \
`tools/<group>/<action>.toml` (`.yaml` and `.json` alike), the same JSON over an API, or a `#[tool]` function.\n\n| field | holds | |\n|---|---|---|\n"
        .to_owned();
    for field in helve_core::def::FIELDS {
        let need = match field.need {
            helve_core::def::Need::Required => "required",
            helve_core::def::Need::Optional => "",
        };
        let _ = writeln!(text, "| `{}` | {} | {need} |", field.name, field.holds);
    }
    page("fields.md", &text);
}
