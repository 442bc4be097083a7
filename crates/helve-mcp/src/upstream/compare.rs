//! What a server says its tools are, held against what is registered.
//!
//! What was registered is the pin. A definition that is not what it was is not taken over:
//! the tool is switched off, and both definitions wait until somebody has looked at them.
//! What is new is taken over, unless it hides something or the operator wants to be asked.
//! What is gone stays registered and cannot be called until it is back, or until somebody
//! accepts that it is gone.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use helve_kernel::{Entry, Kernel, Principal, PrincipalKind, Registration, ToolError};
use serde_json::Value;

use super::UpstreamError;
use super::book::{Book, Waiting};
use super::define::{behind, define, flags, source};
use super::settings::{NewTools, Upstream};

/// What came of looking at the tools of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// How many tools it has.
    pub tools: usize,
    /// Tools of ours that are new, or have a new version.
    pub registered: Vec<String>,
    /// Tools that wait for somebody to look at them, by their names there.
    pub waiting: Vec<String>,
    /// Tools that it no longer has.
    pub gone: Vec<String>,
    /// What could not be taken over, and why.
    pub problems: Vec<String>,
}

/// Who acts when the gateway does.
pub(crate) fn itself() -> Principal {
    Principal::person("hub")
}

/// Looks at the tools of a server, and makes the registry say what may be said.
pub(crate) async fn compare(
    kernel: &Kernel,
    book: &Book,
    upstream: &Upstream,
    tools: &[Value],
    first: bool,
) -> Refreshed {
    let mut done = Refreshed {
        tools: tools.len(),
        ..Refreshed::default()
    };
    let mut registered = registered(kernel, &upstream.name);
    let before = book.waiting(&upstream.name);
    let mut waiting = BTreeMap::new();
    let mut seen: HashSet<&str> = HashSet::new();
    for raw in tools {
        let Some(tool) = raw["name"].as_str() else {
            done.problems.push("a tool without a name".to_owned());
            continue;
        };
        if !seen.insert(tool) {
            done.problems.push(format!(
                "`{}`: the list has it twice; the first counts",
                shown(tool)
            ));
            continue;
        }
        let entry = registered.remove(tool);
        let own = upstream.rules.tools.get(tool);
        if own.is_some_and(|o| o.hide) || upstream.rules.hide.iter().any(|p| p.matches(tool)) {
            if let Some(entry) = entry {
                remove(kernel, &entry, &mut done).await;
            }
            continue;
        }
        let suspicious = flags(raw);
        let pinned = entry.as_ref().and_then(|e| behind(&e.def)?.2.cloned());
        let waits = match (&entry, &pinned) {
            (Some(_), Some(pinned)) if pinned == raw => false,
            (Some(_), _) => true,
            (None, _) => {
                !suspicious.is_empty() || (!first && upstream.rules.new_tools == NewTools::Ask)
            }
        };
        if !waits {
            let again = before.get(tool).is_some_and(|w| w.disabled);
            let taken = take(kernel, upstream, raw, entry.as_deref(), &itself()).await;
            match taken {
                Ok(taken) => {
                    done.problems.extend(
                        taken
                            .notes
                            .iter()
                            .map(|n| format!("`{}`: {n}", shown(tool))),
                    );
                    if again {
                        let _ = kernel.set_enabled(&itself(), &taken.name, true).await;
                    }
                    if taken.changed {
                        done.registered.push(taken.name);
                    }
                }
                Err(e) => done
                    .problems
                    .push(format!("`{}`: {}", shown(tool), told(&e))),
            }
            continue;
        }
        done.waiting.push(tool.to_owned());
        let mut disabled = before.get(tool).is_some_and(|w| w.disabled);
        if let Some(entry) = entry.filter(|e| e.enabled) {
            let off = kernel
                .set_enabled(&itself(), entry.def.name.as_str(), false)
                .await;
            disabled |= off.is_ok();
        }
        waiting.insert(
            tool.to_owned(),
            Waiting {
                before: pinned,
                after: Some(raw.clone()),
                flags: suspicious,
                disabled,
            },
        );
    }
    for (tool, entry) in registered {
        let pinned = behind(&entry.def).and_then(|b| b.2.cloned());
        let disabled = before.get(&tool).is_some_and(|w| w.disabled);
        done.gone.push(tool.clone());
        waiting.insert(
            tool,
            Waiting {
                before: pinned,
                after: None,
                flags: Vec::new(),
                disabled,
            },
        );
    }
    done.gone.sort();
    if let Err(e) = book.set(&upstream.name, waiting) {
        done.problems.push(e.to_string());
    }
    done
}

/// The tools of a server that are registered, by their names there.
pub(crate) fn registered(kernel: &Kernel, server: &str) -> HashMap<String, Arc<Entry>> {
    let source = source(server);
    let ours = kernel.tools().into_iter().filter(|e| e.source == source);
    ours.filter_map(|entry| {
        let tool = behind(&entry.def)?.1.to_owned();
        Some((tool, entry))
    })
    .collect()
}

struct Taken {
    name: String,
    changed: bool,
    notes: Vec<String>,
}

