//! What a person, or a program, is shown of an import.

use std::path::{Path, PathBuf};

use helve_core::collection::Finding;
use helve_core::def::Risk;
use helve_core::write::json_text;
use serde_json::{Value, json};

use super::{Found, Import, ImportArgs};
use crate::exit::Failure;
use crate::out;

/// Everything: the tools, what was lost, what is strange, and what to do next.
pub(super) fn all(
    args: &ImportArgs,
    found: &Found,
    folder: &Path,
    there: &[PathBuf],
) -> Result<(), Failure> {
    if args.json {
        return out::data(&json_text(&report(args, found, folder, there)));
    }
    let width = found
        .tools
        .iter()
        .map(|t| t.def.name.as_str().len())
        .max()
        .unwrap_or(0);
    for tool in &found.tools {
        let name = format!("{:<width$}", tool.def.name.as_str());
        let risk = tool.def.risk.map_or("-", Risk::as_str);
        let new = if there.contains(&folder.join(&tool.file)) {
            "over"
        } else {
            "new "
        };
        out::show(&format!(
            "{new}  {}  {risk:<9}  {}\n",
            out::styled(out::STRONG, name),
            tool.file
        ))?;
    }
    findings(found);
    losses(args, found);
    suspicions(found);
    secrets(found);
    let count = out::count(found.tools.len(), "tool");
    let place = folder.display();
    match args.dry_run {
        true => out::say(&format!("{count} would be written to {place}; nothing was")),
        false => out::say(&format!("wrote {count} to {place}")),
    }
    Ok(())
}

/// What could not become a tool.
pub(super) fn findings(found: &Found) {
    for finding in &found.findings {
        out::say(&line(finding));
    }
}

fn line(finding: &Finding) -> String {
    let place = finding
        .place
        .map(|p| format!(":{}:{}", p.line, p.column))
        .unwrap_or_default();
    let fix = finding
        .fix
        .as_ref()
        .map(|f| format!("; {}", out::visible(f)))
        .unwrap_or_default();
    let text = format!("{}{fix} [{}]", out::visible(&finding.message), finding.code);
    format!(
        "{}{place}: {} {text}",
        out::visible(&finding.file),
        out::visible(&finding.pointer)
    )
}

fn losses(args: &ImportArgs, found: &Found) {
    let lost: usize = found.tools.iter().map(|t| t.losses.len()).sum();
    if lost == 0 {
        return;
    }
    if !args.losses {
        let some = found.tools.iter().filter(|t| !t.losses.is_empty()).count();
        let tools = out::count(some, "tool");
        return out::say(&format!("{lost} lost in {tools}; `--losses` lists them"));
    }
    for tool in &found.tools {
        for loss in &tool.losses {
            out::say(&out::loss(tool.def.name.as_str(), loss));
        }
    }
}

fn suspicions(found: &Found) {
    let strange: Vec<&Import> = found
        .tools
        .iter()
        .filter(|t| !t.suspicions.is_empty())
        .collect();
    for tool in &strange {
        for suspicion in &tool.suspicions {
            out::warn(&out::visible(&format!("`{}`: {suspicion}", tool.def.name)));
        }
    }
    if !strange.is_empty() {
        let tools = out::count(strange.len(), "tool");
        out::say(&format!(
            "{tools} with `enabled = false`: look at the text before you change that"
        ));
    }
}

fn secrets(found: &Found) {
    if found.secrets.is_empty() {
        return;
    }
    out::say("the tools need secrets; say in `helve.toml` where they come from:");
    out::say("  [secrets]");
    for secret in &found.secrets {
        let hosts: Vec<String> = secret
            .hosts
            .iter()
            .map(|h| format!("\"{}\"", out::visible(h)))
            .collect();
        let variable = secret.name.to_ascii_uppercase().replace(['-', '.'], "_");
        out::say(&format!(
            "  {} = {{ from = \"env:{variable}\", hosts = [{}] }}  # {}",
            secret.name,
            hosts.join(", "),
            out::visible(&secret.what)
        ));
    }
}

fn report(args: &ImportArgs, found: &Found, folder: &Path, there: &[PathBuf]) -> Value {
    let tools: Vec<Value> = found
        .tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.def.name.as_str(),
                "risk": tool.def.risk.map(Risk::as_str),
                "file": tool.file,
                "replaces": there.contains(&folder.join(&tool.file)),
                "enabled": tool.def.enabled,
                "losses": tool.losses,
                "suspicions": tool.suspicions,
            })
        })
        .collect();
    json!({
        "kind": found.kind.name(),
        "out": folder.display().to_string(),
        "written": !args.dry_run,
        "tools": tools,
        "passed_over": found.findings,
        "secrets": found.secrets,
    })
}
