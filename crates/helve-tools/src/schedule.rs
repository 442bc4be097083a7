//! What is to happen later: a call of a tool, once or again and again.
//!
//! A scheduled run is a run like any other, as whoever scheduled it: its policy, its approval,
//! its record. Here is what people and agents do about schedules; the [`ticker`] is the part
//! of the hub that makes them run.

mod kept;
#[cfg(test)]
mod tests;
pub mod ticker;
mod trigger;

use std::sync::Arc;

use helve_kernel::{
    Ctx, DefineTool, Kernel, Led, Principal, StoreError, ToolError, Toolset, ToolsetError,
    WeakKernel, tool,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::owned;
use kept::{By, Due, SCHEDULES, STATES, Schedule, State, runs};
pub use kept::{Missed, TaskType};
pub use ticker::{Settings, tick};
use trigger::{Moment, Trigger};
pub use trigger::{TriggerConfig, TriggerType};

/// The most schedules of one person.
const MOST: usize = 200;

/// What a reminder calls.
const REMINDER: &str = "todo_add";

/// The set.
pub fn toolset() -> Result<Toolset, ToolsetError> {
    let tools = vec![
        <task as DefineTool>::tool(),
        <list as DefineTool>::tool(),
        <update as DefineTool>::tool(),
        <cancel as DefineTool>::tool(),
        <trigger_now as DefineTool>::tool().leading(led),
        <executions as DefineTool>::tool(),
    ];
    let says = "Tools that are called later, once or again and again".to_owned();
    Toolset::new("schedule", Some(says), vec!["schedule".to_owned()], tools)
}

/// Something that is scheduled.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Scheduled {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Whether a tool is called, or something is noted as to be done.
    pub task_type: TaskType,
    /// The tool.
    pub tool: String,
    /// What the tool is given.
    pub arguments: Map<String, Value>,
    /// What sort of trigger it has.
    pub trigger_type: TriggerType,
    /// When it is due, in the words of the trigger.
    pub trigger_config: TriggerConfig,
    /// The time zone of local times.
    pub time_zone: String,
    /// What becomes of runs that were missed.
    pub missed: Missed,
    /// Whether it runs when it is due.
    pub enabled: bool,
    /// When it is due next; nothing if it is not due any more.
    pub next_at: Option<String>,
    /// When it was due last.
    pub last_at: Option<String>,
    /// Who scheduled it, and so answers for what it does.
    pub scheduled_by: String,
}

/// Schedules.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AllScheduled {
    /// The oldest first.
    pub schedules: Vec<Scheduled>,
}

/// What is not scheduled any more.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cancelled {
    /// The schedule.
    pub id: String,
    /// What it was called.
    pub name: String,
}

/// One time that a schedule was due.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Execution {
    /// The schedule.
    pub task_id: String,
    /// What it is called.
    pub name: String,
    /// When it was due.
    pub due: String,
    /// When it was begun.
    pub fired_at: String,
    /// When it was over.
    pub ended_at: Option<String>,
    /// The run, if there was one.
    pub run_id: Option<String>,
    /// Whether it made up for runs that were missed.
    pub missed: bool,
    /// `fired`, the state of the run, `refused` or `skipped`.
    pub state: String,
    /// Why it did not go well.
    pub error: Option<String>,
}

/// When schedules were due.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Executions {
    /// The last first.
    pub executions: Vec<Execution>,
}

