//! What holds for every tool here.

use helve_core::def::Risk;
use helve_core::lint;
use helve_kernel::{Tool, ToolDef};

fn tools() -> Vec<Tool> {
    let sets = crate::toolsets().unwrap();
    let tools = sets.into_iter().flat_map(helve_kernel::Toolset::into_tools);
    tools.collect()
}

fn all() -> Vec<ToolDef> {
    let mut all: Vec<ToolDef> = tools().into_iter().map(|tool| tool.def).collect();
    all.push(crate::shell::exec().unwrap());
    all
}

/// As `helve check --strict` sees them, with a whole page for each.
#[test]
fn every_definition_is_whole() {
    let tools = tools();
    // What leads to another tool gives what that gives.
    let leads = tools.iter().map(|tool| tool.leads.is_some());
    let leads: Vec<bool> = leads.chain([false]).collect();
    let defs = all();
    let every: Vec<&ToolDef> = defs.iter().collect();
    let mut found: Vec<String> = Vec::new();
    for (def, leads) in defs.iter().zip(leads) {
        let issues = lint::check(def, &lint::Context::default());
        found.extend(
            issues
                .iter()
                .map(|i| format!("{}: {}: {}", def.name, i.pointer, i.message)),
        );
        let parts = [
            ("title", def.title.is_some()),
            ("detail", def.detail.is_some()),
            ("triggers", !def.triggers.is_empty()),
            ("examples", !def.examples.is_empty()),
            ("related tools", !def.related_tools.is_empty()),
            ("category", def.category.is_some()),
            (
                "schema of what it gives",
                leads || def.output_schema.is_some(),
            ),
            ("risk", def.risk.is_some()),
        ];
        let missing = parts.iter().filter(|(_, there)| !there);
        found.extend(missing.map(|(what, _)| format!("{}: it has no {what}", def.name)));
    }
    for (index, issue) in lint::check_collection(&every, &[], None) {
        found.push(format!(
            "{}: {}: {}",
            defs[index].name, issue.pointer, issue.message
        ));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// What only looks changes nothing, so it can be called again.
#[test]
fn what_only_looks_can_be_called_again() {
    for def in all() {
        assert!(
            def.risk != Some(Risk::Read) || def.idempotent,
            "{} reads and is not idempotent",
            def.name
        );
    }
}

/// A client may run what only looks without asking its user, and nobody knows what another
/// tool does.
#[test]
fn what_leads_to_others_does_not_say_that_it_only_looks() {
    for tool in tools().into_iter().filter(|tool| tool.leads.is_some()) {
        assert_ne!(tool.def.risk, Some(Risk::Read), "{}", tool.def.name);
    }
}

/// Those of the sets that are spoken in two languages have both, and the Chinese is as whole.
#[test]
fn chinese_is_spoken_where_it_is_promised() {
    let mut promised = Vec::new();
    let mut found: Vec<String> = Vec::new();
    for mut def in all() {
        let name = def.name.to_string();
        let sets = ["memory_", "profile_", "chatlog_", "web_"];
        if !sets.iter().any(|set| name.starts_with(set)) {
            continue;
        }
        promised.push(name.clone());
        let english = def.description.clone();
        crate::chinese::speak(&mut def);
        if def.description == english || def.description.is_ascii() {
            found.push(format!("{name}: it has no Chinese description"));
        }
        let issues = lint::check(&def, &lint::Context::default());
        found.extend(issues.iter().map(|i| format!("{name}: {}", i.message)));
    }
    promised.sort();
    assert_eq!(promised, crate::chinese::names());
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}
