//! What a person wants remembered, in their own words.
//!
//! Nothing is noted by itself: somebody has to say so. What is noted belongs to the person
//! for whom an agent works, and all their agents see it. What is forgotten is gone from
//! everything that is looked through; it can be brought back until it is purged.

mod audit;
mod kept;
mod recollect;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use helve_kernel::{Ctx, ToolError, Toolset, ToolsetError, tool, toolset};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use audit::{Finding, Problem};
pub use kept::{Category, Memory};
use kept::{MOST, overlap, plain};
pub use recollect::Recollection;

use crate::owned;

/// The set.
pub fn toolset() -> Result<Toolset, ToolsetError> {
    toolset! {
        name: "memory",
        description: "What a person wants remembered",
        tags: ["memory"],
        tools: [remember, recall, list, forget, add, search, stats, check],
    }
}

/// Which memories are meant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Which {
    /// Of any kind.
    #[default]
    Any,
    /// What they like to have in which way.
    Preference,
    /// What is so.
    Fact,
    /// What they think of something.
    Opinion,
    /// How they stand to something or somebody.
    Attitude,
}

impl Which {
    fn is(self, category: Category) -> bool {
        let only = match self {
            Which::Any => return true,
            Which::Preference => Category::Preference,
            Which::Fact => Category::Fact,
            Which::Opinion => Category::Opinion,
            Which::Attitude => Category::Attitude,
        };
        only == category
    }
}

/// What became of something to be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Status {
    /// It is noted.
    Added,
    /// It was known; nothing was changed.
    Duplicate,
    /// It is noted, and what held before is history.
    Superseded,
}

/// What was noted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Noted {
    /// What became of it.
    pub status: Status,
    /// The id of what is remembered now.
    pub id: String,
    /// The ids of those that it took the place of.
    pub replaced: Vec<String>,
    /// Others that say nearly the same, or the opposite. Ask the user which holds.
    pub similar: Vec<Similar>,
}

/// One that says nearly the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Similar {
    /// Its id.
    pub id: String,
    /// What it says.
    pub content: String,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Recalled {
    /// The best first.
    pub memories: Vec<Hit>,
    /// How many memories there are that could have been found.
    pub of: usize,
}

/// A memory that fits.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Hit {
    /// The memory.
    #[serde(flatten)]
    pub memory: Memory,
    /// How well it fits; more is better.
    pub score: f64,
}

/// A page of memories.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Memories {
    /// Newest first.
    pub memories: Vec<Memory>,
    /// How many there are in all.
    pub total: usize,
    /// Where the next page begins, as `after`; empty at the end.
    pub next: String,
}

/// What was forgotten, or would be.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Forgotten {
    /// Which.
    pub memories: Vec<Memory>,
    /// Whether they are forgotten now; otherwise nothing was done yet.
    pub done: bool,
    /// How many more there are than may be forgotten at once.
    pub left: usize,
}

/// How much is remembered.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Stats {
    /// How many hold.
    pub total: usize,
    /// How many of each kind.
    pub by_category: BTreeMap<String, usize>,
    /// How many are history.
    pub superseded: usize,
    /// When the first that holds was noted; empty where there is none.
    pub oldest: String,
    /// When the last was noted.
    pub newest: String,
    /// About how many tokens all that holds would cost.
    pub tokens: usize,
    /// How many there may be.
    pub limit: usize,
}

/// What a look through the memories found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Checked {
    /// What was found.
    pub findings: Vec<Finding>,
    /// How many memories were looked at.
    pub looked_at: usize,
}