/// Calls a tool later, once or again and again. Use it when something is to happen at a time, or regularly.
///
/// When it is due the call is made as whoever scheduled it: with the policy, the approval and
/// the record of any other call.
///
/// - `once` takes `run_at`, `interval` one of `interval_seconds`, `interval_minutes` and
///   `interval_hours`, `cron` five fields like `0 9 * * 1-5`, or `@daily`.
/// - Local times are of `time_zone`. What falls into an hour that a clock leaves out is due
///   at its end; in an hour that comes twice, the first time.
/// - A `reminder` needs no tool: the description is noted with `todo_add`.
/// - What is due while the run before it is not over is skipped.
#[tool(
    group = "schedule",
    title = "Schedule a call",
    category = "Scheduled",
    risk = "write",
    held,
    output,
    aliases = ["create_scheduled_task"],
    triggers = ["When something is to happen at a certain time", "When something is to happen regularly", "When the user wants to be reminded"],
    warnings = ["It acts later, without anybody looking on; a person is asked before it is scheduled", "Arguments are kept as they are: no passwords"],
    related = [("schedule_list", "tells what is scheduled"), ("schedule_cancel", "takes it back"), ("schedule_executions", "tells what came of it")],
    example(
        scenario = "A command on every weekday at nine",
        params = {"name": "Morning report", "tool": "report_make", "trigger_type": "cron", "trigger_config": {"cron": "0 9 * * 1-5"}, "time_zone": "Europe/Berlin"},
        expected = "The schedule with its id, and when it is due next"
    ),
    example(
        scenario = "A reminder",
        params = {"name": "Call Bob", "description": "Call Bob about the contract", "task_type": "reminder", "trigger_type": "once", "trigger_config": {"run_at": "2030-01-31T09:00:00Z"}},
        expected = "The schedule; at that time the reminder is on the list"
    )
)]
#[expect(clippy::too_many_arguments, reason = "a call has as many as it needs")]
async fn task(
    ctx: &Ctx,
    /// What it is called.
    #[schemars(length(min = 1, max = 200))]
    name: String,
    /// What sort of trigger.
    trigger_type: TriggerType,
    /// When, in the words of the trigger.
    trigger_config: TriggerConfig,
    /// What it is for; of a reminder, what is to be done.
    #[default("")]
    #[schemars(length(max = 2000))]
    description: String,
    /// A call of `tool`, or a `reminder`; `task` is the one if a tool is named, else the other.
    #[default(TaskType::Tool)]
    task_type: TaskType,
    /// The tool that is called; empty for a reminder.
    #[default("")]
    #[schemars(length(max = 128))]
    tool: String,
    /// What the tool is given.
    #[default(Map::new())]
    arguments: Map<String, Value>,
    /// The time zone of local times, like `Europe/Berlin`.
    #[default("UTC")]
    #[schemars(length(max = 100))]
    time_zone: String,
    /// What becomes of runs that were due while the hub was down.
    #[default(Missed::Once)]
    missed: Missed,
) -> Result<Scheduled, ToolError> {
    let kernel = kernel(ctx)?;
    let (who, now) = (who(ctx)?, kernel.now());
    if theirs(ctx).await?.len() >= MOST {
        let error = ToolError::validation(format!("nobody has more than {MOST} schedules"));
        return Err(error.with_hint("`schedule_cancel` makes room"));
    }
    let trigger = Trigger::read(trigger_type, &trigger_config, &time_zone, now)?;
    let mut schedule = Schedule {
        id: format!("sch_{}", uuid::Uuid::now_v7().simple()),
        name: said(&name)?,
        description,
        task_type,
        tool,
        arguments,
        next_at: trigger.after(now).map(Moment),
        trigger,
        time_zone,
        missed,
        enabled: true,
        by: By::of(who),
        created_at: Moment(now),
        changed_at: Moment(now),
        revision: revision(ctx)?,
    };
    aim(&kernel, who, &mut schedule)?;
    put(ctx, &schedule)?;
    Ok(shown(&schedule, None))
}