/// Registers a tool as the server describes it now.
async fn take(
    kernel: &Kernel,
    upstream: &Upstream,
    raw: &Value,
    entry: Option<&Entry>,
    who: &Principal,
) -> Result<Taken, ToolError> {
    let (mut def, notes) = define(upstream, raw).map_err(ToolError::validation)?;
    let name = def.name.to_string();
    // Another spelling is welcome where nobody else answers to it.
    def.aliases
        .retain(|alias| kernel.find(alias).is_none_or(|e| e.def.name == def.name));
    if let Some(entry) = entry.filter(|e| e.def.name != def.name) {
        // The operator calls it something else now.
        kernel.remove(who, entry.def.name.as_str()).await?;
    }
    let new = Registration {
        def,
        source: source(&upstream.name),
        why: None,
        replace: true,
    };
    let outcome = kernel.register(who, new).await?;
    Ok(Taken {
        name,
        changed: outcome.changed,
        notes,
    })
}

async fn remove(kernel: &Kernel, entry: &Entry, done: &mut Refreshed) {
    let name = entry.def.name.as_str();
    if let Err(e) = kernel.remove(&itself(), name).await {
        done.problems.push(format!("`{name}`: {}", told(&e)));
    }
}

/// Takes over what waits: of one tool, or of all of a server. The names as they are now.
pub(crate) async fn accept(
    kernel: &Kernel,
    book: &Book,
    who: &Principal,
    upstream: &Upstream,
    tool: Option<&str>,
    seen: Option<&str>,
) -> Result<Vec<String>, UpstreamError> {
    if who.kind == PrincipalKind::Agent {
        let why = format!(
            "`{}` is an agent, and agents accept no definitions",
            who.owner
        );
        return Err(UpstreamError::Refused(
            ToolError::permission(why).with_hint("a person with `tool:register` may"),
        ));
    }
    let mut waiting = book.waiting(&upstream.name);
    let wanted: Vec<String> = match tool {
        Some(tool) => {
            let name = waiting.keys().find(|k| {
                k.as_str() == tool
                    || waiting[*k]
                        .after
                        .as_ref()
                        .or(waiting[*k].before.as_ref())
                        .and_then(|raw| define(upstream, raw).ok())
                        .is_some_and(|(def, _)| def.name.as_str() == tool)
            });
            let name = name.cloned().ok_or_else(|| UpstreamError::NothingWaits {
                server: upstream.name.clone(),
                tool: tool.to_owned(),
            })?;
            vec![name]
        }
        None => waiting.keys().cloned().collect(),
    };
    // Between a look and a yes the server may have changed its mind.
    let other = |tool: &String| seen.is_some_and(|seen| waiting[tool].seen() != seen);
    if let Some(tool) = wanted.iter().find(|tool| other(tool)) {
        let why = format!(
            "the definition of `{}` is not the one that was looked at",
            shown(tool)
        );
        let hint = format!("`helve mcp diff {}` shows it as it is now", upstream.name);
        return Err(UpstreamError::Refused(
            ToolError::conflict(why).with_hint(hint),
        ));
    }
    let mut done = Vec::new();
    for tool in wanted {
        let Some(what) = waiting.get(&tool).cloned() else {
            continue;
        };
        let entry = registered(kernel, &upstream.name).remove(&tool);
        match (&what.after, entry) {
            (Some(raw), entry) => {
                let taken = take(kernel, upstream, raw, entry.as_deref(), who).await;
                let taken = taken.map_err(UpstreamError::Refused)?;
                if what.disabled || what.before.is_none() {
                    let on = kernel.set_enabled(who, &taken.name, true).await;
                    on.map_err(UpstreamError::Refused)?;
                }
                done.push(taken.name);
            }
            (None, Some(entry)) => {
                let name = entry.def.name.to_string();
                kernel
                    .remove(who, &name)
                    .await
                    .map_err(UpstreamError::Refused)?;
                done.push(name);
            }
            (None, None) => {}
        }
        // One by one, so that what is done stays done.
        waiting.remove(&tool);
        book.set(&upstream.name, waiting.clone())?;
    }
    Ok(done)
}

/// Removes the tools of servers that are configured no more.
pub(crate) async fn forget_others(
    kernel: &Kernel,
    book: &Book,
    known: &HashSet<&str>,
) -> Vec<String> {
    let mut problems = Vec::new();
    for entry in kernel.tools() {
        let Some(server) = entry.source.strip_prefix("mcp:") else {
            continue;
        };
        if known.contains(server) {
            continue;
        }
        if let Err(e) = kernel.remove(&itself(), entry.def.name.as_str()).await {
            problems.push(format!("`{}`: {}", entry.def.name, told(&e)));
        }
    }
    for server in book.servers() {
        if !known.contains(server.as_str())
            && let Err(e) = book.forget(&server)
        {
            problems.push(e.to_string());
        }
    }
    problems
}

fn told(error: &ToolError) -> String {
    match &error.hint {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message.clone(),
    }
}

/// A name from outside, as it can be shown.
fn shown(name: &str) -> String {
    let cut: String = name.chars().take(80).collect();
    cut.escape_debug().to_string()
}