/// Remembers what the user said, word for word. Use it when they ask for it, or agree to it.
///
/// - The answer says `added`, `duplicate` (it was known; nothing changed) or `superseded`.
/// - With a `key`, what held for that key before becomes history: `language` has one value.
/// - `similar` lists what says nearly the same, or the opposite: ask the user which holds, then
///   say `replaces`.
#[tool(
    group = "memory",
    title = "Remember something",
    category = "Memory",
    risk = "exec_low",
    held,
    sensitive,
    output,
    aliases = ["remember", "mcp__memory__remember"],
    triggers = ["When the user says that something should be remembered", "When the user states a lasting preference"],
    warnings = ["Note the user's own words, not what is guessed from them; passwords and keys are refused"],
    related = [("memory_recall", "finds it again"), ("memory_forget", "takes it away")],
    example(
        scenario = "A preference with a key",
        params = {"category": "preference", "content": "Please answer me in Chinese.", "key": "language", "value": "Chinese"},
        expected = "The id, and whether it was new"
    )
)]
async fn remember(
    ctx: &Ctx,
    /// What kind of thing it is.
    category: Category,
    /// The words of the user, as they were said.
    #[secret]
    #[schemars(length(min = 1, max = 4000))]
    content: String,
    /// What a preference is about, like `language`; empty for none.
    #[default("")]
    #[schemars(length(max = 100))]
    key: String,
    /// What holds for that key; empty for none.
    #[secret]
    #[default("")]
    #[schemars(length(max = 1000))]
    value: String,
    /// The id of the memory that this takes the place of; empty for none.
    #[default("")]
    #[schemars(length(max = 64))]
    replaces: String,
) -> Result<Noted, ToolError> {
    let new = New {
        category,
        content,
        key: key.trim().to_owned(),
        value: value.trim().to_owned(),
        importance: 0.5,
        replaces,
    };
    note(ctx, new).await
}

/// Remembers a text with how much it matters. Use it when a fact is to be kept for later talks.
///
/// The same memories as those of `memory_remember`, under the parameters that other
/// agents know. What is known already is not noted twice.
#[tool(
    group = "memory",
    title = "Add a memory",
    category = "Memory",
    risk = "exec_low",
    held,
    sensitive,
    output,
    aliases = ["add_memory"],
    triggers = ["When something is worth knowing in later conversations"],
    warnings = ["Note what was said, not what is guessed; passwords and keys are refused"],
    related = [("memory_search", "finds it again"), ("memory_remember", "has a key and a value for preferences")],
    example(scenario = "A fact", params = {"content": "The user's cat is called Miso.", "importance": 0.7}, expected = "The id, and whether it was new")
)]
async fn add(
    ctx: &Ctx,
    /// The words of the user, as they were said.
    #[secret]
    #[schemars(length(min = 1, max = 4000))]
    content: String,
    /// What kind of thing it is.
    #[default(Category::Fact)]
    r#type: Category,
    /// How much it matters, from 0 to 1.
    #[default(0.5)]
    #[schemars(range(min = 0.0, max = 1.0))]
    importance: f64,
) -> Result<Noted, ToolError> {
    let new = New {
        category: r#type,
        content,
        key: String::new(),
        value: String::new(),
        importance,
        replaces: String::new(),
    };
    note(ctx, new).await
}

/// Finds what is remembered about a topic. Use it when an answer depends on what the user said earlier.
///
/// English and Chinese find each other for common words. What was replaced does not come back.
/// An empty list means that nothing fits; do not make something up.
#[tool(
    group = "memory",
    title = "Recall memories",
    category = "Memory",
    risk = "read",
    idempotent,
    sensitive,
    output,
    aliases = ["recall_memory", "mcp__memory__recall_memory"],
    triggers = ["When the user refers to something said earlier", "When a preference or a fact about the user matters"],
    related = [("memory_list", "shows all of them"), ("memory_remember", "notes something")],
    example(scenario = "What they eat", params = {"topic": "food and allergies"}, expected = "The memories that fit, best first")
)]
async fn recall(
    ctx: &Ctx,
    /// What it is about, in words.
    #[secret]
    #[schemars(length(min = 1, max = 1000))]
    topic: String,
    /// The most memories.
    #[default(5)]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
) -> Result<Recalled, ToolError> {
    find(ctx, &topic, Which::Any, limit).await
}