/// Lists what is scheduled. Use it when you need the id of a schedule, or what is due next.
///
/// All schedules of the person for whom the agent works, with what they call and when.
#[tool(
    group = "schedule",
    title = "List what is scheduled",
    category = "Scheduled",
    risk = "read",
    idempotent,
    output,
    aliases = ["list_scheduled_tasks"],
    triggers = ["When the user asks what is planned", "When the id of a schedule is needed"],
    related = [("schedule_task", "schedules something"), ("schedule_executions", "tells what came of it")],
    example(scenario = "What is planned", params = {}, expected = "The schedules, with when they are due next")
)]
async fn list(
    ctx: &Ctx,
    /// Only those that run when they are due.
    #[default(false)]
    enabled_only: bool,
) -> Result<AllScheduled, ToolError> {
    let mut schedules = Vec::new();
    for schedule in theirs(ctx).await? {
        if schedule.enabled || !enabled_only {
            let state = state(ctx, &schedule.id).await?;
            schedules.push(shown(&schedule, state.as_ref()));
        }
    }
    Ok(AllScheduled { schedules })
}

/// Changes a schedule. Use it when something is to run at another time, with other arguments, or not for a while.
///
/// What is not given stays as it is. Whoever changes a schedule answers for what it does from
/// then on. `arguments` replace all of those before; where `tool` is given, also if they are empty.
#[tool(
    group = "schedule",
    title = "Change a schedule",
    category = "Scheduled",
    risk = "write",
    held,
    idempotent,
    output,
    aliases = ["update_scheduled_task"],
    triggers = ["When something is to run at another time", "When a schedule is to rest for a while"],
    prerequisites = ["The id of the schedule (`schedule_list` tells it)"],
    warnings = ["It acts later, without anybody looking on; a person is asked before it is changed"],
    related = [("schedule_list", "tells the ids"), ("schedule_cancel", "takes it back for good")],
    example(
        scenario = "It rests for a while",
        params = {"task_id": "sch_0190c8f1e2a37d4b9c6a5f4e3d2c1b0a", "enabled": "false"},
        expected = "The schedule as it is now"
    )
)]
#[expect(clippy::too_many_arguments, reason = "a call has as many as it needs")]
async fn update(
    ctx: &Ctx,
    /// The id of the schedule.
    #[schemars(length(min = 1, max = 100))]
    task_id: String,
    /// Whether it runs when it is due: `true` or `false`.
    #[default("unchanged")]
    #[schemars(extend("enum" = ["unchanged", "true", "false"]))]
    enabled: String,
    /// What it is called now; empty for as before.
    #[default("")]
    #[schemars(length(max = 200))]
    name: String,
    /// What it is for; empty for as before.
    #[default("")]
    #[schemars(length(max = 2000))]
    description: String,
    /// The tool that it calls now; empty for as before.
    #[default("")]
    #[schemars(length(max = 128))]
    tool: String,
    /// What the tool is given now; nothing for as before.
    #[default(Map::new())]
    arguments: Map<String, Value>,
    /// What sort of trigger it has now, with `trigger_config`.
    #[default("unchanged")]
    #[schemars(extend("enum" = ["unchanged", "once", "interval", "cron"]))]
    trigger_type: String,
    /// When it is due now; empty for as before.
    #[default(TriggerConfig::default())]
    trigger_config: TriggerConfig,
    /// The time zone of local times now; empty for as before.
    #[default("")]
    #[schemars(length(max = 100))]
    time_zone: String,
    /// What becomes of missed runs now.
    #[default("unchanged")]
    #[schemars(extend("enum" = ["unchanged", "skip", "once", "all"]))]
    missed: String,
) -> Result<Scheduled, ToolError> {
    let kernel = kernel(ctx)?;
    let (who, now) = (who(ctx)?, kernel.now());
    let mut schedule = one(ctx, &task_id).await?;
    if !name.is_empty() {
        schedule.name = said(&name)?;
    }
    if !description.is_empty() {
        schedule.description = description;
    }
    if !tool.is_empty() {
        schedule.task_type = TaskType::Tool;
        schedule.tool = tool;
        schedule.arguments = arguments;
    } else if !arguments.is_empty() {
        schedule.arguments = arguments;
    }
    if !time_zone.is_empty() {
        schedule.time_zone = time_zone;
    }
    schedule.missed = word(&missed)?.unwrap_or(schedule.missed);
    schedule.enabled = match enabled.as_str() {
        "unchanged" => schedule.enabled,
        enabled => enabled == "true",
    };
    let kind = word(&trigger_type)?.unwrap_or(schedule.trigger.kind());
    let is_new = trigger_type != "unchanged" || trigger_config != TriggerConfig::default();
    schedule.trigger = match (is_new, &schedule.trigger) {
        (true, _) => Trigger::read(kind, &trigger_config, &schedule.time_zone, now)?,
        // The same line of cron, in what may be another time zone.
        (false, Trigger::Cron { .. }) => {
            Trigger::read(kind, &schedule.trigger.config(), &schedule.time_zone, now)?
        }
        (false, trigger) => trigger.clone(),
    };
    schedule.next_at = schedule.trigger.after(now).map(Moment);
    schedule.by = By::of(who);
    schedule.changed_at = Moment(now);
    schedule.revision = revision(ctx)?;
    aim(&kernel, who, &mut schedule)?;
    put(ctx, &schedule)?;
    let state = state(ctx, &schedule.id).await?;
    Ok(shown(&schedule, state.as_ref()))
}

