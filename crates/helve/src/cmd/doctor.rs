//! `helve doctor`: what is wrong here, and what to do about it.

mod checks;
#[cfg(feature = "docker")]
mod docker;
mod sandbox;

use clap::Args;
use serde_json::{Value, json};

use crate::client::Target;
use crate::exit::{Done, Exit};
use crate::out;
use crate::table::Cell;

/// Check the workspace, the hub and this machine, and say what to do.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// How something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Ok,
    /// Nothing is wrong, but somebody should know.
    Note,
    Warn,
    Fail,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Note => "note",
            Status::Warn => "warn",
            Status::Fail => "fail",
        }
    }

    fn cell(self) -> Cell {
        let style = match self {
            Status::Ok => out::FIX,
            Status::Note => out::DIM,
            Status::Warn => out::WARNING,
            Status::Fail => out::ERROR,
        };
        Cell::styled(style, self.word())
    }
}

/// One thing that was looked at.
#[derive(Debug)]
struct Check {
    name: &'static str,
    status: Status,
    found: String,
    todo: Option<String>,
}

impl Check {
    fn new(name: &'static str, status: Status, found: impl Into<String>) -> Self {
        Self {
            name,
            status,
            found: found.into(),
            todo: None,
        }
    }

    fn todo(mut self, todo: impl Into<String>) -> Self {
        self.todo = Some(todo.into());
        self
    }

    fn to_value(&self) -> Value {
        json!({"name": self.name, "status": self.status.word(), "found": self.found, "todo": self.todo})
    }
}

pub(crate) async fn run(args: &DoctorArgs) -> Done {
    let checks = checks::all(&args.target).await;
    let failed = checks.iter().filter(|c| c.status == Status::Fail).count();
    if args.json {
        out::json(&checks.iter().map(Check::to_value).collect())?;
    } else {
        show(&checks)?;
        let warned = checks.iter().filter(|c| c.status == Status::Warn).count();
        out::say(&match (failed, warned) {
            (0, 0) => out::styled(out::FIX, "all is well"),
            (0, n) => out::styled(out::WARNING, out::count(n, "warning")),
            (n, m) => out::styled(
                out::ERROR,
                format!("{n} failed, {}", out::count(m, "warning")),
            ),
        });
    }
    Ok(if failed > 0 { Exit::Findings } else { Exit::Ok })
}

fn show(checks: &[Check]) -> Result<(), crate::exit::Failure> {
    let mut table = crate::table::Table::plain();
    for check in checks {
        table.row([
            check.status.cell(),
            Cell::styled(out::STRONG, check.name),
            check.found.as_str().into(),
        ]);
        if let Some(todo) = &check.todo {
            table.row([
                "".into(),
                "".into(),
                Cell::styled(out::DIM, format!("→ {todo}")),
            ]);
        }
    }
    out::show(&table.whole())
}