/// Searches the memories, of one kind or of any. Use it when you need to find what was noted about something.
///
/// The same search as `memory_recall`, under the parameters that other agents know.
#[tool(
    group = "memory",
    title = "Search memories",
    category = "Memory",
    risk = "read",
    idempotent,
    sensitive,
    output,
    aliases = ["search_memory"],
    triggers = ["When you need to know what was noted about something"],
    related = [("memory_recall", "the same by topic"), ("memory_add", "notes something")],
    example(scenario = "Preferences about writing", params = {"query": "writing style", "type": "preference"}, expected = "The memories that fit, best first")
)]
async fn search(
    ctx: &Ctx,
    /// What is looked for, in words.
    #[secret]
    #[schemars(length(min = 1, max = 1000))]
    query: String,
    /// Only memories of this kind.
    #[default(Which::Any)]
    r#type: Which,
    /// The most memories.
    #[default(10)]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
) -> Result<Recalled, ToolError> {
    find(ctx, &query, r#type, limit).await
}

/// Lists what is remembered, newest first. Use it when the user wants to see what is known about them.
///
/// What was replaced is history; `history` shows it too, with the id of what took its place.
#[tool(
    group = "memory",
    title = "List memories",
    category = "Memory",
    risk = "read",
    idempotent,
    sensitive,
    output,
    aliases = ["list_memories", "mcp__memory__list_memories"],
    triggers = ["When the user asks what is remembered about them", "When an id is needed to forget something"],
    related = [("memory_recall", "finds some by topic"), ("memory_forget", "takes one away")],
    example(scenario = "All preferences", params = {"category": "preference"}, expected = "The preferences, newest first")
)]
async fn list(
    ctx: &Ctx,
    /// Only memories of this kind.
    #[default(Which::Any)]
    category: Which,
    /// The most memories.
    #[default(50)]
    #[schemars(range(min = 1, max = 500))]
    limit: usize,
    /// Where the last page ended: its `next`; empty for the first.
    #[default("")]
    #[schemars(length(max = 64))]
    after: String,
    /// Whether what was replaced is shown as well.
    #[default(false)]
    history: bool,
) -> Result<Memories, ToolError> {
    let mut all = kept::all(ctx).await?;
    all.retain(|m| (history || m.holds()) && category.is(m.category));
    all.reverse();
    let total = all.len();
    // Ids sort by when they were made.
    let rest = all
        .into_iter()
        .skip_while(|m| !after.is_empty() && m.id >= after);
    let mut memories: Vec<Memory> = rest.take(limit + 1).collect();
    let more = memories.len() > limit;
    memories.truncate(limit);
    let last = memories.last().filter(|_| more);
    let next = last.map(|m| m.id.clone()).unwrap_or_default();
    Ok(Memories {
        memories,
        total,
        next,
    })
}

/// Forgets a memory by its id, or those that have certain words. Use it when the user wants something forgotten.
///
/// - By `memory_id`: at once, with what it had replaced.
/// - By `query`: those that contain these words, literally. First as a dry run, which only
///   shows them; with `dry_run` false they go.
/// - Nothing finds it any more. An undo of the call brings it back, until a person purges it
///   (`helve memory forget --purge`).
#[tool(
    group = "memory",
    title = "Forget memories",
    category = "Memory",
    risk = "exec_low",
    held,
    sensitive,
    output,
    aliases = ["forget", "mcp__memory__forget", "memory_delete_by_query"],
    triggers = ["When the user says that something should be forgotten", "When a memory is wrong"],
    warnings = ["Forget only what the user wants forgotten; show what a query finds before it goes"],
    related = [("memory_list", "shows the ids"), ("memory_remember", "replaces what has changed instead")],
    example(scenario = "By id", params = {"memory_id": "mem_019a8c41f2d07b3e90aa"}, expected = "What was forgotten"),
    example(scenario = "Look first", params = {"query": "old address"}, expected = "What would be forgotten; nothing is done")
)]
async fn forget(
    ctx: &Ctx,
    /// The memory's id; empty to go by `query`.
    #[default("")]
    #[schemars(length(max = 64))]
    memory_id: String,
    /// Words that the memories contain; empty to go by `memory_id`.
    #[secret]
    #[default("")]
    #[schemars(length(max = 1000))]
    query: String,
    /// Whether a query only shows what would go.
    #[default(true)]
    dry_run: bool,
    /// The most memories that a query lets go at once.
    #[default(50)]
    #[schemars(range(min = 1, max = 500))]
    max_delete: usize,
) -> Result<Forgotten, ToolError> {
    let (id, words) = (memory_id.trim(), plain(&query));
    match (id.is_empty(), words.is_empty()) {
        (true, true) if query.trim().is_empty() => Err(ToolError::validation(
            "neither `memory_id` nor `query` says what to forget",
        )
        .with_hint("`memory_list` shows the ids")),
        (true, true) => Err(ToolError::validation("`query` has no letter in it")),
        (false, false) => Err(ToolError::validation(
            "give `memory_id` or `query`, not both",
        )),
        (false, true) => {
            let mut going = vec![kept::one(ctx, id).await?.ok_or_else(|| unknown(id))?];
            let mut rest = kept::all(ctx).await?;
            let mut next = 0;
            while let Some(memory) = going.get(next) {
                let of_it = rest.extract_if(.., |m| m.superseded_by == memory.id);
                let of_it: Vec<Memory> = of_it.collect();
                going.extend(of_it);
                next += 1;
            }
            for memory in &going {
                kept::remove(ctx, &memory.id)?;
            }
            Ok(Forgotten {
                memories: going,
                done: true,
                left: 0,
            })
        }
        (true, false) => {
            let mut found = kept::all(ctx).await?;
            found.retain(|m| recollect::said(m).contains(&words));
            let left = found.len().saturating_sub(max_delete);
            found.truncate(max_delete);
            if !dry_run {
                for memory in &found {
                    kept::remove(ctx, &memory.id)?;
                }
            }
            Ok(Forgotten {
                memories: found,
                done: !dry_run,
                left,
            })
        }
    }
}

