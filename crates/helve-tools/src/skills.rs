//! Skills: folders with instructions, files and scripts, in the Agent Skills format.
//!
//! They are told step by step: names and descriptions first, then the instructions, then
//! single files. A script of a skill is a program: it is registered, and so pinned, when the
//! hub sees it, and runs like any other.

mod install;
mod scripts;
mod shelf;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use helve_kernel::{
    Ctx, DefineTool, Kernel, Led, Principal, ToolError, Toolset, ToolsetError, tool,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

pub use install::Installed;
pub use scripts::programs;
use shelf::{Shelf, Skill};

/// Where skills lie, from the workspace: ours, and those of other agents.
pub const FOLDERS: &[&str] = &["skills", ".claude/skills", ".agents/skills"];

/// Whether a skill is to be used.
const SWITCHES: &str = "skills";

/// The set.
pub fn toolset() -> Result<Toolset, ToolsetError> {
    let run = <run_script as DefineTool>::tool().leading(led);
    let tools = vec![
        <list as DefineTool>::tool(),
        <info as DefineTool>::tool(),
        <reference as DefineTool>::tool(),
        run,
        <install::install as DefineTool>::tool(),
        <enable as DefineTool>::tool(),
        <disable as DefineTool>::tool(),
    ];
    let says = "Folders with instructions for a kind of task".to_owned();
    Toolset::new("skills", Some(says), vec!["skills".to_owned()], tools)
}

/// A skill in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Whether it is to be used.
    pub enabled: bool,
    /// Its folder, from the workspace.
    pub folder: String,
}

/// All skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lines {
    /// By name.
    pub skills: Vec<Line>,
    /// Folders that look like skills and are none, with what is wrong.
    pub problems: Vec<String>,
}

/// A skill with its instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Page {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Whether it is to be used.
    pub enabled: bool,
    /// Its folder, from the workspace.
    pub folder: String,
    /// The instructions.
    pub body: String,
    /// What else its first lines say: licence, tools, and so on.
    pub metadata: Map<String, Value>,
    /// The scripts that `skills_run_script` runs.
    pub scripts: Vec<String>,
    /// The other files, which `skills_reference` shows.
    pub files: Vec<String>,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Part {
    /// The skill.
    pub name: String,
    /// The file, from the skill's folder.
    pub file: String,
    /// Its text.
    pub text: String,
    /// How many bytes it has in all.
    pub bytes: usize,
    /// Where the next part begins; 0 if this is the last.
    pub next_offset: usize,
}

/// Whether a skill is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Switched {
    /// The skill.
    pub name: String,
    /// Whether it is to be used.
    pub enabled: bool,
}

/// Lists the skills that there are. Use it when a task may have instructions of its own.
///
/// One line for each: `skills_info` has the instructions.
#[tool(
    group = "skills",
    title = "List skills",
    category = "Skills",
    risk = "read",
    held,
    paths = ["skills", ".claude/skills", ".agents/skills"],
    idempotent,
    output,
    aliases = ["list_skills"],
    triggers = ["When a task of a certain kind begins", "When the user names a skill"],
    related = [("skills_info", "has the instructions")],
    example(scenario = "What is there", params = {}, expected = "Names and what they are for")
)]
async fn list(ctx: &Ctx) -> Result<Lines, ToolError> {
    let shelf = Shelf::look(ctx).await?;
    let mut skills = Vec::new();
    for skill in &shelf.skills {
        skills.push(Line {
            name: skill.name.clone(),
            description: skill.description.clone(),
            enabled: is_enabled(ctx, &skill.name).await?,
            folder: skill.folder.clone(),
        });
    }
    Ok(Lines {
        skills,
        problems: shelf.problems,
    })
}

