//! `helve check`: what is wrong with definitions, and what to do about it.

use std::path::Path;

use clap::Args;
use helve_core::collection::{self, Document};
use helve_core::lint::{Severity, Vendor, fix, rules};
use serde_json::json;

use crate::cli::{Sources, vendor};
use crate::exit::{Done, Exit, Failure};
use crate::load::{self, Reading};
use crate::{out, save};

/// Check definitions: errors make a tool unusable, warnings make it hard to choose or to call.
///
/// Every finding has a code, a place, and what to do. `--fix` mends what can be
/// mended without guessing.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    sources: Sources,
    /// Count warnings as errors.
    #[arg(long)]
    strict: bool,
    /// Also say what this vendor or system would refuse.
    #[arg(long = "for", value_name = "TARGET", value_parser = vendor())]
    target: Option<String>,
    /// Mend what can be mended safely, in the files.
    #[arg(long)]
    fix: bool,
    /// Names of tools that exist elsewhere and may be mentioned.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    known: Vec<String>,
    /// Print only errors.
    #[arg(long, short)]
    quiet: bool,
    /// List the rules, or explain one, and do nothing else.
    #[arg(long, value_name = "RULE", num_args = 0..=1, default_missing_value = "")]
    explain: Option<String>,
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &CheckArgs) -> Done {
    if let Some(rule) = &args.explain {
        return explain(rule, args.json);
    }
    let vendor = args.target.as_deref().and_then(Vendor::find);
    let reading = Reading {
        dialect: args.sources.dialect(),
        lint: !args.fix,
        vendor,
    };
    if args.fix && args.sources.paths.iter().any(|p| p == "-") {
        return Err(Failure::usage(
            "standard input cannot be mended; give a file",
        ));
    }
    let mut loaded = load::load(&args.sources.paths, reading)?;
    if args.fix {
        mend(&loaded.documents)?;
        // What is left is what a second look finds.
        let reading = Reading {
            lint: true,
            ..reading
        };
        loaded = load::load(&args.sources.paths, reading)?;
    }
    let known: Vec<&str> = args.known.iter().map(String::as_str).collect();
    collection::lint_together(&mut loaded.documents, &known, vendor);
    if args.strict {
        let all = loaded.documents.iter_mut().flat_map(|d| &mut d.findings);
        all.for_each(|f| f.severity = Severity::Error);
    }
    report(&loaded.documents, args)
}

fn report(documents: &[Document], args: &CheckArgs) -> Done {
    let all = || {
        documents
            .iter()
            .flat_map(|d| d.findings.iter().map(move |f| (d, f)))
    };
    let errors = all().filter(|(_, f)| f.severity == Severity::Error).count();
    let warnings = all().count() - errors;
    let tools: usize = documents.iter().map(|d| d.tools.len()).sum();
    if args.json {
        let findings: Vec<_> = all().map(|(_, f)| f).collect();
        let report = json!({
            "tools": tools,
            "files": documents.len(),
            "dialects": dialects(documents),
            "errors": errors,
            "warnings": warnings,
            "findings": findings,
        });
        out::data(&helve_core::write::json_text(&report))?;
    } else {
        let mut text = String::new();
        for (document, finding) in all() {
            if !args.quiet || finding.severity == Severity::Error {
                text.push_str(&out::finding(finding, document));
                text.push('\n');
            }
        }
        out::show(&text)?;
        let fixable = all().filter(|(_, f)| f.fixable).count();
        let fix = if fixable > 0 {
            format!("; {fixable} can be mended with `--fix`")
        } else {
            String::new()
        };
        let rest = format!(
            " in {}, {}{fix}",
            out::count(tools, "tool"),
            out::count(documents.len(), "file")
        );
        out::say(&out::summary(errors, warnings, &rest));
    }
    Ok(if errors > 0 { Exit::Findings } else { Exit::Ok })
}

/// What each file was taken for.
fn dialects(documents: &[Document]) -> serde_json::Value {
    let each = documents.iter().map(|d| {
        let mut names: Vec<&str> = d.tools.iter().map(|t| t.dialect.name).collect();
        names.dedup();
        (d.file.clone(), json!(names))
    });
    serde_json::Value::Object(each.collect())
}

fn mend(documents: &[Document]) -> Result<(), Failure> {
    for document in documents {
        let rewrite = fix::rewrite(document);
        for why in &rewrite.refused {
            out::say(&format!("not fixed: {}: {why}", document.file));
        }
        if let Some(text) = rewrite.text {
            let path = Path::new(&document.file);
            if !path.exists() {
                return Err(Failure::input(format!(
                    "`{}` was not found again",
                    document.file
                )));
            }
            save::file(path, &text)?;
        }
        for (tool, applied) in &rewrite.applied {
            out::say(&format!(
                "fixed[{}]: {tool}: {}",
                applied.rule.code, applied.done
            ));
        }
    }
    Ok(())
}

fn explain(wanted: &str, json: bool) -> Done {
    let shown: Vec<_> = match wanted {
        "" => rules::RULES.to_vec(),
        name => match rules::find(name) {
            Some(rule) => vec![rule],
            None => {
                let known = rules::RULES.iter().flat_map(|r| [r.code, r.name]);
                let near = helve_core::name::nearest(name, known, 3);
                let failure = Failure::usage(format!("there is no rule `{name}`"));
                return Err(failure.hint(format!(
                    "near are {}; `--explain` alone lists all",
                    near.join(", ")
                )));
            }
        },
    };
    let rows = shown.iter().map(|r| {
        json!({"code": r.code, "name": r.name, "severity": r.severity, "asks": r.asks, "fixable": r.fixable})
    });
    if json {
        out::data(&helve_core::write::json_text(&rows.collect()))?;
        return Ok(Exit::Ok);
    }
    for rule in shown {
        let fix = if rule.fixable { " (--fix)" } else { "" };
        out::show(&format!(
            "{}  {:<28} {}{fix}\n",
            out::styled(out::STRONG, rule.code),
            rule.name,
            rule.asks
        ))?;
    }
    Ok(Exit::Ok)
}