/// Tells how much is remembered, and of which kinds. Use it when the user asks about their memory as a whole.
///
/// Only figures, nothing of what the memories say.
#[tool(
    group = "memory",
    title = "Figures about the memory",
    category = "Memory",
    risk = "read",
    idempotent,
    output,
    aliases = ["get_memory_stats"],
    triggers = ["When the user asks how much is remembered"],
    related = [("memory_list", "shows the memories"), ("memory_check", "looks for what is wrong with them")],
    example(scenario = "How much", params = {}, expected = "Counts by kind, the oldest and the newest")
)]
async fn stats(ctx: &Ctx) -> Result<Stats, ToolError> {
    let all = kept::all(ctx).await?;
    let holding: Vec<&Memory> = all.iter().filter(|m| m.holds()).collect();
    let mut by_category: BTreeMap<String, usize> = Category::ALL
        .iter()
        .map(|c| (c.as_str().to_owned(), 0))
        .collect();
    for memory in &holding {
        *by_category
            .entry(memory.category.as_str().to_owned())
            .or_default() += 1;
    }
    let when = |memory: Option<&&Memory>| memory.map(|m| m.created.clone()).unwrap_or_default();
    let tokens = holding
        .iter()
        .map(|m| helve_kernel::helve_core::tokens::estimate(&m.content));
    Ok(Stats {
        total: holding.len(),
        by_category,
        superseded: all.len() - holding.len(),
        oldest: when(holding.first()),
        newest: when(holding.last()),
        tokens: tokens.sum(),
        limit: MOST,
    })
}

/// Looks for what is wrong with the memories: said twice, old, or secret. Use it when the memory needs tidying.
///
/// Nothing is changed. `duplicate` and `similar` name memories of which one may go; `stale` what is
/// old or was about a day; `secret` what looks like a password or a key.
#[tool(
    group = "memory",
    title = "Check the memory",
    category = "Memory",
    risk = "read",
    idempotent,
    output,
    aliases = ["audit_memory"],
    triggers = ["When the memory should be tidied", "When the user worries about what is kept"],
    related = [("memory_forget", "takes away what is found")],
    example(scenario = "A look through", params = {}, expected = "Findings with the ids of the memories")
)]
async fn check(
    ctx: &Ctx,
    /// After how many days a memory counts as stale.
    #[default(365)]
    #[schemars(range(min = 1, max = 36_500))]
    stale_days: i64,
) -> Result<Checked, ToolError> {
    let all = kept::all(ctx).await?;
    let looking = tokio::task::spawn_blocking(move || {
        let holding: Vec<&Memory> = all.iter().filter(|m| m.holds()).collect();
        Checked {
            findings: audit::look(&holding, Timestamp::now(), stale_days),
            looked_at: holding.len(),
        }
    });
    let broke = |e: tokio::task::JoinError| ToolError::internal(e.to_string());
    looking.await.map_err(broke)
}

/// The preferences that hold and are about something with a name.
pub(crate) async fn preferences(ctx: &Ctx) -> Result<Vec<Memory>, ToolError> {
    let mut all = kept::all(ctx).await?;
    all.retain(|m| m.holds() && m.category == Category::Preference && !m.key.is_empty());
    Ok(all)
}

/// Something to be remembered.
struct New {
    category: Category,
    content: String,
    key: String,
    value: String,
    importance: f64,
    replaces: String,
}

/// From which share of the shorter one on another memory is named as similar.
const ALIKE: f64 = 0.7;
/// How many similar ones are named.
const SHOWN: usize = 5;