/// Takes a schedule back, for good. Use it when something is not to happen any more.
///
/// A run of it that is under way goes on. The schedule comes back if the call is undone.
#[tool(
    group = "schedule",
    title = "Cancel a schedule",
    category = "Scheduled",
    risk = "write",
    held,
    output,
    aliases = ["cancel_scheduled_task"],
    triggers = ["When something that is scheduled is not wanted any more"],
    prerequisites = ["The id of the schedule (`schedule_list` tells it)"],
    warnings = ["What is only to rest for a while is turned off with `schedule_update`"],
    related = [("schedule_list", "tells the ids"), ("schedule_update", "turns it off for a while")],
    example(
        scenario = "It is not wanted any more",
        params = {"task_id": "sch_0190c8f1e2a37d4b9c6a5f4e3d2c1b0a"},
        expected = "What it was called"
    )
)]
async fn cancel(
    ctx: &Ctx,
    /// The id of the schedule.
    #[schemars(length(min = 1, max = 100))]
    task_id: String,
) -> Result<Cancelled, ToolError> {
    let schedule = one(ctx, &task_id).await?;
    ctx.records().remove(SCHEDULES, &schedule.id)?;
    Ok(Cancelled {
        id: schedule.id,
        name: schedule.name,
    })
}

/// Calls now what is scheduled for later. Use it when a schedule is to be tried, or cannot wait.
///
/// The call becomes one of the scheduled tool, by whoever triggers it. The schedule itself
/// stays as it is: what is due is due.
#[tool(
    name = "schedule_trigger",
    title = "Run a schedule now",
    category = "Scheduled",
    risk = "write",
    aliases = ["trigger_scheduled_task"],
    triggers = ["When a schedule is to be tried", "When something that is scheduled cannot wait"],
    prerequisites = ["The id of the schedule (`schedule_list` tells it)"],
    warnings = ["The tool acts now, and when it is due again"],
    related = [("schedule_list", "tells the ids"), ("schedule_executions", "tells what came of it when it was due")],
    example(
        scenario = "To see whether it works",
        params = {"task_id": "sch_0190c8f1e2a37d4b9c6a5f4e3d2c1b0a"},
        expected = "What the scheduled tool gives"
    )
)]
#[expect(
    clippy::unused_async,
    reason = "a tool that leads to others has no work of its own"
)]
async fn trigger_now(
    /// The id of the schedule.
    #[schemars(length(min = 1, max = 100))]
    task_id: String,
) -> Result<Value, ToolError> {
    drop(task_id);
    Err(ToolError::internal("it leads to no tool"))
}

async fn led(kernel: Kernel, who: Arc<Principal>, given: Map<String, Value>) -> Led {
    let id = given.get("task_id").and_then(Value::as_str);
    let id = id.unwrap_or_default();
    let row = kernel.store().row(SCHEDULES, id).await.map_err(broken)?;
    let person = who.under.as_deref().unwrap_or(&who.owner);
    let schedule = known(id, row, person)?;
    Ok((schedule.tool, Value::Object(schedule.arguments)))
}

