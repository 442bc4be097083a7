//! What is to be done: a list for each person, which their agents share.

#[cfg(test)]
mod tests;

use helve_kernel::{Ctx, ToolError, Toolset, ToolsetError, tool, toolset};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::owned;

/// The set.
pub fn toolset() -> Result<Toolset, ToolsetError> {
    toolset! {
        name: "todo",
        description: "What is to be done, and how far it is",
        tags: ["todo", "planning"],
        tools: [add, list, update, write, read],
    }
}

/// The most things on a list.
const MOST: usize = 1_000;

/// How far something is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Status {
    /// Not begun.
    #[default]
    Pending,
    /// Under way.
    InProgress,
    /// Done.
    Completed,
    /// Not to be done any more.
    Cancelled,
}

/// How much it matters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Priority {
    /// Before the others.
    High,
    /// As the others.
    #[default]
    Medium,
    /// After the others.
    Low,
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Todo {
    /// Its number.
    pub id: u64,
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: Status,
    /// How much it matters.
    pub priority: Priority,
}

/// A list of things to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Todos {
    /// In the order in which they were noted.
    pub todos: Vec<Todo>,
    /// How many are neither done nor cancelled.
    pub open: usize,
}

/// Something to be done, as it is noted.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Noted {
    /// What is to be done.
    #[schemars(length(min = 1, max = 2000))]
    pub content: String,
    /// How far it is.
    #[serde(default)]
    pub status: Status,
    /// How much it matters.
    #[serde(default)]
    pub priority: Priority,
}

/// Notes one thing to be done. Use it when a task has several steps, or something must not be forgotten.
///
/// The list belongs to the person for whom the agent works; it outlives the conversation.
/// To note a whole plan at once, `todo_write` is quicker.
#[tool(
    group = "todo",
    title = "Note something to be done",
    category = "Todo",
    risk = "exec_low",
    held,
    output,
    aliases = ["add_todo"],
    triggers = ["When a task has several steps", "When something must be done later"],
    related = [("todo_update", "marks it as done"), ("todo_write", "notes a whole plan")],
    example(scenario = "A step of a plan", params = {"content": "Write the tests", "priority": "high"}, expected = "The new entry with its number")
)]
async fn add(
    ctx: &Ctx,
    /// What is to be done.
    #[schemars(length(min = 1, max = 2000))]
    content: String,
    /// How much it matters.
    #[default(Priority::Medium)]
    priority: Priority,
) -> Result<Todo, ToolError> {
    let known = all(ctx).await?;
    if known.len() >= MOST {
        return Err(full());
    }
    let todo = Todo {
        id: known.last().map_or(1, |last| last.id + 1),
        content: said(&content)?,
        status: Status::Pending,
        priority,
    };
    put(ctx, &todo)?;
    Ok(todo)
}

/// Lists what is to be done. Use it when you need to see the plan, or what is still open.
///
/// Without a status, all of it comes back, also what is done.
#[tool(
    group = "todo",
    title = "List what is to be done",
    category = "Todo",
    risk = "read",
    idempotent,
    output,
    aliases = ["list_todos"],
    triggers = ["When work goes on after a break", "When the user asks what is open"],
    related = [("todo_add", "notes something"), ("todo_update", "marks it as done")],
    example(scenario = "What is still open", params = {"status": "pending"}, expected = "The entries that nobody has begun")
)]
async fn list(
    ctx: &Ctx,
    /// Only those that are this far; `any` for all.
    #[default("any")]
    #[schemars(extend("enum" = ["any", "pending", "in_progress", "completed", "cancelled"]))]
    status: String,
) -> Result<Todos, ToolError> {
    let status: Option<Status> = word(&status, "any")?;
    let mut todos = all(ctx).await?;
    todos.retain(|todo| status.is_none_or(|status| todo.status == status));
    Ok(shown(todos))
}

/// Changes one entry of the list. Use it when a step is begun or done, or reads differently now.
///
/// What is not given stays as it is. An entry that is not needed any more is `cancelled`.
#[tool(
    group = "todo",
    title = "Change an entry",
    category = "Todo",
    risk = "exec_low",
    held,
    idempotent,
    output,
    aliases = ["update_todo"],
    triggers = ["When a step is begun or done"],
    prerequisites = ["The number of the entry (`todo_list` tells it)"],
    related = [("todo_list", "tells the numbers")],
    example(scenario = "A step is done", params = {"id": 3, "status": "completed"}, expected = "The entry as it is now")
)]
async fn update(
    ctx: &Ctx,
    /// The number of the entry.
    #[schemars(range(min = 1))]
    id: u64,
    /// How far it is now.
    #[default("unchanged")]
    #[schemars(extend("enum" = ["unchanged", "pending", "in_progress", "completed", "cancelled"]))]
    status: String,
    /// What is to be done, in other words; empty for as it is.
    #[default("")]
    #[schemars(length(max = 2000))]
    content: String,
    /// How much it matters now.
    #[default("unchanged")]
    #[schemars(extend("enum" = ["unchanged", "high", "medium", "low"]))]
    priority: String,
) -> Result<Todo, ToolError> {
    let mut todos = all(ctx).await?;
    let found = todos.iter_mut().find(|todo| todo.id == id);
    let todo = found.ok_or_else(|| {
        ToolError::not_found(format!("there is no entry {id} on the list"))
            .with_hint("`todo_list` tells the numbers")
    })?;
    todo.status = word(&status, "unchanged")?.unwrap_or(todo.status);
    todo.priority = word(&priority, "unchanged")?.unwrap_or(todo.priority);
    if !content.is_empty() {
        todo.content = said(&content)?;
    }
    put(ctx, todo)?;
    Ok(todo.clone())
}