async fn note(ctx: &Ctx, new: New) -> Result<Noted, ToolError> {
    let words = plain(&new.content);
    if words.is_empty() {
        return Err(ToolError::validation("`content` has no letter in it")
            .with_hint("give the user's own words"));
    }
    if new.key.is_empty() && !new.value.is_empty() {
        return Err(ToolError::validation("a `value` needs a `key`")
            .with_hint("say what it is about, like `language`"));
    }
    if let Some(what) = audit::secret(&format!("{}\n{} {}", new.content, new.key, new.value)) {
        return Err(ToolError::validation(format!(
            "it holds {what}, which is not for remembering"
        ))
        .with_hint("secrets belong into a password manager, or `[secrets]` of `helve.toml`"));
    }
    let all = kept::all(ctx).await?;
    let holding: Vec<&Memory> = all.iter().filter(|m| m.holds()).collect();
    let key = plain(&new.key);
    let about =
        |m: &&&Memory| !key.is_empty() && m.category == new.category && plain(&m.key) == key;
    let mut replaced: Vec<&Memory> = holding.iter().filter(about).copied().collect();
    if !new.replaces.is_empty() {
        let old = holding.iter().find(|m| m.id == new.replaces);
        let old = *old.ok_or_else(|| unknown(&new.replaces))?;
        if replaced.iter().all(|m| m.id != old.id) {
            replaced.push(old);
        }
    }
    let same = |m: &&&Memory| {
        plain(&m.content) == words
            && plain(&m.key) == key
            && plain(&m.value) == plain(&new.value)
            && m.id != new.replaces
    };
    if let Some(known) = holding.iter().find(same) {
        return Ok(Noted {
            status: Status::Duplicate,
            id: known.id.clone(),
            replaced: Vec::new(),
            similar: Vec::new(),
        });
    }
    if all.len() >= MOST {
        return Err(
            ToolError::validation(format!("{MOST} memories are kept, and no more"))
                .with_hint("`memory_check` finds what can go, `memory_forget` lets it go"),
        );
    }
    let id = kept::new_id();
    let run = ctx.run_id().unwrap_or_default().to_owned();
    for old in &replaced {
        kept::put(
            ctx,
            &Memory {
                superseded_by: id.clone(),
                ..(*old).clone()
            },
        )?;
    }
    let memory = Memory {
        id: id.clone(),
        category: new.category,
        content: new.content,
        key: new.key,
        value: new.value,
        importance: new.importance,
        created: Timestamp::now().to_string(),
        by: ctx.principal().unwrap_or_default().to_owned(),
        run,
        superseded_by: String::new(),
    };
    kept::put(ctx, &memory)?;
    let mut alike: Vec<(f64, &Memory)> = holding
        .iter()
        .filter(|m| replaced.iter().all(|r| r.id != m.id))
        .map(|m| (overlap(&words, &plain(&m.content)), *m))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    let similar = alike.into_iter().take(SHOWN).map(|(_, m)| Similar {
        id: m.id.clone(),
        content: m.content.clone(),
    });
    Ok(Noted {
        status: match replaced.is_empty() {
            true => Status::Added,
            false => Status::Superseded,
        },
        id,
        replaced: replaced.iter().map(|m| m.id.clone()).collect(),
        similar: similar.collect(),
    })
}

async fn find(ctx: &Ctx, asked: &str, which: Which, limit: usize) -> Result<Recalled, ToolError> {
    if plain(asked).is_empty() {
        return Err(ToolError::validation("there is no letter in what is asked")
            .with_hint("say in words what it is about; `memory_list` shows all"));
    }
    let mut all = kept::all(ctx).await?;
    all.retain(Memory::holds);
    let index = ctx.service::<Recollection>()?;
    let owner = owned::owner(ctx)?;
    // Of one kind there may be few among the best of all.
    let most = if which == Which::Any {
        limit
    } else {
        all.len()
    };
    let found = index.find(owner, &all, asked, most);
    let of = all.iter().filter(|m| which.is(m.category)).count();
    let found = found.into_iter().map(|(i, score)| Hit {
        memory: all[i].clone(),
        score: (score * 1000.0).round() / 1000.0,
    });
    let found = found.filter(|hit| which.is(hit.memory.category));
    Ok(Recalled {
        memories: found.take(limit).collect(),
        of,
    })
}

fn unknown(id: &str) -> ToolError {
    ToolError::not_found(format!("there is no memory `{}`", id.escape_debug()))
        .with_hint("`memory_list` shows the ids")
}