/// Shows the instructions of a skill and its files. Use it before a task that the skill is for.
///
/// The instructions may name files of the skill: `skills_reference` shows them, one by one.
#[tool(
    group = "skills",
    title = "Read a skill",
    category = "Skills",
    risk = "read",
    held,
    paths = ["skills", ".claude/skills", ".agents/skills"],
    idempotent,
    output,
    aliases = ["get_skill_info"],
    triggers = ["Before a task that a skill is for"],
    prerequisites = ["The name of the skill (`skills_list` tells it)"],
    related = [("skills_list", "tells the names"), ("skills_reference", "shows its files")],
    example(scenario = "How a PDF is filled in", params = {"skill_name": "pdf"}, expected = "The instructions, and which files there are")
)]
async fn info(
    ctx: &Ctx,
    /// The skill.
    #[schemars(length(min = 1, max = 100))]
    skill_name: String,
) -> Result<Page, ToolError> {
    let shelf = Shelf::look(ctx).await?;
    let skill = shelf.find(&skill_name)?;
    let (scripts, files) = shelf::contents(ctx, skill).await?;
    Ok(Page {
        name: skill.name.clone(),
        description: skill.description.clone(),
        enabled: is_enabled(ctx, &skill.name).await?,
        folder: skill.folder.clone(),
        body: skill.body.clone(),
        metadata: skill.metadata.clone(),
        scripts,
        files,
    })
}

/// The most bytes of a file that come at once.
const PART: usize = 48 * 1024;

/// Shows a file of a skill. Use it when the instructions of a skill name one.
///
/// Long files come in parts: go on with `next_offset`.
#[tool(
    group = "skills",
    title = "Read a file of a skill",
    category = "Skills",
    risk = "read",
    held,
    paths = ["skills", ".claude/skills", ".agents/skills"],
    idempotent,
    output,
    aliases = ["get_skill_reference"],
    triggers = ["When the instructions of a skill name a file"],
    related = [("skills_info", "lists the files")],
    example(
        scenario = "A page of reference",
        params = {"skill_name": "pdf", "file": "references/forms.md"},
        expected = "The text of the file"
    )
)]
async fn reference(
    ctx: &Ctx,
    /// The skill.
    #[schemars(length(min = 1, max = 100))]
    skill_name: String,
    /// The file, from the skill's folder.
    #[schemars(length(min = 1, max = 1000))]
    file: String,
    /// The byte at which to begin.
    #[default(0)]
    offset: usize,
) -> Result<Part, ToolError> {
    let shelf = Shelf::look(ctx).await?;
    let skill = shelf.find(&skill_name)?;
    let (scripts, files) = shelf::contents(ctx, skill).await?;
    let all: Vec<&str> = scripts.iter().chain(&files).map(String::as_str).collect();
    // Only what was found in the folder is opened: nothing leads out of it.
    let wanted = file.trim_start_matches("./");
    if !all.contains(&wanted) {
        let near = helve_kernel::helve_core::name::nearest(wanted, all.iter().copied(), 5);
        let problem = format!("`{}` has no file `{}`", skill.name, file.escape_debug());
        let error = ToolError::not_found(problem);
        return Err(match near.is_empty() {
            true => error.with_hint("`skills_info` lists its files"),
            false => error.with_hint(format!("the nearest are {}", near.join(", "))),
        });
    }
    let bytes = ctx
        .files()
        .read(format!("{}/{wanted}", skill.folder))
        .await?;
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(ToolError::validation(format!("`{wanted}` is no text"))
            .with_hint("it is for the skill's scripts, not for reading"));
    };
    if offset > text.len() || !text.is_char_boundary(offset) {
        return Err(ToolError::validation(format!(
            "`offset` is not inside of the file, which has {} bytes",
            text.len()
        )));
    }
    let end = text.floor_char_boundary((offset + PART).min(text.len()));
    Ok(Part {
        name: skill.name.clone(),
        file: wanted.to_owned(),
        bytes: text.len(),
        next_offset: if end == text.len() { 0 } else { end },
        text: text[offset..end].to_owned(),
    })
}

/// Runs a script of a skill. Use it when the instructions of a skill say so.
///
/// Only scripts that the hub has registered run: those that lie in `scripts/` of a skill. One
/// that was changed since is refused until the hub has seen it. It runs in the sandbox; what it
/// changes is shown to a person.
#[tool(
    group = "skills",
    title = "Run a script of a skill",
    category = "Skills",
    risk = "exec_high",
    aliases = ["run_skill_script"],
    triggers = ["When the instructions of a skill say to run a script"],
    prerequisites = ["The name of the script (`skills_info` tells it)"],
    warnings = ["A script can do much: a person is asked before"],
    related = [("skills_info", "tells the scripts")],
    example(
        scenario = "A script with an argument",
        params = {"skill_name": "pdf", "script_name": "fill.py", "args": ["form.pdf"]},
        expected = "What it wrote, and how it ended"
    )
)]
#[expect(
    clippy::unused_async,
    reason = "a tool that leads to others has no work of its own"
)]
async fn run_script(
    /// The skill.
    #[schemars(length(min = 1, max = 100))]
    skill_name: String,
    /// The script, with or without `scripts/`.
    #[schemars(length(min = 1, max = 200))]
    script_name: String,
    /// What it is given, one by one.
    #[default(Vec::new())]
    #[schemars(length(max = 16))]
    args: Vec<String>,
) -> Result<Value, ToolError> {
    drop((skill_name, script_name, args));
    Err(ToolError::internal("it leads to no tool"))
}