/// Tells when schedules were due and what came of it. Use it when you need to know whether something ran.
///
/// `refused` is what could not be called, `skipped` what was due while the run before it was
/// not over; every other state is that of the run.
#[tool(
    group = "schedule",
    title = "What came of schedules",
    category = "Scheduled",
    risk = "read",
    idempotent,
    output,
    aliases = ["query_task_executions"],
    triggers = ["When the user asks whether something has run", "When a schedule seems not to work"],
    related = [("schedule_list", "tells the ids"), ("schedule_trigger", "tries it now")],
    example(scenario = "What ran lately", params = {"limit": 5}, expected = "The last five, with their runs and how they ended")
)]
async fn executions(
    ctx: &Ctx,
    /// The id of the schedule; empty for all of them.
    #[default("")]
    #[schemars(length(max = 100))]
    task_id: String,
    /// At most so many.
    #[default(20)]
    #[schemars(range(min = 1, max = 200))]
    limit: usize,
) -> Result<Executions, ToolError> {
    let schedules = match task_id.is_empty() {
        true => theirs(ctx).await?,
        false => vec![one(ctx, &task_id).await?],
    };
    let mut found: Vec<(Due, Schedule)> = Vec::new();
    for schedule in schedules {
        for (key, row) in ctx
            .records()
            .list(&runs(&schedule.id), None, 10_000)
            .await?
        {
            found.push((kept::read(&key, row).map_err(broken)?, schedule.clone()));
        }
    }
    found.sort_by_key(|(due, _)| std::cmp::Reverse(due.due));
    found.truncate(limit);
    let executions = found.into_iter().map(|(due, schedule)| Execution {
        task_id: schedule.id,
        name: schedule.name,
        due: due.due.to_string(),
        fired_at: due.fired_at.to_string(),
        ended_at: due.ended_at.map(|at| at.to_string()),
        run_id: Some(due.run_id).filter(|_| !["skipped", "refused"].contains(&due.state.as_str())),
        missed: due.missed,
        state: due.state,
        error: due.error,
    });
    Ok(Executions {
        executions: executions.collect(),
    })
}

/// Puts in what a schedule really calls, which must be something that it may.
fn aim(kernel: &Kernel, who: &Principal, schedule: &mut Schedule) -> Result<(), ToolError> {
    schedule.task_type = match (schedule.task_type, schedule.tool.as_str()) {
        (TaskType::Tool, "") => {
            let error = ToolError::validation("`tool` is missing: a task calls a tool");
            return Err(error.with_hint("name one, or schedule a `reminder`"));
        }
        (TaskType::Reminder, tool) if !tool.is_empty() && tool != REMINDER => {
            let error = ToolError::validation("a `reminder` calls no tool");
            return Err(error.with_hint("leave `tool` out, or schedule a task of type `tool`"));
        }
        (TaskType::Reminder, _) | (TaskType::Task, "") => TaskType::Reminder,
        (TaskType::Tool | TaskType::Task, _) => TaskType::Tool,
    };
    if schedule.task_type == TaskType::Reminder {
        let content = match schedule.description.trim() {
            "" => schedule.name.as_str(),
            description => description,
        };
        let content = json!({"content": content});
        schedule.arguments = content.as_object().cloned().unwrap_or_default();
        REMINDER.clone_into(&mut schedule.tool);
    }
    let arguments = Value::Object(schedule.arguments.clone());
    let entry = kernel.check_call(who, &schedule.tool, &arguments)?;
    if entry.def.name.group() == Some("schedule") {
        let problem = format!(
            "`{}` is about schedules, and is not scheduled",
            entry.def.name
        );
        return Err(ToolError::validation(problem));
    }
    schedule.tool = entry.def.name.to_string();
    Ok(())
}

