//! Automation Hub's tools: an id, a risk, a command as a list of words.

use serde_json::{Map, Value, json};

use super::draft::Outline;
use super::{
    Dialect, Draft, EncodeError, Encoded, Loss, Source, Strictness, as_list, by_name, legacy,
};
use crate::def::{ExecutorKind, ToolDef};
use crate::lint::Issue;
use crate::read::Syntax;

pub(super) const DIALECT: Dialect = Dialect {
    name: "automation-hub",
    about: "Automation Hub tools and its old manifests",
    syntaxes: &[Syntax::Json],
    holds: &[
        "name",
        "title",
        "description",
        "risk",
        "input_schema",
        "enabled",
    ],
    encode,
    decode,
    together: as_list,
    path: by_name,
};

/// The settings of an executor that stand beside it here.
const SETTINGS: &[&str] = &["command", "cwd"];

fn encode(def: &ToolDef, _: Strictness) -> Result<Encoded, EncodeError> {
    let mut outline = Outline::of("automation-hub", def);
    let carried = outline.carried();
    outline.take("name", "id");
    outline.remove("title");
    // A tool of the hub has a name to show; without one, its id.
    let shown = def.title.as_deref().unwrap_or(def.name.as_str());
    outline.set("name", shown);
    if def.title.as_deref() == Some(def.name.as_str()) {
        let reason = "a name that is the id is taken for none";
        outline.losses.push(Loss::changed("/title", reason));
    }
    outline.take_same(&["description"]);
    outline.take("risk", "risk_level");
    executor(&mut outline, def);
    outline.take("input_schema", "args_schema");
    if let Some(timeout) = def.timeout {
        outline.remove("timeout");
        let seconds = timeout.as_millis().div_ceil(1000);
        if timeout.subsec_millis() > 0 {
            outline
                .losses
                .push(Loss::changed("/timeout", "rounded up to whole seconds"));
        }
        outline.set("timeout_sec", u64::try_from(seconds).unwrap_or(u64::MAX));
    }
    if outline.remove("allowed_paths").is_some() {
        let paths: Vec<&str> = def.allowed_paths.iter().map(|p| p.path.as_str()).collect();
        outline.set("allowed_paths", json!(paths));
        for (i, _) in def
            .allowed_paths
            .iter()
            .enumerate()
            .filter(|(_, p)| p.access.is_some())
        {
            let reason = "a path alone does not say what may be done there";
            outline
                .losses
                .push(Loss::changed(format!("/allowed_paths/{i}"), reason));
        }
    }
    outline.remove("enabled");
    outline.set("is_enabled", def.enabled);
    outline.restore(carried, "id");
    outline.finish()
}

fn executor(outline: &mut Outline, def: &ToolDef) {
    let Some(executor) = &def.executor else {
        return;
    };
    outline.remove("executor");
    let known = [
        ExecutorKind::Host,
        ExecutorKind::Docker,
        ExecutorKind::K8sJob,
    ];
    if !known.contains(&executor.kind) {
        let reason = "the hub runs on host, docker and k8s_job only";
        outline.losses.push(Loss::dropped("/executor", reason));
        return;
    }
    outline.set("executor", executor.kind.as_str());
    for (key, value) in &executor.settings {
        match SETTINGS.contains(&key.as_str()) {
            true => outline.set(key, value.clone()),
            false => {
                let reason = "the hub's tools have no such setting";
                outline
                    .losses
                    .push(Loss::dropped(format!("/executor/{key}"), reason));
            }
        }
    }
}

fn decode(source: &Source<'_>) -> Result<Draft, Issue> {
    if legacy::is_entry(source.value) || source.key.is_some() {
        return legacy::decode(source);
    }
    let mut draft = Draft::of("automation-hub", source.value)?;
    if draft.peek("name") == draft.peek("id") {
        draft.remove("name");
    }
    draft.take("name", "title");
    draft.take("id", "name");
    draft.take_same(&["description", "allowed_paths"]);
    draft.take("risk_level", "risk");
    draft.take("args_schema", "input_schema");
    draft.take("timeout_sec", "timeout");
    draft.take("is_enabled", "enabled");
    take_executor(&mut draft);
    draft.schema_or_empty();
    draft.description_or(&["title"]);
    draft.adopt_name();
    draft.carry_rest();
    Ok(draft)
}

/// Gathers what stands beside `executor` into its table.
fn take_executor(draft: &mut Draft) {
    let Some(kind) = draft.remove("executor") else {
        return;
    };
    let mut table = Map::new();
    table.insert("type".to_owned(), kind);
    for setting in SETTINGS {
        if let Some(value) = draft.remove(setting).filter(|v| !v.is_null()) {
            table.insert((*setting).to_owned(), value);
            draft.place(format!("/executor/{setting}"), format!("/{setting}"));
        }
    }
    draft.set("executor", Value::Object(table), "executor");
    draft.place("/executor/type".to_owned(), "/executor".to_owned());
}