async fn led(kernel: Kernel, _: Arc<Principal>, given: Map<String, Value>) -> Led {
    let text = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default();
    let (skill, script) = (text("skill_name"), text("script_name"));
    let script = script.strip_prefix("scripts/").unwrap_or(script);
    let found = kernel.find(&scripts::name(skill, script));
    let found = found.filter(|entry| scripts::is_of(&entry.def, skill, script));
    let Some(entry) = found else {
        let error = ToolError::not_found(format!(
            "the skill `{}` has no registered script `{}`",
            skill.escape_debug(),
            script.escape_debug()
        ));
        return Err(error.with_hint("`skills_info` tells which there are"));
    };
    let switch = kernel.store().row(SWITCHES, skill).await;
    let switch = switch.map_err(|e| ToolError::dependency(e.to_string()))?;
    if !is_on(switch.as_ref()) {
        let problem = format!("the skill `{skill}` is turned off");
        return Err(
            ToolError::denied(problem).with_hint("a person turns it on with `skills_enable`")
        );
    }
    let mut args = Map::new();
    let words = given
        .get("args")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    for (number, word) in (1..).zip(words) {
        args.insert(scripts::argument(number), word.clone());
    }
    Ok((entry.def.name.to_string(), Value::Object(args)))
}

/// Lets a skill be used. Use it when a person wants a skill that was turned off.
///
/// It counts for everybody who works with this hub, and can be undone.
#[tool(
    group = "skills",
    title = "Turn a skill on",
    category = "Skills",
    risk = "write",
    held,
    paths = ["skills", ".claude/skills", ".agents/skills"],
    idempotent,
    output,
    aliases = ["enable_skill"],
    triggers = ["When a person wants to use a skill that is off"],
    related = [("skills_disable", "turns it off"), ("skills_list", "tells which are on")],
    example(scenario = "A skill is wanted again", params = {"skill_name": "pdf"}, expected = "That it is on")
)]
async fn enable(
    ctx: &Ctx,
    /// The skill.
    #[schemars(length(min = 1, max = 100))]
    skill_name: String,
) -> Result<Switched, ToolError> {
    switch(ctx, &skill_name, true).await
}

/// Keeps a skill from being used. Use it when a person does not want a skill.
///
/// Its files stay; it counts for everybody who works with this hub, and can be undone.
#[tool(
    group = "skills",
    title = "Turn a skill off",
    category = "Skills",
    risk = "write",
    held,
    paths = ["skills", ".claude/skills", ".agents/skills"],
    idempotent,
    output,
    aliases = ["disable_skill"],
    triggers = ["When a person does not want a skill"],
    related = [("skills_enable", "turns it on"), ("skills_list", "tells which are on")],
    example(scenario = "A skill is not wanted", params = {"skill_name": "pdf"}, expected = "That it is off")
)]
async fn disable(
    ctx: &Ctx,
    /// The skill.
    #[schemars(length(min = 1, max = 100))]
    skill_name: String,
) -> Result<Switched, ToolError> {
    switch(ctx, &skill_name, false).await
}

async fn switch(ctx: &Ctx, name: &str, enabled: bool) -> Result<Switched, ToolError> {
    let shelf = Shelf::look(ctx).await?;
    let skill: &Skill = shelf.find(name)?;
    ctx.records()
        .put(SWITCHES, &skill.name, json!({"enabled": enabled}))?;
    Ok(Switched {
        name: skill.name.clone(),
        enabled,
    })
}

async fn is_enabled(ctx: &Ctx, name: &str) -> Result<bool, ToolError> {
    let kept = ctx.records().get(SWITCHES, name).await?;
    Ok(is_on(kept.as_ref()))
}

fn is_on(switch: Option<&Value>) -> bool {
    switch.is_none_or(|row| row["enabled"] != false)
}