fn kernel(ctx: &Ctx) -> Result<Kernel, ToolError> {
    let kernel = ctx.service::<WeakKernel>()?.upgrade();
    kernel.ok_or_else(|| ToolError::transient("the hub is closing"))
}

fn who(ctx: &Ctx) -> Result<&Arc<Principal>, ToolError> {
    let who = ctx.who();
    who.ok_or_else(|| ToolError::internal("nobody is known to have called"))
}

fn revision(ctx: &Ctx) -> Result<String, ToolError> {
    let run = ctx.run_id().map(str::to_owned);
    run.ok_or_else(|| ToolError::internal("the call is no run"))
}

/// All schedules of the person who answers for the call.
async fn theirs(ctx: &Ctx) -> Result<Vec<Schedule>, ToolError> {
    const PAGE: usize = 500;
    let person = owned::owner(ctx)?;
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = ctx
            .records()
            .list(SCHEDULES, after.as_deref(), PAGE)
            .await?;
        let is_last = page.len() < PAGE;
        after = page.last().map(|(key, _)| key.clone());
        for (key, row) in page {
            // Of one that cannot be understood, nobody can tell whose it is.
            let schedule = kept::read::<Schedule>(&key, row).ok();
            found.extend(schedule.filter(|schedule| schedule.by.person() == person));
        }
        if is_last {
            return Ok(found);
        }
    }
}

async fn one(ctx: &Ctx, id: &str) -> Result<Schedule, ToolError> {
    let row = ctx.records().get(SCHEDULES, id).await?;
    known(id, row, owned::owner(ctx)?)
}

/// A schedule of that person: of another's, nobody is told that it is there.
fn known(id: &str, row: Option<Value>, person: &str) -> Result<Schedule, ToolError> {
    let schedule: Option<Schedule> = row
        .map(|row| kept::read(id, row))
        .transpose()
        .map_err(broken)?;
    schedule
        .filter(|schedule| schedule.by.person() == person)
        .ok_or_else(|| {
            ToolError::not_found(format!("there is no schedule `{}`", id.escape_debug()))
                .with_hint("`schedule_list` tells the ids")
        })
}

async fn state(ctx: &Ctx, id: &str) -> Result<Option<State>, ToolError> {
    let row = ctx.records().get(STATES, id).await?;
    row.map(|row| kept::read(id, row))
        .transpose()
        .map_err(broken)
}

fn put(ctx: &Ctx, schedule: &Schedule) -> Result<(), ToolError> {
    let row = kept::written(schedule).map_err(broken)?;
    ctx.records().put(SCHEDULES, &schedule.id, row)
}

fn shown(schedule: &Schedule, state: Option<&State>) -> Scheduled {
    Scheduled {
        id: schedule.id.clone(),
        name: schedule.name.clone(),
        description: schedule.description.clone(),
        task_type: schedule.task_type,
        tool: schedule.tool.clone(),
        arguments: schedule.arguments.clone(),
        trigger_type: schedule.trigger.kind(),
        trigger_config: schedule.trigger.config(),
        time_zone: schedule.time_zone.clone(),
        missed: schedule.missed,
        enabled: schedule.enabled,
        next_at: schedule.due(state).map(|at| at.to_string()),
        last_at: state
            .and_then(|state| state.last_at)
            .map(|at| at.to_string()),
        scheduled_by: schedule.by.owner.clone(),
    }
}

fn said(name: &str) -> Result<String, ToolError> {
    match name.trim() {
        "" => Err(ToolError::validation("`name` is blank; say what it is")),
        name => Ok(name.to_owned()),
    }
}

/// The word for something, or nothing where it is to stay as it is.
fn word<T: serde::de::DeserializeOwned>(word: &str) -> Result<Option<T>, ToolError> {
    match word {
        "unchanged" => Ok(None),
        // Other words do not get past the schema.
        word => serde_json::from_value(Value::from(word))
            .map(Some)
            .map_err(|e| ToolError::validation(e.to_string())),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn broken(error: StoreError) -> ToolError {
    ToolError::dependency(error.to_string())
}