/// Writes the whole list anew. Use it when a plan is made, or has changed altogether.
///
/// What stood there before is gone from the list (and comes back if the call is undone).
/// Entries are numbered from 1 in the order given.
#[tool(
    name = "todo_write",
    title = "Write the whole list",
    category = "Todo",
    risk = "exec_low",
    held,
    idempotent,
    output,
    aliases = ["write_todos"],
    triggers = ["When a plan of several steps is made", "When the plan has changed"],
    warnings = ["It replaces the list: give also what stays"],
    related = [("todo_read", "shows the list"), ("todo_update", "changes one entry")],
    example(
        scenario = "A plan of two steps",
        params = {"todos": [{"content": "Read the code", "status": "in_progress"}, {"content": "Fix it"}]},
        expected = "The list as it stands now"
    )
)]
async fn write(
    ctx: &Ctx,
    /// All entries, in order.
    #[schemars(length(max = 1000))]
    todos: Vec<Noted>,
) -> Result<Todos, ToolError> {
    if todos.len() > MOST {
        return Err(full());
    }
    let collection = owned::collection(ctx, "todo")?;
    for old in all(ctx).await? {
        ctx.records().remove(&collection, &key(old.id))?;
    }
    let mut new = Vec::new();
    for (id, noted) in (1..).zip(todos) {
        let todo = Todo {
            id,
            content: said(&noted.content)?,
            status: noted.status,
            priority: noted.priority,
        };
        put(ctx, &todo)?;
        new.push(todo);
    }
    Ok(shown(new))
}

/// Shows the whole list. Use it when you need the plan as it was written.
///
/// The same as `todo_list` without a filter, under the name that goes with `todo_write`.
#[tool(
    name = "todo_read",
    title = "Show the whole list",
    category = "Todo",
    risk = "read",
    idempotent,
    output,
    aliases = ["read_todos"],
    triggers = ["When the plan is to be looked at"],
    related = [("todo_write", "writes it"), ("todo_list", "shows a part of it")],
    example(scenario = "The plan", params = {}, expected = "All entries")
)]
async fn read(ctx: &Ctx) -> Result<Todos, ToolError> {
    Ok(shown(all(ctx).await?))
}

async fn all(ctx: &Ctx) -> Result<Vec<Todo>, ToolError> {
    let collection = owned::collection(ctx, "todo")?;
    let rows = ctx.records().list(&collection, None, MOST + 1).await?;
    let todos = rows.into_iter().map(|(key, row)| {
        serde_json::from_value(row)
            .map_err(|e| ToolError::internal(format!("the entry `{key}` is damaged: {e}")))
    });
    todos.collect()
}

fn put(ctx: &Ctx, todo: &Todo) -> Result<(), ToolError> {
    let row: Value = serde_json::to_value(todo).map_err(|e| ToolError::internal(e.to_string()))?;
    let collection = owned::collection(ctx, "todo")?;
    ctx.records().put(&collection, &key(todo.id), row)
}

/// The word for something, or nothing where it is the word for that.
fn word<T: serde::de::DeserializeOwned>(word: &str, nothing: &str) -> Result<Option<T>, ToolError> {
    if word == nothing {
        return Ok(None);
    }
    // Other words do not get past the schema.
    let known = serde_json::from_value(Value::from(word));
    known
        .map(Some)
        .map_err(|e| ToolError::validation(e.to_string()))
}

/// Keys sort as the numbers do.
fn key(id: u64) -> String {
    format!("{id:020}")
}

fn said(content: &str) -> Result<String, ToolError> {
    match content.trim() {
        "" => Err(ToolError::validation(
            "`content` is blank; say what is to be done",
        )),
        content => Ok(content.to_owned()),
    }
}

fn shown(todos: Vec<Todo>) -> Todos {
    let is_open = |todo: &&Todo| matches!(todo.status, Status::Pending | Status::InProgress);
    let open = todos.iter().filter(is_open).count();
    Todos { todos, open }
}

fn full() -> ToolError {
    ToolError::validation(format!("a list holds at most {MOST} entries"))
        .with_hint("`todo_write` with what is still open makes room")
}
